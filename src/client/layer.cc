#include <ff/layer.h>

#include <utility>
#include <vector>

namespace ff {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// The one place where operations pass: admit() on the way in, report() on the way out.
class LayeredEngine final : public Engine {
  public:
    LayeredEngine(std::shared_ptr<Engine> inner, std::shared_ptr<Layer> layer)
        : inner_(std::move(inner)), layer_(std::move(layer)) {}

    void call(Request request, DoneFn done) override {
        Passage passage;
        if (auto refused = admit(request, passage)) {
            done(std::unexpected(std::move(*refused)));
            return;
        }
        inner_->call(std::move(request),
                     [layer = layer_, passage, done = std::move(done)](Response response) mutable {
                         report(*layer, passage, response);
                         done(std::move(response));
                     });
    }

    void call_many(std::vector<Request> requests,
                   std::move_only_function<void(std::vector<Response>)> done) override {
        struct Many {
            std::vector<Response> responses;
            std::vector<std::size_t> places;  // of those that were let through
            std::vector<Passage> passages;    // of the same
        };
        Many many;
        many.responses.resize(requests.size(), Response(Done{}));
        std::vector<Request> admitted;
        for (std::size_t i = 0; i < requests.size(); ++i) {
            Passage passage;
            if (auto refused = admit(requests[i], passage)) {
                many.responses[i] = std::unexpected(std::move(*refused));
                continue;
            }
            many.places.push_back(i);
            many.passages.push_back(passage);
            admitted.push_back(std::move(requests[i]));
        }
        if (admitted.empty()) {
            done(std::move(many.responses));
            return;
        }
        inner_->call_many(std::move(admitted),
                          [layer = layer_, many = std::move(many),
                           done = std::move(done)](std::vector<Response> answers) mutable {
                              for (std::size_t i = 0; i < answers.size(); ++i) {
                                  report(*layer, many.passages[i], answers[i]);
                                  many.responses[many.places[i]] = std::move(answers[i]);
                              }
                              done(std::move(many.responses));
                          });
    }

    // On the caller's thread all the way: an embedded engine reads there.
    Response run_any(Request request) override {
        Passage passage;
        if (auto refused = admit(request, passage)) {
            return std::unexpected(std::move(*refused));
        }
        Response response = inner_->run_any(std::move(request));
        report(*layer_, passage, response);
        return response;
    }

    [[nodiscard]] EngineStats stats() const override { return inner_->stats(); }
    [[nodiscard]] TimestampMs now() const override { return inner_->now(); }
    void stop() override { inner_->stop(); }

  private:
    struct Passage {
        LayerCall call;
        steady_clock::time_point begun;
    };

    /// The error, when the layer refuses.
    std::optional<Error> admit(const Request& request, Passage& passage) {
        passage.call.op = operation_name(request);
        if (auto allowed = layer_->before(passage.call, request); !allowed) {
            layer_->after(passage.call, nanoseconds::zero(), &allowed.error());
            return std::move(allowed).error();
        }
        passage.begun = steady_clock::now();
        return std::nullopt;
    }
    static void report(Layer& layer, const Passage& passage, const Response& response) {
        layer.after(passage.call, steady_clock::now() - passage.begun,
                    response ? nullptr : &response.error());
    }

    const std::shared_ptr<Engine> inner_;
    const std::shared_ptr<Layer> layer_;
};

}  // namespace

std::shared_ptr<Engine> operator|(std::shared_ptr<Engine> engine, std::shared_ptr<Layer> layer) {
    return std::make_shared<LayeredEngine>(std::move(engine), std::move(layer));
}

namespace layer {

namespace {

class Tracing final : public Layer {
  public:
    Tracing(Severity level, LogFn log) : level_(level), log_(std::move(log)) {}
    expected<void> before(LayerCall&, const Request&) override { return {}; }
    void after(const LayerCall& call, nanoseconds elapsed, const Error* error) override {
        const auto us = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
        std::string line = "ff.engine op=" + std::string(call.op) +
                           " elapsed_us=" + std::to_string(us) +
                           (error == nullptr ? " ok=true" : " ok=false error=");
        if (error != nullptr) {
            line += to_string(error->code);
        }
        log_(level_, line);
    }

  private:
    const Severity level_;
    const LogFn log_;
};

class Metrics final : public Layer {
  public:
    explicit Metrics(std::shared_ptr<MetricsSink> sink) : sink_(std::move(sink)) {}
    expected<void> before(LayerCall&, const Request&) override { return {}; }
    void after(const LayerCall& call, nanoseconds elapsed, const Error* error) override {
        if (sink_) {
            sink_->record(
                call.op, elapsed,
                error == nullptr ? std::nullopt : std::optional<ErrorKind>(info(error->code).kind));
        }
    }

  private:
    const std::shared_ptr<MetricsSink> sink_;
};

class HookLayer final : public Layer {
  public:
    explicit HookLayer(Hooks functions) : functions_(std::move(functions)) {}
    expected<void> before(LayerCall& call, const Request& request) override {
        return functions_.before ? functions_.before(call, request) : expected<void>();
    }
    void after(const LayerCall& call, nanoseconds elapsed, const Error* error) override {
        if (functions_.after) {
            functions_.after(call, elapsed, error);
        }
    }

  private:
    const Hooks functions_;
};

}  // namespace

std::shared_ptr<Layer> tracing(Severity level, LogFn log) {
    return std::make_shared<Tracing>(level, log ? std::move(log) : LogFn(log_to_stderr));
}

std::shared_ptr<Layer> metrics(std::shared_ptr<MetricsSink> sink) {
    return std::make_shared<Metrics>(std::move(sink));
}

std::shared_ptr<Layer> hooks(Hooks functions) {
    return std::make_shared<HookLayer>(std::move(functions));
}

}  // namespace layer

}  // namespace ff
