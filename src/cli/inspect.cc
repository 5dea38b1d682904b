#include "cli/inspect.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <ff/clock.h>

#include "cli/inspect_json.h"
#include "cli/read_only_store.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "engine/reads.h"

namespace ff::cli {

namespace {

using engine::ReadContext;

/// A store opened for one look at it.
struct Look {
    std::unique_ptr<ReadOnlyStore> store;
    TimestampMs now = 0;
    Terminal terminal = Terminal::output();

    template <class Op>
    auto ask(const Op& op) const {
        return engine::answer(op, ReadContext{*store, now});
    }
};

expected<Look> look_at(const InspectOptions& options) {
    Look look;
    FF_TRY(look.store, ReadOnlyStore::open(options.db));
    look.now = SystemClock().now();
    return look;
}

/// Opens the store, runs `body` and turns what went wrong into a line and a number.
template <class Body>
ExitCode with_store(const InspectOptions& options, Body body) {
    auto look = look_at(options);
    if (!look) {
        return complain(look.error());
    }
    const expected<void> outcome = body(*look);
    if (!outcome && outcome.error().code == ErrorCode::store_corrupt) {
        return complain(
            {ErrorCode::store_corrupt,
             fmt::format("{} is damaged or cut short ({}); see ff doctor",
                         look->store->info().location, look->store->words_of(outcome.error())),
             {}});
    }
    return outcome ? ExitCode::ok : complain(outcome.error());
}

void print_json(const js::Value& value) { print_out(js::dump_pretty(value) + "\n"); }

Error no_such_execution(const std::string& text) {
    return {ErrorCode::execution_not_found, "there is no execution " + text, {}};
}

/// The id as printed, or its UUID alone: then every partition is asked.
expected<ExecutionId> find_id(const Look& look, const std::string& text) {
    const auto uuid = Uuid::parse(text);
    if (!uuid) {
        auto id = ExecutionId::parse(text);
        if (!id) {
            return ff::fail(ErrorCode::invalid_input,
                            fmt::format("{} is not an execution id ({}); one looks like "
                                        "{{fp:0}}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071",
                                        text, id.error().detail));
        }
        return *id;
    }
    std::optional<ExecutionId> found;
    FF_TRY_VOID(look.store->read([&](store::Reader& reader) -> expected<void> {
        const std::uint32_t count = look.store->info().partitions.flow;
        for (std::uint32_t i = 0; i < count && !found; ++i) {
            const ExecutionId id{static_cast<std::uint16_t>(i), *uuid};
            FF_TRY(const auto e, reader.execution(id));
            if (e) {
                found = id;
            }
        }
        return {};
    }));
    if (!found) {
        return std::unexpected(no_such_execution(text));
    }
    return *found;
}

Style style_of(PublicState state) {
    switch (state) {
        case PublicState::active: return Style::cyan;
        case PublicState::completed: return Style::green;
        case PublicState::failed:
        case PublicState::expired: return Style::red;
        case PublicState::delayed:
        case PublicState::rate_limited:
        case PublicState::suspended:
        case PublicState::waiting_children: return Style::yellow;
        case PublicState::cancelled:
        case PublicState::skipped: return Style::dim;
        case PublicState::waiting:
        case PublicState::resumable: return Style::plain;
    }
    return Style::plain;
}

bool has_ended(PublicState state) {
    switch (state) {
        case PublicState::completed:
        case PublicState::failed:
        case PublicState::cancelled:
        case PublicState::expired:
        case PublicState::skipped: return true;
        default: return false;
    }
}

Cell state_cell(PublicState state) { return {to_string(state), style_of(state)}; }

/// `2026-03-01 12:00:00.000Z (3.2 s ago)`.
std::string when(TimestampMs at, TimestampMs now) {
    return at <= now ? fmt::format("{} ({} ago)", time_text(at), span_text(now - at))
                     : fmt::format("{} (in {})", time_text(at), span_text(at - now));
}

/// Two columns: name and value. Values that are not there are left out.
class Facts {
  public:
    void add(const char* name, Cell value) { table_.add({{name, Style::bold}, std::move(value)}); }
    void add_text(const char* name, const std::optional<std::string>& value) {
        if (value && !value->empty()) {
            add(name, Cell(*value));
        }
    }
    void add_time(const char* name, const std::optional<TimestampMs>& at, TimestampMs now) {
        if (at) {
            add(name, Cell(when(*at, now)));
        }
    }
    void add_count(const char* name, std::uint64_t count) {
        if (count > 0) {
            add(name, Cell(with_commas(count)));
        }
    }
    [[nodiscard]] std::string render(const Terminal& terminal) const {
        Terminal wide = terminal;
        wide.columns = 0;  // the last column may wrap, nothing is cut
        return table_.render(wide);
    }

