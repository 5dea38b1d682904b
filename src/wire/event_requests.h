// The requests of events and webhooks, described once like those of requests.h.
#pragma once

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

template <class V>
void describe_request(V& v, ReadEvents& op) {
    v.family(op.family);
    v.query_defaulted("cursor", op.cursor);
    v.query_optional("namespace", op.filter.ns);
    v.query_optional("tag", op.filter.tag);
    v.query_optional("execution_id", op.filter.execution_id);
    v.query_optional("flow_id", op.filter.flow_id);
    v.query_count("limit", op.limit, events_per_read_max);
    v.query_defaulted("block_ms", op.block_ms);
}

template <class V>
void describe_request(V& v, ReadTimeline& op) {
    v.id(op.execution_id);
    v.query_defaulted("cursor", op.cursor);
    v.query_count("limit", op.limit, events_per_read_max);
}

template <class V>
void describe_request(V& v, CreateWebhook& op) {
    v.optional("webhook_id", op.webhook_id);
    v.required("url", op.url);
    v.required("family", op.family);
    v.sparse("filter", op.filter);
    v.sparse("cursor", op.cursor);
    v.sparse("secret_hex", op.secret_hex);
}

template <class V>
void describe_request(V& v, ListWebhooks& op) {
    v.query_optional("cursor", op.after);
    v.query_limit(op.limit, 100, webhooks_per_page_max);
}

template <class V>
void describe_request(V& v, DescribeWebhook& op) {
    v.path_id("webhook_id", op.webhook_id);
}

template <class V>
void describe_request(V& v, PauseWebhook& op) {
    v.path_id("webhook_id", op.webhook_id);
    v.required("paused", op.paused);
}

template <class V>
void describe_request(V& v, DeleteWebhook& op) {
    v.path_id("webhook_id", op.webhook_id);
}

// Never written, but there for whoever visits every operation.
template <class V, class Op>
    requires is_local<Op>
void describe_request(V&, Op&) {}

}  // namespace ff::wire
