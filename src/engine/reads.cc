#include "engine/reads.h"

#include "engine/scanner_log.h"
#include "store/schema.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "base/version.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::engine {

namespace {

/// Advice to the holder: renew when two thirds of the lease are over.
TimestampMs renewal_deadline(const core::Execution& e) {
    const TimestampMs renewed = e.lease_renewed_at.value_or(0);
    return renewed + (e.lease_expires_at.value_or(renewed) - renewed) * 2 / 3;
}

Error missing(const ExecutionId& id) {
    return Error{ErrorCode::execution_not_found, "execution not found: " + id.to_string(), {}};
}

/// Some reads are defined to call a missing execution bad input.
Error missing_input(const ExecutionId& id) {
    return Error{ErrorCode::invalid_input, "execution not found: " + id.to_string(), {}};
}

/// Runs `body` with the execution's row, or gives `absent`.
template <class T, class Body>
expected<T> with_execution(const ReadContext& c, const ExecutionId& id, expected<T> absent,
                           Body body) {
    expected<T> out = std::move(absent);
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(id));
        if (e) {
            FF_TRY(out, body(reader, *e));
        }
        return {};
    }));
    return out;
}

/// In the order of spec 01 section 9. Every store can do everything.
constexpr std::pair<const char*, bool> capability_flags[] = {
    {"cancel_execution", true},
    {"change_priority", true},
    {"replay_execution", true},
    {"revoke_lease", true},
    {"read_execution_state", true},
    {"read_execution_info", true},
    {"get_execution_result", true},
    {"budget_admin", true},
    {"quota_admin", true},
    {"rotate_waitpoint_hmac_secret_all", true},
    {"seed_waitpoint_hmac_secret", true},
    {"list_pending_waitpoints", true},
    {"cancel_flow_header", true},
    {"cancel_flow_wait_timeout", true},
    {"cancel_flow_wait_indefinite", true},
    {"ack_cancel_member", true},
    {"claim_for_worker", true},
    {"issue_reclaim_grant", true},
    {"prepare", true},
    {"subscribe_lease_history", true},
    {"subscribe_completion", true},
    {"subscribe_signal_delivery", true},
    {"subscribe_instance_tags", true},
    {"stream_durable_summary", true},
    {"stream_best_effort_live", true},
    {"register_worker", true},
    {"heartbeat_worker", true},
    {"mark_worker_dead", true},
    {"list_expired_leases", true},
    {"list_workers", true},
    {"release_admission", true},
    {"read_quota_policy_limits", true},
    {"block_execution_for_admission", true},
    {"read_budget_usage_and_limits", true},
};

AttemptInfo attempt_info(const core::Attempt& row) {
    AttemptInfo info;
    info.attempt_index = row.attempt_index;
    info.attempt_id = row.attempt_id;
    info.type = row.type;
    info.state = row.state;
    info.lease_id = row.lease_id.value_or(LeaseId{});
    info.lease_epoch = row.lease_epoch;
    info.worker_id = row.worker_id.value_or("");
    info.worker_instance_id = row.worker_instance_id.value_or("");
    info.started_at = row.started_at;
    info.resumed_at = row.resumed_at;
    info.suspended_at = row.suspended_at;
    info.ended_at = row.ended_at;
    info.suspension_id = row.suspension_id;
    info.failure_reason = row.failure_reason;
    info.failure_category = row.failure_category;
    info.reason = row.reason;
    info.requested_by = row.requested_by;
    info.previous_attempt_index = row.previous_attempt_index;
    return info;
}

HistoryEntry history_entry(core::ExecutionEvent event) {
    HistoryEntry entry;
    entry.event_id = static_cast<std::uint64_t>(event.event_id);
    entry.at = event.at;
    entry.event = std::string(to_string(event.type));
    entry.lease_id = event.lease_id;
    entry.lease_epoch = event.lease_epoch;
    entry.attempt_index = event.attempt_index;
    entry.attempt_id = event.attempt_id;
    entry.worker_id = std::move(event.worker_id);
    entry.worker_instance_id = std::move(event.worker_instance_id);
    entry.reason = std::move(event.reason);
    entry.revoked_by = std::move(event.revoked_by);
    if (event.outcome) {
        entry.outcome = std::string(to_string(*event.outcome));
    }
    if (event.type == core::LeaseEventType::reclaimed) {
        entry.old_lease_id = event.old_lease_id;
        entry.old_lease_epoch = event.lease_epoch - 1;  // each lease is one epoch
    }
    if (event.type == core::LeaseEventType::replay_initiated) {
        entry.replay_type = entry.reason;
    }
    return entry;
}

}  // namespace

