// The requests of events and webhooks, described once like those of requests.h.
#pragma once

#include <type_traits>

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

FF_BIND(ReadEvents, get, "/v1/events/{family}", control,
        "Events of a family behind a place; may wait for the first")
FF_BIND(ReadTimeline, get, "/v1/executions/{id}/timeline", control,
        "What happened to an execution, of every family")
FF_BIND(CreateWebhook, post, "/v1/webhooks", control, "Send events of a family to an address")
FF_BIND(ListWebhooks, get, "/v1/webhooks", control, "Webhooks and how they fare")
FF_BIND(DescribeWebhook, get, "/v1/webhooks/{webhook_id}", control, "One webhook")
FF_BIND(PauseWebhook, put, "/v1/webhooks/{webhook_id}/paused", control,
        "Stop deliveries, or go on where they stopped")
FF_BIND(DeleteWebhook, delete_, "/v1/webhooks/{webhook_id}", control, "Forget a webhook")

/// Those that only an engine in the same process takes.
template <class Op>
inline constexpr bool is_local =
    std::is_same_v<Op, ClaimWebhook> || std::is_same_v<Op, SettleWebhook>;

// Never written, but there for whoever visits every operation.
inline void describe_request(RequestVisitor& /*v*/, ClaimWebhook& /*op*/) {}
inline void describe_request(RequestVisitor& /*v*/, SettleWebhook& /*op*/) {}

}  // namespace ff::wire
