#include "cli/reading_engine.h"

#include <fmt/core.h>

#include <utility>

#include <ff/clock.h>

#include "engine/reads.h"

namespace ff::cli {

expected<std::shared_ptr<ReadingEngine>> ReadingEngine::open(const std::string& text) {
    FF_TRY(auto store, ReadOnlyStore::open(text));
    return std::shared_ptr<ReadingEngine>(new ReadingEngine(std::move(store)));
}

ReadingEngine::ReadingEngine(std::unique_ptr<ReadOnlyStore> store)
    : store_(std::move(store)), clock_(store_->clock()) {
    if (!clock_) {
        clock_ = std::make_shared<SystemClock>();
    }
}

Error ReadingEngine::explained(Error error) const {
    if (error.code != ErrorCode::store_corrupt) {
        return error;
    }
    return {ErrorCode::store_corrupt,
            fmt::format("{} is damaged or cut short ({}); see ff doctor", store_->info().location,
                        store_->words_of(error)),
            {}};
}

Response ReadingEngine::run_any(Request request) {
    const engine::ReadContext context{*store_, now()};
    if (!engine::is_read_request(request)) {
        return ff::fail(ErrorCode::internal, "this store was opened to read only");
    }
    Response response = engine::answer_any(request, context);
    if (!response) {
        return std::unexpected(explained(std::move(response).error()));
    }
    return response;
}

std::vector<Response> ReadingEngine::run_many(std::vector<Request> requests) {
    std::vector<Response> out;
    out.reserve(requests.size());
    for (Request& request : requests) {
        out.push_back(run_any(std::move(request)));
    }
    return out;
}

void ReadingEngine::call(Request request, DoneFn done) { done(run_any(std::move(request))); }

void ReadingEngine::call_many(std::vector<Request> requests,
                              std::move_only_function<void(std::vector<Response>)> done) {
    done(run_many(std::move(requests)));
}

}  // namespace ff::cli
