#include "cli/inspect.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <ff/clock.h>

#include "cli/inspect_json.h"
#include "cli/reading_engine.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/views.h"

namespace ff::cli {

namespace {

/// Opens the store, runs `body` and turns what went wrong into a line and a number.
ExitCode with_store(const InspectOptions& options,
                    const std::function<expected<void>(ReadOnlyStore&, const View&)>& body) {
    const auto opened = ReadingEngine::open(options.db);
    if (!opened) {
        return complain(opened.error());
    }
    const ReadingEngine& engine = **opened;
    const auto outcome = body(engine.store(), View{Terminal::output(), SystemClock().now()});
    return outcome ? ExitCode::ok : complain(engine.explained(outcome.error()));
}

}  // namespace

ExitCode inspect_all_leases(const InspectOptions& options) {
    return with_store(options, [&](ReadOnlyStore& store, const View& view) -> expected<void> {
        std::vector<ExpiredLease> leases;
        FF_TRY_VOID(store.read([&](store::Reader& reader) -> expected<void> {
            // By the time their timers fire, which is never later than the lease ends.
            constexpr TimestampMs any_time = std::numeric_limits<TimestampMs>::max();
            constexpr std::size_t rows_per_read = 1'000;
            store::Reader::LeaseKey at{std::numeric_limits<TimestampMs>::min(), 0};
            for (;;) {
                FF_TRY(const auto held, reader.leased_due(at, any_time, rows_per_read));
                for (const core::Execution& e : held) {
                    leases.push_back({e.id, e.lease_id.value_or(LeaseId{}), e.lease_epoch,
                                      e.worker_instance_id.value_or(""),
                                      e.lease_expires_at.value_or(0),
                                      e.current_attempt_index.value_or(0)});
                }
                if (held.size() < rows_per_read) {
                    return {};
                }
                at = {held.back().timer_at.value_or(at.first), held.back().eid};
            }
        }));
        std::ranges::stable_sort(leases, {}, &ExpiredLease::expires_at_ms);
        print_out(for_programs(options.output)
                      ? list_document(options.output, all_as_json(leases), std::nullopt)
                      : leases_text(leases, "there is no lease", view));
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
    return with_store(options, [&](ReadOnlyStore& store, const View& view) -> expected<void> {
        FF_TRY(const auto counts, store.counts());
        std::map<std::string, StateTotals> lanes;
        StateTotals everywhere;
        for (const StateCount& row : counts) {
            lanes[row.lane_id][row.state] += row.count;
            everywhere[row.state] += row.count;
        }
        if (for_programs(options.output)) {
            js::Array list;
            for (const auto& [lane, totals] : lanes) {
                list.emplace_back(js::Object{
                    {"lane_id", lane}, {"states", totals_json(totals)}, {"total", sum(totals)}});
            }
            print_out(document(options.output, js::Object{{"lanes", std::move(list)},
                                                          {"states", totals_json(everywhere)},
                                                          {"total", sum(everywhere)}}));
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
        print_out(lanes.empty() ? "the store is empty\n" : table.render(view.terminal));
        return {};
    });
}

}  // namespace ff::cli
