// Requests that wait for something nobody tells of: the same question, asked again and again from
// the connection's own timer until there is an answer. No thread waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "http/exchange.h"
#include "http/service.h"
#include "wire/errors.h"

namespace ff::http {

/// Why a watch must come to an answer now.
enum class Over : std::uint8_t { no, time, stopping };

template <class Op>
class Watch : public std::enable_shared_from_this<Watch<Op>> {
  public:
    /// Looks at what the engine said; nothing to go on waiting, which it may only as long as it is
    /// not over. Called on the connection's thread.
    using Judge = std::move_only_function<std::optional<wire::Answer>(
        expected<typename Op::Result>&, Over over)>;

    /// Answers 429 when as many wait already as may.
    static void start(Service& service, Exchange exchange, Op op, std::chrono::milliseconds most,
                      Judge judge) {
        const std::size_t waiters_max = service.options().polls_max;
        if (!service.polls().take(waiters_max)) {
            exchange.answer(wire::write_error(
                {ErrorCode::too_many_waiters,
                 "too many concurrent poll calls (server max: " + std::to_string(waiters_max) +
                     "); retry with backoff",
                 {}}));
            return;
        }
        std::shared_ptr<Watch>(
            new Watch(service, std::move(exchange), std::move(op), most, std::move(judge)))
            ->ask();
    }
    ~Watch() { service_.polls().give_back(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds pause{100};

    Watch(Service& service, Exchange exchange, Op op, std::chrono::milliseconds most, Judge judge)
        : service_(service),
          respond_(std::move(exchange.respond)),
          gone_(std::move(exchange.gone)),
          later_(std::move(exchange.later)),
          op_(std::move(op)),
          until_(Clock::now() + most),
          judge_(std::move(judge)) {}

    void ask() {
        service_.engine().async(
            op_, [self = this->shared_from_this()](expected<typename Op::Result> found) mutable {
                // Engine threads hand answers out and do nothing else.
                const Later later = self->later_;  // its own may be gone before the call returns
                later(std::chrono::milliseconds::zero(),
                      [self = std::move(self), found = std::move(found)]() mutable {
                          self->heard(found);
                      });
            });
    }

    void heard(expected<typename Op::Result>& found) {
        const auto left = until_ - Clock::now();
        Over over = Over::no;
        if (gone_.stop_requested() || service_.draining()) {
            over = Over::stopping;
        } else if (left <= Clock::duration::zero()) {
            over = Over::time;
        }
        if (auto answer = judge_(found, over)) {
            respond_([answer = std::move(*answer)](Client) mutable { return std::move(answer); });
            return;
        }
        const auto next = std::chrono::ceil<std::chrono::milliseconds>(left);
        later_(std::min(pause, next), [self = this->shared_from_this()] { self->ask(); });
    }

    Service& service_;
    Respond respond_;
    const std::stop_token gone_;
    const Later later_;
    const Op op_;
    const Clock::time_point until_;
    Judge judge_;
};

}  // namespace ff::http
