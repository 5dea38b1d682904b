// What the server does with a request, from its head to its answer; no sockets here.
//
// A connection calls admit() when the head is there, run() when the body is, and finished() when
// the answer has gone out. Any number of connections on any number of threads.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <ff/engine.h>

#include "http/exchange.h"
#include "http/gate.h"
#include "http/router.h"

namespace ff::http {

struct ServiceOptions {
    GateOptions gate;
    std::size_t polls_max = 1'024;
    std::vector<std::string> lanes;  ///< told by /v1/capabilities
    /// Called for things an operator did: revoke, cancel, replay, … `text` has no secrets.
    std::function<void(std::string_view what, std::string_view about)> audit;
    /// After each answer. `route` is absent for paths that lead nowhere.
    std::function<void(const RequestHead&, const Route* route, int status,
                       std::chrono::nanoseconds)>
        finished;
    std::function<std::string()> metrics_text;  ///< absent: /metrics is not there
    std::function<json()> config;               ///< for /v1/admin/config
};

/// What becomes of a request once its head is known.
struct Admission {
    std::optional<wire::Answer> refusal;
    const Route* route = nullptr;
    std::vector<std::pair<std::string_view, std::string>> parameters;
    std::size_t body_max = 0;
    bool bad_escape = false;
};

class Service {
  public:
    Service(std::shared_ptr<Engine> engine, ServiceOptions options);
    ~Service();

    [[nodiscard]] Admission admit(const RequestHead& head) const {
        Admission admission = look_at(head);
        taken_ += admission.refusal ? 1 : 0;
        return admission;
    }
    void run(Admission admission, const RequestHead& head, std::string body, Respond respond,
             std::stop_token gone) {
        hand_on(std::move(admission), head, std::move(body), std::move(respond), std::move(gone));
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
    [[nodiscard]] std::atomic<std::size_t>& polls() { return polls_; }
    void audit(std::string_view what, std::string_view about) const {
        if (options_.audit) {
            options_.audit(what, about);
        }
    }

  private:
    [[nodiscard]] Admission look_at(const RequestHead& head) const;
    void hand_on(Admission admission, const RequestHead& head, std::string body, Respond respond,
                 std::stop_token gone);

    const std::shared_ptr<Engine> engine_;
    const ServiceOptions options_;
    const Gate gate_;
    Router router_;
    std::atomic<bool> draining_{false};
    std::atomic<std::size_t> polls_{0};
    mutable std::atomic<std::uint64_t> taken_{0};
};

}  // namespace ff::http