  private:
    Table table_{{{""}, {""}}};
};

// ---------------------------------------------------------------------------------- one execution

std::string describe(const ExecutionSnapshot& s, const ExecutionContext& context,
                     const Look& look) {
    const ExecutionInfo& info = s.info;
    Facts facts;
    facts.add("execution", Cell(info.execution_id.to_string()));
    facts.add("state", state_cell(info.public_state));
    facts.add_text("detail", info.blocking_detail);
    facts.add("lane", Cell(info.lane_id));
    facts.add("namespace", Cell(info.ns));
    facts.add("kind", Cell(info.execution_kind));
    facts.add("priority", Cell(std::to_string(info.priority)));
    facts.add("created", Cell(when(info.created_at, look.now)));
    facts.add_text("creator", s.creator_identity);
    facts.add_time("delayed until", s.delay_until, look.now);
    facts.add_time("deadline", s.execution_deadline_at, look.now);
    facts.add_time("attempt deadline", s.attempt_deadline_at, look.now);
    facts.add_time("started", info.started_at, look.now);
    facts.add_time("completed", info.completed_at, look.now);
    facts.add("attempts", Cell(std::to_string(s.total_attempt_count)));
    facts.add_count("retries", s.retry_count);
    facts.add_count("reclaims", s.lease_reclaim_count);
    facts.add_count("replays", s.replay_count);
    if (s.current_lease) {
        facts.add("held by",
                  Cell(fmt::format("{} until {}, epoch {}", s.current_lease->worker_instance_id,
                                   when(s.current_lease->expires_at, look.now),
                                   s.current_lease->lease_epoch)));
    }
    if (s.progress_percent || s.progress_message) {
        const std::string percent =
            s.progress_percent ? fmt::format("{} % ", *s.progress_percent) : "";
        facts.add("progress", Cell(percent + s.progress_message.value_or("")));
    }
    facts.add_text("failure", s.failure_reason);
    facts.add_text("failure category", s.failure_category);
    facts.add_text("cancelled", s.cancellation_reason);
    facts.add_text("cancelled by", s.cancelled_by);
    facts.add_text("requires", joined(s.required_capabilities));
    facts.add_text("idempotency key", s.idempotency_key);
    for (const auto& [key, value] : s.tags) {
        facts.add("tag", Cell(key + "=" + value));
    }
    facts.add_text("policy", s.policy);
    facts.add("input", Cell(bytes_text(context.input_payload.size()) +
                            (context.payload_encoding ? ", " + *context.payload_encoding : "")));
    const StateVector& v = info.state;
    facts.add("vector",
              Cell(fmt::format("{}, {}, {}, {}, {}, {}", to_string(v.phase), to_string(v.ownership),
                               to_string(v.eligibility), to_string(v.blocking_reason),
                               to_string(v.outcome), to_string(v.attempt_state)),
                   Style::dim));
    return facts.render(look.terminal);
}

std::string attempts_table(const std::vector<AttemptInfo>& attempts, const Look& look) {
    Table table({{"#", Align::right},
                 {"type"},
                 {"state"},
                 {"worker", Align::left, Give::shrink},
                 {"started"},
                 {"took", Align::right},
                 {"failure", Align::left, Give::shrink}});
    for (const AttemptInfo& a : attempts) {
        const std::string took = a.ended_at
                                     ? span_text(*a.ended_at - a.started_at)
                                     : fmt::format("{} so far", span_text(look.now - a.started_at));
        std::string failure = a.failure_category.value_or("");
        if (a.failure_reason) {
            failure += (failure.empty() ? "" : ": ") + *a.failure_reason;
        }
        table.add({std::to_string(a.attempt_index), to_string(a.type), to_string(a.state),
                   a.worker_instance_id, time_text(a.started_at), took, failure});
    }
    return table.render(look.terminal);
}

std::string history_table(const std::vector<HistoryEntry>& history, const Look& look) {
    Table table({{"at"},
                 {"event"},
                 {"attempt", Align::right},
                 {"epoch", Align::right},
                 {"worker", Align::left, Give::shrink},
                 {"reason", Align::left, Give::shrink},
                 {"outcome"}});
    for (const HistoryEntry& h : history) {
        std::string reason = h.reason.value_or("");
        if (h.event == "revoked" && h.revoked_by) {
            reason += " by " + *h.revoked_by;
        }
        table.add({time_text(h.at), h.event,
                   h.attempt_index ? std::to_string(*h.attempt_index) : "",
                   std::to_string(h.lease_epoch), h.worker_instance_id.value_or(""), reason,
                   h.outcome.value_or("")});
    }
    return table.render(look.terminal);
}

std::string why_text(const Explanation& why, const ExecutionSnapshot& snapshot, const Look& look) {
    Facts facts;
    facts.add("state", state_cell(why.public_state));
    facts.add("why", Cell(why.summary));
    facts.add_text("failure", snapshot.failure_reason);
    facts.add_text("failure category", snapshot.failure_category);
    facts.add_time("until", why.until, look.now);
    if (why.blocking_reason != BlockingReason::none) {
        facts.add("reason", Cell(to_string(why.blocking_reason)));
    }
    if (has_ended(why.public_state)) {
        return facts.render(look.terminal);
    }
    facts.add("lane is", Cell(to_string(why.lane_state)));
    if (why.ahead) {
        facts.add("ahead of it", Cell(with_commas(*why.ahead)));
    }
    facts.add_text("requires", joined(why.required_capabilities));
    facts.add_text("nobody has", joined(why.missing_capabilities));
    facts.add("workers for it", Cell(std::to_string(why.capable_workers)));
    return facts.render(look.terminal);
}

/// Prints the answer of an operation on one execution, or its JSON.
template <class Op, class Print>
ExitCode look_at_one(const InspectOptions& options, Print print) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        FF_TRY(const ExecutionId id, find_id(look, options.id));
        Op op;
        op.execution_id = id;
        FF_TRY(const auto answer, look.ask(op));
        return print(look, id, answer);
    });
}

}  // namespace

