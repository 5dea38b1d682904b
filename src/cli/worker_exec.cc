#include "cli/worker_exec.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string_view>

#include <ff/logging.h>
#include <ff/worker.h>

#include "cli/connection.h"
#include "cli/exec_child.h"
#include "cli/exec_task.h"
#include "cli/guarded_child.h"

namespace ff::cli {

namespace {

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
        how.log = [](Severity severity, std::string_view line) {
            if (severity < Severity::error) {
                log_to_stderr(severity, line);  // what ends the worker is said once, at its end
            }
        };
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
        ExecOptions how;
        how.kill_after = [this, &task] { return kill_patience(task, options_.kill_after_ms); };
        LineFrames output(task, FrameKind::stdout_);
        LineFrames errors(task, FrameKind::stderr_);
        if (options_.stream) {
            how.on_output = [&output](std::string_view block) { output.add(block); };
            how.on_error = [&errors](std::string_view block) { errors.add(block); };
        }
        auto run = run_program(options_.command, task_environment(task.info()), task.input(),
                               task.stop_token(), how);
        output.finish();
        errors.finish();
        return end_task(task, std::move(run), {options_.permanent_exit, options_.encoding});
    }

    const WorkerExecOptions& options_;
    Worker* worker_ = nullptr;
    std::atomic<std::uint64_t> taken_{0};
};

}  // namespace

ExitCode run_worker_exec(const CommonOptions& common, const WorkerExecOptions& options) {
    if (const auto found = find_program(options.command[0]); !found) {
        return complain(found.error());
    }
    auto target = choose_target(common.connect);
    if (!target) {
        return complain(target.error());
    }
    auto engine = open_engine(*target, Access::work);
    if (!engine) {
        return complain(engine.error());
    }
    const auto ran = ExecWorker(options).run(std::move(*engine));
    return ran ? ExitCode::ok : complain(ran.error());
}

}  // namespace ff::cli
