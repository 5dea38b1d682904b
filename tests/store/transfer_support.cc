#include "store/transfer_support.h"

#include <sstream>

namespace ff::store::test {

using core::Bucket;
using core::LeaseEventType;

Location location_of(const std::string& store) {
    auto location = parse_location(store);
    EXPECT_TRUE(location);
    return *location;
}

expected<std::string> try_export(const std::string& store) {
    FF_TRY(const auto source, open_export_source(location_of(store)));
    std::string text;
    ExportOptions options;
    options.now = t0;
    FF_TRY_VOID(export_store(*source, options, [&](std::string_view lines) -> expected<void> {
        text += lines;
        return {};
    }));
    return text;
}

std::string export_text(const std::string& store) {
    auto text = try_export(store);
    EXPECT_TRUE(text) << text.error().message();
    return text.value_or("");
}

expected<TransferSummary> import_text(const std::string& store, const std::string& text,
                                      Soundness soundness) {
    FF_TRY(const auto target, open_import_target(location_of(store)));
    std::istringstream in(text);
    ImportOptions options;
    options.soundness = soundness;
    return import_store(*target, in, options);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        out.push_back(line);
    }
    return out;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string out;
    for (const std::string& line : lines) {
        out += line + "\n";
    }
    return out;
}

core::Route route_of(RouteId id, const std::string& lane, const std::string& capabilities) {
    return {id, {lane, "acme", "job", capabilities}, {}};
}

void fill_store(Store& store) {
    put(store, changes(route_of(1, "default"), route_of(2, "tricky \"lane\"", "cuda,gpu")));
    put(store, changes(core::Lane{"default", LaneState::active, t0},
                       core::Lane{"東京", LaneState::draining, 0}));
    put(store, changes(flow_of(3), full_flow(11), full_edge(11, 1, 1, 2), edge_of(3, 2, 2, 3),
                       full_group(11, 2), group_of(3, 3), full_work(11, 2),
                       work_of(3, core::FlowWorkKind::cancel_rest, 0)));
    put(store, changes(full_execution(1, 2), full_input(1), full_attempt(1, 0), full_attempt(1, 3),
                       full_grant(1), full_event(1, 2), full_log_event(1)));
    Eid eid = 2;
    for (std::size_t i = 0; i < enum_count<Bucket>; ++i, ++eid) {
        put(store, changes(in_bucket(eid, 1, static_cast<Bucket>(i)), input_of(eid)));
    }
    core::Execution tagged = waiting(eid, 1, 9'000);
    tagged.has_tags = true;
    put(store, changes(tagged, input_of(eid, {{"a.b", "c"}, {"d", ""}}),
                       event_of(tagged, LeaseEventType::acquired)));
    put(store, changes(full_suspension(2, 1), suspension_of(2, 2), full_waitpoint(2, 7),
                       waitpoint_of(3, 6), full_signal(2, 1, 7), signal_of(2, 2, 7),
                       core::Satisfier{{{2, 1}, 0, "a \"token\""}, 1},
                       core::Satisfier{{{2, 1}, 3, ""}, 0}, full_stream({1, 3}), stream_of({2, 0}),
                       full_frame({1, 3}, 1), frame_of({1, 3}, 2), full_summary({1, 3}),
                       full_key("k2"), core::HmacKey{"k1", "x", false, 0, false, {}}));
    put(store,
        changes(full_budget(1), full_budget(2), full_ledger(1, 1), full_ledger(2, 9),
                core::UsageDedup{{BudgetId{Uuid{{1}}}, "a key"}, t0, t0 + 5}, full_policy(3),
                core::Admission{{id_of(1), {Uuid{{3}}}}, t0, t0 + 1},
                core::Admission{{id_of(2), {Uuid{{3}}}}, std::nullopt, t0},
                core::Attachment{{core::LimitKind::budget, {Uuid{{1}}}, {LimitTarget::lane, "gpu"}},
                                 true},
                core::Attachment{{core::LimitKind::quota, {Uuid{{3}}}, {LimitTarget::flow, "f"}},
                                 false}));
    put(store, changes(full_worker(), worker_of("other", "two")));
    core::LogEvent old;
    old.family = core::LogFamily::flows;
    old.type = "gone";
    old.payload = "{}";
    put(store, changes(old));
    ASSERT_TRUE(store.begin());
    ASSERT_EQ(store.trim_events(EventFamily::flows, 1'000), 1U);
    ASSERT_TRUE(store.commit_upkeep());
    core::Webhook webhook;
    webhook.url = "https://example.com/\"hook\"";
    webhook.secret = all_bytes();
    webhook.last_error = "no answer";
    put(store, changes(webhook));
    put(store, changes(idempotency_of("acme", "key", id_of(1, 513), t0 + 1)));
}

void add_odd_texts(Store& store) {
    const auto newest = look(store, [](Reader& r) { return r.newest(1'000, 1); });
    ASSERT_FALSE(newest.empty());
    core::GrantRow odd = grant_of(newest[0].eid, t0 + 5);
    odd.admission_summary = std::string("\xff\x00 not UTF-8", 12);
    odd.capability_hash = std::string("with\0NUL", 8);
    put(store, changes(odd));
    put(store, changes(idempotency_of("acme", std::string("k\0y", 3), id_of(2), 0)));
}

std::vector<std::string> flow_export(const std::string& path) {
    {
        auto opened = open_sqlite(path);
        EXPECT_TRUE(opened) << opened.error().message();
        Store& store = **opened;
        core::Flow flow = flow_of(1);
        flow.node_count = flow.live = 2;
        flow.edge_count = 1;
        flow.graph_revision = 3;
        flow.deadline_at = t0 + 60'000;
        put(store, changes(route_of(1, "default"), flow, member_of(1, 1, 1), input_of(1),
                           member_of(2, 1, 1), input_of(2), edge_of(1, 1, 1, 2), group_of(1, 2),
                           work_of(1, core::FlowWorkKind::ended, 1)));
    }
    return lines_of(export_text(path));
}

std::vector<std::string> small_export(const std::string& path) {
    {
        auto opened = open_sqlite(path);
        EXPECT_TRUE(opened) << opened.error().message();
        Store& store = **opened;
        put(store, changes(route_of(1, "default")));
        put(store, changes(core::Lane{"default", LaneState::active, t0}));
        const core::Execution one = waiting(1, 1);
        const core::Execution two = waiting(2, 1);
        put(store, changes(one, input_of(1)));
        put(store, changes(two, input_of(2, {{"a", "b"}})));
        put(store,
            changes(event_of(one, LeaseEventType::renewed), event_of(two, LeaseEventType::renewed),
                    log_event_of(one, core::LogFamily::operator_)));
    }
    return lines_of(export_text(path));
}

}  // namespace ff::store::test
