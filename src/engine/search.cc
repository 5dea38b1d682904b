// Finding executions by filter, newest first, in bounded pages; and saying why one is not running.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>

#include "engine/reads.h"

namespace ff::engine {

namespace {

using core::Eid;
using core::Execution;

/// A page looks at no more rows than this; a sparse filter then gives a short page and a cursor.
constexpr std::size_t examined_max = 10'000;
constexpr std::size_t chunk = 500;
/// Merging the lists of more routes than this costs more than walking all executions.
constexpr std::size_t merged_routes_max = 64;
constexpr Eid newest_eid = std::numeric_limits<Eid>::max();

/// Where candidates come from: the narrowest list the filter allows.
class Candidates {
  public:
    virtual ~Candidates() = default;
    /// The next newest-first rows below `before`; fewer than `limit` means the end.
    virtual expected<std::vector<Execution>> next(store::Reader& reader, Eid before,
                                                  std::size_t limit) = 0;
};

class AllOf final : public Candidates {
  public:
    expected<std::vector<Execution>> next(store::Reader& reader, Eid before,
                                          std::size_t limit) override {
        return reader.newest(before, limit);
    }
};

class Tagged final : public Candidates {
  public:
    explicit Tagged(std::pair<std::string, std::string> tag) : tag_(std::move(tag)) {}
    expected<std::vector<Execution>> next(store::Reader& reader, Eid before,
                                          std::size_t limit) override {
        return reader.newest_with_tag(tag_.first, tag_.second, before, limit);
    }

  private:
    std::pair<std::string, std::string> tag_;
};

/// Keeps the newest `limit` of several newest-first lists.
std::vector<Execution> merge(std::vector<std::vector<Execution>> lists, std::size_t limit) {
    std::vector<Execution> out;
    for (auto& list : lists) {
        std::ranges::move(list, std::back_inserter(out));
    }
    std::ranges::sort(out, std::greater<>(), &Execution::eid);
    if (out.size() > limit) {
        out.resize(limit);
    }
    return out;
}

class OfRoutes final : public Candidates {
  public:
    explicit OfRoutes(std::vector<core::RouteId> routes) : routes_(std::move(routes)) {}
    expected<std::vector<Execution>> next(store::Reader& reader, Eid before,
                                          std::size_t limit) override {
        std::vector<std::vector<Execution>> lists;
        for (core::RouteId route : routes_) {
            FF_TRY(lists.emplace_back(), reader.newest_of_route(route, before, limit));
        }
        return merge(std::move(lists), limit);
    }

  private:
    std::vector<core::RouteId> routes_;
};

class InBuckets final : public Candidates {
  public:
    InBuckets(std::vector<core::Bucket> buckets, bool leased)
        : buckets_(std::move(buckets)), leased_(leased) {}
    expected<std::vector<Execution>> next(store::Reader& reader, Eid before,
                                          std::size_t limit) override {
        std::vector<std::vector<Execution>> lists;
        for (core::Bucket bucket : buckets_) {
            FF_TRY(lists.emplace_back(), reader.newest_in_bucket(bucket, before, limit));
        }
        if (leased_) {
            FF_TRY(lists.emplace_back(), reader.newest_leased(before, limit));
        }
        return merge(std::move(lists), limit);
    }

  private:
    std::vector<core::Bucket> buckets_;
    bool leased_;
};

std::unique_ptr<Candidates> by_state(PublicState state) {
    using core::Bucket;
    const auto buckets = [](std::vector<Bucket> list) {
        return std::make_unique<InBuckets>(std::move(list), false);
    };
    switch (state) {
        case PublicState::delayed: return buckets({Bucket::delayed});
        case PublicState::rate_limited:
            return buckets({Bucket::blocked_by_budget, Bucket::blocked_by_quota});
        case PublicState::waiting_children: return buckets({Bucket::waiting_children});
        case PublicState::suspended: return buckets({Bucket::suspended});
        case PublicState::failed: return buckets({Bucket::failed});
        case PublicState::cancelled: return buckets({Bucket::cancelled});
        case PublicState::expired: return buckets({Bucket::expired});
        case PublicState::skipped: return buckets({Bucket::skipped});
        case PublicState::active:
            return std::make_unique<InBuckets>(std::vector{Bucket::reclaimable}, true);
        case PublicState::waiting:
        case PublicState::completed:
        case PublicState::resumable: return nullptr;  // too common to be listed: found by walking
    }
    return nullptr;
}

bool is_in(const Execution& e, PublicState state) {
    if (state == PublicState::resumable) {
        return e.state.phase == LifecyclePhase::runnable &&
               e.state.attempt_state == AttemptState::attempt_interrupted;
    }
    return e.public_state == state;
}

struct Filter {
    const SearchExecutions& op;
    std::map<core::RouteId, core::Route> routes;  ///< those that pass lane, namespace and kind

