#include "cli/wait.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "cli/id_report.h"
#include "cli/inspect_json.h"
#include "cli/text.h"
#include "cli/views.h"

namespace ff::cli {

namespace {

using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Questions come close together at first, then this far apart.
constexpr milliseconds pause_first{20};
constexpr milliseconds pause_max{500};
/// How long a server may be away.
constexpr milliseconds patience{30'000};
/// Executions that are asked for at once.
constexpr std::size_t asked_at_once = 200;

bool passes_by_itself(const Error& error) {
    const ErrorKind kind = info(error.code).kind;
    return error.code == ErrorCode::store_in_use || kind == ErrorKind::transport ||
           kind == ErrorKind::unavailable || kind == ErrorKind::resource_exhausted ||
           kind == ErrorKind::timeout;
}

class Waiting {
  public:
    Waiting(const CommonOptions& options, std::vector<ExecutionId> ids,
            const std::function<void(const Ending&)>& tell)
        : options_(options), left_(std::move(ids)), tell_(tell) {}

    [[nodiscard]] bool done() const { return left_.empty(); }

    /// Asks once for all that have not ended.
    expected<void> ask() {
        if (!session_) {
            FF_TRY(const Target target, choose_target(options_.connect));
            FF_TRY(session_, open_session(options_, Access::look));
            is_file_ = target.is_file();
        }
        expected<void> outcome = ask(*session_);
        if (is_file_ || !outcome) {
            session_.reset();
        }
        return outcome;
    }

    void give_up() {
        const auto session = open_session(options_, Access::look);
        for (const ExecutionId& id : left_) {
            expected<std::optional<ExecutionSnapshot>> answer =
                session ? session->ask(DescribeExecution{id}) : std::unexpected(session.error());
            tell_({id, snapshot_of(id, std::move(answer)), true});
        }
    }

  private:
    expected<void> ask(const Session& session) {
        std::vector<ExecutionId> still;
        expected<void> outcome;
        for (std::size_t first = 0; first < left_.size(); first += asked_at_once) {
            const std::size_t count = std::min(asked_at_once, left_.size() - first);
            std::vector<DescribeExecution> group;
            for (std::size_t i = 0; i < count; ++i) {
                group.push_back({left_[first + i]});
            }
            auto answers = session.engine->run_all(group);
            for (std::size_t i = 0; i < count; ++i) {
                auto ended = take(group[i].execution_id, std::move(answers[i]));
                if (!ended || !*ended) {
                    still.push_back(group[i].execution_id);
                }
                if (!ended && outcome) {
                    outcome = std::unexpected(ended.error());
                }
            }
        }
        left_ = std::move(still);
        return outcome;
    }

    static expected<ExecutionSnapshot> snapshot_of(
        const ExecutionId& id, expected<std::optional<ExecutionSnapshot>> answer) {
        FF_TRY(auto snapshot, std::move(answer));
        if (!snapshot) {
            return std::unexpected(no_such_execution(id.to_string()));
        }
        return std::move(*snapshot);
    }

    /// Tells of an execution that has ended, or will never be there; true when that is so.
    expected<bool> take(const ExecutionId& id, expected<std::optional<ExecutionSnapshot>> answer) {
        auto snapshot = snapshot_of(id, std::move(answer));
        if (!snapshot && passes_by_itself(snapshot.error())) {
            return std::unexpected(snapshot.error());
        }
        if (snapshot && !has_ended(snapshot->info.public_state)) {
            return false;
        }
        tell_({id, std::move(snapshot), false});
        return true;
    }

    const CommonOptions& options_;
    std::optional<Session> session_;
    bool is_file_ = false;
    std::vector<ExecutionId> left_;
    const std::function<void(const Ending&)>& tell_;
};

/// The end of one execution in the words of this command.
expected<Said> say_ending(const Ending& ending) {
    FF_TRY(const ExecutionSnapshot snapshot, ending.snapshot);
    const std::string id = ending.execution_id.to_string();
    const PublicState state = snapshot.info.public_state;
    Said said;
    said.code = ending.over_time ? ExitCode::failed : exit_code_of(state);
    said.text = fmt::format("{} {}\n", id,
                            ending.over_time ? fmt::format("still {}", to_string(state))
                                             : printable(ending_text(snapshot)));
    said.json = as_json(snapshot);
    if (ending.over_time) {
        said.complaint = fmt::format("{} has not ended in time: it is {}", id, to_string(state));
    }
    return said;
}

}  // namespace

ExitCode exit_code_of(PublicState state) {
    return state == PublicState::completed ? ExitCode::ok : ExitCode::failed;
}

std::string ending_text(const ExecutionSnapshot& snapshot) {
    std::string why = failure_text(snapshot);
    if (why.empty()) {
        why = snapshot.cancellation_reason.value_or("");
    }
    const std::string state(to_string(snapshot.info.public_state));
    return why.empty() ? state : state + ": " + why;
}

expected<void> wait_for(const CommonOptions& options, std::vector<ExecutionId> ids,
                        std::optional<DurationMs> timeout_ms,
                        const std::function<void(const Ending&)>& tell) {
    Waiting waiting(options, std::move(ids), tell);
    const auto began = SteadyClock::now();
    auto heard = began;
    milliseconds pause = pause_first;
    for (;;) {
        const auto asked = waiting.ask();
        const auto now = SteadyClock::now();
        if (asked) {
            heard = now;
        } else if (!passes_by_itself(asked.error()) || now - heard > patience) {
            return asked;
        }
        if (waiting.done()) {
            return {};
        }
        milliseconds left = pause;
        if (timeout_ms) {
            left =
                std::chrono::duration_cast<milliseconds>(began + milliseconds(*timeout_ms) - now);
            if (left.count() <= 0) {
                waiting.give_up();
                return {};
            }
        }
        std::this_thread::sleep_for(std::min(left, pause));
        pause = std::min(pause * 3 / 2, pause_max);
    }
}

ExitCode wait_for_executions(const CommonOptions& options, const std::vector<std::string>& words,
                             std::optional<DurationMs> timeout_ms) {
    const auto parsed = parse_ids(words, "nothing was waited for");
    if (!parsed) {
        return complain(parsed.error());
    }
    auto session = open_session(options, Access::look);
    if (!session) {
        return complain(session.error());
    }
    const auto found = find_ids(*session, *parsed);
    session->engine.reset();
    IdReport report(options.output, found.size());
    std::vector<ExecutionId> ids;
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (!found[i]) {
            report.add((*parsed)[i].text, std::unexpected(found[i].error()));
        } else if (std::ranges::find(ids, *found[i]) == ids.end()) {
            ids.push_back(*found[i]);
        }
    }
    const auto waited = wait_for(options, ids, timeout_ms, [&](const Ending& ending) {
        report.add(ending.execution_id.to_string(), say_ending(ending));
    });
    const ExitCode worst = report.finish();
    return waited ? worst : worse(worst, complain(waited.error()));
}

}  // namespace ff::cli
