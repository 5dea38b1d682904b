// What the server does with a request, from its head to its answer; no sockets here.
//
// A connection calls admit() when the head is there, run() when the body is, and finished() when
// the answer has gone out. Any number of connections on any number of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <ff/engine.h>

#include "http/exchange.h"
#include "http/failed_attempts.h"
#include "http/gate.h"
#include "http/permit.h"
#include "http/router.h"

namespace ff::http {

struct ServiceOptions {
    GateOptions gate;
    std::size_t polls_max = 1'024;
    std::size_t stream_ops_max = 64;      ///< reads of streams at a time
    std::size_t event_streams_max = 256;  ///< readers of events that wait, at a time
    /// All of these together: each holds a connection, and some are needed for other requests.
    std::size_t waiting_max = std::numeric_limits<std::size_t>::max();
    std::vector<std::string> lanes;  ///< told by /v1/capabilities
    /// Called for things an operator did: revoke, cancel, replay, … `text` has no secrets.
    std::function<void(std::string_view what, std::string_view about)> audit;
    /// After each answer. `route` is absent for paths that lead nowhere.
    std::function<void(const RequestHead&, const Route* route, int status,
                       std::chrono::nanoseconds)>
        finished;
    /// A grant has become a lease: its lane, and how long that took. Any thread.
    std::function<void(std::string_view lane, std::chrono::nanoseconds)> claimed_from_grant;
    std::function<std::string()> metrics_text;   ///< absent: /metrics is not there
    std::function<json()> config;                ///< for /v1/admin/config
    DurationMs waitpoint_grace_ms = 86'400'000;  ///< of a rotation that names none
    std::chrono::milliseconds rotation_max{120'000};
    /// Failed calls of routes whose path is the credential, for each address and minute; 0: any.
    std::size_t failed_attempts_max = 60;
    std::shared_ptr<Clock> clock;  ///< for links that expire; the engine's when absent
};

/// What becomes of a request once its head is known.
struct Admission {
    std::optional<wire::Answer> refusal;
    const Route* route = nullptr;
    std::vector<std::pair<std::string_view, std::string>> parameters;
    std::size_t body_max = 0;
    bool bad_escape = false;
};

/// `application/json` or `application/*+json`, with parameters.
bool is_json_type(std::string_view type);

class Service {
  public:
    Service(std::shared_ptr<Engine> engine, ServiceOptions options);
    /// Waits for errands.
    ~Service();

    [[nodiscard]] Admission admit(const RequestHead& head) const {
        Admission admission = look_at(head);
        taken_ += admission.refusal ? 1 : 0;
        return admission;
    }
    void run(Admission admission, const RequestHead& head, std::string body, Respond respond,
             std::stop_token gone, Later later = {}) {
        hand_on(std::move(admission), head, std::move(body), std::move(respond), std::move(gone),
                std::move(later));
        ++taken_;
    }
    void finished(const RequestHead& head, const Route* route, int status,
                  std::chrono::nanoseconds took) const;
    /// Adds what every answer to this request carries.
    void mark(const RequestHead& head, wire::Answer& answer) const { gate_.mark(head, answer); }
    /// `413` of a route, for bodies whose size only shows on the way.
    [[nodiscard]] static wire::Answer too_large(const Route& route);

    /// From here on /readyz answers 503, and so do polls.
    void drain() { draining_ = true; }
    [[nodiscard]] bool draining() const { return draining_; }

    /// Requests that have been handed on or refused so far.
    [[nodiscard]] std::uint64_t taken() const { return taken_; }

    // For the handlers.
    [[nodiscard]] Engine& engine() { return *engine_; }
    [[nodiscard]] const ServiceOptions& options() const { return options_; }
    [[nodiscard]] const Router& router() const { return router_; }
    [[nodiscard]] Places& polls() { return polls_; }
    [[nodiscard]] Places& stream_ops() { return stream_ops_; }
    [[nodiscard]] Places& event_streams() { return event_streams_; }
    [[nodiscard]] FailedAttempts& failed_attempts() { return failed_attempts_; }
    [[nodiscard]] TimestampMs now() const;
    /// Around a call of the engine that no request waits for, so that the service outlives it.
    void begin_errand();
    void end_errand();
    void audit(std::string_view what, std::string_view about) const {
        if (options_.audit) {
            options_.audit(what, about);
        }
    }

  private:
    [[nodiscard]] Admission look_at(const RequestHead& head) const;
    void hand_on(Admission admission, const RequestHead& head, std::string body, Respond respond,
                 std::stop_token gone, Later later);

    const std::shared_ptr<Engine> engine_;
    const ServiceOptions options_;
    const Gate gate_;
    Router router_;
    std::atomic<bool> draining_{false};
    Places waiting_;
    Places polls_ = Places::among(waiting_);
    Places stream_ops_ = Places::among(waiting_);
    Places event_streams_ = Places::among(waiting_);
    FailedAttempts failed_attempts_;
    mutable std::atomic<std::uint64_t> taken_{0};
    std::mutex errands_mutex_;
    std::condition_variable errands_done_;
    std::size_t errands_ = 0;  // guarded by errands_mutex_
};

}  // namespace ff::http
