#include "wire/event_answers.h"

#include "wire/answer_in.h"
#include "wire/answer_out.h"
#include "wire/event_values.h"

namespace ff::wire {

namespace {

std::string events_text(const std::vector<Event>& events) {
    std::string out = "[";
    for (const Event& event : events) {
        out += &event == events.data() ? "" : ",";
        write_event(out, event);
    }
    return out + "]";
}

expected<std::vector<Event>> events_of(const json& body, std::string_view name) {
    const json* list = body.find(name);
    if (list == nullptr || list->if_array() == nullptr) {
        return std::unexpected(strange(": no " + std::string(name)));
    }
    std::vector<Event> out;
    for (const json& item : *list->if_array()) {
        if (const Fault fault = read_event(item, out.emplace_back()); !fault.empty()) {
            return std::unexpected(strange(": event" + fault));
        }
    }
    return out;
}

}  // namespace

// ------------------------------------------------------------------------------------ writing

template <>
Answer write_answer<ReadEvents>(const EventPage& page) {
    std::string out;
    ObjectOut object(out);
    if (page.gap) {
        object.object("gap", *page.gap);
    }
    object.document("events", events_text(page.events));
    if (page.fault) {
        object.object("fault", *page.fault);
    }
    object.field("next_cursor", page.next_cursor);
    object.field("at_end", page.at_end);
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<ReadTimeline>(const EventPage& page) {
    std::string out;
    ObjectOut object(out);
    if (page.gap) {
        object.object("gap", *page.gap);
    }
    object.document("items", events_text(page.events));
    object.field("next_cursor", page.at_end ? std::nullopt : std::optional(page.next_cursor.hex()));
    object.close();
    return ok(std::move(out));
}

template <>
Answer write_answer<CreateWebhook>(const CreateWebhookResult& result) {
    std::string out;
    ObjectOut object(out);
    object.key(result.created ? "Created" : "AlreadySatisfied");
    ObjectOut inner(out);
    inner.field("webhook_id", result.webhook_id);
    if (!result.secret_hex.empty()) {
        inner.field("secret_hex", result.secret_hex);
    }
    inner.close();
    object.close();
    return {result.created ? 201 : 200, std::move(out), "application/json", {}};
}

template <>
Answer write_answer<ListWebhooks>(const WebhookPage& found) {
    return page(found.webhooks, found.next ? std::optional(found.next->to_string()) : std::nullopt);
}

template <>
Answer write_answer<DescribeWebhook>(const std::optional<WebhookInfo>& found) {
    if (!found) {
        return {404, R"({"error":"not found: webhook"})", "application/json", {}};
    }
    return plain(*found);
}

template <>
Answer write_answer<PauseWebhook>(const WebhookInfo& webhook) {
    return plain(webhook);
}

template <>
Answer write_answer<DeleteWebhook>(const Done&) {
    return ok("\"Deleted\"");
}

// ------------------------------------------------------------------------------------ reading

expected<EventPage> result_of(const ReadEvents&, const json& body) {
    EventPage out;
    if (const json* gap = body.find("gap")) {
        FF_TRY(out.gap, object_of<EventGap>(*gap));
    }
    FF_TRY(out.events, events_of(body, "events"));
    if (const json* fault = body.find("fault")) {
        FF_TRY(out.fault, object_of<EventFault>(*fault));
    }
    FF_TRY(out.next_cursor, field_of<EventCursor>(&body, "next_cursor"));
    FF_TRY(out.at_end, field_of<bool>(&body, "at_end"));
    return out;
}

expected<EventPage> result_of(const ReadTimeline& op, const json& body) {
    EventPage out;
    if (const json* gap = body.find("gap")) {
        FF_TRY(out.gap, object_of<EventGap>(*gap));
    }
    FF_TRY(out.events, events_of(body, "items"));
    const auto next = next_cursor_of(body);
    out.at_end = !next;
    out.next_cursor = out.events.empty() ? op.cursor : out.events.back().cursor;
    return out;
}

expected<CreateWebhookResult> result_of(const CreateWebhook&, const json& body) {
    const json* created = body.find("Created");
    const json* inner = created != nullptr ? created : body.find("AlreadySatisfied");
    CreateWebhookResult out;
    out.created = created != nullptr;
    FF_TRY(out.webhook_id, field_of<WebhookId>(inner, "webhook_id"));
    if (inner->find("secret_hex") != nullptr) {
        FF_TRY(out.secret_hex, field_of<std::string>(inner, "secret_hex"));
    }
    return out;
}

expected<WebhookPage> result_of(const ListWebhooks&, const json& body) {
    WebhookPage out;
    FF_TRY(out.webhooks, items_of<WebhookInfo>(body));
    if (const auto next = next_cursor_of(body)) {
        out.next = WebhookId::parse(*next);
    }
    return out;
}

expected<std::optional<WebhookInfo>> result_of(const DescribeWebhook&, const json& body) {
    return object_of<WebhookInfo>(body);
}

expected<WebhookInfo> result_of(const PauseWebhook&, const json& body) {
    return object_of<WebhookInfo>(body);
}

expected<Done> result_of(const DeleteWebhook&, const json&) { return Done{}; }

expected<std::optional<WebhookErrand>> result_of(const ClaimWebhook&, const json&) {
    return std::unexpected(strange(": nobody was asked"));
}

expected<WebhookInfo> result_of(const SettleWebhook&, const json&) {
    return std::unexpected(strange(": nobody was asked"));
}

}  // namespace ff::wire
