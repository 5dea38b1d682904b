#include "cli/top.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/inspect_json.h"
#include "cli/show.h"
#include "cli/text.h"
#include "cli/wait.h"
#include "cli/watch.h"

namespace ff::cli {

namespace {

constexpr std::uint32_t page_max = 1'000;
constexpr std::uint32_t failures_shown = 6;
constexpr std::size_t workers_shown = 8;
/// Rates are over this long, or over as much of it as a page of executions reaches back.
constexpr DurationMs window_ms = 10'000;

/// The states that are counted, in columns as people think of them.
struct StateColumn {
    std::string_view heading;
    std::vector<PublicState> states;
};
const std::vector<StateColumn>& state_columns() {
    static const std::vector<StateColumn> columns{
        {"waiting", {PublicState::waiting, PublicState::resumable}},
        {"active", {PublicState::active}},
        {"delayed", {PublicState::delayed}},
        {"blocked", {PublicState::rate_limited, PublicState::waiting_children}},
        {"suspended", {PublicState::suspended}},
        {"failed", {PublicState::failed}},
        {"expired", {PublicState::expired}},
    };
    return columns;
}

TopLane& lane_of(std::vector<TopLane>& lanes, const std::string& name) {
    const auto at = std::ranges::find(lanes, name, &TopLane::lane);
    return at != lanes.end() ? *at : lanes.emplace_back(TopLane{name, LaneState::active, {}});
}

/// Counts the executions in one state by lane. When there are more than a page holds, the lanes
/// that are in it, or might be in what follows, have a number or more.
expected<void> count_state(const Session& session, PublicState state, TopPicture& picture) {
    SearchExecutions op;
    op.states = {state};
    op.limit = page_max;
    FF_TRY(const SearchPage page, session.ask(op));
    for (TopLane& lane : picture.lanes) {
        lane.counts[state].or_more = page.next_cursor.has_value();
    }
    for (const ExecutionInfo& info : page.items) {
        TopCount& count = lane_of(picture.lanes, info.lane_id).counts[state];
        count.count += 1;
        count.or_more = page.next_cursor.has_value();
    }
    return {};
}

expected<void> read_failures(const Session& session, TopPicture& picture) {
    SearchExecutions op;
    op.states = {PublicState::failed, PublicState::expired};
    op.limit = failures_shown;
    FF_TRY(SearchPage page, session.ask(op));
    std::vector<DescribeExecution> questions;
    for (const ExecutionInfo& info : page.items) {
        questions.push_back({info.execution_id});
    }
    const auto answers = session.engine->run_all(std::move(questions));
    for (std::size_t i = 0; i < page.items.size(); ++i) {
        // One that is gone meanwhile was trimmed: its row stays, without a reason.
        const bool there = answers[i] && *answers[i];
        picture.failures.push_back(
            {std::move(page.items[i]), there ? ending_text(**answers[i]) : ""});
    }
    return {};
}

expected<void> read_rates(const Session& session, TopPicture& picture) {
    SearchExecutions op;
    op.limit = page_max;
    FF_TRY(const SearchPage page, session.ask(op));
    TimestampMs from = session.view.now - window_ms;
    if (page.next_cursor && !page.items.empty()) {
        from = std::max(from, page.items.back().created_at);
    }
    std::uint64_t created = 0;
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    for (const ExecutionInfo& info : page.items) {
        created += info.created_at >= from ? 1 : 0;
        if (info.completed_at.value_or(0) >= from) {
            const bool well = info.public_state == PublicState::completed;
            completed += well ? 1 : 0;
            failed += well || info.public_state == PublicState::cancelled ? 0 : 1;
        }
    }
    picture.window_s = static_cast<double>(std::max<DurationMs>(session.view.now - from, 1)) / 1e3;
    picture.created_per_s = static_cast<double>(created) / picture.window_s;
    picture.completed_per_s = static_cast<double>(completed) / picture.window_s;
    picture.failed_per_s = static_cast<double>(failed) / picture.window_s;
    return {};
}

expected<void> read_workers(const Session& session, TopPicture& picture) {
    ListWorkers op;
    op.limit = page_max;
    FF_TRY(WorkerPage page, session.ask(op));
    picture.workers_in_all = {page.workers.size(), page.next_cursor.has_value()};
    page.workers.resize(std::min(page.workers.size(), workers_shown));
    picture.workers = std::move(page.workers);
    return {};
}

std::string count_text(const TopCount& count) {
    return with_commas(count.count) + (count.or_more ? "+" : "");
}

TopCount sum_of(const TopLane& lane, const std::vector<PublicState>& states) {
    TopCount sum;
    for (const PublicState state : states) {
        if (const auto at = lane.counts.find(state); at != lane.counts.end()) {
            sum.count += at->second.count;
            sum.or_more = sum.or_more || at->second.or_more;
        }
    }
    return sum;
}

std::string lanes_table(const TopPicture& picture, const View& view) {
    std::vector<Column> columns{{"lane", Align::left, Give::shrink}, {"is"}};
    for (const StateColumn& column : state_columns()) {
        columns.push_back({std::string(column.heading), Align::right});
    }
    Table table(std::move(columns));
    for (const TopLane& lane : picture.lanes) {
        std::vector<Cell> cells{
            lane.lane,
            {to_string(lane.state), lane.state == LaneState::active ? Style::dim : Style::yellow}};
        for (const StateColumn& column : state_columns()) {
            const TopCount count = sum_of(lane, column.states);
            const bool none = count.count == 0 && !count.or_more;
            cells.emplace_back(none ? "-" : count_text(count),
                               none ? Style::dim : state_cell(column.states.front()).style);
        }
        table.add(std::move(cells));
    }
    return table.empty() ? "no lane is registered\n" : table.render(view.terminal);
}

std::string failures_table(const TopPicture& picture, const View& view) {
    Table table({{"newest failures"},
                 {"lane", Align::left, Give::shrink},
                 {"kind", Align::left, Give::shrink},
                 {"ended", Align::right},
                 {"how", Align::left, Give::shrink}});
    for (const TopFailure& failure : picture.failures) {
        const ExecutionInfo& info = failure.info;
        table.add({info.execution_id.to_string(),
                   info.lane_id,
                   info.execution_kind,
                   span_text(view.now - info.completed_at.value_or(view.now)) + " ago",
                   {failure.reason, Style::red}});
    }
    return table.empty() ? "no failures\n" : table.render(view.terminal);
}

}  // namespace

expected<TopPicture> read_top(const Session& session) {
    TopPicture picture;
    FF_TRY(const auto lanes, read_lanes(session));
    for (const LaneInfo& lane : lanes) {
        picture.lanes.push_back({lane.lane_id, lane.state, {}});
    }
    for (const StateColumn& column : state_columns()) {
        for (const PublicState state : column.states) {
            FF_TRY_VOID(count_state(session, state, picture));
        }
    }
    FF_TRY_VOID(read_failures(session, picture));
    FF_TRY_VOID(read_rates(session, picture));
    FF_TRY_VOID(read_workers(session, picture));
    return picture;
}

std::string top_text(const TopPicture& picture, const View& view) {
    std::string out = fmt::format(
        "{}/s created, {}/s completed, {}/s failed (last {:.1f} s), {} worker{}\n\n",
        rounded(picture.created_per_s), rounded(picture.completed_per_s),
        rounded(picture.failed_per_s), picture.window_s, count_text(picture.workers_in_all),
        picture.workers_in_all.count == 1 ? "" : "s");
    out += lanes_table(picture, view) + "\n";
    out += failures_table(picture, view) + "\n";
    out += workers_text(picture.workers, view);
    if (picture.workers_in_all.count > picture.workers.size()) {
        out += fmt::format("and {} more\n",
                           with_commas(picture.workers_in_all.count - picture.workers.size()));
    }
    return out;
}

js::Value top_json(const TopPicture& picture) {
    const auto number = [](const TopCount& count) {
        return js::Object{{"count", count.count}, {"or_more", count.or_more}};
    };
    js::Array lanes;
    for (const TopLane& lane : picture.lanes) {
        js::Object counts;
        for (const auto& [state, count] : lane.counts) {
            counts.emplace_back(std::string(to_string(state)), number(count));
        }
        lanes.emplace_back(js::Object{{"lane_id", lane.lane},
                                      {"lane_state", to_string(lane.state)},
                                      {"states", js::Value(std::move(counts))}});
    }
    js::Array failures;
    for (const TopFailure& failure : picture.failures) {
        js::Value value = as_json(failure.info);
        value.set("ending", failure.reason);
        failures.push_back(std::move(value));
    }
    return js::Object{{"lanes", std::move(lanes)},
                      {"failures", std::move(failures)},
                      {"workers", all_as_json(picture.workers)},
                      {"workers_in_all", number(picture.workers_in_all)},
                      {"rates", js::Object{{"window_s", picture.window_s},
                                           {"created_per_s", picture.created_per_s},
                                           {"completed_per_s", picture.completed_per_s},
                                           {"failed_per_s", picture.failed_per_s}}}};
}

ExitCode run_top(const CommonOptions& common, const TopOptions& options) {
    const auto frame = [&](const Session& session) -> expected<std::string> {
        FF_TRY(const TopPicture picture, read_top(session));
        return for_programs(common.output) ? document(common.output, top_json(picture))
                                           : top_text(picture, session.view);
    };
    const bool live = Terminal::output().interactive && !for_programs(common.output);
    const auto every_ms =
        live ? std::optional(options.every_ms.value_or(watch_every_ms)) : std::nullopt;
    return print_or_watch(common, every_ms, "ff top", frame);
}

}  // namespace ff::cli
