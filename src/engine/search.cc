// Finding executions by filter, in the order of creation or against it, in bounded pages.
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include "core/validate.h"
#include "engine/creation_time.h"
#include "engine/reads.h"

namespace ff::engine {

namespace {

using core::Eid;
using core::Execution;
using store::Order;
using store::Window;

/// A page looks at no more rows than this; a sparse filter then gives a short page and a cursor.
constexpr std::size_t examined_max = 10'000;
constexpr std::size_t chunk = 500;
/// Merging the lists of more routes than this costs more than walking all executions.
constexpr std::size_t merged_routes_max = 64;
constexpr std::size_t tags_max = 16;
/// Times beyond these are as good as none; with a few seconds added they are still times.
constexpr TimestampMs time_max = std::int64_t{1} << 53U;

// ---------------------------------------------------------------- where candidates come from

/// What a window of candidates held.
struct Chunk {
    std::vector<Execution> rows;
    // Of the last one looked at, which need not be among the rows.
    Eid looked_to = 0;
    TimestampMs created_at = 0;
    std::size_t examined = 0;  ///< fewer than the window wanted: that was the end
};

/// The narrowest list the filter allows.
class Candidates {
  public:
    virtual ~Candidates() = default;
    virtual expected<Chunk> next(store::Reader& reader, const Window& window) = 0;
};

Chunk whole(std::vector<Execution> rows) {
    Chunk out;
    if (!rows.empty()) {
        out.looked_to = rows.back().eid;
        out.created_at = rows.back().created_at;
    }
    out.examined = rows.size();
    out.rows = std::move(rows);
    return out;
}

class AllOf final : public Candidates {
  public:
    expected<Chunk> next(store::Reader& reader, const Window& window) override {
        FF_TRY(auto rows, reader.executions(window));
        return whole(std::move(rows));
    }
};

/// The list of one tag, without those that lack another.
class Tagged final : public Candidates {
  public:
    explicit Tagged(const Tags& tags)
        : first_(*tags.begin()), others_(std::next(tags.begin()), tags.end()) {}

    expected<Chunk> next(store::Reader& reader, const Window& window) override {
        FF_TRY(auto rows, reader.with_tag(first_.first, first_.second, window));
        Chunk out = whole(std::move(rows));
        for (const store::Reader::Tag& other : others_) {
            if (out.rows.empty()) {
                break;
            }
            FF_TRY(const auto both, reader.tagged_too(first_, other, window));
            const std::set<Eid> have(both.begin(), both.end());
            std::erase_if(out.rows, [&](const Execution& e) { return !have.contains(e.eid); });
        }
        return out;
    }

  private:
    store::Reader::Tag first_;
    std::vector<store::Reader::Tag> others_;
};

/// The first of several lists together, each in the order of the window.
std::vector<Execution> merge(std::vector<std::vector<Execution>> lists, const Window& window) {
    std::vector<Execution> out;
    for (auto& list : lists) {
        std::ranges::move(list, std::back_inserter(out));
    }
    std::ranges::sort(out, [&](const Execution& a, const Execution& b) {
        return window.order == Order::newest_first ? a.eid > b.eid : a.eid < b.eid;
    });
    const auto again = std::ranges::unique(out, {}, &Execution::eid);
    out.erase(again.begin(), again.end());
    if (out.size() > window.limit) {
        out.resize(window.limit);
    }
    return out;
}

class OfRoutes final : public Candidates {
  public:
    explicit OfRoutes(std::vector<core::RouteId> routes) : routes_(std::move(routes)) {}
    expected<Chunk> next(store::Reader& reader, const Window& window) override {
        std::vector<std::vector<Execution>> lists;
        for (core::RouteId route : routes_) {
            FF_TRY(lists.emplace_back(), reader.of_route(route, window));
        }
        return whole(merge(std::move(lists), window));
    }

  private:
    std::vector<core::RouteId> routes_;
};

/// The members of a flow, which the store gives by id: all are read once for a page.
class OfFlow final : public Candidates {
  public:
    explicit OfFlow(const FlowId& flow) : flow_(flow) {}

    expected<Chunk> next(store::Reader& reader, const Window& window) override {
        if (!members_) {
            FF_TRY_VOID(read_all(reader));
        }
        std::vector<Execution> inside;
        for (const Execution& e : *members_) {
            if (e.eid > window.above && e.eid < window.below) {
                inside.push_back(e);
            }
        }
        return whole(merge({std::move(inside)}, window));
    }

  private:
    expected<void> read_all(store::Reader& reader) {
        members_.emplace();
        std::optional<ExecutionId> after;
        for (;;) {
            FF_TRY(auto page, reader.members(flow_, after, chunk));
            const bool last = page.size() < chunk;
            if (!last) {
                after = page.back().id;
            }
            std::ranges::move(page, std::back_inserter(*members_));
            if (last) {
                return {};
            }
        }
    }

