// Server-sent events: a body that is made of what a read of the engine finds, asked again and again
// with the place where it ended.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/permit.h"
#include "http/service.h"
#include "wire/message.h"

namespace ff::http {

/// One event of a stream. `data` is one line.
void add_event(std::string& out, std::string_view id, std::string_view type, std::string_view data);

/// What a stream begins with: how long to wait before connecting again.
inline constexpr std::string_view stream_opening = "retry: 1000\n\n";
/// How long a stream is silent; then a comment says that it is alive.
inline constexpr DurationMs stream_silence_ms = 15'000;

/// The answer that begins a stream; without parts it is all of it.
wire::Answer begin_stream(std::string text, std::shared_ptr<wire::BodyParts> parts);

/// `Op` waits in the engine (`block_ms`, `abandoned`). `Spell` writes what it answered, moves the
/// operation on and says whether that was the end.
template <class Op>
class EventStream final : public wire::BodyParts,
                          public std::enable_shared_from_this<EventStream<Op>> {
  public:
    using Page = typename Op::Result;
    using Spell = bool (*)(Op& op, Page& page, std::string& out);

    EventStream(Service& service, std::shared_ptr<Permit> permit, Op op, std::stop_token gone,
                Spell spell)
        : service_(service),
          permit_(std::move(permit)),
          op_(std::move(op)),
          gone_(std::move(gone)),
          spell_(spell) {
        op_.abandoned = gone_;
        op_.block_ms = stream_silence_ms;
    }

    void next(std::move_only_function<void(wire::BodyPart)> give) override {
        service_.engine().async(op_, [self = this->shared_from_this(),
                                      give = std::move(give)](expected<Page> page) mutable {
            wire::BodyPart part = self->part_of(std::move(page));
            // Not ours any more: a client that has heard the end may ask for the place at once.
            self.reset();
            give(std::move(part));
        });
    }

  private:
    wire::BodyPart part_of(expected<Page> page) {
        wire::BodyPart part;
        if (!page) {
            if (page.error().code != ErrorCode::shutting_down) {
                add_event(part.text, {}, "error", wire::write_error(page.error(), Op::name).body);
            }
            part.last = true;
        } else {
            part.last = spell_(op_, *page, part.text);
            if (part.last) {
                return part;  // it has said so itself
            }
        }
        if (part.last || gone_.stop_requested() || service_.draining()) {
            add_event(part.text, {}, "bye", "{}");
            part.last = true;
        }
        return part;
    }

    Service& service_;
    const std::shared_ptr<Permit> permit_;
    Op op_;
    const std::stop_token gone_;
    const Spell spell_;
};

/// Begins a stream with a page, so that what is wrong with the request, or with the engine, is told
/// as such.
template <class Op>
void stream_from(Service& service, Exchange exchange, Op op, std::shared_ptr<Permit> permit,
                 typename EventStream<Op>::Spell spell) {
    op.block_ms = 0;
    service.engine().async(
        op, [&service, op, spell, permit = std::move(permit), gone = std::move(exchange.gone),
             respond = std::move(exchange.respond)](expected<typename Op::Result> page) mutable {
            respond([&service, op = std::move(op), spell, permit = std::move(permit),
                     gone = std::move(gone), page = std::move(page)](Client) mutable {
                if (!page) {
                    permit.reset();
                    return wire::write_error(page.error(), Op::name);
                }
                std::string text;
                const bool last = spell(op, *page, text);
                text.insert(0, stream_opening);
                std::shared_ptr<wire::BodyParts> parts;
                if (!last) {
                    parts = std::make_shared<EventStream<Op>>(
                        service, std::move(permit), std::move(op), std::move(gone), spell);
                }
                permit.reset();  // before the client can hear the end
                return begin_stream(std::move(text), std::move(parts));
            });
        });
}

}  // namespace ff::http
