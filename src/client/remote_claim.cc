// Claims over HTTP. A request waits at most 30 seconds and brings at most 64 tasks; a claim may ask
// for more of both, so it is asked in several.
#include <algorithm>

#include "client/remote_engine.h"
#include "wire/answers.h"
#include "wire/request_out.h"

namespace ff::client {

namespace {

class Polling : public std::enable_shared_from_this<Polling> {
  public:
    Polling(RemoteEngine& engine, Claim claim, Engine::DoneFn done)
        : engine_(engine),
          claim_(std::move(claim)),
          left_ms_(claim_.max_wait_ms),
          done_(std::move(done)) {}

    void ask() {
        Claim next = claim_;
        next.max_wait_ms = std::min<DurationMs>(left_ms_, wire::block_ms_max);
        next.max_tasks = std::min<std::uint32_t>(
            claim_.max_tasks - static_cast<std::uint32_t>(got_.tasks.size()), wire::poll_tasks_max);
        const auto timeout =
            engine_.options().request_timeout + std::chrono::milliseconds(next.max_wait_ms + 5'000);
        const DurationMs waits = next.max_wait_ms;
        const Answers answers = waits > 0 ? Answers::when_it_likes : Answers::promptly;
        engine_.http().send(wire::write_request(Request(std::in_place_type<Claim>, next)), answers,
                            timeout, claim_.abandoned,
                            [self = shared_from_this(), waits](auto received) {
                                self->heard(std::move(received), waits);
                            });
    }

  private:
    void heard(expected<wire::Received> received, DurationMs waited) {
        if (!received) {
            // An engine that stops lets its waiting claims go empty, here as elsewhere.
            const bool given_up =
                !received.error().field("given_up").empty() ||
                (claim_.max_wait_ms > 0 && received.error().code == ErrorCode::shutting_down);
            finish(given_up ? Response(std::move(got_))
                            : Response(std::unexpected(std::move(received).error())));
            return;
        }
        auto response = wire::read_answer(Request(std::in_place_type<Claim>, claim_), *received);
        if (!response) {
            finish(std::move(response));
            return;
        }
        auto& tasks = ff::get<ClaimResult>(*response).tasks;
        const bool some = !tasks.empty();
        std::ranges::move(tasks, std::back_inserter(got_.tasks));
        left_ms_ = some ? 0 : left_ms_ - waited;
        const bool more =
            some && tasks.size() == wire::poll_tasks_max && got_.tasks.size() < claim_.max_tasks;
        const bool wait_on =
            !some && left_ms_ > 0 && got_.tasks.empty() && !claim_.abandoned.stop_requested();
        if (more || wait_on) {
            ask();
        } else {
            finish(Response(std::move(got_)));
        }
    }

    /// What was taken is handed out even if the next request failed.
    void finish(Response response) {
        if (!response && !got_.tasks.empty()) {
            response = Response(std::move(got_));
        }
        done_(std::move(response));
    }

    RemoteEngine& engine_;
    const Claim claim_;
    DurationMs left_ms_;
    ClaimResult got_;
    Engine::DoneFn done_;
};

}  // namespace

void send_claim(RemoteEngine& engine, Claim claim, Engine::DoneFn done) {
    if (claim.abandoned.stop_requested()) {
        claim.max_wait_ms = 0;  // it may have what is there
        claim.abandoned = {};
    }
    std::make_shared<Polling>(engine, std::move(claim), std::move(done))->ask();
}

}  // namespace ff::client
