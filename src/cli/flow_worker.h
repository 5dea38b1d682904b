// The worker inside `ff flow run`: runs the commands of one flow's nodes on this machine.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include <ff/worker.h>

#include "cli/exec_child.h"
#include "cli/flow_file.h"

namespace ff::cli {

struct FlowWorkerOptions {
    std::size_t jobs = 1;                       ///< commands at a time
    ExecErrors errors = ExecErrors::passed_on;  ///< of the commands
};

/// Threads: made, started and stopped by one; commands run on the worker's own.
class FlowWorker {
  public:
    /// `nodes` are the executions of the flow by the names of their nodes. The file must outlive
    /// the worker.
    FlowWorker(std::shared_ptr<Engine> engine, const FlowFile& file,
               const std::map<std::string, ExecutionId>& nodes, const FlowWorkerOptions& options);

    expected<void> start() { return worker_->start(); }
    /// Commands that run are asked to end and given back; others may take them up again.
    expected<void> stop() { return worker_->stop(); }

  private:
    struct Job {
        std::string node;
        const FlowCommand* command;
    };

    Result handle(Task& task);

    std::shared_ptr<Engine> engine_;
    FlowId flow_id_;
    FlowWorkerOptions options_;
    std::map<ExecutionId, Job> jobs_;
    std::unique_ptr<Worker> worker_;
};

/// `FF_INPUT_` and the name in capitals, anything but letters and digits as `_`.
std::string input_variable(const std::string& name);
/// Inputs by name: what is JSON as it is, anything else as a text.
std::string inputs_document(const std::vector<FlowInput>& inputs);

}  // namespace ff::cli
