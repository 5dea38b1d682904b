// Stores as JSON lines: what goes out comes in again, and what is not right changes nothing.
#include "store/transfer.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <sstream>

#include <ff/json.h>
#include "store/row_text.h"
#include "store/sqlite_db.h"
#include "store/sqlite_store.h"
#include "store/transfer_support.h"

namespace ff::store::test {
namespace {

namespace fs = std::filesystem;
using core::Bucket;
using core::LeaseEventType;

/// Rows of `a` that are not in `b`, table by table; empty when there are none.
std::string rows_missing(const std::string& a, const std::string& b) {
    auto db = SqliteDb::open(a, OpenMode::write, 0);
    EXPECT_TRUE(db);
    EXPECT_TRUE((*db)->execute("ATTACH '" + b + "' AS other"));
    std::string out;
    for (const char* table :
         {"ff_route",      "ff_lane_registry", "ff_exec_core",   "ff_exec_input",
          "ff_attempt",    "ff_claim_grant",   "ff_idempotency", "ff_worker_registry",
          "ff_exec_event", "ff_log_event",     "ff_flow",        "ff_edge",
          "ff_edge_group", "ff_flow_work",     "ff_suspension",  "ff_waitpoint",
          "ff_signal",     "ff_satisfier",     "ff_hmac_key",    "ff_ready",
          "ff_timer",      "ff_listed",        "ff_exec_tag",    "ff_partition_config",
          "ff_turn"}) {
        const std::string name = table;
        const auto count = (*db)->scalar("SELECT COUNT(*) FROM (SELECT * FROM main." + name +
                                         " EXCEPT SELECT * FROM other." + name + ")");
        EXPECT_TRUE(count);
        out += *count == "0" ? "" : name + " " + *count + "; ";
    }
    return out;
}

class Transfer : public testing::Test {
  protected:
    /// A store with rows of every table, closed.
    void fill(const std::string& path) {
        auto opened = open_sqlite(path);
        ASSERT_TRUE(opened) << opened.error().message();
        fill_store(**opened);
        add_odd_texts(**opened);
    }

    /// Expects that the text is refused with this message, and that nothing is left of it.
    void expect_refused(const std::string& text, const std::string& message,
                        Soundness soundness = Soundness::as_it_is) {
        const std::string path = folder_.file("refused.db");
        const auto done = import_text(path, text, soundness);
        ASSERT_FALSE(done) << "imported, though: " << message;
        EXPECT_NE(done.error().detail.find(message), std::string::npos)
            << "said: " << done.error().detail << "\nnot: " << message;
        EXPECT_FALSE(fs::exists(path)) << message;
        EXPECT_FALSE(fs::exists(path + "-journal")) << message;
    }

    std::vector<std::string> small() { return small_export(folder_.file("small.db")); }

    TempDir folder_;
};

// --------------------------------------------------------------------------------- round trips

TEST_F(Transfer, every_row_of_every_table_comes_back) {
    const std::string from = folder_.file("from.db");
    const std::string to = folder_.file("to.db");
    fill(from);
    const std::string text = export_text(from);
    const auto done = import_text(to, text, Soundness::as_it_is);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->total() + 2, done->lines);
    EXPECT_EQ(rows_missing(from, to), "");
    EXPECT_EQ(rows_missing(to, from), "");
    EXPECT_EQ(export_text(to), text);
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        EXPECT_GT(done->rows[table], 0U) << table_name(empty_batch(table));
    }
}