ExecutionInfo info_of(const core::Execution& e, const core::Route& route) {
    ExecutionInfo info;
    info.execution_id = e.id;
    info.ns = route.key.ns;
    info.lane_id = route.key.lane;
    info.execution_kind = route.key.kind;
    info.priority = e.priority;
    info.state = e.state;
    info.public_state = e.public_state;
    info.blocking_detail = e.blocking_detail.value_or("");
    info.created_at = e.created_at;
    info.started_at = e.started_at;
    info.completed_at = e.completed_at;
    info.current_attempt_index = e.current_attempt_index.value_or(0);
    info.total_attempt_count = e.total_attempt_count;
    info.flow_id = e.flow_id;
    return info;
}

namespace {

/// The same for one who asks for this execution: why nobody takes it is told as well.
expected<ExecutionInfo> explained_info(store::Reader& reader, const core::Execution& e,
                                       const core::Route& route, TimestampMs now) {
    ExecutionInfo info = engine::info_of(e, route);
    FF_TRY(auto detail, unserved(reader, e, route, now));
    if (detail) {
        info.blocking_detail = std::move(*detail);
    }
    return info;
}

}  // namespace

expected<std::optional<ExecutionSnapshot>> answer(const DescribeExecution& op,
                                                  const ReadContext& c) {
    using Answer = std::optional<ExecutionSnapshot>;
    return with_execution<Answer>(
        c, op.execution_id, Answer(),
        [&c](store::Reader& reader, const core::Execution& e) -> expected<Answer> {
            FF_TRY(const core::Route route, reader.route(e.route));
            FF_TRY(auto input, reader.input(e.eid));
            if (!input) {
                return ff::fail(ErrorCode::corruption, "input: missing");
            }
            ExecutionSnapshot s;
            FF_TRY(s.info, explained_info(reader, e, route, c.now));
            s.current_attempt_id = e.current_attempt_id;
            if (e.state.ownership == OwnershipState::leased) {
                s.current_lease = LeaseInfo{e.lease_id.value_or(LeaseId{}),
                                            e.lease_epoch,
                                            e.current_attempt_index.value_or(0),
                                            e.worker_id.value_or(""),
                                            e.worker_instance_id.value_or(""),
                                            e.lease_expires_at.value_or(0),
                                            renewal_deadline(e),
                                            e.lease_renewed_at.value_or(0)};
            }
            s.current_waitpoint = e.current_waitpoint_id;
            s.total_attempt_count = e.total_attempt_count;
            s.retry_count = e.retry_count;
            s.replay_count = e.replay_count;
            s.lease_reclaim_count = e.lease_reclaim_count;
            s.lease_epoch = e.lease_epoch;
            s.delay_until = e.delay_until;
            s.execution_deadline_at = e.execution_deadline_at;
            s.attempt_deadline_at = e.attempt_deadline_at;
            s.failure_reason = e.failure_reason;
            s.failure_category = e.failure_category;
            s.cancellation_reason = e.cancellation_reason;
            s.cancelled_by = e.cancelled_by;
            s.last_hmac_validation_failed_at = e.last_hmac_validation_failed_at;
            s.progress_percent = e.progress_percent;
            s.progress_message = e.progress_message;
            s.progress_updated_at = e.progress_updated_at;
            s.last_transition_at = e.last_transition_at;
            s.last_mutation_at = e.last_mutation_at;
            s.creator_identity = std::move(input->creator_identity);
            s.idempotency_key = std::move(input->idempotency_key);
            s.policy = std::move(input->policy);
            s.required_capabilities = route.required;
            s.tags = std::move(input->tags);
            return Answer(std::move(s));
        });
}

expected<ExecutionInfo> answer(const ReadExecutionInfo& op, const ReadContext& c) {
    return with_execution<ExecutionInfo>(
        c, op.execution_id, std::unexpected(missing(op.execution_id)),
        [&c](store::Reader& reader, const core::Execution& e) -> expected<ExecutionInfo> {
            FF_TRY(const core::Route route, reader.route(e.route));
            return explained_info(reader, e, route, c.now);
        });
}

expected<std::optional<std::string>> answer(const GetExecutionTag& op, const ReadContext& c) {
    using Answer = std::optional<std::string>;
    return with_execution<Answer>(
        c, op.execution_id, Answer(),
        [&op](store::Reader& reader, const core::Execution& e) -> expected<Answer> {
            FF_TRY(const auto input, reader.input(e.eid));
            if (!input) {
                return ff::fail(ErrorCode::corruption, "input: missing");
            }
            const auto it = input->tags.find(op.key);
            return it != input->tags.end() ? Answer(it->second) : Answer();
        });
}

