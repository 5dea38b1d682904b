// Events of a family, as pages and as server-sent events; timelines; webhooks.
#include "core/webhook_host.h"
#include "http/event_stream.h"
#include "http/operation_route.h"
#include "http/routes.h"
#include "wire/event_answers.h"
#include "wire/event_values.h"

namespace ff::http {

namespace {

/// Events that go out together in a stream.
constexpr std::uint64_t events_per_part = 256;

bool spell_events(ReadEvents& op, EventPage& page, std::string& out) {
    if (page.gap) {
        std::string data;
        wire::write_object(data, *page.gap);
        add_event(out, page.gap->missed_from.hex(), "gap", data);
    }
    for (const Event& event : page.events) {
        std::string data;
        wire::write_event(data, event);
        add_event(out, event.cursor.hex(), event.type, data);
    }
    if (page.fault) {
        std::string data;
        wire::write_object(data, *page.fault);
        add_event(out, page.fault->cursor.hex(), "corruption", data);
    }
    if (out.empty() && page.at_end) {
        // The place moves on also when nothing was wanted: who comes back begins here.
        out += ": nothing new\nid: " + page.next_cursor.hex() + "\n\n";
    }
    op.cursor = page.next_cursor;
    return false;
}

void read_events(Service& service, Exchange exchange) {
    auto op = read_operation<ReadEvents>(exchange);
    if (!op) {
        return;
    }
    if (exchange.wants_events && exchange.last_event_id) {
        auto place = EventCursor::from_hex(*exchange.last_event_id);
        if (!place) {
            exchange.answer(wire::write_error(place.error(), ReadEvents::name));
            return;
        }
        op->cursor = *place;
    }
    std::shared_ptr<Permit> permit;
    if (exchange.wants_events || op->block_ms > 0) {
        const std::size_t most = service.options().event_streams_max;
        if (service.draining()) {
            exchange.answer(wire::write_error({ErrorCode::shutting_down, {}, {}}));
            return;
        }
        permit = Permit::take(service.event_streams(), most);
        if (!permit) {
            exchange.answer(no_permit("event_streams", most));
            return;
        }
    }
    if (exchange.wants_events) {
        op->limit = events_per_part;
        stream_from(service, std::move(exchange), std::move(*op), std::move(permit), &spell_events);
        return;
    }
    op->abandoned = exchange.gone;
    service.engine().async(
        std::move(*op), [permit = std::move(permit),
                         respond = std::move(exchange.respond)](expected<EventPage> page) mutable {
            respond_with<ReadEvents>(std::move(respond), std::move(page), std::move(permit));
        });
}

template <class Op>
std::string about_webhook(const Op& op) {
    return "webhook_id=" + op.webhook_id.to_string();
}

}  // namespace

void add_event_routes(Router& router, Service& service) {
    Route route = route_of<ReadEvents>();
    route.waits = true;
    route.handler = [&service](Exchange& exchange) { read_events(service, std::move(exchange)); };
    router.add(std::move(route));

    add_operation<ReadTimeline>(router, service);
    add_operation<ListWebhooks>(router, service, Access::admin);
    add_operation<DescribeWebhook>(router, service, Access::admin);
    add_audited<CreateWebhook>(
        router, service,
        [](const CreateWebhook& op) {
            return "host=" + std::string(core::webhook_host(op.url)) +
                   " family=" + std::string(to_string(op.family));
        },
        Access::admin);
    add_audited<PauseWebhook>(
        router, service,
        [](const PauseWebhook& op) {
            return about_webhook(op) + " paused=" + (op.paused ? "true" : "false");
        },
        Access::admin);
    add_audited<DeleteWebhook>(router, service, &about_webhook<DeleteWebhook>, Access::admin);
}

}  // namespace ff::http