ExitCode inspect_get(const InspectOptions& options) {
    return look_at_one<DescribeExecution>(
        options,
        [&](const Look& look, const ExecutionId& id,
            const std::optional<ExecutionSnapshot>& snapshot) -> expected<void> {
            if (!snapshot) {
                return std::unexpected(no_such_execution(id.to_string()));
            }
            FF_TRY(const ExecutionContext context, look.ask(ReadExecutionContext{id}));
            if (options.output == Output::json) {
                print_json(as_json(*snapshot));
            } else {
                print_out(describe(*snapshot, context, look));
            }
            return {};
        });
}

ExitCode inspect_why(const InspectOptions& options) {
    return look_at_one<ExplainExecution>(
        options,
        [&](const Look& look, const ExecutionId& id, const Explanation& why) -> expected<void> {
            FF_TRY(const auto snapshot, look.ask(DescribeExecution{id}));
            if (!snapshot) {
                return std::unexpected(no_such_execution(id.to_string()));
            }
            if (options.output == Output::json) {
                print_json(as_json(why, *snapshot));
            } else {
                print_out(why_text(why, *snapshot, look));
            }
            return {};
        });
}

ExitCode inspect_attempts(const InspectOptions& options) {
    return look_at_one<ListAttempts>(
        options,
        [&](const Look& look, const ExecutionId&,
            const std::vector<AttemptInfo>& attempts) -> expected<void> {
            if (options.output == Output::json) {
                print_json(page_as_json(attempts, std::nullopt));
            } else {
                print_out(attempts_table(attempts, look));
            }
            return {};
        });
}