expected<std::optional<std::string>> answer(const GetExecutionNamespace& op, const ReadContext& c) {
    using Answer = std::optional<std::string>;
    return with_execution<Answer>(
        c, op.execution_id, Answer(),
        [](store::Reader& reader, const core::Execution& e) -> expected<Answer> {
            FF_TRY(const core::Route route, reader.route(e.route));
            return Answer(std::string(route.key.ns));
        });
}

expected<PublicState> answer(const ReadExecutionState& op, const ReadContext& c) {
    return with_execution<PublicState>(
        c, op.execution_id, std::unexpected(missing(op.execution_id)),
        [](store::Reader&, const core::Execution& e) -> expected<PublicState> {
            return e.public_state;
        });
}

expected<std::optional<ExecutionResult>> answer(const GetExecutionResult& op,
                                                const ReadContext& c) {
    using Answer = std::optional<ExecutionResult>;
    return with_execution<Answer>(
        c, op.execution_id, Answer(),
        [](store::Reader& reader, const core::Execution& e) -> expected<Answer> {
            if (e.state.outcome != TerminalOutcome::success || !e.current_attempt_index) {
                return Answer();
            }
            FF_TRY(auto attempt, reader.attempt(e.eid, *e.current_attempt_index));
            if (!attempt || !attempt->result) {
                return Answer();
            }
            return Answer(
                ExecutionResult{std::move(*attempt->result), std::move(attempt->result_encoding)});
        });
}

expected<ExecutionContext> answer(const ReadExecutionContext& op, const ReadContext& c) {
    return with_execution<ExecutionContext>(
        c, op.execution_id, std::unexpected(missing_input(op.execution_id)),
        [](store::Reader& reader, const core::Execution& e) -> expected<ExecutionContext> {
            FF_TRY(const core::Route route, reader.route(e.route));
            FF_TRY(auto input, reader.input(e.eid));
            if (!input) {
                return ff::fail(ErrorCode::corruption, "input: missing");
            }
            return ExecutionContext{std::move(input->payload), std::move(input->payload_encoding),
                                    route.key.kind, route.key.ns, std::move(input->tags)};
        });
}

expected<AttemptCounters> answer(const ReadAttemptCounters& op, const ReadContext& c) {
    return with_execution<AttemptCounters>(
        c, op.execution_id, std::unexpected(missing_input(op.execution_id)),
        [](store::Reader&, const core::Execution& e) -> expected<AttemptCounters> {
            return AttemptCounters{e.current_attempt_index.value_or(0), e.total_attempt_count};
        });
}

expected<std::vector<AttemptInfo>> answer(const ListAttempts& op, const ReadContext& c) {
    return with_execution<std::vector<AttemptInfo>>(
        c, op.execution_id, std::unexpected(missing(op.execution_id)),
        [](store::Reader& reader, const core::Execution& e) -> expected<std::vector<AttemptInfo>> {
            FF_TRY(const auto rows, reader.attempts(e.eid));
            std::vector<AttemptInfo> out;
            // The attempt of an active execution lives in the execution row, which is newer.
            const bool live = e.state.phase == LifecyclePhase::active;
            for (const core::Attempt& row : rows) {
                if (!live || row.attempt_index != e.current_attempt_index) {
                    out.push_back(attempt_info(row));
                }
            }
            if (live) {
                out.push_back(attempt_info(core::attempt_row(e, AttemptLifecycle::started)));
            }
            if (e.has_streams) {
                FF_TRY(const auto streams, reader.streams_of(e.eid));
                for (const core::StreamMeta& stream : streams) {
                    const auto at = std::ranges::find(out, stream.key.attempt_index,
                                                      &AttemptInfo::attempt_index);
                    if (at != out.end()) {
                        at->frame_count = stream.frame_count;
                    }
                }
            }
            return out;
        });
}

expected<ExecutionPage> answer(const ListExecutions& op, const ReadContext& c) {
    const std::size_t limit = std::min<std::size_t>(op.limit, 1000);
    ExecutionPage page;
    if (limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(page.executions, reader.ids_of_partition(op.partition, op.cursor, limit + 1));
        return {};
    }));
    if (page.executions.size() > limit) {
        page.executions.pop_back();
        page.next_cursor = page.executions.back();
    }
    return page;
}

