#include <ff/worker.h>

#include <utility>

#include "worker/runtime.h"
#include "worker/signals.h"

namespace ff {

Worker::Worker(std::shared_ptr<Engine> engine, WorkerOptions options)
    : runtime_(std::make_unique<worker::Runtime>(std::move(engine), std::move(options))) {}

Worker::~Worker() = default;

void Worker::add(std::string kind, worker::Handler handler) {
    runtime_->add(std::move(kind), std::move(handler));
}

void Worker::add_state(std::type_index type, std::shared_ptr<void> state) {
    runtime_->add_state(type, std::move(state));
}

Worker& Worker::codec(std::string encoding, PayloadDecoder decoder) {
    runtime_->add_decoder(std::move(encoding), std::move(decoder));
    return *this;
}

expected<void> Worker::start() { return runtime_->start(); }
void Worker::request_stop() { runtime_->request_stop(); }
void Worker::wait() { runtime_->wait(); }
expected<void> Worker::stop() { return runtime_->stop(); }

expected<void> Worker::run() {
    const worker::SignalWatch signals([this] { request_stop(); });
    if (auto started = start(); !started) {
        const bool told_to = started.error().code == ErrorCode::shutting_down;
        if (told_to && runtime_->stopping()) {
            return stop();
        }
        runtime_->log(Severity::error, "the worker did not start: " + started.error().message());
        return started;
    }
    wait();
    return stop();
}

expected<void> Worker::take(const Grant& grant) { return runtime_->take(grant); }
const std::string& Worker::worker_id() const { return runtime_->options().worker_id; }
const std::string& Worker::worker_instance_id() const {
    return runtime_->options().worker_instance_id;
}
WorkerStats Worker::stats() const { return runtime_->stats(); }

}  // namespace ff
