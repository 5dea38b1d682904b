// What tests of the worker stand on: an engine in memory behind a FaultyEngine, one clock for both
// that only the test moves, and the lines that were logged.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/client.h>
#include <ff/worker.h>

#include "support/eventually.h"
#include "support/faulty_engine.h"

namespace ff::worker::test {

using ff::support::always;
using ff::support::eventually;
using ff::support::FaultyEngine;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

/// Keeps lines. Any thread.
class Lines {
  public:
    void add(Severity severity, std::string_view line) {
        const std::lock_guard lock(mutex_);
        lines_.push_back(std::string(to_string(severity)) + ": " + std::string(line));
    }
    [[nodiscard]] bool contain(std::string_view part) const { return count(part) > 0; }
    [[nodiscard]] std::size_t count(std::string_view part) const {
        const std::lock_guard lock(mutex_);
        return static_cast<std::size_t>(std::ranges::count_if(
            lines_, [part](const std::string& line) { return line.contains(part); }));
    }
    [[nodiscard]] std::string all() const {
        const std::lock_guard lock(mutex_);
        std::string text;
        for (const std::string& line : lines_) {
            text += line + "\n";
        }
        return text;
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;  // guarded by mutex_
};

/// A door that handlers wait at until the test opens it.
class Gate {
  public:
    void open() {
        open_ = true;
        open_.notify_all();
    }
    void pass() {
        inside_ += 1;
        open_.wait(false);
        inside_ -= 1;
    }
    [[nodiscard]] int waiting() const { return inside_; }

  private:
    std::atomic<bool> open_{false};
    std::atomic<int> inside_{0};
};

/// A clock that tells until when somebody sleeps by it.
class WatchedClock final : public Clock {
  public:
    explicit WatchedClock(std::shared_ptr<Clock> inner) : inner_(std::move(inner)) {}
    TimestampMs now() override { return inner_->now(); }
    DurationMs sleep_hint(TimestampMs due) override {
        {
            const std::lock_guard lock(mutex_);
            asked_.insert(due);
        }
        return inner_->sleep_hint(due);
    }
    std::uint64_t subscribe(std::function<void()> listener) override {
        return inner_->subscribe(std::move(listener));
    }
    void unsubscribe(std::uint64_t token) override { inner_->unsubscribe(token); }

    /// Has somebody gone to sleep until then?
    [[nodiscard]] bool asked(TimestampMs due) const {
        const std::lock_guard lock(mutex_);
        return asked_.contains(due);
    }

  private:
    const std::shared_ptr<Clock> inner_;
    mutable std::mutex mutex_;
    std::set<TimestampMs> asked_;  // guarded by mutex_
};

class WorkerTest : public ::testing::Test {
  protected:
    WorkerTest() {
        EngineOptions options;
        options.clock = clock;
        auto opened = Engine::open("memory:", options);
        EXPECT_TRUE(opened) << opened.error().message();
        engine = std::make_shared<FaultyEngine>(*opened);
        client = std::make_unique<Client>(engine, ClientOptions{"acme", "", clock});
    }

    /// Options of a worker `w` of namespace `acme` on lane `default`.
    WorkerOptions options() {
        WorkerOptions out;
        out.worker_id = "w";
        out.worker_instance_id = "w-1";
        out.ns = "acme";
        out.lanes = {"default"};
        out.clock = clock;
        out.log = [lines = lines](Severity severity, std::string_view line) {
            lines->add(severity, line);
        };
        return out;
    }
    /// Starts it; it must start.
    static void start(Worker& worker) {
        const auto started = worker.start();
        ASSERT_TRUE(started) << started.error().message();
    }
    ExecutionId submit(const Submit& request) { return client->submit(request).id(); }
    /// How it ended; it must end soon.
    Finished wait(const ExecutionId& id) {
        auto done = client->try_wait(id, 30s);
        EXPECT_TRUE(done) << done.error().message() << "\n" << lines->all();
        return done ? *done : Finished{};
    }
    [[nodiscard]] PublicState state(const ExecutionId& id) const {
        return client->inspect(id)->info.public_state;
    }
    /// The workers the registry knows.
    [[nodiscard]] std::size_t registered() const { return client->workers().all().size(); }

    std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
    std::shared_ptr<Lines> lines = std::make_shared<Lines>();
    std::shared_ptr<FaultyEngine> engine;
    std::unique_ptr<Client> client;
};

}  // namespace ff::worker::test