expected<LanePage> answer(const ListLanes& op, const ReadContext& c) {
    FF_TRY_VOID(core::check_text("cursor", op.cursor.value_or("")));
    LanePage page;
    if (op.limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto rows,
               reader.lanes(op.cursor.value_or(""), static_cast<std::size_t>(op.limit) + 1));
        for (const core::Lane& row : rows) {
            page.lanes.push_back({row.name, row.state});
        }
        return {};
    }));
    if (page.lanes.size() > op.limit) {
        page.lanes.pop_back();
        page.next_cursor = page.lanes.back().lane_id;
    }
    return page;
}

expected<WorkerPage> answer(const ListWorkers& op, const ReadContext& c) {
    FF_TRY_VOID(core::check_text("ns", op.ns.value_or("")));
    const WorkerCursor start = op.after.value_or(WorkerCursor{});
    FF_TRY_VOID(core::check_text("after", start.ns));
    FF_TRY_VOID(core::check_text("after", start.worker_instance_id));
    const std::size_t limit = std::min<std::size_t>(op.limit, 10'000);
    WorkerPage page;
    if (limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        core::WorkerKey after{start.ns, start.worker_instance_id};
        // Dead rows that wait for the sweep are passed over, so a page may take several reads.
        for (;;) {
            FF_TRY(const auto rows, reader.workers(op.ns, after, limit));
            for (const core::WorkerRow& row : rows) {
                if (row.live(c.now) && page.workers.size() < limit) {
                    page.workers.push_back({row.key.ns, row.worker_id, row.key.worker_instance_id,
                                            row.lanes, row.capabilities, row.liveness_ttl_ms,
                                            row.registered_at, row.last_heartbeat});
                }
            }
            if (rows.size() < limit || page.workers.size() >= limit) {
                return {};
            }
            after = rows.back().key;
        }
    }));
    if (page.workers.size() == limit) {
        page.next_cursor = {page.workers.back().ns, page.workers.back().worker_instance_id};
    }
    return page;
}

namespace {

constexpr std::size_t lease_rows_per_read = 1'000;

/// The first leases behind a cursor among those that it is shown, which come in any order.
class FirstExpired {
  public:
    FirstExpired(const ListExpiredLeases& op, std::size_t limit) : op_(op), limit_(limit) {
        if (op.after) {
            after_ = Place(op.after->expires_at_ms, op.after->execution_id.to_string());
        }
    }

    expected<void> look_at(store::Reader& reader, const core::Execution& e) {
        if (!e.lease_id || !e.lease_expires_at || *e.lease_expires_at > op_.as_of) {
            return {};
        }
        Place place(*e.lease_expires_at, e.id.to_string());
        if ((after_ && place <= *after_) || (full() && place > first_.rbegin()->first)) {
            return {};
        }
        if (op_.ns) {
            FF_TRY(const core::Route route, reader.route(e.route));
            if (route.key.ns != *op_.ns) {
                return {};
            }
        }
        first_.emplace(
            std::move(place),
            ExpiredLease{e.id, *e.lease_id, e.lease_epoch, e.worker_instance_id.value_or(""),
                         *e.lease_expires_at, e.current_attempt_index.value_or(0)});
        if (first_.size() > limit_) {
            first_.erase(std::prev(first_.end()));
        }
        return {};
    }
    /// Can no lease that ends at `at` or later be among them?
    [[nodiscard]] bool ends_before(TimestampMs at) const {
        return full() && first_.rbegin()->first.first < at;
    }
    ExpiredLeasePage page() {
        ExpiredLeasePage out;
        for (auto& [place, lease] : first_) {
            out.leases.push_back(std::move(lease));
        }
        if (full()) {
            out.next_cursor = {out.leases.back().expires_at_ms, out.leases.back().execution_id};
        }
        return out;
    }

  private:
    using Place = std::pair<TimestampMs, std::string>;  ///< with the id's text, the tie-breaker

    [[nodiscard]] bool full() const { return first_.size() == limit_; }

