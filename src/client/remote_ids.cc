#include "client/remote_ids.h"

#include <variant>

#include "core/webhook_records.h"

namespace ff::client {

MintedIds mint_ids(Request& request) {
    MintedIds out;
    const auto mint_flow = [&](std::optional<FlowId>& id) {
        if (!id) {
            id = out.flow = FlowId{new_uuid()};
        }
    };
    const auto mint_signal = [&](std::optional<SignalId>& id) {
        if (!id) {
            id = out.signal = SignalId{new_uuid()};
        }
    };
    if (auto* create = ff::get_if<CreateFlow>(&request)) {
        mint_flow(create->flow_id);
    } else if (auto* submit = ff::get_if<SubmitFlow>(&request)) {
        mint_flow(submit->flow_id);
    } else if (auto* stage = ff::get_if<StageDependencyEdge>(&request)) {
        if (!stage->edge_id) {
            stage->edge_id = out.edge = EdgeId{new_uuid()};
            out.staged_revision = stage->expected_graph_revision + 1;
        }
    } else if (auto* spawn = ff::get_if<SpawnChildren>(&request)) {
        for (FlowNode& node : spawn->nodes) {
            if (!node.execution.execution_id) {
                // In the partition of the caller, which is its flow's.
                node.execution.execution_id =
                    ExecutionId{spawn->lease.execution_id.partition, new_uuid()};
            }
        }
    } else if (auto* signal = ff::get_if<DeliverSignal>(&request)) {
        mint_signal(signal->signal_id);
    } else if (auto* webhook = ff::get_if<CreateWebhook>(&request)) {
        if (!webhook->webhook_id) {
            webhook->webhook_id = out.webhook = WebhookId{new_uuid()};
        }
        if (webhook->secret_hex.empty()) {
            SystemIdSource ids;
            webhook->secret_hex = out.webhook_secret_hex = core::made_webhook_secret_hex(ids);
        }
    } else if (auto* approval = ff::get_if<DeliverApprovalSignal>(&request)) {
        mint_signal(approval->signal_id);
    }
    return out;
}

Response settle(const MintedIds& minted, Response response) {
    if (!response) {
        if (minted.edge && response.error().code == ErrorCode::dependency_already_exists) {
            return Reply(StageEdgeResult{*minted.edge, minted.staged_revision});
        }
        return response;
    }
    if (minted.signal) {
        auto* delivered = ff::get_if<SignalResult>(&*response);
        if (delivered != nullptr && delivered->signal_id == *minted.signal) {
            delivered->duplicate = false;
        }
    }
    if (auto* made = ff::get_if<CreateWebhookResult>(&*response)) {
        made->created = made->created || minted.webhook;
        if (made->created) {
            made->secret_hex = minted.webhook_secret_hex;
        }
    }
    if (minted.flow) {
        if (auto* made = ff::get_if<CreateFlowResult>(&*response)) {
            made->created = true;
        } else if (auto* submitted = ff::get_if<SubmitFlowResult>(&*response)) {
            submitted->created = true;
        }
    }
    return response;
}

}  // namespace ff::client
