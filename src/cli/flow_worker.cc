#include "cli/flow_worker.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "cli/exec_task.h"
#include "cli/exit_code.h"

namespace ff::cli {

namespace {

/// A longer one is only on standard input: the system bounds what a program may be started with.
constexpr std::size_t variable_bytes_max = 32'768;
/// Before the worker gives work back whose handler does not return.
constexpr std::chrono::milliseconds kill_after{3'000};
/// How long work that is not ours is left to others.
constexpr std::chrono::milliseconds stranger_pause{10'000};

/// The last of a name wins, as a person expects who sets one again.
std::vector<std::string> merged(const std::vector<std::string>& environment,
                                const Variables& more) {
    std::vector<std::string> out;
    for (const std::string& entry : environment) {
        if (!more.contains(entry.substr(0, entry.find('=')))) {
            out.push_back(entry);
        }
    }
    for (const auto& [name, value] : more) {
        out.push_back(name + "=" + value);
    }
    return out;
}

/// As a shell would have it: without line ends at the end, and a text without its quotes.
std::string plain_value(const FlowInput& input) {
    std::string value = input.value;
    const auto document = input.encoding == "json" ? js::parse(value) : js::Value();
    if (document && document->if_string() != nullptr) {
        value = *document->if_string();
    }
    while (value.ends_with('\n')) {
        value.pop_back();
    }
    return value;
}

WorkerOptions worker_options(const FlowFile& file, const FlowWorkerOptions& options) {
    WorkerOptions how;
    how.worker_id = "ff-flow-run";
    how.ns = file.submit.ns;
    how.max_concurrent_tasks = options.jobs;
    how.lease_ttl = std::chrono::milliseconds(15'000);
    how.poll_block = std::chrono::milliseconds(2'000);
    how.drain_timeout = std::chrono::milliseconds(0);
    std::set<std::string> lanes;
    std::set<std::string> capabilities{flow_capability(*file.submit.flow_id)};
    for (const FlowNode& node : file.submit.nodes) {
        if (!file.commands.contains(node.name)) {
            continue;
        }
        lanes.insert(node.execution.lane_id);
        const auto policy = Policy::parse(node.execution.policy.value_or("{}"));
        if (policy && policy->routing_requirements) {
            const auto& required = policy->routing_requirements->required_capabilities;
            capabilities.insert(required.begin(), required.end());
        }
    }
    how.lanes.assign(lanes.begin(), lanes.end());
    how.capabilities.assign(capabilities.begin(), capabilities.end());
    const bool loud = options.errors == ExecErrors::passed_on;
    how.log = [loud](Severity severity, std::string_view line) {
        if (loud && severity >= Severity::error) {
            complain(line);
        }
    };
    return how;
}

}  // namespace

std::string input_variable(const std::string& name) {
    std::string out = "FF_INPUT_";
    for (const char c : name) {
        const bool lower = c >= 'a' && c <= 'z';
        const bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        out.push_back(lower ? static_cast<char>(c - 'a' + 'A') : kept ? c : '_');
    }
    return out;
}

std::string inputs_document(const std::vector<FlowInput>& inputs) {
    js::Value object = js::Object{};
    for (const FlowInput& input : inputs) {
        auto value = js::parse(input.value);
        if (value) {
            object.set(input.name, std::move(*value));
        } else if (is_valid_utf8(input.value)) {
            object.set(input.name, input.value);
        }
    }
    return js::dump(object);
}

FlowWorker::FlowWorker(std::shared_ptr<Engine> engine, const FlowFile& file,
                       const std::map<std::string, ExecutionId>& nodes,
                       const FlowWorkerOptions& options)
    : engine_(std::move(engine)), flow_id_(*file.submit.flow_id), options_(options) {
    std::set<std::string> kinds;
    for (const FlowNode& node : file.submit.nodes) {
        const auto command = file.commands.find(node.name);
        const auto id = nodes.find(node.name);
        if (command != file.commands.end() && id != nodes.end()) {
            jobs_.emplace(id->second, Job{node.name, &command->second});
            kinds.insert(node.execution.execution_kind);
        }
    }
    worker_ = std::make_unique<Worker>(engine_, worker_options(file, options));
    for (const std::string& kind : kinds) {
        worker_->on(kind, [this](Task& task) { return handle(task); });
    }
}

Result FlowWorker::handle(Task& task) {
    const auto found = jobs_.find(task.execution_id());
    if (found == jobs_.end()) {
        return task.delay(stranger_pause);  // of the same kind and lane, but not of this flow
    }
    const FlowCommand& command = *found->second.command;
    const auto inputs = engine_->run(ReadInputs{task.execution_id()});
    if (!inputs) {
        return task.fail("its inputs cannot be read: " + inputs.error().message(), "infra_crash");
    }
    Variables more{{"FF_FLOW_ID", flow_id_.to_string()}, {"FF_NODE", found->second.node}};
    for (const FlowInput& input : inputs->inputs) {
        std::string value = plain_value(input);
        if (value.size() <= variable_bytes_max && !value.contains('\0')) {
            more[input_variable(input.name)] = std::move(value);
        }
    }
    for (const auto& [name, value] : command.env) {
        more[name] = value;
    }
    ExecOptions how;
    how.dir = command.dir;
    how.errors = options_.errors;
    how.kill_after = [&task] { return kill_patience(task, kill_after.count()); };
    const std::string named = command.named_inputs ? inputs_document(inputs->inputs) : "";
    auto run = run_program(command.words, merged(task_environment(task.info()), more),
                           command.named_inputs ? named : task.input(), task.stop_token(), how);
    return end_task(task, std::move(run), {});
}

}  // namespace ff::cli
