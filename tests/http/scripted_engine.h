// An engine that answers what a test tells it to, when the test tells it to.
//
// Calls may come from any thread; they are kept until the test answers them, unless there is an
// answer for all.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include <ff/engine.h>

namespace ff::http::test {

class ScriptedEngine final : public Engine {
  public:
    /// Every call nobody has taken, and from here on every call, is answered with this.
    void answer_all(Response response);

    /// Waits for the next call and takes it out; fails the test when none comes.
    struct Call {
        Request request;
        DoneFn done;
    };
    Call next();
    /// How many calls nobody has taken.
    [[nodiscard]] std::size_t waiting();

    void call(Request request, DoneFn done) override;
    void call_many(std::vector<Request> requests,
                   std::move_only_function<void(std::vector<Response>)> done) override;
    [[nodiscard]] EngineStats stats() const override { return {}; }
    void stop() override {}

  private:
    std::mutex mutex_;
    std::condition_variable came_;
    std::optional<Response> for_all_;  // guarded by mutex_
    std::vector<Call> calls_;          // guarded by mutex_
};

}  // namespace ff::http::test
