#include "engine/ready_index.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include <ff/policy.h>

namespace ff::engine {

using core::ReadyKey;

std::string Demand::signature() const {
    std::string out;
    const auto add = [&out](const std::string& text) {
        out += std::to_string(text.size());
        out += ':';
        out += text;
    };
    for (const auto& lane : lanes) {
        add(lane);
    }
    out += '|';
    for (const auto& token : capabilities) {
        add(token);
    }
    out += '|';
    if (ns) {
        add(*ns);
    }
    out += '|';
    for (const auto& kind : kinds) {
        add(kind);
    }
    return out;
}

bool Demand::matches(const core::Route& route) const {
    return (!ns || *ns == route.key.ns) &&
           (kinds.empty() || std::ranges::find(kinds, route.key.kind) != kinds.end()) &&
           satisfies(capabilities, route.required);
}

namespace {

/// Keys are kept best last.
bool better_last(const ReadyKey& a, const ReadyKey& b) { return b < a; }

/// Not above any key of the route.
ReadyKey first_key(core::RouteId route) {
    return {route, std::numeric_limits<std::int32_t>::min(), 0};
}

}  // namespace

std::shared_ptr<ReadyIndex::Group> ReadyIndex::group(Demand demand) {
    std::string signature = demand.signature();
    if (auto it = groups_.find(signature); it != groups_.end()) {
        it->second->last_use = ++uses_;
        return it->second;
    }
    drop_idle_groups();
    auto fresh = std::make_shared<Group>(std::move(demand));
    fresh->last_use = ++uses_;
    groups_.emplace(std::move(signature), fresh);
    for (const std::string& lane : fresh->demand.lanes) {
        for (const core::Route* route : store_.routes().of_lane(lane)) {
            add_route(*route);
        }
    }
    for (auto& [id, queue] : queues_) {
        join(*fresh, *queue);
    }
    return fresh;
}

void ReadyIndex::drop_idle_groups() {
    if (groups_.size() < groups_max) {
        return;
    }
    // Half of the idle ones, the longest unused first, in one pass over the queues.
    std::vector<std::uint64_t> ages;
    for (const auto& [signature, group] : groups_) {
        if (group.use_count() == 1) {
            ages.push_back(group->last_use);
        }
    }
    if (ages.empty()) {
        return;
    }
    auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
    std::ranges::nth_element(ages, middle);
    std::unordered_set<const Group*> dropped;
    for (const auto& [signature, group] : groups_) {
        if (group.use_count() == 1 && group->last_use < *middle) {
            dropped.insert(group.get());
        }
    }
    for (auto& [id, queue] : queues_) {
        std::erase_if(queue->members, [&](const Member& m) { return dropped.contains(m.group); });
    }
    std::erase_if(touched_, [&](const Group* group) { return dropped.contains(group); });
    std::erase_if(groups_, [&](const auto& entry) { return dropped.contains(entry.second.get()); });
}

void ReadyIndex::add_route(const core::Route& route) {
    auto [it, fresh] = queues_.try_emplace(route.id, nullptr);
    if (!fresh) {
        return;
    }
    it->second = std::make_unique<Queue>();
    it->second->route = route;
    for (auto& [signature, group] : groups_) {
        join(*group, *it->second);
    }
}

void ReadyIndex::join(Group& group, Queue& queue) {
    const auto& lanes = group.demand.lanes;
    const auto lane = std::ranges::find(lanes, queue.route.key.lane);
    if (lane == lanes.end() || !group.demand.matches(queue.route)) {
        return;
    }
    const auto lane_index = static_cast<std::size_t>(lane - lanes.begin());
    const bool already =
        std::ranges::any_of(queue.members, [&](const Member& m) { return m.group == &group; });
    if (already) {
        return;
    }
    queue.members.push_back({&group, lane_index});
    LaneHeads& heads = group.lanes[lane_index];
    if (!queue.known) {
        heads.unread.insert(&queue);
        touch(group);  // what made a new route is ready in it before anybody asked for it
    } else if (const ReadyKey* head = queue.head()) {
        heads.heads.insert({head->rank, head->place, &queue});
    }
}

void ReadyIndex::hide_head(Queue& queue) {
    const ReadyKey* head = queue.head();
    if (!queue.known || head == nullptr) {
        return;
    }
    for (const Member& member : queue.members) {
        member.group->lanes[member.lane_index].heads.erase({head->rank, head->place, &queue});
    }
}

void ReadyIndex::show_head(Queue& queue) {
    const ReadyKey* head = queue.head();
    if (head == nullptr) {
        return;
    }
    for (const Member& member : queue.members) {
        member.group->lanes[member.lane_index].heads.insert({head->rank, head->place, &queue});
    }
}

void ReadyIndex::mark_unread(Queue& queue) {
    queue.known = false;
    for (const Member& member : queue.members) {
        member.group->lanes[member.lane_index].unread.insert(&queue);
    }
}

void ReadyIndex::touch(Group& group) {
    if (!group.touched) {
        group.touched = true;
        touched_.push_back(&group);
    }
}

void ReadyIndex::insert(const ReadyKey& key) {
    if (erased_.erase(key) == 0) {
        inserted_.insert(key);
    }
    auto it = queues_.find(key.route);
    if (it == queues_.end()) {
        return;  // nobody has asked for this route yet
    }
    Queue& queue = *it->second;
    for (const Member& member : queue.members) {
        touch(*member.group);
    }
    if (queue.known) {
        insert_known(queue, key);
    } else if (queue.read_to && key <= *queue.read_to) {
        queue.read_to.reset();  // reading on would step over it: read from the head
    }
}

void ReadyIndex::insert_known(Queue& queue, const ReadyKey& key) {
    if (!queue.complete && (!queue.read_to || *queue.read_to < key)) {
        return;  // behind the known prefix
    }
    hide_head(queue);
    queue.keys.insert(std::ranges::lower_bound(queue.keys, key, better_last), key);
    if (queue.keys.size() > prefix_max) {
        // Forget the far end; it is read again when it comes near.
        queue.keys.erase(queue.keys.begin(),
                         queue.keys.begin() + static_cast<std::ptrdiff_t>(prefix_max / 2));
        queue.read_to = queue.keys.front();
        queue.complete = false;
    }
    show_head(queue);
}

void ReadyIndex::erase(const ReadyKey& key) {
    if (inserted_.erase(key) == 0) {
        erased_.insert(key);
    }
    auto it = queues_.find(key.route);
    if (it == queues_.end() || !it->second->known) {
        return;
    }
    Queue& queue = *it->second;
    auto at = std::ranges::lower_bound(queue.keys, key, better_last);
    if (at == queue.keys.end() || *at != key) {
        return;
    }
    hide_head(queue);
    queue.keys.erase(at);
    if (queue.keys.empty() && !queue.complete) {
        mark_unread(queue);
    } else {
        show_head(queue);
    }
}

void ReadyIndex::committed() {
    inserted_.clear();
    erased_.clear();
}

void ReadyIndex::forget_all() {
    committed();
    learned_.clear();
    for (auto& [signature, group] : groups_) {
        for (LaneHeads& lane : group->lanes) {
            lane.heads.clear();
            lane.unread.clear();
        }
    }
    // A route the failed batch had made does not exist; its number goes to another.
    std::erase_if(queues_, [this](const auto& entry) {
        return store_.routes().find(entry.first) == nullptr;
    });
    for (auto& [id, queue] : queues_) {
        queue->keys.clear();
        queue->complete = false;
        queue->read_to.reset();
        mark_unread(*queue);
    }
}

auto ReadyIndex::pending_of(const std::set<ReadyKey>& keys, core::RouteId route,
                            const std::optional<ReadyKey>& after) {
    auto first = keys.upper_bound(after.value_or(first_key(route)));
    auto last = keys.upper_bound(
        {route, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<core::Eid>::max()});
    return std::ranges::subrange(first, last);
}

expected<void> ReadyIndex::read_on(Queue& queue, std::size_t expected) {
    const core::RouteId route = queue.route.id;
    const auto start = queue.read_to;
    const auto gone = pending_of(erased_, route, start);
    const auto gone_count = static_cast<std::size_t>(std::ranges::distance(gone));
    const std::size_t ahead = std::clamp<std::size_t>(expected, 16, prefix_max / 2) + gone_count;
    FF_TRY(auto keys, store_.scan_ready(route, queue.read_to, ahead));
    queue.complete = keys.size() < ahead;
    if (!keys.empty()) {
        queue.read_to = keys.back();
    }
    std::erase_if(keys, [&](const ReadyKey& key) { return erased_.contains(key); });
    for (const ReadyKey& key : pending_of(inserted_, route, start)) {
        if (queue.complete || key < *queue.read_to) {
            keys.push_back(key);
        }
    }
    std::ranges::sort(keys, better_last);
    queue.keys = std::move(keys);
    queue.known = true;
    return {};
}

std::vector<ReadyKey> ReadyIndex::as_left(core::RouteId route, const std::optional<ReadyKey>& after,
                                          std::vector<ReadyKey> stored, bool complete) const {
    const auto end = stored.empty() ? std::nullopt : std::optional(stored.back());
    std::erase_if(stored, [&](const ReadyKey& key) { return erased_.contains(key); });
    for (const ReadyKey& key : pending_of(inserted_, route, after)) {
        if (complete || (end && key < *end)) {
            stored.push_back(key);
        }
    }
    std::ranges::sort(stored);
    return stored;
}

// ------------------------------------------------------------------------------- shared stores

void ReadyIndex::begin() {
    if (!store_.shared()) {
        return;
    }
    for (Queue* queue : learned_) {
        hide_head(*queue);
        queue->keys.clear();
        queue->complete = false;
        queue->read_to.reset();
        mark_unread(*queue);
    }
    learned_.clear();
    see_routes();
}

void ReadyIndex::see_routes() {
    const auto& routes = store_.routes().all();
    for (; routes_seen_ < routes.size(); ++routes_seen_) {
        add_route(routes[routes_seen_]);
    }
}

std::vector<ReadyIndex::Queue*> ReadyIndex::to_read(const LaneHeads& lane) {
    std::vector<Queue*> out;
    for (Queue* queue : lane.unread) {
        const bool behind =
            queue->read_to && !lane.heads.empty() &&
            !(Head{queue->read_to->rank, queue->read_to->place, queue} < *lane.heads.begin());
        if (!queue->known && !behind) {
            out.push_back(queue);
        }
    }
    return out;
}

store::ReadyAsk ReadyIndex::ask_for(const std::vector<Queue*>& queues, std::size_t expected) const {
    store::ReadyAsk ask;
    ask.limit = std::max<std::size_t>(expected, 1);
    const auto place = [](const Queue* queue) {
        using Place = std::pair<std::int32_t, core::Eid>;
        return queue->read_to ? std::optional<Place>({queue->read_to->rank, queue->read_to->place})
                              : std::nullopt;  // sorts first: from the head
    };
    if (const auto first = std::ranges::min_element(queues, {}, place); first != queues.end()) {
        ask.after = (*first)->read_to;
    }
    for (const Queue* queue : queues) {
        ask.routes.push_back(queue->route.id);
        // What this batch has taken stays in the store until it commits, and is looked at again.
        ask.limit += static_cast<std::size_t>(
            std::ranges::distance(pending_of(erased_, queue->route.id, queue->read_to)));
    }
    return ask;
}

void ReadyIndex::learn(const std::vector<Queue*>& queues, const store::ReadyPage& page) {
    std::unordered_map<core::RouteId, Queue*> fresh;
    for (Queue* queue : queues) {
        if (!queue->known) {  // else it was read for another group meanwhile
            fresh.emplace(queue->route.id, queue);
        }
    }
    for (const ReadyKey& key : page.keys) {
        const auto it = fresh.find(key.route);
        if (it != fresh.end() && !erased_.contains(key) &&
            (!it->second->read_to || *it->second->read_to < key)) {
            it->second->keys.push_back(key);
        }
    }
    for (auto& [route, queue] : fresh) {
        const auto start = queue->read_to;
        queue->complete = !page.looked_to;
        if (page.looked_to) {
            queue->read_to = {route, page.looked_to->rank, page.looked_to->place,
                              std::numeric_limits<core::Eid>::max()};
        }
        for (const ReadyKey& key : pending_of(inserted_, route, start)) {
            if (queue->complete || key <= *queue->read_to) {
                queue->keys.push_back(key);
            }
        }
        std::ranges::sort(queue->keys, better_last);
        queue->known = queue->complete || !queue->keys.empty();  // else there may be some behind
        for (const Member& member : queue->members) {
            LaneHeads& lane = member.group->lanes[member.lane_index];
            if (queue->known) {
                lane.unread.erase(queue);
            }
        }
        show_head(*queue);
        learned_.push_back(queue);
    }
}

ReadyIndex::Asked ReadyIndex::asked_by(const std::vector<Want>& wants) const {
    Asked out;
    for (const Want& want : wants) {
        for (const LaneHeads& lane : want.group->lanes) {
            if (auto queues = to_read(lane); !queues.empty()) {
                out.asks.push_back(ask_for(queues, want.expected));
                out.queues.push_back(std::move(queues));
            }
        }
        const auto& lanes = want.group->demand.lanes;
        out.lanes.insert(out.lanes.end(), lanes.begin(), lanes.end());
    }
    return out;
}

void ReadyIndex::expect(const std::vector<Want>& wants) {
    Asked asked = asked_by(wants);
    store_.expect_ready(std::move(asked.asks), std::move(asked.lanes));
}

expected<void> ReadyIndex::read(const std::vector<Want>& wants, core::Snapshot& snapshot) {
    const Asked asked = asked_by(wants);
    FF_TRY(const auto pages, store_.lock_ready(asked.asks, asked.lanes, snapshot));
    for (std::size_t i = 0; i < pages.size(); ++i) {
        learn(asked.queues[i], pages[i]);
    }
    see_routes();  // that other processes have made since
    return {};
}

expected<void> ReadyIndex::read_unread(const LaneHeads& lane, std::size_t expected,
                                       core::Snapshot& snapshot) {
    for (auto queues = to_read(lane); !queues.empty(); queues = to_read(lane)) {
        const store::ReadyAsk ask = ask_for(queues, expected);
        FF_TRY(const auto pages, store_.lock_ready({&ask, 1}, {}, snapshot));
        learn(queues, pages.at(0));
        if (pages.at(0).keys.empty()) {
            expected =
                std::min(expected * 2 + 1, prefix_max);  // others hold the front: look further
        }
    }
    return {};
}

expected<std::optional<ReadyKey>> ReadyIndex::front(Group& group, std::size_t lane_index,
                                                    std::size_t expected,
                                                    core::Snapshot& snapshot) {
    LaneHeads& lane = group.lanes[lane_index];
    if (store_.shared()) {
        FF_TRY_VOID(read_unread(lane, expected, snapshot));
    } else {
        FF_TRY_VOID(read_heads(lane, expected));
    }
    if (lane.heads.empty()) {
        return std::nullopt;
    }
    const Head& best = *lane.heads.begin();
    return *best.queue->head();
}

expected<void> ReadyIndex::read_heads(LaneHeads& lane, std::size_t expected) {
    while (!lane.unread.empty()) {
        Queue* queue = *lane.unread.begin();
        lane.unread.erase(lane.unread.begin());
        if (queue->known) {
            continue;  // read for another group meanwhile
        }
        do {
            FF_TRY_VOID(read_on(*queue, expected));
        } while (queue->keys.empty() && !queue->complete);
        show_head(*queue);
    }
    return {};
}

std::vector<ReadyIndex::Group*> ReadyIndex::take_touched() {
    for (Group* group : touched_) {
        group->touched = false;
    }
    return std::exchange(touched_, {});
}

}  // namespace ff::engine
