// A store that is looked at, as an engine that answers reads and refuses all else.
//
// It takes no lock and changes nothing, so it works beside the process that has the store open.
// One thread: calls are answered before they return.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "cli/read_only_store.h"

namespace ff::cli {

class ReadingEngine final : public Engine {
  public:
    /// `text` as for ReadOnlyStore::open, with its errors.
    static expected<std::shared_ptr<ReadingEngine>> open(const std::string& text);

    void call(Request request, DoneFn done) override;
    void call_many(std::vector<Request> requests,
                   std::move_only_function<void(std::vector<Response>)> done) override;
    Response run_any(Request request) override;
    std::vector<Response> run_many(std::vector<Request> requests) override;
    [[nodiscard]] EngineStats stats() const override { return {}; }
    [[nodiscard]] TimestampMs now() const override { return clock_->now(); }
    void stop() override {}

    /// For questions that are no operations.
    [[nodiscard]] ReadOnlyStore& store() const { return *store_; }
    /// A fault of the store in the words of its database.
    [[nodiscard]] Error explained(Error error) const;

  private:
    explicit ReadingEngine(std::unique_ptr<ReadOnlyStore> store);

    std::unique_ptr<ReadOnlyStore> store_;
    std::shared_ptr<ff::Clock> clock_;  ///< by which the store's engines decide
};

}  // namespace ff::cli
