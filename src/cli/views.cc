#include "cli/views.h"

#include <fmt/core.h>

#include <utility>

#include "cli/text.h"

namespace ff::cli {

namespace {

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

}  // namespace

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

std::string when(TimestampMs at, TimestampMs now) {
    return at <= now ? fmt::format("{} ({} ago)", time_text(at), span_text(now - at))
                     : fmt::format("{} (in {})", time_text(at), span_text(at - now));
}

std::string failure_text(const ExecutionSnapshot& snapshot) {
    const std::string category = snapshot.failure_category.value_or("");
    const std::string reason = snapshot.failure_reason.value_or("");
    return category.empty() || reason.empty() ? category + reason : category + ": " + reason;
}

// ---------------------------------------------------------------------------------- one execution

std::string execution_text(const ExecutionSnapshot& s,
                           const std::optional<ExecutionContext>& context, const View& view) {
    const ExecutionInfo& info = s.info;
    Facts facts;
    facts.add("execution", Cell(info.execution_id.to_string()));
    facts.add("state", state_cell(info.public_state));
    facts.add_text("detail", detail_text(info.blocking_detail));
    facts.add("lane", Cell(info.lane_id));
    facts.add("namespace", Cell(info.ns));
    facts.add("kind", Cell(info.execution_kind));
    facts.add("priority", Cell(std::to_string(info.priority)));
    facts.add("created", Cell(when(info.created_at, view.now)));
    facts.add_text("creator", s.creator_identity);
    facts.add_time("delayed until", s.delay_until, view.now);
    facts.add_time("deadline", s.execution_deadline_at, view.now);
    facts.add_time("attempt deadline", s.attempt_deadline_at, view.now);
    facts.add_time("started", info.started_at, view.now);
    facts.add_time("completed", info.completed_at, view.now);
    facts.add("attempts", Cell(std::to_string(s.total_attempt_count)));
    facts.add_count("retries", s.retry_count);
    facts.add_count("reclaims", s.lease_reclaim_count);
    facts.add_count("replays", s.replay_count);
    if (s.current_lease) {
        facts.add("held by",
                  Cell(fmt::format("{} until {}, epoch {}", s.current_lease->worker_instance_id,
                                   when(s.current_lease->expires_at, view.now),
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
    facts.add_time("wrong token", s.last_hmac_validation_failed_at, view.now);
    facts.add_text("requires", joined(s.required_capabilities));
    facts.add_text("idempotency key", s.idempotency_key);
    for (const auto& [key, value] : s.tags) {
        facts.add("tag", Cell(key + "=" + value));
    }
    facts.add_text("policy", s.policy);
    if (context) {
        const auto& encoding = context->payload_encoding;
        facts.add("input", Cell(bytes_text(context->input_payload.size()) +
                                (encoding ? ", " + *encoding : "")));
    }
    const StateVector& v = info.state;
    facts.add("vector",
              Cell(fmt::format("{}, {}, {}, {}, {}, {}", to_string(v.phase), to_string(v.ownership),
                               to_string(v.eligibility), to_string(v.blocking_reason),
                               to_string(v.outcome), to_string(v.attempt_state)),
                   Style::dim));
    return facts.render(view.terminal);
}

std::string attempts_text(const std::vector<AttemptInfo>& attempts, const View& view) {
    if (attempts.empty()) {
        return "no attempt yet\n";
    }
    Table table({{"#", Align::right},
                 {"type"},
                 {"state"},
                 {"worker", Align::left, Give::shrink},
                 {"started"},
                 {"took", Align::right},
                 {"frames", Align::right},
                 {"failure", Align::left, Give::shrink}});
    for (const AttemptInfo& a : attempts) {
        const std::string took = a.ended_at
                                     ? span_text(*a.ended_at - a.started_at)
                                     : fmt::format("{} so far", span_text(view.now - a.started_at));
        std::string failure = a.failure_category.value_or("");
        if (a.failure_reason) {
            failure += (failure.empty() ? "" : ": ") + *a.failure_reason;
        }
        table.add({std::to_string(a.attempt_index), to_string(a.type), to_string(a.state),
                   a.worker_instance_id, time_text(a.started_at), took, with_commas(a.frame_count),
                   failure});
    }
    return table.render(view.terminal);
}

std::string history_text(const std::vector<HistoryEntry>& history, const View& view) {
    if (history.empty()) {
        return "no history yet\n";
    }
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
    return table.render(view.terminal);
}

std::string why_text(const Explanation& why, const ExecutionSnapshot& snapshot, const View& view) {
    Facts facts;
    facts.add("execution", Cell(snapshot.info.execution_id.to_string()));
    facts.add("state", state_cell(why.public_state));
    facts.add("why", Cell(why.summary));
    facts.add_text("failure", snapshot.failure_reason);
    facts.add_text("failure category", snapshot.failure_category);
    facts.add_time("until", why.until, view.now);
    if (why.blocking_reason != BlockingReason::none) {
        facts.add("reason", Cell(to_string(why.blocking_reason)));
    }
    if (has_ended(why.public_state)) {
        return facts.render(view.terminal);
    }
    facts.add("lane is", Cell(to_string(why.lane_state)));
    if (why.ahead) {
        facts.add("ahead of it", Cell(with_commas(*why.ahead)));
    }
    facts.add_text("requires", joined(why.required_capabilities));
    facts.add_text("nobody has", joined(why.missing_capabilities));
    facts.add("workers for it", Cell(std::to_string(why.capable_workers)));
    return facts.render(view.terminal);
}

// ------------------------------------------------------------------------------------------ lists

std::string executions_text(const std::vector<ExecutionInfo>& items, const View& view,
                            Titles titles) {
    const auto title = [&](const char* text) {
        return std::string(titles == Titles::shown ? text : "");
    };
    Table table({{title("execution")},
                 {title("state")},
                 {title("lane"), Align::left, Give::shrink},
                 {title("kind"), Align::left, Give::shrink},
                 {title("prio"), Align::right},
                 {title("att"), Align::right},
                 {title("age"), Align::right}});
    for (const ExecutionInfo& info : items) {
        table.add({info.execution_id.to_string(), state_cell(info.public_state), info.lane_id,
                   info.execution_kind, std::to_string(info.priority),
                   std::to_string(info.total_attempt_count),
                   span_text(view.now - info.created_at)});
    }
    return table.render(view.terminal);
}

std::string lanes_text(const std::vector<LaneInfo>& lanes, const View& view) {
    Table table({{"lane"}, {"state"}});
    for (const LaneInfo& lane : lanes) {
        table.add({lane.lane_id,
                   {to_string(lane.state),
                    lane.state == LaneState::active ? Style::green : Style::yellow}});
    }
    return table.empty() ? "no lane is registered\n" : table.render(view.terminal);
}

std::string workers_text(const std::vector<WorkerInfo>& workers, const View& view) {
    Table table({{"instance", Align::left, Give::shrink},
                 {"worker", Align::left, Give::shrink},
                 {"namespace"},
                 {"lanes", Align::left, Give::shrink},
                 {"capabilities", Align::left, Give::shrink},
                 {"heartbeat", Align::right}});
    for (const WorkerInfo& w : workers) {
        table.add({w.worker_instance_id, w.worker_id, w.ns, joined(w.lanes), joined(w.capabilities),
                   span_text(view.now - w.last_heartbeat_ms) + " ago"});
    }
    return table.empty() ? "no live worker is registered\n" : table.render(view.terminal);
}

std::string leases_text(const std::vector<ExpiredLease>& leases, const std::string& empty,
                        const View& view) {
    Table table({{"execution"},
                 {"held by", Align::left, Give::shrink},
                 {"attempt", Align::right},
                 {"epoch", Align::right},
                 {"expires"}});
    for (const ExpiredLease& lease : leases) {
        table.add({lease.execution_id.to_string(), lease.worker_instance_id,
                   std::to_string(lease.attempt_index), std::to_string(lease.lease_epoch),
                   when(lease.expires_at_ms, view.now)});
    }
    return table.empty() ? empty + "\n" : table.render(view.terminal);
}

std::string scanners_text(const std::vector<ScannerInfo>& scanners, const View& view) {
    Table table({{"scanner"},
                 {"every", Align::right},
                 {"runs", Align::right},
                 {"processed", Align::right},
                 {"errors", Align::right},
                 {"last run"}});
    for (const ScannerInfo& s : scanners) {
        const std::string last =
            s.last_run_at ? fmt::format("{} ago, took {} ms", span_text(view.now - *s.last_run_at),
                                        rounded(static_cast<double>(s.last_duration_us) / 1'000))
                          : "-";
        table.add({s.scanner,
                   s.period_ms > 0 ? span_text(s.period_ms) : "when asked",
                   with_commas(s.cycles),
                   with_commas(s.processed),
                   {with_commas(s.errors), s.errors > 0 ? Style::red : Style::plain},
                   last});
    }
    return table.empty() ? "no scanner runs here\n" : table.render(view.terminal);
}

// ------------------------------------------------------------------------------------------ store

namespace {

std::string partitions_text(const PartitionCounts& counts) {
    return fmt::format("{} for executions and flows, {} for budgets, {} for quotas", counts.flow,
                       counts.budget, counts.quota);
}

}  // namespace

std::string store_text(const StoreReport& report, const View& view) {
    Facts facts;
    facts.add("store", Cell(report.family));
    facts.add("durability", Cell(report.durability));
    facts.add_text("wake-ups", report.wake_ups);
    facts.add("schema", Cell(std::to_string(report.schema_version)));
    facts.add_text("prepared", report.prepared);
    facts.add("size", Cell(bytes_text(report.bytes)));
    if (report.log_bytes > 0) {
        facts.add("log", Cell(bytes_text(report.log_bytes)));
    }
    facts.add("partitions", Cell(partitions_text(report.partitions)));
    return facts.render(view.terminal);
}

std::string capabilities_text(const Capabilities& capabilities, const View& view) {
    std::vector<std::string> able;
    std::vector<std::string> unable;
    for (const auto& [name, supported] : capabilities.supports) {
        (supported ? able : unable).push_back(name);
    }
    Facts facts;
    facts.add("store", Cell(fmt::format("{} {}.{}.{}", capabilities.family, capabilities.major,
                                        capabilities.minor, capabilities.patch)));
    facts.add("durability", Cell(capabilities.durability));
    facts.add("partitions", Cell(partitions_text(capabilities.partitions)));
    facts.add_text("can", joined(able));
    facts.add_text("cannot", joined(unable));
    return facts.render(view.terminal);
}

}  // namespace ff::cli