    FlowId flow_;
    std::optional<std::vector<Execution>> members_;
};

/// The lists that hold an execution while it is in some state.
struct StateLists {
    std::set<core::Bucket> buckets;
    bool leased = false;
};

class InLists final : public Candidates {
  public:
    explicit InLists(StateLists lists) : lists_(std::move(lists)) {}
    expected<Chunk> next(store::Reader& reader, const Window& window) override {
        std::vector<std::vector<Execution>> lists;
        for (core::Bucket bucket : lists_.buckets) {
            FF_TRY(lists.emplace_back(), reader.in_bucket(bucket, window));
        }
        if (lists_.leased) {
            FF_TRY(lists.emplace_back(), reader.leased(window));
        }
        return whole(merge(std::move(lists), window));
    }

  private:
    StateLists lists_;
};

/// Adds the lists of a state; false when it has none: too common to be listed, found by walking.
bool add_lists(PublicState state, StateLists& lists) {
    using core::Bucket;
    switch (state) {
        case PublicState::delayed: lists.buckets.insert(Bucket::delayed); return true;
        case PublicState::rate_limited:
            lists.buckets.insert({Bucket::blocked_by_budget, Bucket::blocked_by_quota});
            return true;
        case PublicState::waiting_children:
            lists.buckets.insert(Bucket::waiting_children);
            return true;
        case PublicState::suspended: lists.buckets.insert(Bucket::suspended); return true;
        case PublicState::failed: lists.buckets.insert(Bucket::failed); return true;
        case PublicState::cancelled: lists.buckets.insert(Bucket::cancelled); return true;
        case PublicState::expired: lists.buckets.insert(Bucket::expired); return true;
        case PublicState::skipped: lists.buckets.insert(Bucket::skipped); return true;
        case PublicState::active:
            lists.buckets.insert(Bucket::reclaimable);
            lists.leased = true;
            return true;
        case PublicState::waiting:
        case PublicState::completed:
        case PublicState::resumable: return false;
    }
    return false;
}

// -------------------------------------------------------------------------------------- filter

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
    std::size_t all_routes = 0;

    [[nodiscard]] bool passes(const Execution& e) const {
        if (!routes.contains(e.route) || (op.flow_id && e.flow_id != op.flow_id)) {
            return false;
        }
        if ((op.created_after && e.created_at < *op.created_after) ||
            (op.created_before && e.created_at >= *op.created_before)) {
            return false;
        }
        return op.states.empty() ||
               std::ranges::any_of(op.states, [&](PublicState state) { return is_in(e, state); });
    }

    /// Does all that is behind one created then lie outside the times asked for?
    [[nodiscard]] bool ends_at(TimestampMs created_at) const {
        if (op.oldest_first) {
            return op.created_before && created_at - clock_slack_ms >= *op.created_before;
        }
        return op.created_after && created_at + clock_slack_ms < *op.created_after;
    }
};

expected<Filter> make_filter(const SearchExecutions& op, store::Reader& reader) {
    Filter filter{op, {}, 0};
    FF_TRY(auto routes, reader.routes());
    filter.all_routes = routes.size();
    for (core::Route& route : routes) {
        if ((!op.lane_id || *op.lane_id == route.key.lane) && (!op.ns || *op.ns == route.key.ns) &&
            (!op.kind || *op.kind == route.key.kind)) {
            filter.routes.emplace(route.id, std::move(route));
        }
    }
    return filter;
}

std::unique_ptr<Candidates> narrowest(const Filter& filter) {
    const SearchExecutions& op = filter.op;
    if (!op.tags.empty()) {
        return std::make_unique<Tagged>(op.tags);
    }
    if (op.flow_id) {
        return std::make_unique<OfFlow>(*op.flow_id);
    }
    StateLists lists;
    const bool listed =
        !op.states.empty() &&
        std::ranges::all_of(op.states, [&](PublicState state) { return add_lists(state, lists); });
    if (listed) {
        return std::make_unique<InLists>(std::move(lists));
    }
    const bool some = filter.routes.size() < filter.all_routes;
    if (some && filter.routes.size() <= merged_routes_max) {
        std::vector<core::RouteId> ids;
        for (const auto& [id, route] : filter.routes) {
            ids.push_back(id);
        }
        return std::make_unique<OfRoutes>(std::move(ids));
    }
    return std::make_unique<AllOf>();
}

// -------------------------------------------------------------------------------------- cursor

Order order_of(const SearchExecutions& op) {
    return op.oldest_first ? Order::oldest_first : Order::newest_first;
}

/// The order it belongs to, and the last execution looked at in hexadecimal.
std::string format_cursor(Eid eid, Order order) {
    std::array<char, 20> text{};
    auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), eid, 16);
    return (order == Order::newest_first ? "n" : "o") + std::string(text.data(), end);
}

