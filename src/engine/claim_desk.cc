#include "engine/claim_desk.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "core/admission.h"
#include "core/cascade.h"

namespace ff::engine {

namespace {

/// More than this is not asked of the store at once.
constexpr std::size_t demand_counted_max = 4096;
/// A claim that has this much to carry takes no more executions, however many it asked for; a batch
/// that has hands out no more, and the claims left over are served by the next.
constexpr std::size_t claim_bytes_max = 8U << 20;
constexpr std::size_t batch_bytes_max = 32U << 20;
/// So many candidates that a limit refuses are put aside in one transaction.
constexpr std::size_t batch_blocked_max = 1'000;

Demand demand_by(const Command& command) {
    if (const auto* claim = ff::get_if<Claim>(&command)) {
        return {claim->lanes, claim->capabilities, claim->ns, claim->kinds};
    }
    const auto& grant = ff::get<ClaimForWorker>(command);
    return {{grant.lane_id}, grant.capabilities, grant.ns, {}};
}

bool is_abandoned(const Pending& claim) {
    return claim.number != 0 && ff::get<Claim>(claim.command).abandoned.stop_requested();
}

std::size_t wanted(const Pending& claim) {
    const auto* direct = ff::get_if<Claim>(&claim.command);
    return direct != nullptr ? direct->max_tasks : 1;
}

Response nothing(const Pending& claim) {
    if (claim.no_room) {
        return ff::fail(ErrorCode::too_many_waiters, "as many claims as may are waiting already");
    }
    return ff::holds_alternative<Claim>(claim.command) ? Response(ClaimResult{})
                                                       : Response(ClaimForWorkerResult{});
}

}  // namespace

expected<void> ClaimDesk::serve(std::vector<Pending> claims, Waiting waiting,
                                core::Snapshot& snapshot, const core::Context& ctx,
                                const Hooks& batch, std::vector<Outcome>& outcomes,
                                std::vector<Outcome>& refused) {
    bytes_served_ = 0;
    blocked_ = 0;
    held_.reset();
    for (const core::Route& route : snapshot.new_routes) {
        ready_.add_route(route);
    }
    turn_.clear();
    if (waiting == Waiting::served) {
        turn_ = ready_.take_touched();
    }
    for (Pending& claim : claims) {
        enqueue(std::move(claim), ctx.now);
    }
    if (waiting == Waiting::served && std::exchange(recheck_all_, false)) {
        for (auto& [key, desk] : desks_) {
            turn_.push_back(key);
        }
    }
    const std::vector<Desk*> desks = desks_in_turn();
    if (store_.shared() && !desks.empty()) {
        std::vector<ReadyIndex::Want> wants;
        for (const Desk* desk : desks) {
            wants.push_back({desk->group.get(), demand_of(*desk)});
        }
        if (auto read = ready_.read(wants, snapshot); !read) {
            for (Desk* desk : desks) {
                refuse(*desk, read.error(), refused);
            }
            return read;
        }
        // One that cannot be read keeps back only those it applies to; they ask again.
        if (auto loaded = load_limits(snapshot); !loaded && !is_of_the_row(loaded.error().code)) {
            for (Desk* desk : desks) {
                refuse(*desk, loaded.error(), refused);
            }
            return loaded;
        }
    }
    for (Desk* desk : desks) {
        if (spent()) {
            break;
        }
        if (auto served = serve_desk(*desk, snapshot, ctx, batch, outcomes); !served) {
            refuse(*desk, served.error(), refused);
            return served;
        }
        if (desk->queue.empty()) {
            desks_.erase(desk->group.get());
        }
    }
    if (waiting == Waiting::served) {
        ready_.take_touched();  // what serving itself touched has been seen
    }
    if (spent()) {
        recheck_all_ = true;  // and none expires: those left over have not had their turn
    } else {
        expire(ctx.now, outcomes);
    }
    return {};
}

void ClaimDesk::expect(const std::vector<Pending>& commands) {
    std::map<ReadyIndex::Group*, std::size_t> demands;
    std::vector<std::shared_ptr<ReadyIndex::Group>> groups;  // kept while they are named
    std::set<std::string_view> made_on;                      // those who wait there are served
    for (const Pending& pending : commands) {
        if (takes_any(pending.command)) {
            groups.push_back(ready_.group(demand_by(pending.command)));
            demands[groups.back().get()] += wanted(pending);
        } else if (const auto* create = ff::get_if<core::PreparedCreate>(&pending.command)) {
            made_on.insert(create->route.lane);
        }
    }
    const auto is_met = [&](const ReadyIndex::Group& group) {
        return std::ranges::any_of(group.demand.lanes,
                                   [&](const std::string& lane) { return made_on.contains(lane); });
    };
    for (const auto& [group, desk] : desks_) {
        if (recheck_all_ || demands.contains(group) || is_met(*group)) {
            demands[group] += demand_of(desk);
        }
    }
    std::vector<ReadyIndex::Want> wants;
    for (const auto& [group, demand] : demands) {
        wants.push_back({group, std::min(demand, demand_counted_max)});
    }
    if (!wants.empty()) {
        ready_.expect(wants);
    }
}

std::size_t ClaimDesk::demand_of(const Desk& desk) {
    std::size_t demand = 0;
    for (auto it = desk.queue.begin(); it != desk.queue.end() && demand < demand_counted_max;
         ++it) {
        demand += wanted(it->pending);
    }
    return demand;
}

std::vector<ClaimDesk::Desk*> ClaimDesk::desks_in_turn() {
    std::ranges::sort(turn_);
    turn_.erase(std::ranges::unique(turn_).begin(), turn_.end());
    std::vector<Desk*> desks;
    for (ReadyIndex::Group* group : turn_) {
        if (auto it = desks_.find(group); it != desks_.end()) {
            desks.push_back(&it->second);
        }
    }
    std::ranges::sort(desks, {}, [](const Desk* desk) { return desk->queue.front().arrival; });
    return desks;
}

void ClaimDesk::refuse(Desk& desk, const Error& error, std::vector<Outcome>& refused) {
    while (!desk.queue.empty()) {
        answer(desk, desk.queue.begin(), std::unexpected(error), refused);
    }
    desks_.erase(desk.group.get());
}

void ClaimDesk::refuse_all(const Error& error, std::vector<Outcome>& refused) {
    while (!desks_.empty()) {
        refuse(desks_.begin()->second, error, refused);
    }
}

void ClaimDesk::enqueue(Pending claim, TimestampMs now) {
    const auto* direct = ff::get_if<Claim>(&claim.command);
    if (!claim.deadline) {
        claim.deadline = now + (direct != nullptr ? direct->max_wait_ms : 0);
    }
    if (is_abandoned(claim)) {
        claim.deadline = now;
    }
    if (*claim.deadline > now && deadlines_.size() >= waiting_max_) {
        claim.no_room = true;  // it may have what is there, but not wait
        claim.deadline = now;
    }
    auto group = ready_.group(demand_by(claim.command));
    turn_.push_back(group.get());
    Desk& desk = desks_[group.get()];
    desk.group = std::move(group);
    const TimestampMs deadline = *claim.deadline;
    desk.queue.push_back({std::move(claim), deadlines_.end(), ++arrivals_});
    auto place = std::prev(desk.queue.end());
    place->deadline = deadlines_.emplace(deadline, Place{&desk, place});
    if (place->pending.number != 0) {
        abandonable_.emplace(place->pending.number, Place{&desk, place});
    }
}

void ClaimDesk::answer(Desk& desk, std::list<Parked>::iterator claim, Response response,
                       std::vector<Outcome>& outcomes) {
    deadlines_.erase(claim->deadline);
    abandonable_.erase(claim->pending.number);
    outcomes.push_back({std::move(claim->pending), std::move(response)});
    desk.queue.erase(claim);
}

expected<void> ClaimDesk::serve_desk(Desk& desk, core::Snapshot& snapshot, const core::Context& ctx,
                                     const Hooks& batch, std::vector<Outcome>& outcomes) {
    std::size_t demand = demand_of(desk);
    core::ReadSet lanes;
    lanes.lanes = desk.group->demand.lanes;
    FF_TRY_VOID(store_.load(lanes, snapshot));
    while (!desk.queue.empty() && !spent()) {
        auto claim = desk.queue.begin();
        if (is_abandoned(claim->pending)) {
            answer(desk, claim, nothing(claim->pending), outcomes);
            continue;
        }
        FF_TRY(auto response, serve_one(*desk.group, claim->pending, demand, snapshot, ctx, batch));
        if (!response) {
            break;  // nothing for the first, hence nothing for those who ask for the same
        }
        demand -= std::min(demand, wanted(claim->pending));
        answer(desk, claim, std::move(*response), outcomes);
    }
    return {};
}

expected<std::optional<Response>> ClaimDesk::serve_one(ReadyIndex::Group& group,
                                                       const Pending& claim, std::size_t demand,
                                                       core::Snapshot& snapshot,
                                                       const core::Context& ctx,
                                                       const Hooks& batch) {
    const auto* direct = ff::get_if<Claim>(&claim.command);
    const std::size_t bytes_before = bytes_served_;
    ClaimResult result;
    for (;;) {
        FF_TRY(const core::Execution* candidate, next_candidate(group, snapshot, demand));
        FF_TRY(const bool called, batch.call_followers(candidate));
        if (called) {
            rotation_ -= group.demand.lanes.size() > 1 ? 1 : 0;  // that was no turn of a lane
            continue;
        }
        if (candidate == nullptr) {
            break;
        }
        const core::ReadyKey key = *core::ready_key(*candidate);
        if (candidate->flow_id) {
            FF_TRY(auto instead, hold_back(*candidate, snapshot, ctx));
            if (instead) {
                batch.apply(std::move(*instead));
                ready_.erase(key);  // it waits at its gate, or is about to be cancelled
                continue;
            }
        }
        const auto refused = [&](const Error& error) {
            // A row that cannot be handed out must not stand in the way of those behind it.
            warn_("claim passes over " + candidate->id.to_string() + ": " + error.message());
            ready_.erase(key);
        };
        std::optional<core::Verdict> verdict;
        if (!is_reclaimable(candidate->state)) {  // one that was running goes on
            auto asked = admit(*candidate, snapshot, ctx);
            if (!asked && is_of_the_row(asked.error().code)) {
                refused(asked.error());
                continue;
            }
            FF_TRY(verdict, std::move(asked));
        }
        if (verdict && !verdict->admitted) {
            batch.apply(std::move(verdict->changes));
            ready_.erase(key);  // it waits at the gate of the limit
            blocked_ += 1;
            if (spent()) {
                break;
            }
            continue;
        }
        // Keeps what was admitted together with what came of it.
        const auto keep = [&](core::Changes&& changes) {
            if (verdict) {
                core::note_admission(*verdict, changes.put_executions.back());
                batch.apply(std::move(verdict->changes));
            }
            batch.apply(std::move(changes));
        };
        if (direct != nullptr) {
            const core::Lessee lessee{direct->worker_id,
                                      direct->worker_instance_id,
                                      snapshot.route(candidate->route).key.lane,
                                      direct->lease_ttl_ms,
                                      std::nullopt,
                                      std::nullopt};
            auto decision = core::decide_take(snapshot, *candidate, lessee, ctx);
            if (!decision.answer) {
                refused(decision.answer.error());
                continue;
            }
            keep(std::move(decision.changes));
            if (*decision.answer) {
                bytes_served_ += (*decision.answer)->input_payload.size();
                result.tasks.push_back(std::move(**decision.answer));
                if (result.tasks.size() >= direct->max_tasks ||
                    bytes_served_ - bytes_before >= claim_bytes_max) {
                    break;
                }
            }
        } else {
            const auto& args = ff::get<ClaimForWorker>(claim.command);
            auto decision = core::decide_grant(snapshot, *candidate, args, ctx);
            if (!decision.answer) {
                refused(decision.answer.error());
                continue;
            }
            keep(std::move(decision.changes));
            if (*decision.answer) {
                return Response(ClaimForWorkerResult{std::move(*decision.answer)});
            }
        }
    }
    if (result.tasks.empty()) {
        return std::nullopt;
    }
    return Response(std::move(result));
}

expected<std::optional<core::Changes>> ClaimDesk::hold_back(const core::Execution& member,
                                                            core::Snapshot& snapshot,
                                                            const core::Context& ctx) {
    if (!held_) {
        FF_TRY(const auto flows, store_.held_flows());
        held_.emplace(flows.begin(), flows.end());
    }
    const FlowId flow = *member.flow_id;
    if (held_->contains(flow) && !snapshot.knows_flow(flow)) {
        core::ReadSet set;
        set.flows.push_back(flow);
        FF_TRY_VOID(store_.load(set, snapshot));
    }
    if (!snapshot.knows_flow(flow)) {
        return std::nullopt;
    }
    core::ReadSet more;
    core::read_flow_of(snapshot, member.id, more);
    if (!more.empty()) {
        FF_TRY_VOID(store_.load(more, snapshot));
    }
    return core::hold_back(snapshot, member, ctx);
}

expected<std::optional<core::Verdict>> ClaimDesk::admit(const core::Execution& candidate,
                                                        core::Snapshot& snapshot,
                                                        const core::Context& ctx) {
    for (;;) {
        core::ReadSet set;
        core::need_applicable(snapshot, candidate, set);
        if (set.empty()) {
            break;
        }
        FF_TRY_VOID(store_.load(set, snapshot));
    }
    const core::Applicable limits = core::applicable(snapshot, candidate);
    if (limits.empty()) {
        return std::nullopt;
    }
    core::ReadSet more;
    core::need_limits(snapshot, candidate, limits, more);
    if (!more.empty()) {
        FF_TRY_VOID(store_.load(more, snapshot));
    }
    return core::decide_limits(snapshot, candidate, limits, ctx);
}

expected<void> ClaimDesk::load_limits(core::Snapshot& snapshot) {
    const auto for_each = [&](const auto& ask) {
        for (const core::ExecutionCell& cell : snapshot.cells) {
            const auto& e = cell.execution.current();
            if (e && !e->gate && !is_reclaimable(e->state) && core::ready_key(*e)) {
                ask(*e);
            }
        }
    };
    core::ReadSet templates;  // of policies that count by key
    if (snapshot.limits.knows_places()) {
        for_each([&](const core::Execution& e) {
            if (e.limit_key) {
                core::need_applicable(snapshot, e, templates);
            }
        });
    }
    if (!templates.empty()) {
        FF_TRY_VOID(store_.load(templates, snapshot));
    }
    core::ReadSet set;
    for_each([&](const core::Execution& e) {
        core::ReadSet unknown;
        core::need_applicable(snapshot, e, unknown);
        if (unknown.empty()) {
            core::need_limits(snapshot, e, core::applicable(snapshot, e), set);
        }
    });
    return set.empty() ? expected<void>() : store_.load(set, snapshot);
}

bool ClaimDesk::spent() const {
    return bytes_served_ >= batch_bytes_max || blocked_ >= batch_blocked_max;
}

expected<const core::Execution*> ClaimDesk::next_candidate(ReadyIndex::Group& group,
                                                           core::Snapshot& snapshot,
                                                           std::size_t demand) {
    const auto& lanes = group.demand.lanes;
    const std::size_t start = lanes.size() > 1 ? rotation_++ % lanes.size() : 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
        const std::size_t index = (start + i) % lanes.size();
        const core::Lane* lane = snapshot.lane(lanes[index]);
        if (lane != nullptr &&
            (lane->state == LaneState::paused || lane->state == LaneState::disabled)) {
            continue;
        }
        for (;;) {
            FF_TRY(const auto key, ready_.front(group, index, demand, snapshot));
            if (!key) {
                break;
            }
            const core::Eid eid = key->eid;
            auto loaded = store_.load({&eid, 1}, core::InputNeed::always, false, snapshot);
            if (!loaded && is_of_the_row(loaded.error().code)) {
                warn_("claim passes over execution " + std::to_string(eid) + ": " +
                      loaded.error().message());
                ready_.erase(*key);
                continue;
            }
            FF_TRY_VOID(loaded);
            core::ExecutionCell* cell = snapshot.find_cell(eid);
            if (cell != nullptr && cell->execution.current() &&
                core::ready_key(*cell->execution.current()) == key) {
                return &*cell->execution.current();
            }
            if (!store_.shared()) {
                warn_("ready entry " + std::to_string(eid) + " has no execution that is ready");
            }
            ready_.erase(*key);
        }
    }
    return nullptr;
}

void ClaimDesk::expire(TimestampMs now, std::vector<Outcome>& outcomes) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const auto [desk, claim] = deadlines_.begin()->second;
        answer(*desk, claim, nothing(claim->pending), outcomes);
        if (desk->queue.empty()) {
            desks_.erase(desk->group.get());
        }
    }
}

void ClaimDesk::abandon(const std::vector<std::uint64_t>& claims, std::vector<Outcome>& outcomes) {
    for (const std::uint64_t number : claims) {
        const auto it = abandonable_.find(number);
        if (it == abandonable_.end()) {
            continue;  // it has its answer
        }
        const auto [desk, claim] = it->second;
        answer(*desk, claim, nothing(claim->pending), outcomes);
        if (desk->queue.empty()) {
            desks_.erase(desk->group.get());
        }
    }
}

void ClaimDesk::release_all(std::vector<Outcome>& outcomes) {
    expire(std::numeric_limits<TimestampMs>::max(), outcomes);
}

std::optional<TimestampMs> ClaimDesk::next_deadline() const {
    if (deadlines_.empty()) {
        return std::nullopt;
    }
    return deadlines_.begin()->first;
}

}  // namespace ff::engine