TEST_F(Transfer, reads_of_the_copy_are_those_of_the_original) {
    const std::string from = folder_.file("from.db");
    const std::string to = folder_.file("to.db");
    fill(from);
    ASSERT_TRUE(import_text(to, export_text(from), Soundness::as_it_is));
    auto a = open_sqlite(from);
    auto b = open_sqlite(to);
    ASSERT_TRUE(a && b);
    const auto same = [&](auto read) { EXPECT_EQ(look(**a, read), look(**b, read)); };
    same([](Reader& r) { return r.newest(1'000, 100); });
    same([](Reader& r) { return r.routes(); });
    same([](Reader& r) { return r.lanes("", 10); });
    same([](Reader& r) { return r.workers(std::nullopt, {}, 10); });
    same([](Reader& r) { return r.attempts(1); });
    same([](Reader& r) { return r.input(1); });
    same([](Reader& r) { return r.events_after(0, 100); });
    same([](Reader& r) { return r.log_events_after(0, 100); });
    same([](Reader& r) { return r.ready_after({}, 100); });
    same([](Reader& r) { return r.timers_after({}, 100); });
    same([](Reader& r) { return r.listed_after(Bucket::none, 0, 100); });
    same([](Reader& r) { return r.newest_with_tag("city", "東京", 1'000, 10); });
    same([](Reader& r) { return r.flows({}, {}, 100); });
    same([](Reader& r) { return r.members(flow_id_of(11), {}, 100); });
    same([](Reader& r) { return r.edges_of_flow(flow_id_of(11)); });
    same([](Reader& r) { return r.groups_of_flow(flow_id_of(11)); });
    same([](Reader& r) { return r.flow_work({}, 100); });
    same([](Reader& r) { return r.suspensions(2); });
    same([](Reader& r) { return r.suspended("default", {}, 100); });
    same([](Reader& r) { return r.open_waitpoints(2, {}, 100); });
    same([](Reader& r) { return r.signals(2, 0, 100, Payloads::read); });
    same([](Reader& r) { return r.satisfiers({2, 1}); });
    same([](Reader& r) { return r.hmac_keys(); });
    EXPECT_EQ(find_grant(**a, id_of(1, 513)), find_grant(**b, id_of(1, 513)));
    EXPECT_EQ(look(**b, [](Reader& r) { return r.input(1); })->payload, all_bytes());
}

TEST_F(Transfer, tables_longer_than_a_page_come_back_whole) {
    const std::string from = folder_.file("from.db");
    const std::string to = folder_.file("to.db");
    {
        auto opened = open_sqlite(from);
        ASSERT_TRUE(opened);
        put(**opened, changes(route_of(1, "default")));
        core::Changes rows;
        for (Eid eid = 1; eid <= 2'500; ++eid) {
            core::Execution row = ended(eid, 1, TerminalOutcome::success, t0);
            row.total_attempt_count = 1;
            row.current_attempt_index = 0;
            row.lease_epoch = 1;
            core::Attempt attempt = attempt_of(eid, 0);
            attempt.state = AttemptLifecycle::ended_success;
            attempt.ended_at = t0;
            attempt.lease_epoch = 1;
            rows.put_executions.push_back(row);
            rows.put_inputs.push_back(input_of(eid));
            rows.put_attempts.push_back(attempt);
        }
        put(**opened, std::move(rows));
    }
    const auto done = import_text(to, export_text(from));  // with invariants
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->total(), 3 * 2'500U + 1);
    EXPECT_EQ(rows_missing(from, to), "");
    EXPECT_EQ(rows_missing(to, from), "");
}

TEST_F(Transfer, an_empty_store_is_an_export_too) {
    const std::string from = folder_.file("from.db");
    ASSERT_TRUE(open_sqlite(from, {.flow_partitions = 7}));
    const auto done = import_text(folder_.file("to.db"), export_text(from));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->total(), 0U);
    auto opened = open_sqlite(folder_.file("to.db"));
    ASSERT_TRUE(opened);
    EXPECT_EQ((*opened)->info().partitions.flow, 7);
}

TEST_F(Transfer, numbers_go_on_above_the_highest_ever_given_out) {
    const std::string from = folder_.file("from.db");
    const std::string to = folder_.file("to.db");
    {
        auto opened = open_sqlite(from);
        ASSERT_TRUE(opened);
        Store& store = **opened;
        put(store, changes(route_of(1, "default")));
        put(store, changes(waiting(store.next_eid(t0), 1)));
        const core::Execution gone = waiting(store.next_eid(t0), 1);
        put(store, changes(gone, event_of(gone, LeaseEventType::renewed)));
        core::Changes deletion;
        deletion.delete_executions.push_back(gone.eid);
        put(store, std::move(deletion));
        ASSERT_TRUE(store.begin());
        ASSERT_TRUE(store.trim_events(EventFamily::lease_history, 1));
        ASSERT_TRUE(store.commit_upkeep());
    }
    ASSERT_TRUE(import_text(to, export_text(from)));
    auto opened = open_sqlite(to);
    ASSERT_TRUE(opened);
    Store& store = **opened;
    EXPECT_EQ(store.next_eid(t0), 3);
    EXPECT_EQ(store.next_route_id(), 2);
    const core::Execution next = waiting(3, 1);
    put(store, changes(next, event_of(next, LeaseEventType::acquired)));
    const auto events = look(store, [](Reader& r) { return r.events_after(0, 10); });
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].event_id, 2);
}

TEST_F(Transfer, an_export_is_of_one_moment) {
    const std::string path = folder_.file("live.db");
    auto opened = open_sqlite(path);
    ASSERT_TRUE(opened);
    Store& store = **opened;
    put(store, changes(route_of(1, "default")));
    put(store, changes(waiting(store.next_eid(t0), 1), input_of(1)));
    auto source = open_export_source(location_of(path));
    ASSERT_TRUE(source) << source.error().message();
    put(store, changes(waiting(store.next_eid(t0), 1), input_of(2)));
    RowBatch rows = std::vector<core::Execution>();
    ASSERT_TRUE((*source)->next_page(rows, 10));
    EXPECT_EQ(row_count(rows), 1U);
    EXPECT_EQ((*source)->facts().eid_high, 1);
    EXPECT_TRUE((*source)->finish());
}

TEST_F(Transfer, a_closed_file_that_somebody_opens_meanwhile_is_no_export) {
    const std::string path = folder_.file("closed.db");
    fill(path);
    auto source = open_export_source(location_of(path));
    ASSERT_TRUE(source);
    {
        auto opened = open_sqlite(path);
        ASSERT_TRUE(opened);
        put(**opened, changes(core::Lane{"new", LaneState::active, t0}));
    }
    const auto done = (*source)->finish();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().detail.find("run this again"), std::string::npos);
}

// ------------------------------------------------------------------------------------- the text

TEST_F(Transfer, a_row_names_what_is_not_the_default) {
    std::string out;
    const core::Lane lane{"a \"b\"", LaneState::active, 0};
    append_row(out, table_info<core::Lane>, &lane);
    EXPECT_EQ(out, R"({"lane_id":"a \"b\""})");
    out.clear();
    const core::IdempotencyEntry entry = idempotency_of("acme", "\xfe", id_of(0xab, 1), 7);
    append_row(out, table_info<core::IdempotencyEntry>, &entry);
    EXPECT_EQ(out, R"({"namespace":"acme","idempotency_key":{"hex":"fe"},)"
                   R"("execution_id":"0001000000000000000000000000000000ab","expires_at":7})");
    const auto value = js::parse(out);
    ASSERT_TRUE(value);
    core::IdempotencyEntry back;
    EXPECT_EQ(take_row_text(*value, table_info<core::IdempotencyEntry>, &back), "");
    EXPECT_EQ(back, entry);
}

TEST_F(Transfer, hex_has_one_spelling) {
    EXPECT_EQ(encode_hex(std::string("\x00\xff", 2)), "00ff");
    EXPECT_EQ(decode_hex("00ff"), std::string("\x00\xff", 2));
    EXPECT_EQ(decode_hex(""), "");
    EXPECT_FALSE(decode_hex("0"));
    EXPECT_FALSE(decode_hex("FF"));
    EXPECT_FALSE(decode_hex("0g"));
    EXPECT_EQ(decode_hex(encode_hex(all_bytes())), all_bytes());
}

// ------------------------------------------------------------------------------------ bad texts

// Lines of small(): 1 header, 2 route, 3 lane, 4-5 executions, 6-7 inputs, 8-9 events,
// 10 log event, 11 end.
struct BadLine {
    std::size_t line;
    std::string from;  ///< a part of the line; empty: all of it
    std::string to;
    std::string message;
};

TEST_F(Transfer, whatever_is_wrong_is_named_with_its_line) {
    const std::vector<std::string> good = small();
    ASSERT_EQ(good.size(), 11U);
    ASSERT_TRUE(import_text(folder_.file("good.db"), joined(good)));
    const std::vector<BadLine> bad{
        {1, "", "hello", "line 1: this is not an export of ff"},
        {1, "", R"({"table":"ff_route","row":{}})", "line 1: this is not an export of ff"},
        {1, "export\":1", "export\":2", "line 1: the export has format 2, this program reads 1"},
        {1, "schema\":11", "schema\":99", "line 1: the export has schema version 99"},
        {1, "schema", "scheme", "line 1: the header: schema: is missing"},
        {1, "schema\":11", "schema\":-1", "line 1: the header: schema: is not a possible number"},
        {1, "partitions", "parts", "line 1: the header: partitions: is missing"},
        {1, "\"flow\":1", "\"flow\":0", "line 1: the header: flow: is not a possible number"},
        {1, "event_high", "event_low", "line 1: the header: event_high: is missing"},
        {1, "event_high\":3", "event_high\":2",
         "line 10: ff_log_event: event_id: 3 is not in 1 to"},
        {1, "eid_high\":2", "eid_high\":1", "line 5: ff_exec_core: eid: 2 is not in 1 to 1"},
        {2, "{", "", "line 2: not JSON: "},
        {2, "", "", "line 2: not JSON: "},
        {2, "", "[1]", "line 2: must be a JSON object"},
        {2, "\"row\"", "\"rows\"", "line 2: must be {\"table\":"},
        {2, "ff_route", "ff_roote", "line 2: there is no table \"ff_roote\""},
        {2, "ff_route", "ff_ready", "line 2: there is no table \"ff_ready\""},
        {2, "lane_id", "lain_id", "line 2: ff_route: lain_id: there is no such column"},
        {2, "\"lane_id\":\"default\",", "", "line 2: ff_route: lane_id: is missing"},
        {2, "\"default\"", "null", "line 2: ff_route: lane_id: is missing"},
        {2, "\"default\"", "17", "line 2: ff_route: lane_id: must be a string"},
        {2, "\"route\":1", "\"route\":0", "line 2: ff_route: route: numbers start at 1"},
        {2, "\"route\":1", "\"route\":2", "line 4: ff_exec_core: route: there is no route 1"},
        {4, "\"eid\":1", "\"eid\":\"1\"", "line 4: ff_exec_core: eid: must be an integer"},
        {4, "\"eid\":1", "\"eid\":1.5", "line 4: ff_exec_core: eid: must be an integer"},
        {4, "\"eid\":1", "\"eid\":99999999999999999999", "ff_exec_core: eid: must be an integer"},
        {4, "phase\":1", "phase\":77",
         "line 4: ff_exec_core: lifecycle_phase: 77 is not one of its values"},
        {4, "\"id\":\"00", "\"id\":\"0",
         "line 4: ff_exec_core: id: must be a string of lower-case"},
        {4, "\"id\":\"00", "\"id\":\"", "line 4: ff_exec_core: id: not 18 bytes"},
        {4, "\"id\":\"00", "\"id\":\"0A",
         "line 4: ff_exec_core: id: must be a string of lower-case"},
        {4, "\"eid\":1", "\"priority\":5000000000,\"eid\":1",
         "line 4: ff_exec_core: priority: 5000000000 is not one of its values"},
        {4, "\"eid\":1", "\"extra\":\"{\\\"oops\\\":1}\",\"eid\":1",
         "line 4: ff_exec_core: extra: there is no such member: oops"},
        {4, "\"eid\":1", "\"extra\":\"{\",\"eid\":1",
         "line 4: ff_exec_core: extra: not the JSON it should hold"},
        {4, "\"eid\":1", "\"last_event_id\":9,\"eid\":1",
         "line 4: ff_exec_core: last_event_id: is above the event_high"},
        {5, "\"eid\":2", "\"eid\":1", "line 5: ff_exec_core: eid 1: there are two such rows"},
        {5, "0002\"", "0001\"", "line 5: ff_exec_core: UNIQUE constraint failed: ff_exec_core.id"},
        {6, "\"eid\":1", "\"eid\":3", "line 6: ff_exec_input: eid: there is no execution 3"},
        {7, "\"tags\":\"{", "\"tags\":\"[", "line 7: ff_exec_input: tags: not the JSON"},
        {9, "event_id\":2", "event_id\":1", "line 9: ff_exec_event: event_id 1: there are two"},
        {9, "", good[1], "line 9: ff_route: stands after rows of ff_exec_event"},
        {11, "", "", "line 11: not JSON"},
        {11, "ff_exec_core\":2", "ff_exec_core\":3",
         "line 11: ff_exec_core: there are 2 rows and should be 3"},
        {11, "\"ff_route\":1,", "", "line 11: ff_route: there are 1 rows and should be counted"},
        {11, "\"rows\"", "\"row\"", "line 11: the last line does not count the rows"},
    };
    for (const BadLine& fault : bad) {
        std::vector<std::string> lines = good;
        std::string& line = lines[fault.line - 1];
        if (fault.from.empty()) {
            line = fault.to;
        } else {
            const std::size_t at = line.find(fault.from);
            ASSERT_NE(at, std::string::npos) << fault.from << " is not in " << line;
            line.replace(at, fault.from.size(), fault.to);
        }
        expect_refused(joined(lines), fault.message);
    }
}

TEST_F(Transfer, what_is_wrong_with_a_flow_is_named_with_its_line) {
    const std::vector<std::string> good = flow_export(folder_.file("flow.db"));
    ASSERT_EQ(good.size(), 11U);
    const auto done = import_text(folder_.file("good.db"), joined(good));
    ASSERT_TRUE(done) << done.error().message();
    const std::string other = "00000000000000000000000000000002";
    const std::string named = "00000000-0000-0000-0000-000000000002";
    const std::vector<BadLine> bad{
        {3, "\"partition\":0", "\"partition\":1", "ff_flow: partition: 1 lies beyond"},
        {3, "\"timer_at\":1700000060000", "\"sealed\":1", "ff_flow: timer_at: should be set"},
        {3, "\"live_members\":2", "\"live_members\":2,\"paused\":1", "ff_flow: held: should be 1"},
        {3, "\"graph_revision\":3", "\"graph_revision\":4",
         "ff_flow: graph_revision: is not the number of nodes and edges"},
        {3, "\"flow_kind\":\"pipeline\",", "", "ff_flow: flow_kind: is missing"},
        {5, "\"flow_id\":\"00000000000000000000000000000001\"", "\"flow_id\":\"" + other + "\"",
         "ff_exec_core: flow_id: there is no flow " + named},
        {8, "\"flow_id\":\"00000000000000000000000000000001\"", "\"flow_id\":\"" + other + "\"",
         "ff_edge: flow_id: there is no flow " + named},
        {8, "\"created_at\"", "\"edge_state\":7,\"created_at\"",
         "ff_edge: edge_state: 7 is not one of its values"},
        {9, "\"flow_id\":\"00000000000000000000000000000001\"", "\"flow_id\":\"" + other + "\"",
         "ff_edge_group: flow_id: there is no flow " + named},
        {10, "\"flow_id\":\"00000000000000000000000000000001\"", "\"flow_id\":\"" + other + "\"",
         "ff_flow_work: flow_id: there is no flow " + named},
        {9, "", good[7],
         "ff_edge: upstream_id 000000000000000000000000000000000001, edge_id"
         " 00000000000000000000000000000001: there are two such rows"},
        {11, "\"ff_flow\":1", "\"ff_flow\":2", "ff_flow: there are 1 rows and should be 2"},
        {11, "\"ff_edge_group\":1,", "", "ff_edge_group: there are 1 rows and should be counted"},
    };
    for (const BadLine& fault : bad) {
        std::vector<std::string> lines = good;
        std::string& line = lines[fault.line - 1];
        const std::size_t at = line.find(fault.from);
        ASSERT_NE(at, std::string::npos) << fault.from << " is not in " << line;
        line.replace(fault.from.empty() ? 0 : at,
                     fault.from.empty() ? line.size() : fault.from.size(), fault.to);
        expect_refused(joined(lines), "line " + std::to_string(fault.line) + ": " + fault.message,
                       Soundness::demanded);
    }
}

TEST_F(Transfer, an_export_from_before_there_were_flows_or_waits_is_read) {
    std::vector<std::string> lines = small();
    const auto cut = [](std::string& line, const std::string& from, const std::string& to) {
        const std::size_t at = line.find(from);
        ASSERT_NE(at, std::string::npos) << from << " is not in " << line;
        line.replace(at, from.size(), to);
    };
    for (const char* table : {"ff_budget", "ff_budget_ledger", "ff_usage_dedup", "ff_quota_policy",
                              "ff_quota_admission", "ff_limit_attachment"}) {
        cut(lines.back(), "\"" + std::string(table) + "\":0,", "");
    }
    expect_refused(joined(lines), "line 11: ff_budget: there are 0 rows and should be counted");
    cut(lines.front(), "\"schema\":11", "\"schema\":6");
    ASSERT_TRUE(import_text(folder_.file("six.db"), joined(lines)));
    for (const char* table : {"ff_event_trim", "ff_webhook"}) {
        cut(lines.back(), ",\"" + std::string(table) + "\":0", "");
    }
    expect_refused(joined(lines), "line 11: ff_event_trim: there are 0 rows and should be counted");
    cut(lines.front(), "\"schema\":6", "\"schema\":5");
    ASSERT_TRUE(import_text(folder_.file("five.db"), joined(lines)));
    for (const char* table : {"ff_stream_meta", "ff_stream_frame", "ff_stream_summary"}) {
        cut(lines.back(), "\"" + std::string(table) + "\":0,", "");
    }
    expect_refused(joined(lines),
                   "line 11: ff_stream_meta: there are 0 rows and should be counted");
    cut(lines.front(), "\"schema\":5", "\"schema\":4");
    ASSERT_TRUE(import_text(folder_.file("four.db"), joined(lines)));
    for (const char* table :
         {"ff_suspension", "ff_waitpoint", "ff_signal", "ff_satisfier", "ff_hmac_key"}) {
        cut(lines.back(), "\"" + std::string(table) + "\":0,", "");
    }
    expect_refused(joined(lines), "line 11: ff_suspension: there are 0 rows and should be counted");
    cut(lines.front(), "\"schema\":4", "\"schema\":3");
    auto done = import_text(folder_.file("three.db"), joined(lines));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->total(), 9U);
    for (const char* table : {"ff_flow", "ff_edge", "ff_edge_group", "ff_flow_work"}) {
        cut(lines.back(), "\"" + std::string(table) + "\":0,", "");
    }
    expect_refused(joined(lines), "line 11: ff_flow: there are 0 rows and should be counted");
    cut(lines.front(), "\"schema\":3", "\"schema\":2");
    done = import_text(folder_.file("two.db"), joined(lines));
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(done->total(), 9U);
}

