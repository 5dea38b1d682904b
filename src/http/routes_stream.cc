// Attempt streams: appending under a lease, pages, and tails that may wait.
#include "http/event_stream.h"
#include "http/operation_route.h"
#include "http/routes.h"
#include "wire/object.h"
#include "wire/stream_answers.h"

namespace ff::http {

namespace {

/// Answers by itself and gives nothing when there is none to be had.
std::shared_ptr<Permit> take_permit(Service& service, Exchange& exchange) {
    if (service.draining()) {
        exchange.answer(wire::write_error({ErrorCode::shutting_down, {}, {}}));
        return nullptr;
    }
    const std::size_t most = service.options().stream_ops_max;
    auto permit = Permit::take(service.stream_ops(), most);
    if (!permit) {
        exchange.answer(no_permit("stream_ops", most));
    }
    return permit;
}

template <class Op>
void read_stream(Service& service, Exchange exchange) {
    auto op = read_operation<Op>(exchange);
    if (!op) {
        return;
    }
    auto permit = take_permit(service, exchange);
    if (!permit) {
        return;
    }
    if constexpr (requires { op->abandoned; }) {
        op->abandoned = exchange.gone;
    }
    service.engine().async(
        std::move(*op), [permit = std::move(permit), respond = std::move(exchange.respond)](
                            expected<typename Op::Result> result) mutable {
            respond_with<Op>(std::move(respond), std::move(result), std::move(permit));
        });
}

template <class Op>
void add_read(Router& router, Service& service, bool waits) {
    Route route = route_of<Op>();
    route.waits = waits;
    route.handler = [&service](Exchange& exchange) {
        read_stream<Op>(service, std::move(exchange));
    };
    router.add(std::move(route));
}

/// The last thing a stream says is that it is closed.
bool spell_frames(TailStream& op, StreamPage& page, std::string& out) {
    for (const StreamFrame& frame : page.frames) {
        std::string data;
        wire::write_frame(data, frame);
        add_event(out, frame.id.to_string(), "frame", data);
        op.after = frame.id;
    }
    if (page.closed_at && page.frames.empty()) {
        std::string data;
        wire::ObjectOut object(data);
        object.field("closed_at", *page.closed_at);
        object.field("closed_reason", *page.closed_reason);
        object.close();
        add_event(out, {}, "closed", data);
        return true;
    }
    if (out.empty()) {
        out += ": nothing new\n\n";
    }
    return false;
}

void follow_stream(Service& service, Exchange exchange) {
    auto op = read_operation<TailStream>(exchange);
    if (!op) {
        return;
    }
    if (exchange.last_event_id) {
        auto place = FrameCursor::parse(*exchange.last_event_id);
        if (!place) {
            exchange.answer(wire::write_error(place.error(), TailStream::name));
            return;
        }
        op->after = *place;
    }
    auto permit = take_permit(service, exchange);
    if (!permit) {
        return;
    }
    stream_from(service, std::move(exchange), std::move(*op), std::move(permit), &spell_frames);
}

}  // namespace

void add_stream_routes(Router& router, Service& service) {
    add_operation<AppendFrames>(router, service);
    add_read<ReadStream>(router, service, false);
    add_read<TailStream>(router, service, true);
    add_read<ReadStreamSummary>(router, service, false);

    Route route = route_of<TailStream>();
    route.path = "/v1/executions/{id}/attempts/{idx}/stream/sse";
    route.operation = "follow_stream";
    route.summary = "Frames as they come, as server-sent events";
    route.waits = true;
    route.handler = [&service](Exchange& exchange) { follow_stream(service, std::move(exchange)); };
    router.add(std::move(route));
}

}  // namespace ff::http
