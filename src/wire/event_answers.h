// Answers of events and webhooks.
#pragma once

#include <ff/events.h>
#include <ff/webhooks.h>

#include "wire/object.h"

namespace ff::wire {

template <class V>
void describe(V& v, WebhookInfo& webhook) {
    v.field("webhook_id", webhook.webhook_id);
    v.field("url", webhook.url);
    v.field("family", webhook.family);
    v.field("filter", webhook.filter);
    v.field("paused", webhook.paused);
    v.field("cursor", webhook.cursor);
    v.field("delivered", webhook.delivered);
    v.field("failures", webhook.failures);
    v.field("missed_gaps", webhook.missed_gaps);
    v.field("next_try_at", webhook.next_try_at);
    v.field("last_success_at", webhook.last_success_at);
    v.field("last_failure_at", webhook.last_failure_at);
    v.field("last_error", webhook.last_error);
    v.field("created_at", webhook.created_at);
}

template <class V>
void describe(V& v, EventGap& gap) {
    v.field("missed_from", gap.missed_from);
    v.field("oldest", gap.oldest);
}

template <class V>
void describe(V& v, EventFault& fault) {
    v.field("cursor", fault.cursor);
    v.field("message", fault.message);
}

expected<EventPage> result_of(const ReadEvents& op, const json& body);
expected<EventPage> result_of(const ReadTimeline& op, const json& body);
expected<CreateWebhookResult> result_of(const CreateWebhook& op, const json& body);
expected<WebhookPage> result_of(const ListWebhooks& op, const json& body);
expected<std::optional<WebhookInfo>> result_of(const DescribeWebhook& op, const json& body);
expected<WebhookInfo> result_of(const PauseWebhook& op, const json& body);
expected<Done> result_of(const DeleteWebhook& op, const json& body);
expected<std::optional<WebhookErrand>> result_of(const ClaimWebhook& op, const json& body);
expected<WebhookInfo> result_of(const SettleWebhook& op, const json& body);

}  // namespace ff::wire