TEST_F(Transfer, a_text_of_the_wrong_length_is_refused) {
    const std::vector<std::string> good = small();
    expect_refused("", "line 1: this is not an export of ff");
    for (std::size_t keep = 1; keep < good.size(); ++keep) {
        expect_refused(joined({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(keep)}),
                       "line " + std::to_string(keep + 1) + ": the export is cut short");
    }
    const std::string whole = joined(good);
    expect_refused(whole.substr(0, whole.size() - 10), "line 11: not JSON");
    expect_refused(whole + good[1] + "\n", "line 12: something follows the last line");
    std::vector<std::string> without = good;
    without.erase(without.begin() + 6);
    expect_refused(joined(without), "line 10: ff_exec_input: there are 1 rows and should be 2");
    std::vector<std::string> turned = good;
    std::swap(turned[3], turned[4]);
    expect_refused(joined(turned), "line 5: ff_exec_core: eid 1: stands after eid 2");
}

TEST_F(Transfer, an_execution_that_breaks_an_invariant_is_refused_unless_asked) {
    const std::vector<std::string> good = small();
    std::vector<std::string> lines = good;
    const std::size_t at = lines[4].find("\"created_at\"");
    ASSERT_NE(at, std::string::npos);
    lines[4].insert(at, "\"completed_at\":7,");
    expect_refused(joined(lines), "line 5: ff_exec_core: eid 2: I8: completed_at",
                   Soundness::demanded);
    EXPECT_TRUE(import_text(folder_.file("odd.db"), joined(lines), Soundness::as_it_is));
    std::vector<std::string> moved = good;
    const std::size_t id = moved[3].find("\"id\":\"0000");
    ASSERT_NE(id, std::string::npos);
    moved[3].replace(id, 10, "\"id\":\"0005");
    expect_refused(joined(moved),
                   "line 4: ff_exec_core: eid 1: partition: {fp:5}:", Soundness::demanded);
}

