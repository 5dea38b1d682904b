#include "http/scripted_engine.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "http/raw_client.h"

namespace ff::http::test {

void ScriptedEngine::answer_all(Response response) {
    std::vector<Call> waiting;
    {
        const std::lock_guard lock(mutex_);
        for_all_ = response;
        waiting.swap(calls_);
    }
    for (Call& call : waiting) {
        call.done(response);
    }
}

ScriptedEngine::Call ScriptedEngine::next() {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, patience, [this] { return !calls_.empty(); })) {
        ADD_FAILURE() << "the engine was not called";
        std::abort();  // the test waits for what will not come
    }
    Call call = std::move(calls_.front());
    calls_.erase(calls_.begin());
    return call;
}

std::size_t ScriptedEngine::waiting() {
    const std::lock_guard lock(mutex_);
    return calls_.size();
}

void ScriptedEngine::call(Request request, DoneFn done) {
    std::optional<Response> response;
    {
        const std::lock_guard lock(mutex_);
        response = for_all_;
        if (!response) {
            calls_.push_back({std::move(request), std::move(done)});
        }
    }
    if (response) {
        done(std::move(*response));
    } else {
        came_.notify_all();
    }
}

void ScriptedEngine::call_many(std::vector<Request> requests,
                               std::move_only_function<void(std::vector<Response>)> done) {
    const std::lock_guard lock(mutex_);
    done(std::vector<Response>(requests.size(), for_all_.value_or(Response(Done{}))));
}

}  // namespace ff::http::test
