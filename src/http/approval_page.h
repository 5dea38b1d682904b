// The pages behind approval links: plain HTML without scripts, everything foreign escaped.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/contracts.h>

#include "http/approval_link.h"
#include "wire/message.h"

namespace ff::http {

/// What is being approved.
struct ApprovalSubject {
    std::string kind;
    std::string ns;
    std::string lane;
    Tags tags;
    std::string payload;
    std::string reason;                ///< why it waits; empty: it does not yet
    std::optional<TimestampMs> since;  ///< when it began to wait
    std::optional<TimestampMs> until;  ///< when its patience ends
};

/// What is asked, and a button for each answer.
wire::Answer approval_page(const ApprovalLink& link, const ApprovalSubject& subject);
/// A heading and a sentence.
wire::Answer message_page(int status, std::string_view heading, std::string_view text);

std::string html_escaped(std::string_view text);
/// `2026-02-28 17:05:09 UTC`.
std::string utc_text(TimestampMs time);

}  // namespace ff::http