// -------------------------------------------------------------------------------------- targets

TEST_F(Transfer, a_store_that_holds_anything_is_refused) {
    const std::string text = joined(small());
    const std::string path = folder_.file("full.db");
    fill(path);
    const std::string before = export_text(path);
    const auto done = import_text(path, text);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().detail.find("is not empty"), std::string::npos);
    EXPECT_EQ(export_text(path), before);
    // Twice into the same store is the same.
    ASSERT_TRUE(import_text(folder_.file("twice.db"), text));
    EXPECT_FALSE(import_text(folder_.file("twice.db"), text));
}

TEST_F(Transfer, a_fresh_store_takes_an_import_and_loses_its_own_lanes) {
    const std::string path = folder_.file("fresh.db");
    {
        auto opened = open_sqlite(path);
        ASSERT_TRUE(opened);
        put(**opened, changes(core::Lane{"default", LaneState::paused, 1},
                              core::Lane{"own", LaneState::active, 1}));
    }
    const std::string text = joined(small());
    const auto done = import_text(path, text);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(export_text(path), text);
}

TEST_F(Transfer, an_empty_store_of_an_older_schema_takes_an_import) {
    const std::string path = folder_.file("older.db");
    {
        auto db = SqliteDb::open(path, OpenMode::write, 0);
        ASSERT_TRUE(db);
        ASSERT_TRUE((*db)->execute(older_schema(Dialect::sqlite, 2)));
    }
    const std::string text = joined(small());
    const auto done = import_text(path, text);
    ASSERT_TRUE(done) << done.error().message();
    EXPECT_EQ(export_text(path), text);
}

