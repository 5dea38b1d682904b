// SqlReader about flows and waits.
#include "store/sql_reader.h"

#include <limits>
#include <string>
#include <utility>

#include "store/catalogue.h"
#include "store/implied.h"
#include "store/sql_rows.h"
#include "store/sql_scans.h"

namespace ff::store {

// -------------------------------------------------------------------------------------- flows

expected<std::optional<core::Flow>> SqlReader::flow(const FlowId& id) {
    SqlStatement& s = statements_->get(sql::flow_by_id);
    put_value(s, Kind::bytes, id);
    return select_one<core::Flow>(s);
}

expected<std::vector<core::Flow>> SqlReader::flows(std::optional<std::uint16_t> partition,
                                                   const std::optional<FlowId>& after,
                                                   std::size_t limit) {
    SqlStatement& s =
        statements_->get(partition ? sql::flows_of_partition_after : sql::flows_after);
    if (partition) {
        s.integer(*partition);
    }
    s.bytes_copy(after ? after->uuid.raw() : "");  // nothing sorts before every id
    s.integer(as_limit(limit));
    return select_all<core::Flow>(s);
}

expected<std::vector<FlowId>> SqlReader::flow_ids(const std::optional<FlowId>& after,
                                                  std::size_t limit) {
    return flow_ids_after(*statements_, after, limit);
}

auto SqlReader::members(const FlowId& flow, const std::optional<ExecutionId>& after,
                        std::size_t limit) -> expected<Executions> {
    SqlStatement& s = statements_->get(sql::members_after);
    put_value(s, Kind::bytes, flow);
    s.bytes_copy(after ? after->raw() : "");
    s.integer(as_limit(limit));
    return select_all<core::Execution>(s);
}

expected<std::vector<core::Edge>> SqlReader::edges_of_flow(const FlowId& flow) {
    SqlStatement& s = statements_->get(sql::edges_of_flow);
    put_value(s, Kind::bytes, flow);
    return select_all<core::Edge>(s);
}

expected<std::vector<core::Edge>> SqlReader::outbound(const ExecutionId& upstream) {
    SqlStatement& s = statements_->get(sql::edges_out);
    put_value(s, Kind::bytes, upstream);
    return select_all<core::Edge>(s);
}

expected<std::vector<core::Edge>> SqlReader::inbound(const ExecutionId& downstream) {
    SqlStatement& s = statements_->get(sql::edges_in);
    put_value(s, Kind::bytes, downstream);
    return select_all<core::Edge>(s);
}

expected<std::optional<core::Edge>> SqlReader::edge(const core::EdgeKey& key) {
    SqlStatement& s = statements_->get(sql::edge_by_key);
    put_value(s, Kind::bytes, key.flow);
    put_value(s, Kind::bytes, key.id);
    return select_one<core::Edge>(s);
}

expected<std::optional<core::EdgeGroup>> SqlReader::group(const FlowId& flow,
                                                          const ExecutionId& downstream) {
    SqlStatement& s = statements_->get(sql::group_by_key);
    put_value(s, Kind::bytes, flow);
    put_value(s, Kind::bytes, downstream);
    FF_TRY(auto row, select_one<core::EdgeGroup>(s));
    if (row) {
        return row;
    }
    FF_TRY(const auto edges, inbound(downstream));
    return or_implied(std::nullopt, flow, edges);
}

expected<std::vector<core::EdgeGroup>> SqlReader::groups_of_flow(const FlowId& flow) {
    SqlStatement& s = statements_->get(sql::groups_of_flow);
    put_value(s, Kind::bytes, flow);
    FF_TRY(auto rows, select_all<core::EdgeGroup>(s));
    FF_TRY(const auto edges, edges_of_flow(flow));
    return with_implied(std::move(rows), edges);
}

expected<std::vector<core::FlowWork>> SqlReader::flow_work(const std::optional<FlowId>& flow,
                                                           std::size_t limit) {
    SqlStatement& s = statements_->get(flow ? sql::work_of_flow : sql::work_first);
    if (flow) {
        put_value(s, Kind::bytes, *flow);
    }
    s.integer(as_limit(limit));
    return select_all<core::FlowWork>(s);
}

// -------------------------------------------------------------------------------------- waits

expected<std::optional<core::Waitpoint>> SqlReader::waitpoint(const WaitpointId& id) {
    SqlStatement& s = statements_->get(sql::waitpoint_by_id);
    put_value(s, Kind::bytes, id);
    return select_one<core::Waitpoint>(s);
}

expected<std::vector<core::Waitpoint>> SqlReader::open_waitpoints(
    Eid eid, const std::optional<WaitpointId>& after, std::size_t limit) {
    SqlStatement& s = statements_->get(sql::open_waitpoints_after);
    s.integer(eid);
    s.bytes_copy(after ? after->uuid.raw() : "");
    s.integer(as_limit(limit));
    return select_all<core::Waitpoint>(s);
}

expected<std::uint64_t> SqlReader::waitpoints_outliving(const std::string& kid, TimestampMs until) {
    SqlStatement& s = statements_->get(sql::waitpoints_outliving);
    s.text(kid);
    s.integer(until);
    FF_TRY(const auto count, number_of(s));
    return static_cast<std::uint64_t>(count.value_or(0));
}

expected<std::vector<core::Suspension>> SqlReader::suspensions(Eid eid) {
    SqlStatement& s = statements_->get(sql::suspensions_of);
    s.integer(eid);
    return select_all<core::Suspension>(s);
}

expected<std::optional<core::Suspension>> SqlReader::suspension(const core::SuspensionKey& key) {
    SqlStatement& s = statements_->get(sql::suspension_by_key);
    s.integer(key.eid);
    s.integer(key.episode);
    return select_one<core::Suspension>(s);
}

expected<std::vector<core::Suspension>> SqlReader::suspended(
    const std::string& lane, const std::optional<SuspendedKey>& after, std::size_t limit) {
    SqlStatement& s = statements_->get(sql::suspended_after);
    s.text(lane);
    s.integer(after ? after->first : std::numeric_limits<TimestampMs>::min());
    s.bytes_copy(after ? after->second.raw() : "");
    s.integer(as_limit(limit));
    return select_all<core::Suspension>(s);
}

expected<std::vector<core::Signal>> SqlReader::signals(Eid eid, std::uint64_t after,
                                                       std::size_t limit, Payloads payloads) {
    SqlStatement& s =
        statements_->get(payloads == Payloads::read ? sql::signals_after : sql::bare_signals_after);
    s.integer(eid);
    s.integer(static_cast<std::int64_t>(after));
    s.integer(as_limit(limit));
    return select_all<core::Signal>(s);
}

expected<std::vector<core::Signal>> SqlReader::signals(Eid eid, std::span<const std::uint64_t> seqs,
                                                       Payloads payloads) {
    const std::string& text =
        payloads == Payloads::read ? sql::signal_by_key : sql::bare_signal_by_key;
    std::vector<core::Signal> out;
    for (const std::uint64_t seq : seqs) {
        SqlStatement& s = statements_->get(text);
        s.integer(eid);
        s.integer(static_cast<std::int64_t>(seq));
        FF_TRY(auto row, select_one<core::Signal>(s));
        if (row) {
            out.push_back(std::move(*row));
        }
    }
    return out;
}

expected<std::optional<core::Signal>> SqlReader::signal(Eid eid, const SignalId& id) {
    SqlStatement& s = statements_->get(sql::signal_by_id);
    s.integer(eid);
    put_value(s, Kind::bytes, id);
    return select_one<core::Signal>(s);
}

expected<std::vector<core::Satisfier>> SqlReader::satisfiers(const core::SuspensionKey& key) {
    SqlStatement& s = statements_->get(sql::satisfiers_of);
    s.integer(key.eid);
    s.integer(key.episode);
    return select_all<core::Satisfier>(s);
}

expected<std::vector<core::HmacKey>> SqlReader::hmac_keys() {
    return select_all<core::HmacKey>(statements_->get(sql::all_hmac_keys));
}

}  // namespace ff::store
