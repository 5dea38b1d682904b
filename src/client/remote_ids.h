// Ids that are made by the client, so that a request may be sent twice and be done once.
#pragma once

#include <optional>
#include <string>

#include <ff/contracts.h>

namespace ff::client {

/// What a request was given because it came without.
struct MintedIds {
    std::optional<FlowId> flow;
    std::optional<EdgeId> edge;
    std::uint64_t staged_revision = 0;  ///< of the graph once the edge is in it
    std::optional<SignalId> signal;
    std::optional<WebhookId> webhook;
    std::string webhook_secret_hex;

    [[nodiscard]] bool any() const {
        return flow || edge || signal || webhook || !webhook_secret_hex.empty();
    }
};

/// Makes the ids that the server would make otherwise. (Those of executions and of waitpoints are
/// made where creates and suspensions are checked.)
MintedIds mint_ids(Request& request);

/// What an answer means to who made the ids: nobody else has them, so what is there already is what
/// an earlier sending of the same request has done.
Response settle(const MintedIds& minted, Response response);

}  // namespace ff::client
