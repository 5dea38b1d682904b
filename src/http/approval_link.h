// Approval links: a path that lets one person give one answer to one waitpoint, until a time.
//
// Nothing is stored. A link says in plain text whom and what it is for, and carries a tag made with
// a key of the server. The id of the link becomes that of the signal, so that a link counts once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/ids.h>

#include "http/gate.h"

namespace ff::http {

struct ApprovalLink {
    ExecutionId execution_id;
    WaitpointId waitpoint_id;
    SignalId link_id;
    std::string actor;
    std::vector<std::string> choices;  ///< names of signals
    TimestampMs expires_at = 0;
    std::optional<std::string> note;

    bool operator==(const ApprovalLink&) const = default;
};

/// What links are signed with: follows from the admin's token (or the ordinary one), so that it is
/// the same after a restart and on every server that has the token. Whoever has no more than a
/// waitpoint's token can make none. Random when the server asks nobody for a token.
std::string link_key(const GateOptions& gate);

/// The last segment of its path.
std::string link_text(const ApprovalLink& link, std::string_view key);

/// What a link says, before anybody knows whether it is true.
struct PresentedLink {
    ApprovalLink link;
    std::string said;  ///< what the tag is of
    std::string tag;

    /// Was it made with this key? Takes as long whatever the answer.
    [[nodiscard]] bool is_signed_with(std::string_view key) const;
};

/// Nothing when it has not the form of a link.
std::optional<PresentedLink> parse_link(std::string_view text);

}  // namespace ff::http
