#include "cli/exec_task.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "cli/text.h"
#include "worker/runtime.h"

namespace ff::cli {

namespace {

/// Leaves time to hear the end of the program, and to give its work back, within the grace of the
/// worker.
constexpr DurationMs drain_kill_ms = worker::drain_grace_ms - 2'000;
static_assert(drain_kill_ms > 0);

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

}  // namespace

std::vector<std::string> task_environment(const TaskInfo& task) {
    std::vector<std::string> out;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        // Credentials and settings of the worker are none of the program's business, and what is
        // called as ours is must be of this task.
        if (!text.starts_with("FF_") && !text.starts_with("PGPASSWORD=")) {
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

// ----------------------------------------------------------------------------------- its lines

namespace {

/// Where to cut a text that is too long: not within a character, if it can be helped.
std::size_t cut_of(std::string_view text) {
    if (text.size() <= frame_bytes_max) {
        return text.size();
    }
    std::size_t end = frame_bytes_max;
    while (end > frame_bytes_max - 3 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    return end;
}

}  // namespace

void LineFrames::add(std::string_view block) {
    for (std::size_t end = block.find('\n'); end != std::string_view::npos;
         end = block.find('\n')) {
        rest_ += block.substr(0, end);
        write(rest_);
        rest_.clear();
        block.remove_prefix(end + 1);
    }
    rest_ += block;
    // A program that never ends its line must not fill the memory.
    while (rest_.size() > frame_bytes_max) {
        const std::size_t cut = cut_of(rest_);
        write(std::string_view(rest_).substr(0, cut));
        rest_.erase(0, cut);
    }
}

void LineFrames::finish() {
    if (!rest_.empty()) {
        write(rest_);
        rest_.clear();
    }
}

void LineFrames::write(std::string_view line) {
    do {
        const std::size_t cut = cut_of(line);
        FrameWriter out = task_.frames();
        const auto written = kind_ == FrameKind::stderr_ ? out.try_error_line(line.substr(0, cut))
                                                         : out.try_line(line.substr(0, cut));
        if (!written && !std::exchange(closed_, true)) {
            task_.log().warn("its stream takes no more lines: " + written.error().message());
        }
        line.remove_prefix(cut);
    } while (!line.empty() && !closed_);
}

std::chrono::milliseconds kill_patience(const Task& task, DurationMs usual_ms) {
    const bool draining = task.cancel_cause() == CancelCause::drain;
    return std::chrono::milliseconds(draining ? std::min(usual_ms, drain_kill_ms) : usual_ms);
}

namespace {

/// One line for who looks at the worker; the rest is in the attempt.
Result fail(Task& task, const std::string& reason, const std::string& category) {
    const Result failed = task.fail(reason, category);
    task.log().warn(fmt::format(
        "attempt {} failed ({}), {}: {}", task.attempt_index(), category,
        failed.kind() == Result::Kind::retry_scheduled ? "it will be tried again" : "for good",
        reason));
    return failed;
}

}  // namespace

Result end_task(Task& task, expected<ExecOutcome> run, const ExitRules& rules) {
    if (!run) {
        return fail(task, run.error().detail, "infra_crash");
    }
    const bool ended_badly = run->signal != 0 || run->exit_code != 0;
    if (ended_badly && task.cancel_cause() == CancelCause::drain &&
        run->exit_code != rules.permanent) {
        // It was we who stopped it: no failure of the program, and no try of its policy.
        const Result given_back = task.release();
        task.log().info("given back unfinished: the worker stops");
        return given_back;
    }
    if (run->signal != 0) {
        return fail(task,
                    fmt::format("ended by signal {}{}", strsignal(run->signal), last_words(*run)),
                    "transient");
    }
    if (run->exit_code != 0) {
        return fail(task, fmt::format("exit code {}{}", run->exit_code, last_words(*run)),
                    run->exit_code == rules.permanent ? "permanent" : "transient");
    }
    if (run->output_too_large) {
        return fail(task,
                    fmt::format("it printed more than {} bytes, which is more than a result may "
                                "have",
                                ExecOptions().output_bytes_max),
                    "permanent");
    }
    return value_or_throw(task.try_complete_with(std::move(run->output), rules.encoding));
}

}  // namespace ff::cli