    const ListExpiredLeases& op_;
    const std::size_t limit_;
    std::optional<Place> after_;
    std::map<Place, ExpiredLease> first_;
};

/// Leases that are held, by their timers: those fire no later than the lease ends, and no more than
/// one time to live before.
expected<void> look_at_held(store::Reader& reader, const ListExpiredLeases& op,
                            FirstExpired& first) {
    constexpr DurationMs ttl_max = 3'600'000;
    constexpr TimestampMs earliest = std::numeric_limits<TimestampMs>::min();
    store::Reader::LeaseKey at{earliest, 0};
    if (op.after && op.after->expires_at_ms > earliest + ttl_max) {
        at.first = op.after->expires_at_ms - ttl_max - 1;
    }
    for (;;) {
        FF_TRY(const auto rows, reader.leased_due(at, op.as_of, lease_rows_per_read));
        for (const core::Execution& e : rows) {
            FF_TRY_VOID(first.look_at(reader, e));
        }
        if (rows.size() < lease_rows_per_read) {
            return {};
        }
        at = {rows.back().timer_at.value_or(at.first), rows.back().eid};
        if (first.ends_before(at.first)) {
            return {};
        }
    }
}

/// Those that ran out and that nobody has taken over yet: there is no order of time among them.
expected<void> look_at_lost(store::Reader& reader, FirstExpired& first) {
    core::Eid before = std::numeric_limits<core::Eid>::max();
    for (;;) {
        FF_TRY(const auto rows,
               reader.newest_in_bucket(core::Bucket::reclaimable, before, lease_rows_per_read));
        for (const core::Execution& e : rows) {
            if (e.state.ownership == OwnershipState::lease_expired_reclaimable) {
                FF_TRY_VOID(first.look_at(reader, e));
            }
        }
        if (rows.size() < lease_rows_per_read) {
            return {};
        }
        before = rows.back().eid;
    }
}

}  // namespace

expected<ExpiredLeasePage> answer(const ListExpiredLeases& op, const ReadContext& c) {
    const std::size_t limit = std::min<std::size_t>(op.limit, 10'000);
    if (limit == 0) {
        return ExpiredLeasePage{};
    }
    FirstExpired first(op, limit);
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY_VOID(look_at_held(reader, op, first));
        return look_at_lost(reader, first);
    }));
    return first.page();
}

expected<std::vector<HistoryEntry>> answer(const ReadLeaseHistory& op, const ReadContext& c) {
    using Answer = std::vector<HistoryEntry>;
    return with_execution<Answer>(
        c, op.execution_id, std::unexpected(missing(op.execution_id)),
        [&](store::Reader& reader, const core::Execution& e) -> expected<Answer> {
            const std::size_t limit = std::min<std::size_t>(op.limit, 1'000);
            // An end without a lease is an event of its own, but not one of a lease's; there is at
            // most one for each life of the execution.
            FF_TRY(auto events, reader.history(e, limit + e.replay_count + 1));
            std::erase_if(events, [](const core::ExecutionEvent& event) {
                return event.type == core::LeaseEventType::none;
            });
            events.resize(std::min(events.size(), limit));
            Answer out;
            std::uint32_t replay = e.replay_count;  // the newest is the last one
            for (core::ExecutionEvent& event : events) {
                const bool replayed = event.type == core::LeaseEventType::replay_initiated;
                HistoryEntry& entry = out.emplace_back(history_entry(std::move(event)));
                if (replayed) {
                    entry.replay_count = replay--;
                }
            }
            std::ranges::reverse(out);
            return out;
        });
}

expected<Capabilities> answer(const ReadCapabilities&, const ReadContext& c) {
    const store::StoreInfo& info = c.store.info();
    Capabilities out;
    out.family = info.family;
    const Version version = parse_version(info.version);
    out.major = version.major;
    out.minor = version.minor;
    out.patch = version.patch;
    out.durability = info.durability;
    out.partitions = info.partitions;
    for (const auto& [flag, supported] : capability_flags) {
        out.supports.emplace_back(flag, supported);
    }
    return out;
}

expected<std::vector<ScannerInfo>> answer(const ListScanners&, const ReadContext& c) {
    return c.scanners != nullptr ? c.scanners->all() : std::vector<ScannerInfo>{};
}

expected<StoreReport> answer(const ReadStoreReport&, const ReadContext& c) {
    const store::StoreInfo& info = c.store.info();
    FF_TRY(const store::StoreSize size, c.store.size());
    StoreReport report;
    report.family = info.family;
    report.durability = info.durability;
    report.wake_ups = info.wake_ups;
    report.schema_version = static_cast<std::uint32_t>(store::migrations().back().version);
    report.prepared = info.migration.empty() ? "no_op" : "applied: " + info.migration;
    report.bytes = size.bytes;
    report.log_bytes = size.log_bytes;
    report.partitions = info.partitions;
    return report;
}

// ------------------------------------------------------------------------------------- any of them

bool is_read_request(const Request& request) {
    return ff::by_type([]<class Op>(std::type_identity<Op>) { return is_read<Op>; }, request);
}

Response answer_any(const Request& request, const ReadContext& c) {
    return ff::visit(
        [&c]<class Op>(const Op& op) -> Response {
            if constexpr (is_read<Op>) {
                FF_TRY(auto reply, answer(op, c));
                return Reply(std::in_place_type<typename Op::Result>, std::move(reply));
            } else {
                return ff::fail(ErrorCode::internal, "a command is not a read");
            }
        },
        request);
}

}  // namespace ff::engine