ExitCode inspect_history(const InspectOptions& options) {
    return look_at_one<ReadLeaseHistory>(
        options,
        [&](const Look& look, const ExecutionId&,
            const std::vector<HistoryEntry>& history) -> expected<void> {
            if (options.output == Output::json) {
                print_json(page_as_json(history, std::nullopt));
            } else {
                print_out(history_table(history, look));
            }
            return {};
        });
}

ExitCode inspect_input(const InspectOptions& options) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        FF_TRY(const ExecutionId id, find_id(look, options.id));
        FF_TRY(const auto snapshot, look.ask(DescribeExecution{id}));
        if (!snapshot) {
            return std::unexpected(no_such_execution(id.to_string()));
        }
        FF_TRY(const ExecutionContext context, look.ask(ReadExecutionContext{id}));
        print_out(context.input_payload);
        return {};
    });
}

ExitCode inspect_result(const InspectOptions& options) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        FF_TRY(const ExecutionId id, find_id(look, options.id));
        FF_TRY(const ExecutionInfo info, look.ask(ReadExecutionInfo{id}));
        FF_TRY(const auto result, look.ask(GetExecutionResult{id}));
        if (!result) {
            return std::unexpected(Error{ErrorCode::execution_not_found,
                                         fmt::format("execution {} has no result: it is {}",
                                                     id.to_string(), to_string(info.public_state)),
                                         {}});
        }
        print_out(result->payload);
        return {};
    });
}

// ------------------------------------------------------------------------------------------ lists

namespace {

expected<SearchExecutions> search_of(const ListOptions& filter) {
    SearchExecutions op;
    op.ns = filter.ns;
    op.lane_id = filter.lane;
    op.kind = filter.kind;
    op.cursor = filter.cursor;
    op.limit = filter.limit;
    if (filter.state) {
        const auto state = parse_enum<PublicState>(*filter.state);
        if (!state) {
            return ff::fail(ErrorCode::invalid_input, "there is no state " + *filter.state);
        }
        op.states = {*state};
    }
    if (filter.tag) {
        const std::size_t split = filter.tag->find('=');
        if (split == std::string::npos || split == 0) {
            return ff::fail(ErrorCode::invalid_input,
                            "a tag is given as key=value, not as " + *filter.tag);
        }
        op.tags = {{filter.tag->substr(0, split), filter.tag->substr(split + 1)}};
    }
    return op;
}

/// A page of the engine may be short and yet not the last; a person wants a full one.
expected<SearchPage> search_page(const Look& look, SearchExecutions op) {
    FF_TRY(SearchPage page, look.ask(op));
    const std::size_t wanted = op.limit;
    while (page.next_cursor && page.items.size() < wanted) {
        op.cursor = page.next_cursor;
        op.limit = static_cast<std::uint32_t>(wanted - page.items.size());
        FF_TRY(SearchPage more, look.ask(op));
        std::ranges::move(more.items, std::back_inserter(page.items));
        page.next_cursor = std::move(more.next_cursor);
    }
    return page;
}

std::string executions_table(const SearchPage& page, const Look& look) {
    Table table({{"execution"},
                 {"state"},
                 {"lane", Align::left, Give::shrink},
                 {"kind", Align::left, Give::shrink},
                 {"prio", Align::right},
                 {"att", Align::right},
                 {"age", Align::right}});
    for (const ExecutionInfo& info : page.items) {
        table.add({info.execution_id.to_string(), state_cell(info.public_state), info.lane_id,
                   info.execution_kind, std::to_string(info.priority),
                   std::to_string(info.total_attempt_count),
                   span_text(look.now - info.created_at)});
    }
    std::string out = table.render(look.terminal);
    if (page.items.empty()) {
        return "nothing found\n";
    }
    if (page.next_cursor) {
        const std::string more = fmt::format("more with --cursor {}", printable(*page.next_cursor));
        out += look.terminal.paint(more, Style::dim) + "\n";
    }
    return out;
}

}  // namespace

