// An engine that does as it is told: passes everything on to another one, and on the way refuses
// operations, loses answers or keeps calls waiting. It also remembers who asked what.
//
// Any thread may turn the knobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ff/engine.h>

namespace ff::support {

class FaultyEngine final : public Engine {
  public:
    /// The error a request is answered with, or nothing.
    using FaultFn = std::function<std::optional<Error>(const Request&)>;
    using DoneManyFn = std::move_only_function<void(std::vector<Response>)>;

    explicit FaultyEngine(std::shared_ptr<Engine> inner) : inner_(std::move(inner)) {}

    /// These do not happen.
    void refuse(FaultFn fault) {
        const std::lock_guard lock(mutex_);
        refuses_ = std::move(fault);
    }
    /// These happen, but who asked hears otherwise.
    void lose_answers(FaultFn fault) {
        const std::lock_guard lock(mutex_);
        loses_ = std::move(fault);
    }
    /// Claims are not given up, whatever their callers want.
    void keep_claims(bool kept) {
        const std::lock_guard lock(mutex_);
        keeps_claims_ = kept;
    }
    /// Calls with an operation of this name wait until let_go().
    void hold(std::string name) {
        const std::lock_guard lock(mutex_);
        held_name_ = std::move(name);
    }
    void let_go() {
        std::vector<std::move_only_function<void()>> waiting;
        {
            const std::lock_guard lock(mutex_);
            held_name_.clear();
            std::swap(waiting, held_);
        }
        for (auto& go : waiting) {
            go();
        }
    }
    [[nodiscard]] std::size_t holding() const {
        const std::lock_guard lock(mutex_);
        return held_.size();
    }
    /// How often an operation was asked for.
    [[nodiscard]] std::size_t count(const std::string& name) const {
        const std::lock_guard lock(mutex_);
        const auto found = counts_.find(name);
        return found == counts_.end() ? 0 : found->second;
    }
    /// The calls made so far, each the names of its operations.
    [[nodiscard]] std::vector<std::vector<std::string>> calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }
    /// The last request of a kind.
    template <class Op>
    [[nodiscard]] std::optional<Op> last() const {
        const std::lock_guard lock(mutex_);
        const auto found = last_.find(std::string(Op::name));
        return found == last_.end() ? std::nullopt : std::optional<Op>(ff::get<Op>(found->second));
    }

    void call(Request request, DoneFn done) override {
        std::vector<Request> one;
        one.push_back(std::move(request));
        call_many(std::move(one), [done = std::move(done)](std::vector<Response> all) mutable {
            done(std::move(all[0]));
        });
    }

    void call_many(std::vector<Request> requests, DoneManyFn done) override {
        if (wait_if_held(requests, done)) {
            return;
        }
        auto plan = std::make_shared<Plan>();
        plan->done = std::move(done);
        plan->answers.resize(requests.size(), Response(Done{}));
        std::vector<Request> passed;
        {
            const std::lock_guard lock(mutex_);
            for (std::size_t i = 0; i < requests.size(); ++i) {
                auto refused = refuses_ ? refuses_(requests[i]) : std::nullopt;
                if (refused) {
                    plan->answers[i] = std::unexpected(std::move(*refused));
                    continue;
                }
                plan->lost.push_back(loses_ ? loses_(requests[i]) : std::nullopt);
                plan->places.push_back(i);
                if (auto* claim = ff::get_if<Claim>(&requests[i]); claim && keeps_claims_) {
                    claim->abandoned = {};
                }
                passed.push_back(std::move(requests[i]));
            }
        }
        inner_->call_many(std::move(passed), [plan](std::vector<Response> answers) {
            for (std::size_t i = 0; i < answers.size(); ++i) {
                Response& place = plan->answers[plan->places[i]];
                place = plan->lost[i] ? Response(std::unexpected(*plan->lost[i]))
                                      : std::move(answers[i]);
            }
            plan->done(std::move(plan->answers));
        });
    }

    [[nodiscard]] EngineStats stats() const override { return inner_->stats(); }
    [[nodiscard]] TimestampMs now() const override { return inner_->now(); }
    void stop() override { inner_->stop(); }

  private:
    struct Plan {
        DoneManyFn done;
        std::vector<Response> answers;
        std::vector<std::size_t> places;         // of those passed on
        std::vector<std::optional<Error>> lost;  // of those passed on
    };

    bool wait_if_held(std::vector<Request>& requests, DoneManyFn& done) {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> names;
        for (const Request& request : requests) {
            names.emplace_back(operation_name(request));
        }
        const bool waits =
            !held_name_.empty() && std::ranges::find(names, held_name_) != names.end();
        for (std::size_t i = 0; i < names.size(); ++i) {
            counts_[names[i]] += 1;
            last_.insert_or_assign(names[i], requests[i]);
        }
        calls_.push_back(std::move(names));
        if (waits) {
            held_.emplace_back(
                [this, requests = std::move(requests), done = std::move(done)]() mutable {
                    call_many(std::move(requests), std::move(done));
                });
        }
        return waits;
    }

    const std::shared_ptr<Engine> inner_;
    mutable std::mutex mutex_;
    // Guarded by mutex_.
    FaultFn refuses_;
    FaultFn loses_;
    std::string held_name_;
    bool keeps_claims_ = false;
    std::vector<std::move_only_function<void()>> held_;
    std::map<std::string, std::size_t> counts_;
    std::map<std::string, Request> last_;
    std::vector<std::vector<std::string>> calls_;
};

/// A fault for every operation of one kind.
template <class Op>
FaultyEngine::FaultFn always(Error error) {
    return [error = std::move(error)](const Request& request) {
        return ff::holds_alternative<Op>(request) ? std::optional<Error>(error) : std::nullopt;
    };
}

}  // namespace ff::support
