// Layers: what stands between a caller and an engine and sees every operation.
//
//   auto engine = ff::Engine::connect("sqlite:app.db")
//               | ff::layer::tracing() | ff::layer::circuit_breaker({.threshold = 5});
//
// A layer around an engine is an engine; the last one is the outermost. Every operation passes
// through it, alone or as one of many, and none goes around. Layers are local: fences, tokens and
// routing are the engine's alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <ff/engine.h>
#include <ff/logging.h>

namespace ff {

/// One operation on its way.
struct LayerCall {
    std::string_view op;     ///< its name
    std::uint64_t note = 0;  ///< the layer's own: what before() wrote, after() finds
};

/// Called from any thread, from several at once, also from an engine's: neither may throw, and
/// after() must not block.
class Layer {
  public:
    virtual ~Layer() = default;
    /// Lets the operation proceed, or refuses it with an error that its caller gets.
    virtual expected<void> before(LayerCall& call, const Request& request) = 0;
    /// How it ended; `error` is null when it went well. A refused one comes here too, after no
    /// time.
    virtual void after(const LayerCall& call, std::chrono::nanoseconds elapsed,
                       const Error* error) = 0;
};

/// The engine with a layer around it.
std::shared_ptr<Engine> operator|(std::shared_ptr<Engine> engine, std::shared_ptr<Layer> layer);

namespace layer {

/// One line for each operation: `ff.engine op=… elapsed_us=… ok=…`, and the error's code.
std::shared_ptr<Layer> tracing(Severity level = Severity::info, LogFn log = {});

class MetricsSink {
  public:
    virtual ~MetricsSink() = default;
    /// `failure` is absent when it went well. Must not block or throw.
    virtual void record(std::string_view op, std::chrono::nanoseconds elapsed,
                        std::optional<ErrorKind> failure) = 0;
};
/// Without a sink it measures nothing.
std::shared_ptr<Layer> metrics(std::shared_ptr<MetricsSink> sink = {});

struct RateLimit {
    /// Which bucket an operation draws from; its name when absent.
    std::function<std::string(const Request&)> key;
    /// Operations a second of each bucket, at least 1; as many may come at once.
    std::map<std::string, double> buckets;
    /// One bucket for all keys that have none. Without it those are let through.
    std::optional<double> default_bucket;
    /// Block the caller until there is a token, instead of refusing with `resource_exhausted`. Not
    /// for callers that must not block, such as callbacks of an engine.
    bool wait = false;
    std::shared_ptr<Clock> clock;  ///< the system's when absent
};
/// One bucket for everything.
RateLimit single_bucket(double per_second);
std::shared_ptr<Layer> rate_limit(RateLimit options);

struct CircuitBreaker {
    std::uint32_t threshold = 5;  ///< transport errors in a row that open it
    std::chrono::milliseconds open_for{30'000};
    std::shared_ptr<Clock> clock;  ///< the system's when absent
};
/// After `threshold` transport errors in a row calls fail at once with `circuit_open`; then one is
/// let through on trial. Renewals, heartbeats and what finishes a task always pass.
std::shared_ptr<Layer> circuit_breaker(CircuitBreaker options = {});

/// Functions of the user's; either may be absent.
struct Hooks {
    std::function<expected<void>(const LayerCall&, const Request&)> before;
    std::function<void(const LayerCall&, std::chrono::nanoseconds elapsed, const Error* error)>
        after;
};
std::shared_ptr<Layer> hooks(Hooks functions);

}  // namespace layer

}  // namespace ff
