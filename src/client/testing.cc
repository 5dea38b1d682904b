#include <ff/testing.h>

#include <utility>

#include <ff/exception.h>

namespace ff::testing {

Engine::Engine(EngineOptions options) {
    options.clock = clock_;
    options.background = true;
    inner_ = value_or_throw(ff::Engine::open("memory:", options));
}

void Engine::advance(DurationMs ms) {
    clock_->advance(ms);
    // The first answer comes when all due work is done, the second one after the periodic passes
    // that follow it.
    for (int i = 0; i < 2; ++i) {
        (void)value_or_throw(inner_->run(RunScanner{"lease_expiry"}));
    }
}

void Engine::call(Request request, DoneFn done) {
    inner_->call(std::move(request), std::move(done));
}

void Engine::call_many(std::vector<Request> requests,
                       std::move_only_function<void(std::vector<Response>)> done) {
    inner_->call_many(std::move(requests), std::move(done));
}

Response Engine::run_any(Request request) { return inner_->run_any(std::move(request)); }
EngineStats Engine::stats() const { return inner_->stats(); }
void Engine::stop() { inner_->stop(); }

}  // namespace ff::testing