    [[nodiscard]] bool passes(const Execution& e) const {
        if (!routes.contains(e.route)) {
            return false;
        }
        if ((op.created_after && e.created_at < *op.created_after) ||
            (op.created_before && e.created_at >= *op.created_before)) {
            return false;
        }
        return op.states.empty() ||
               std::ranges::any_of(op.states, [&](PublicState state) { return is_in(e, state); });
    }
};

expected<Eid> parse_cursor(const std::optional<std::string>& cursor) {
    if (!cursor || cursor->empty()) {
        return newest_eid;
    }
    Eid eid = 0;
    const char* end = cursor->data() + cursor->size();
    auto [at, error] = std::from_chars(cursor->data(), end, eid, 16);
    if (error != std::errc() || at != end || eid < 0) {
        return ff::fail(ErrorCode::invalid_input, "invalid cursor: " + *cursor);
    }
    return eid;
}

std::string format_cursor(Eid eid) {
    std::array<char, 20> text{};
    auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), eid, 16);
    return std::string(text.data(), end);
}

std::unique_ptr<Candidates> narrowest(const SearchExecutions& op, const Filter& filter,
                                      std::size_t all_routes) {
    if (!op.tags.empty()) {
        return std::make_unique<Tagged>(*op.tags.begin());
    }
    if (op.states.size() == 1) {
        if (auto list = by_state(op.states[0])) {
            return list;
        }
    }
    const bool some = filter.routes.size() < all_routes;
    if (some && filter.routes.size() <= merged_routes_max) {
        std::vector<core::RouteId> ids;
        for (const auto& [id, route] : filter.routes) {
            ids.push_back(id);
        }
        return std::make_unique<OfRoutes>(std::move(ids));
    }
    return std::make_unique<AllOf>();
}

}  // namespace

expected<SearchPage> answer(const SearchExecutions& op, const ReadContext& c) {
    const std::size_t limit = std::min<std::size_t>(op.limit, 1000);
    FF_TRY(Eid before, parse_cursor(op.cursor));
    SearchPage page;
    if (limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        Filter filter{op, {}};
        FF_TRY(auto routes, reader.routes());
        const std::size_t all_routes = routes.size();
        for (core::Route& route : routes) {
            if ((!op.lane_id || *op.lane_id == route.key.lane) &&
                (!op.ns || *op.ns == route.key.ns) && (!op.kind || *op.kind == route.key.kind)) {
                filter.routes.emplace(route.id, std::move(route));
            }
        }
        auto candidates = narrowest(op, filter, all_routes);
        std::size_t examined = 0;
        while (!filter.routes.empty()) {
            const std::size_t want = std::min(chunk, std::max<std::size_t>(limit, 50));
            FF_TRY(const auto rows, candidates->next(reader, before, want));
            for (const Execution& e : rows) {
                if (page.items.size() == limit) {
                    page.next_cursor = format_cursor(before);
                    return {};
                }
                before = e.eid;
                if (filter.passes(e)) {
                    page.items.push_back(info_of(e, filter.routes.at(e.route)));
                }
            }
            examined += rows.size();
            if (rows.size() < want) {
                return {};
            }
            if (examined >= examined_max) {
                page.next_cursor = format_cursor(before);
                return {};
            }
        }
        return {};
    }));
    return page;
}

// ---------------------------------------------------------------------------------------- why