ExitCode inspect_list(const InspectOptions& options, const ListOptions& filter) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        FF_TRY(const SearchExecutions op, search_of(filter));
        FF_TRY(const SearchPage page, search_page(look, op));
        if (options.output == Output::json) {
            print_json(page_as_json(page.items, page.next_cursor));
        } else {
            print_out(executions_table(page, look));
        }
        return {};
    });
}

ExitCode inspect_lanes(const InspectOptions& options) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        std::vector<LaneInfo> lanes;
        ListLanes op;
        do {
            FF_TRY(LanePage page, look.ask(op));
            std::ranges::move(page.lanes, std::back_inserter(lanes));
            op.cursor = std::move(page.next_cursor);
        } while (op.cursor);
        if (options.output == Output::json) {
            print_json(page_as_json(lanes, std::nullopt));
            return {};
        }
        Table table({{"lane"}, {"state"}});
        for (const LaneInfo& lane : lanes) {
            table.add({lane.lane_id,
                       {to_string(lane.state),
                        lane.state == LaneState::active ? Style::green : Style::yellow}});
        }
        print_out(table.empty() ? "no lane is registered\n" : table.render(look.terminal));
        return {};
    });
}

ExitCode inspect_workers(const InspectOptions& options) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        std::vector<WorkerInfo> workers;
        ListWorkers op;
        do {
            FF_TRY(WorkerPage page, look.ask(op));
            std::ranges::move(page.workers, std::back_inserter(workers));
            op.after = std::move(page.next_cursor);
        } while (op.after);
        if (options.output == Output::json) {
            print_json(page_as_json(workers, std::nullopt));
            return {};
        }
        Table table({{"instance", Align::left, Give::shrink},
                     {"worker", Align::left, Give::shrink},
                     {"namespace"},
                     {"lanes", Align::left, Give::shrink},
                     {"capabilities", Align::left, Give::shrink},
                     {"heartbeat", Align::right}});
        for (const WorkerInfo& w : workers) {
            table.add({w.worker_instance_id, w.worker_id, w.ns, joined(w.lanes),
                       joined(w.capabilities), span_text(look.now - w.last_heartbeat_ms) + " ago"});
        }
        print_out(table.empty() ? "no live worker is registered\n" : table.render(look.terminal));
        return {};
    });
}

namespace {

expected<std::vector<ExpiredLease>> expired_leases(const Look& look) {
    std::vector<ExpiredLease> leases;
    ListExpiredLeases op;
    op.as_of = look.now;
    do {
        FF_TRY(ExpiredLeasePage page, look.ask(op));
        std::ranges::move(page.leases, std::back_inserter(leases));
        op.after = std::move(page.next_cursor);
    } while (op.after);
    return leases;
}

/// Every lease there is, live or past its time.
expected<std::vector<ExpiredLease>> all_leases(const Look& look) {
    std::vector<ExpiredLease> leases;
    FF_TRY_VOID(look.store->read([&](store::Reader& reader) -> expected<void> {
        // By the time their timers fire, which is never later than the lease ends.
        FF_TRY(const auto held, reader.leased_due(std::numeric_limits<TimestampMs>::max()));
        for (const core::Execution& e : held) {
            leases.push_back({e.id, e.lease_id.value_or(LeaseId{}), e.lease_epoch,
                              e.worker_instance_id.value_or(""), e.lease_expires_at.value_or(0),
                              e.current_attempt_index.value_or(0)});
        }
        return {};
    }));
    return leases;
}

}  // namespace