/// Nothing when there is none.
expected<std::optional<Eid>> parse_cursor(const SearchExecutions& op) {
    if (!op.cursor || op.cursor->empty()) {
        return std::nullopt;
    }
    const std::string& cursor = *op.cursor;
    const Order order = order_of(op);
    const auto refuse = [&](const std::string& why) {
        return ff::fail(ErrorCode::invalid_input, "invalid cursor: " + cursor + why);
    };
    const char mark = order == Order::newest_first ? 'n' : 'o';
    const char other = order == Order::newest_first ? 'o' : 'n';
    if (cursor[0] == other) {
        return refuse(" is of a search in the other order");
    }
    Eid eid = 0;
    const char* end = cursor.data() + cursor.size();
    auto [at, error] = std::from_chars(cursor.data() + 1, end, eid, 16);
    if (cursor[0] != mark || error != std::errc() || at != end || eid < 0) {
        return refuse("");
    }
    return eid;
}

// --------------------------------------------------------------------------------------- pages

/// Goes on behind this execution.
void go_behind(Window& window, Eid eid) {
    (window.order == Order::newest_first ? window.below : window.above) = eid;
}

CreationTimes creation_times(store::Reader& reader) {
    using Answer = expected<std::optional<Created>>;
    const auto one = [&reader](const Window& window) -> Answer {
        FF_TRY(const auto rows, reader.executions(window));
        if (rows.empty()) {
            return std::nullopt;
        }
        return Created{rows[0].eid, rows[0].created_at};
    };
    return {[one](Eid above) -> Answer {
                return one({.above = above, .order = Order::oldest_first, .limit = 1});
            },
            [one]() -> Answer { return one({.limit = 1}); }};
}

/// Where a search begins: behind its cursor, or where the times asked for begin.
expected<Window> first_window(const SearchExecutions& op, std::optional<Eid> cursor,
                              store::Reader& reader) {
    Window window;
    window.order = order_of(op);
    if (cursor) {
        go_behind(window, *cursor);
    } else if (op.oldest_first && op.created_after) {
        FF_TRY(window.above, last_before(creation_times(reader), *op.created_after));
    } else if (!op.oldest_first && op.created_before) {
        FF_TRY(window.below, first_from(creation_times(reader), *op.created_before));
    }
    return window;
}

expected<SearchExecutions> checked(SearchExecutions op) {
    if (op.tags.size() > tags_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "tags: at most 16 (got " + std::to_string(op.tags.size()) + ")");
    }
    if (op.lane_id) {
        FF_TRY_VOID(check_lane("lane_id", *op.lane_id));
    }
    for (const auto& [key, value] : op.tags) {
        FF_TRY_VOID(core::check_text("tag key", key));
        FF_TRY_VOID(core::check_text("tag value of " + key, value));
    }
    for (std::optional<TimestampMs>* time : {&op.created_after, &op.created_before}) {
        if (*time) {
            *time = std::clamp(**time, -time_max, time_max);
        }
    }
    return op;
}

/// Fills the page from one chunk; true when the search is over or the page is full.
bool take_rows(const Chunk& found, const Filter& filter, std::size_t limit, Window& window,
               SearchPage& page) {
    for (const Execution& e : found.rows) {
        if (filter.ends_at(e.created_at)) {
            return true;
        }
        if (page.items.size() == limit) {
            const Eid last = window.order == Order::newest_first ? window.below : window.above;
            page.next_cursor = format_cursor(last, window.order);
            return true;
        }
        go_behind(window, e.eid);
        if (filter.passes(e)) {
            page.items.push_back(engine::info_of(e, filter.routes.at(e.route)));
        }
    }
    return false;
}

expected<void> fill_page(const SearchExecutions& op, std::optional<Eid> cursor,
                         store::Reader& reader, std::size_t limit, SearchPage& page) {
    FF_TRY(const Filter filter, make_filter(op, reader));
    if (filter.routes.empty()) {
        return {};
    }
    FF_TRY(Window window, first_window(op, cursor, reader));
    auto candidates = narrowest(filter);
    window.limit = std::min(chunk, std::max<std::size_t>(limit, 50));
    for (std::size_t examined = 0;;) {
        FF_TRY(const Chunk found, candidates->next(reader, window));
        if (take_rows(found, filter, limit, window, page) || found.examined < window.limit ||
            filter.ends_at(found.created_at)) {
            return {};
        }
        go_behind(window, found.looked_to);
        examined += found.examined;
        if (examined >= examined_max) {
            page.next_cursor = format_cursor(found.looked_to, window.order);
            return {};
        }
    }
}

}  // namespace

expected<SearchPage> answer(const SearchExecutions& op, const ReadContext& c) {
    const std::size_t limit = std::min<std::size_t>(op.limit, 1000);
    FF_TRY(const SearchExecutions asked, checked(op));
    FF_TRY(const std::optional<Eid> cursor, parse_cursor(asked));
    SearchPage page;
    if (limit == 0) {
        return page;
    }
    FF_TRY_VOID(c.store.read([&](store::Reader& reader) -> expected<void> {
        return fill_page(asked, cursor, reader, limit, page);
    }));
    return page;
}

}  // namespace ff::engine