namespace {

std::string join(const std::vector<std::string>& words) {
    std::string out;
    for (const auto& word : words) {
        out += (out.empty() ? "" : ", ") + word;
    }
    return out;
}

/// How the live workers of a namespace and lane relate to what an execution requires.
expected<void> match_workers(store::Reader& reader, const core::Route& route, TimestampMs now,
                             Explanation& out) {
    core::WorkerKey after;
    std::optional<std::vector<std::string>> best;
    for (;;) {
        FF_TRY(const auto rows, reader.workers(route.key.ns, after, 1'000));
        for (const core::WorkerRow& row : rows) {
            if (!row.live(now) || std::ranges::find(row.lanes, route.key.lane) == row.lanes.end()) {
                continue;
            }
            std::vector<std::string> lacking;
            std::ranges::set_difference(route.required, row.capabilities,
                                        std::back_inserter(lacking));
            out.capable_workers += lacking.empty() ? 1 : 0;
            if (!best || lacking.size() < best->size()) {
                best = std::move(lacking);
            }
        }
        if (rows.size() < 1'000) {
            break;
        }
        after = rows.back().key;
    }
    out.missing_capabilities = best.value_or(route.required);
    return {};
}

std::string eligible_summary(const Explanation& why, const core::Route& route) {
    if (why.lane_state == LaneState::paused || why.lane_state == LaneState::disabled) {
        return "lane " + route.key.lane + " is " + std::string(to_string(why.lane_state)) +
               ": it hands out no work";
    }
    std::string text = "ready, waiting for a worker on lane " + route.key.lane;
    if (why.ahead && *why.ahead > 0) {
        text += "; " + std::to_string(*why.ahead) + (*why.ahead >= 10'000 ? " or more" : "") +
                " ahead of it";
    }
    if (why.capable_workers == 0) {
        text += why.missing_capabilities.empty()
                    ? "; no live worker of namespace " + route.key.ns + " is registered for it"
                    : "; no live worker has " + join(why.missing_capabilities);
    }
    return text;
}

std::string summary(const Execution& e, const Explanation& why, const core::Route& route) {
    const std::string detail = e.blocking_detail.value_or("");
    if (e.grant_expires_at) {
        return "a claim grant holds it until " + std::to_string(*e.grant_expires_at);
    }
    switch (e.state.phase) {
        case LifecyclePhase::terminal:
            return "it has ended: " + std::string(to_string(e.public_state));
        case LifecyclePhase::active:
            if (e.state.ownership == OwnershipState::leased) {
                return "it is running on " + e.worker_instance_id.value_or("") + " until " +
                       std::to_string(e.lease_expires_at.value_or(0));
            }
            return detail + ": the next capable worker takes it over";
        case LifecyclePhase::suspended: return detail.empty() ? "suspended" : detail;
        case LifecyclePhase::submitted:
        case LifecyclePhase::runnable: break;
    }
    if (e.state.eligibility == EligibilityState::eligible_now) {
        return eligible_summary(why, route);
    }
    const std::string reason(to_string(e.state.blocking_reason));
    return detail.empty() ? reason : reason + ": " + detail;
}

}  // namespace

expected<Explanation> answer(const ExplainExecution& op, const ReadContext& c) {
    expected<Explanation> out = ff::fail(ErrorCode::execution_not_found,
                                         "execution not found: " + op.execution_id.to_string());
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(const auto e, reader.execution(op.execution_id));
        if (!e) {
            return {};
        }
        FF_TRY(const core::Route route, reader.route(e->route));
        FF_TRY(const auto lane, reader.lane(route.key.lane));
        Explanation why;
        why.public_state = e->public_state;
        why.blocking_reason = e->state.blocking_reason;
        why.lane_state = lane ? lane->state : LaneState::active;
        why.required_capabilities = route.required;
        why.until = e->delay_until;
        if (e->grant_expires_at) {
            why.until = e->grant_expires_at;
        }
        if (!is_terminal(e->state)) {
            FF_TRY_VOID(match_workers(reader, route, c.now, why));
        }
        if (const auto key = core::ready_key(*e)) {
            FF_TRY(const auto routes, reader.routes());
            std::vector<core::RouteId> same_lane;
            for (const core::Route& other : routes) {
                if (other.key.lane == route.key.lane && same_lane.size() < 256) {
                    same_lane.push_back(other.id);
                }
            }
            FF_TRY(why.ahead, reader.ready_before(same_lane, *key, 10'000));
        }
        why.summary = summary(*e, why, route);
        out = std::move(why);
        return {};
    }));
    return out;
}

}  // namespace ff::engine
