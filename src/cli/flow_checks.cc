#include "cli/flow_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/text.h"
#include "core/derive.h"
#include "core/flow_invariants.h"

namespace ff::cli {

namespace {

using store::Reader;

constexpr std::size_t flows_a_page = 100;
constexpr std::size_t member_rows = 500;

class FlowScan {
  public:
    FlowScan(ReadOnlyStore& store, const CheckProgress& progress)
        : store_(store), progress_(progress) {}

    Check run() {
        if (auto done = scan_flows(); !done) {
            check_.add("the scan stopped: " + done.error().message());
        }
        if (auto done = scan_orphans(); !done) {
            check_.add("the scan stopped: " + done.error().message());
        }
        check_.detail = check_.found == 0
                            ? fmt::format("{} flows, and their rows agree", with_commas(flows_))
                            : fmt::format("{} finding{}", with_commas(check_.found),
                                          check_.found == 1 ? "" : "s");
        return std::move(check_);
    }

  private:
    expected<void> scan_flows() {
        std::optional<FlowId> after;
        for (;;) {
            // Ids alone: a row that does not read must not hide those behind it.
            std::vector<FlowId> ids;
            FF_TRY_VOID(store_.read([&](Reader&) -> expected<void> {
                FF_TRY(ids, store_.rows().flow_ids_after(after, flows_a_page));
                return {};
            }));
            for (const FlowId& id : ids) {
                // Each in a view of its own: large ones take a while.
                FF_TRY_VOID(store_.read([&](Reader& reader) -> expected<void> {
                    auto flow = reader.flow(id);
                    if (!flow) {
                        check_.add(fmt::format("flow {}: its row: {}", id.to_string(),
                                               flow.error().detail));
                        return {};
                    }
                    return *flow ? check(reader, **flow) : expected<void>();
                }));
            }
            flows_ += ids.size();
            progress_("flows", flows_, 0);
            if (ids.size() < flows_a_page) {
                return {};
            }
            after = ids.back();
        }
    }

    expected<void> check(Reader& reader, const core::Flow& flow) {
        check_derived(flow);
        core::FlowRows rows;
        rows.flow = flow;
        if (auto read = read_rows(reader, rows); !read) {
            if (read.error().code != ErrorCode::corruption) {
                return read;
            }
            say(flow, "one of its rows: " + read.error().detail);
            return {};
        }
        for (std::string& finding : core::check_flow(rows)) {
            say(flow, finding);
        }
        return {};
    }

    static expected<void> read_rows(Reader& reader, core::FlowRows& rows) {
        const FlowId& id = rows.flow.id;
        FF_TRY(rows.edges, reader.edges_of_flow(id));
        FF_TRY(rows.groups, reader.groups_of_flow(id));
        FF_TRY(const auto work, reader.flow_work(id, 1));
        rows.work_waits = !work.empty();
        std::optional<ExecutionId> after;
        for (;;) {
            FF_TRY(auto page, reader.members(id, after, member_rows));
            const std::size_t size = page.size();
            std::ranges::move(page, std::back_inserter(rows.members));
            if (size < member_rows) {
                return {};
            }
            after = rows.members.back().id;
        }
    }

    /// What follows from the row is kept in it. When an empty flow goes is up to the engine's
    /// settings, only that it goes is certain.
    void check_derived(const core::Flow& flow) {
        core::Flow again = flow;
        core::arm_flow(again, 0);
        if (again.held != flow.held) {
            say(flow,
                flow.held ? "claims are held back for no reason" : "claims are not held back");
        }
        if (again.timer_at.has_value() != flow.timer_at.has_value() ||
            (flow.node_count > 0 && again.timer_at != flow.timer_at)) {
            say(flow, "its timer is not armed as it should be");
        }
    }

    void say(const core::Flow& flow, const std::string& what) {
        check_.add("flow " + flow.id.to_string() + ": " + what);
    }

    expected<void> scan_orphans() {
        for (const char* table : {"ff_exec_core", "ff_edge", "ff_edge_group", "ff_flow_work"}) {
            progress_(table, 0, 0);
            FF_TRY(const auto found, store_.rows().flow_orphans(table));
            for (const FlowId& id : found) {
                check_.add(fmt::format("{} has rows of flow {}, which does not exist", table,
                                       id.to_string()));
            }
        }
        return {};
    }

    ReadOnlyStore& store_;
    const CheckProgress& progress_;
    std::uint64_t flows_ = 0;
    Check check_{"flows"};
};

}  // namespace

Check check_flows(ReadOnlyStore& store, const CheckProgress& progress) {
    return FlowScan(store, progress).run();
}

}  // namespace ff::cli
