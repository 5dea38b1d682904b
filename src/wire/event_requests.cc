// The requests of events and webhooks: what their members are called.
#include "wire/event_requests.h"

#include "wire/request_visitor.h"

namespace ff::wire {

void describe_request(RequestVisitor& v, ReadEvents& op) {
    v.family(op.family);
    v.query_defaulted("cursor", op.cursor);
    v.query_optional("namespace", op.filter.ns);
    v.query_optional("tag", op.filter.tag);
    v.query_optional("execution_id", op.filter.execution_id);
    v.query_optional("flow_id", op.filter.flow_id);
    v.query_count("limit", op.limit, events_per_read_max);
    v.query_defaulted("block_ms", op.block_ms);
}

void describe_request(RequestVisitor& v, ReadTimeline& op) {
    v.id(op.execution_id);
    v.query_defaulted("cursor", op.cursor);
    v.query_count("limit", op.limit, events_per_read_max);
}

void describe_request(RequestVisitor& v, CreateWebhook& op) {
    v.optional("webhook_id", op.webhook_id);
    v.required("url", op.url);
    v.required("family", op.family);
    v.sparse("filter", op.filter);
    v.sparse("cursor", op.cursor);
    v.sparse("secret_hex", op.secret_hex);
}

void describe_request(RequestVisitor& v, ListWebhooks& op) {
    v.query_optional("cursor", op.after);
    v.query_limit(op.limit, 100, webhooks_per_page_max);
}

void describe_request(RequestVisitor& v, DescribeWebhook& op) {
    v.path_id("webhook_id", op.webhook_id);
}

void describe_request(RequestVisitor& v, PauseWebhook& op) {
    v.path_id("webhook_id", op.webhook_id);
    v.required("paused", op.paused);
}

void describe_request(RequestVisitor& v, DeleteWebhook& op) {
    v.path_id("webhook_id", op.webhook_id);
}

}  // namespace ff::wire
