#include "cli/worker_exec.h"

#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>

#include <ff/worker.h>

#include "cli/connection.h"
#include "cli/exec_child.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

/// What a program finds out about its task, beside its input.
std::vector<std::string> environment_of(const TaskInfo& task) {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        // Credentials of the worker are none of the program's business.
        if (!text.starts_with("FF_API_TOKEN=") && !text.starts_with("FF_ADMIN_TOKEN=")) {
            out.emplace_back(text);
        }
    }
    js::Object tags;
    for (const auto& [key, value] : task.tags) {
        tags.emplace_back(key, value);
    }
    const auto add = [&](std::string_view name, const std::string& value) {
        out.push_back(std::string(name) + "=" + value);
    };
    add("FF_EXECUTION_ID", task.execution_id.to_string());
    add("FF_ATTEMPT_INDEX", std::to_string(task.attempt_index));
    add("FF_ATTEMPT_ID", task.attempt_id.to_string());
    add("FF_LEASE_ID", task.lease_id.to_string());
    add("FF_LEASE_EPOCH", std::to_string(task.lease_epoch));
    add("FF_NAMESPACE", task.ns);
    add("FF_LANE", task.lane);
    add("FF_KIND", task.kind);
    add("FF_PRIORITY", std::to_string(task.priority));
    add("FF_RESUMED", task.resumed ? "1" : "0");
    add("FF_PAYLOAD_ENCODING", task.payload_encoding.value_or(""));
    add("FF_TAGS", js::dump(tags));
    add("FF_WORKER_INSTANCE_ID", task.worker_instance_id);
    return out;
}

/// The end of what it said, on one line.
std::string last_words(const ExecOutcome& run) {
    std::string text = run.error_tail;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    for (char& c : text) {
        c = c == '\n' || c == '\r' ? ' ' : c;
    }
    return text.empty() ? "" : ": " + printable(text);
}

class ExecWorker {
  public:
    explicit ExecWorker(const WorkerExecOptions& options) : options_(options) {}

    expected<void> run(std::shared_ptr<Engine> engine) {
        WorkerOptions how;
        how.worker_id = options_.worker_id.empty()
                            ? std::filesystem::path(options_.command[0]).filename().string()
                            : options_.worker_id;
        how.ns = options_.ns;
        how.lanes = options_.lanes;
        how.capabilities = options_.capabilities;
        how.max_concurrent_tasks = options_.concurrency;
        how.lease_ttl = std::chrono::milliseconds(options_.lease_ttl_ms);
        how.drain_timeout = std::chrono::milliseconds(options_.drain_ms);
        Worker worker(std::move(engine), std::move(how));
        worker_ = &worker;
        const auto handle = [this](Task& task) { return this->handle(task); };
        if (options_.kinds.empty()) {
            worker.on_any(handle);
        }
        for (const std::string& kind : options_.kinds) {
            worker.on(kind, handle);
        }
        return worker.run();
    }

  private:
    Result handle(Task& task) {
        if (options_.tasks && ++taken_ >= *options_.tasks) {
            worker_->request_stop();
        }
        ExecLimits limits;
        limits.kill_after = std::chrono::milliseconds(options_.kill_after_ms);
        auto run = run_program(options_.command, environment_of(task.info()), task.input(),
                               task.stop_token(), limits);
        if (!run) {
            return task.fail(run.error().detail, "infra_crash");
        }
        return end(task, std::move(*run), limits);
    }

    Result end(Task& task, ExecOutcome run, const ExecLimits& limits) {
        if (run.signal != 0) {
            return task.fail(
                fmt::format("ended by signal {}{}", strsignal(run.signal), last_words(run)),
                "transient");
        }
        if (run.exit_code != 0) {
            return task.fail(fmt::format("exit code {}{}", run.exit_code, last_words(run)),
                             run.exit_code == options_.permanent_exit ? "permanent" : "transient");
        }
        if (run.output_too_large) {
            return task.fail(fmt::format("it printed more than {} bytes, which is more than a "
                                         "result may have",
                                         limits.output_bytes_max),
                             "permanent");
        }
        return value_or_throw(task.try_complete_with(std::move(run.output), options_.encoding));
    }

    const WorkerExecOptions& options_;
    Worker* worker_ = nullptr;
    std::atomic<std::uint64_t> taken_{0};
};

}  // namespace

ExitCode run_worker_exec(const CommonOptions& common, const WorkerExecOptions& options) {
    auto target = choose_target(common.connect);
    if (!target) {
        return complain(target.error());
    }
    auto engine = open_engine(*target, Access::change);
    if (!engine) {
        return complain(engine.error());
    }
    const auto ran = ExecWorker(options).run(std::move(*engine));
    return ran ? ExitCode::ok : complain(ran.error());
}

}  // namespace ff::cli