ExitCode inspect_leases(const InspectOptions& options, LeaseFilter which) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        const bool all = which == LeaseFilter::all;
        FF_TRY(auto leases, all ? all_leases(look) : expired_leases(look));
        std::ranges::stable_sort(leases, {}, &ExpiredLease::expires_at_ms);
        if (options.output == Output::json) {
            print_json(page_as_json(leases, std::nullopt));
            return {};
        }
        Table table({{"execution"},
                     {"held by", Align::left, Give::shrink},
                     {"attempt", Align::right},
                     {"epoch", Align::right},
                     {"expires"}});
        for (const ExpiredLease& lease : leases) {
            table.add({lease.execution_id.to_string(), lease.worker_instance_id,
                       std::to_string(lease.attempt_index), std::to_string(lease.lease_epoch),
                       when(lease.expires_at_ms, look.now)});
        }
        print_out(table.empty() ? (all ? "there is no lease\n" : "no lease is past its time\n")
                                : table.render(look.terminal));
        return {};
    });
}

// ------------------------------------------------------------------------------------------ stats

namespace {

using StateTotals = std::map<PublicState, std::uint64_t>;

std::uint64_t sum(const StateTotals& totals) {
    std::uint64_t out = 0;
    for (const auto& [state, count] : totals) {
        out += count;
    }
    return out;
}

js::Value totals_json(const StateTotals& totals) {
    js::Object out;
    for (const auto& [state, count] : totals) {
        out.emplace_back(std::string(to_string(state)), count);
    }
    return out;
}

}  // namespace

ExitCode inspect_stats(const InspectOptions& options) {
    return with_store(options, [&](const Look& look) -> expected<void> {
        FF_TRY(const auto counts, look.store->counts());
        std::map<std::string, StateTotals> lanes;
        StateTotals everywhere;
        for (const StateCount& row : counts) {
            lanes[row.lane_id][row.state] += row.count;
            everywhere[row.state] += row.count;
        }
        if (options.output == Output::json) {
            js::Array list;
            for (const auto& [lane, totals] : lanes) {
                list.emplace_back(js::Object{
                    {"lane_id", lane}, {"states", totals_json(totals)}, {"total", sum(totals)}});
            }
            print_json(js::Object{{"lanes", std::move(list)},
                                  {"states", totals_json(everywhere)},
                                  {"total", sum(everywhere)}});
            return {};
        }
        std::vector<Column> columns{{"lane", Align::left, Give::shrink}};
        for (const auto& [state, count] : everywhere) {
            columns.push_back({std::string(to_string(state)), Align::right});
        }
        columns.push_back({"total", Align::right});
        Table table(std::move(columns));
        const auto add = [&](const Cell& name, const StateTotals& totals) {
            std::vector<Cell> cells{name};
            for (const auto& [state, ignored] : everywhere) {
                const auto it = totals.find(state);
                cells.push_back(it == totals.end() ? Cell("-", Style::dim)
                                                   : Cell(with_commas(it->second)));
            }
            cells.emplace_back(with_commas(sum(totals)));
            table.add(std::move(cells));
        };
        for (const auto& [lane, totals] : lanes) {
            add(lane, totals);
        }
        add({"all lanes", Style::bold}, everywhere);
        print_out(lanes.empty() ? "the store is empty\n" : table.render(look.terminal));
        return {};
    });
}

}  // namespace ff::cli