TEST_F(Transfer, a_fault_leaves_a_fresh_store_as_it_was) {
    const std::string path = folder_.file("fresh.db");
    {
        auto opened = open_sqlite(path);
        ASSERT_TRUE(opened);
        put(**opened, changes(core::Lane{"own", LaneState::active, 1}));
    }
    const std::string before = export_text(path);
    std::vector<std::string> cut = small();
    cut.pop_back();
    EXPECT_FALSE(import_text(path, joined(cut)));
    EXPECT_EQ(export_text(path), before);
}

TEST_F(Transfer, other_partition_counts_and_owners_are_refused) {
    const std::string text = joined(small());
    const std::string path = folder_.file("seven.db");
    ASSERT_TRUE(open_sqlite(path, {.flow_partitions = 7}));
    const auto mismatch = import_text(path, text);
    ASSERT_FALSE(mismatch);
    EXPECT_EQ(mismatch.error().code, ErrorCode::partition_mismatch);
    const auto owner = open_sqlite(folder_.file("owned.db"));
    ASSERT_TRUE(owner);
    const auto in_use = import_text(folder_.file("owned.db"), text);
    ASSERT_FALSE(in_use);
    EXPECT_EQ(in_use.error().code, ErrorCode::store_in_use);
}

TEST_F(Transfer, an_interrupted_import_leaves_nothing) {
    const std::string path = folder_.file("stopped.db");
    const std::string text = joined(small());
    for (int stop_at = 1; stop_at <= 6; ++stop_at) {
        auto target = open_import_target(location_of(path));
        ASSERT_TRUE(target) << target.error().message();
        std::istringstream in(text);
        ImportOptions options;
        int calls = 0;
        options.progress = [&](std::string_view, std::uint64_t) { return ++calls < stop_at; };
        const auto done = import_store(**target, in, options);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, ErrorCode::shutting_down);
        target->reset();
        EXPECT_FALSE(fs::exists(path));
    }
    EXPECT_TRUE(import_text(path, text));
}

TEST_F(Transfer, a_killed_import_leaves_a_store_that_can_be_filled) {
    const std::string text = joined(small());
    for (int kill_at = 1; kill_at <= 7; ++kill_at) {
        const std::string path = folder_.file("killed" + std::to_string(kill_at) + ".db");
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            auto target = open_import_target(location_of(path));
            std::istringstream in(text);
            ImportOptions options;
            int calls = 0;
            options.progress = [&](std::string_view, std::uint64_t) {
                return ++calls < kill_at || raise(SIGKILL) != 0;
            };
            _exit(target && import_store(**target, in, options) ? 0 : 1);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << kill_at;
        const auto done = import_text(path, text);
        ASSERT_TRUE(done) << done.error().message();
        EXPECT_EQ(export_text(path), text);
    }
}

/// A target that only takes notes, and can refuse.
class NotingTarget final : public ImportTarget {
  public:
    expected<void> begin(const StoreFacts& facts) override {
        begun_with = facts;
        return {};
    }
    expected<void> write(const RowBatch& rows) override {
        if (table_name(rows) == refuse_table) {
            return std::unexpected(refused_row(1, "not this one"));
        }
        if (table_name(rows) == fail_table) {
            return ff::fail(ErrorCode::store_full, "the disk is full");
        }
        written.emplace_back(std::string(table_name(rows)), row_count(rows));
        return {};
    }
    expected<void> commit(const StoreFacts& facts) override {
        committed_with = facts;
        return commit_outcome;
    }
    expected<void> next_page(RowBatch& rows, std::size_t) override {
        rows = empty_batch(rows.index());
        return {};
    }

    std::string refuse_table;
    std::string fail_table;
    expected<void> commit_outcome;
    std::optional<StoreFacts> begun_with;
    std::optional<StoreFacts> committed_with;
    std::vector<std::pair<std::string, std::size_t>> written;
};

TEST_F(Transfer, a_target_gets_tables_in_order_and_in_bounded_batches) {
    std::vector<std::string> lines = small();
    NotingTarget target;
    std::istringstream in(joined(lines));
    ASSERT_TRUE(import_store(target, in, {}));
    EXPECT_EQ(target.written,
              (std::vector<std::pair<std::string, std::size_t>>{{"ff_route", 1},
                                                                {"ff_lane_registry", 1},
                                                                {"ff_exec_core", 2},
                                                                {"ff_exec_input", 2},
                                                                {"ff_exec_event", 2},
                                                                {"ff_log_event", 1}}));
    ASSERT_TRUE(target.begun_with && target.committed_with);
    EXPECT_EQ(*target.begun_with, *target.committed_with);
    EXPECT_EQ(target.begun_with->event_high, 3);
    std::vector<std::string> lanes;
    for (int i = 0; i < 2'500; ++i) {
        lanes.push_back(R"({"table":"ff_lane_registry","row":{"lane_id":")" +
                        std::to_string(10'000 + i) + R"("}})");
    }
    lines.erase(lines.begin() + 2);
    lines.insert(lines.begin() + 2, lanes.begin(), lanes.end());
    const std::string count = "\"ff_lane_registry\":1";
    lines.back().replace(lines.back().find(count), count.size(), "\"ff_lane_registry\":2500");
    NotingTarget many;
    std::istringstream long_text(joined(lines));
    ASSERT_TRUE(import_store(many, long_text, {}));
    const std::vector<std::size_t> sizes{many.written[1].second, many.written[2].second,
                                         many.written[3].second};
    EXPECT_EQ(sizes, (std::vector<std::size_t>{1'000, 1'000, 500}));
}

TEST_F(Transfer, a_refused_row_gets_its_line_and_other_faults_get_none) {
    const std::string text = joined(small());
    const auto fault_of = [&](NotingTarget& target) {
        std::istringstream in(text);
        const auto done = import_store(target, in, {});
        return done ? std::string() : done.error().detail;
    };
    NotingTarget refuses;
    refuses.refuse_table = "ff_exec_input";
    EXPECT_EQ(fault_of(refuses), "line 7: ff_exec_input: not this one");
    EXPECT_FALSE(refuses.committed_with);
    NotingTarget fails;
    fails.fail_table = "ff_exec_input";
    EXPECT_EQ(fault_of(fails), "the disk is full");
    EXPECT_FALSE(fails.committed_with);
    NotingTarget late;
    late.commit_outcome = ff::fail(ErrorCode::store_io, "no");
    EXPECT_EQ(fault_of(late), "no");
}

TEST_F(Transfer, stores_that_end_with_the_program_cannot_be_moved) {
    for (const char* text : {":memory:", "memory:", "file:x?mode=memory"}) {
        const auto location = parse_location(text);
        ASSERT_TRUE(location);
        const auto source = open_export_source(*location);
        ASSERT_FALSE(source);
        EXPECT_EQ(source.error().code, ErrorCode::invalid_config) << text;
        EXPECT_FALSE(open_import_target(*location)) << text;
    }
}

TEST_F(Transfer, every_table_is_exported_or_follows_from_the_rows) {
    std::set<std::string> known{
        "ff_ready",
        "ff_timer",
        "ff_turn",
        "ff_listed",
        "ff_exec_tag",  // derived
        "ff_meta",
        "ff_partition_config",
        "ff_schema_migration"  // in the header
    };
    for (std::size_t table = 0; table < transfer_tables; ++table) {
        known.emplace(table_name(empty_batch(table)));
    }
    const auto db = SqliteDb::open(":memory:", OpenMode::write, 0);
    ASSERT_TRUE(db);
    ASSERT_TRUE(migrate_sqlite(**db));
    auto names = (*db)->prepare("SELECT name FROM sqlite_master WHERE type = 'table'");
    ASSERT_TRUE(names);
    std::set<std::string> tables;
    while (names->step().value_or(false)) {
        tables.emplace(names->bytes());
    }
    EXPECT_EQ(tables, known);
}

TEST_F(Transfer, a_row_that_does_not_read_is_named) {
    const std::string path = folder_.file("broken.db");
    fill(path);
    {
        auto db = SqliteDb::open(path, OpenMode::write, 0);
        ASSERT_TRUE(db);
        ASSERT_TRUE((*db)->execute("UPDATE ff_exec_core SET lifecycle_phase = 77 WHERE eid = 3"));
    }
    const auto text = try_export(path);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().detail,
              "ff_exec_core: a row does not read: lifecycle_phase: 77; see ff doctor");
}

}  // namespace
}  // namespace ff::store::test
