// Events: what happened, kept with what it happened to, to be read again from any place.
//
// Every change of state writes its events in its own transaction. A family is one order of events;
// a cursor is a place in it. Who keeps a cursor and reads on from it misses nothing and sees
// nothing twice, on every store, with any number of processes writing. Events are kept for a while;
// a reader that comes too late is told of the gap.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/executions.h>
#include <ff/handle.h>

namespace ff {

FF_WORD_ENUM(EventFamily, completion, lease_history, signal_delivery, instance_tags, operator_,
             workers, flows, budgets)

/// A family as it stands in addresses: `lease-history`.
std::string event_family_path(EventFamily family);
/// From there, or from its word.
std::optional<EventFamily> event_family_of(std::string_view text);

inline constexpr std::uint64_t events_per_read_max = 1'000;
inline constexpr DurationMs event_block_ms_max = 30'000;

/// A place in a family: right behind the event it names, of one kind of store. Empty: behind
/// everything that there is when it is used.
class EventCursor {
  public:
    EventCursor() = default;
    /// In front of the oldest event that is kept.
    static EventCursor earliest();
    static EventCursor at(BackendTag store, std::int64_t event_id);
    /// What hex() gives; `earliest`; nothing for an empty one. `invalid_input` for anything else.
    static expected<EventCursor> from_hex(std::string_view text);

    [[nodiscard]] bool empty() const { return place_ == Place::now; }
    [[nodiscard]] bool is_earliest() const { return place_ == Place::earliest; }
    /// The store it belongs to and the event it names; meaningless while empty or earliest.
    [[nodiscard]] BackendTag store() const { return store_; }
    [[nodiscard]] std::int64_t event_id() const { return event_id_; }
    /// Eighteen digits, ordered as the events are; `earliest`; nothing when empty.
    [[nodiscard]] std::string hex() const;

    auto operator<=>(const EventCursor&) const = default;

  private:
    enum class Place : std::uint8_t { now, earliest, event };
    Place place_ = Place::now;
    BackendTag store_ = BackendTag::sqlite;
    std::int64_t event_id_ = 0;
};

/// Which events of a family: all that is given must fit.
struct EventFilter {
    std::optional<std::string> ns;
    std::optional<std::pair<std::string, std::string>> tag;  ///< as it was when it happened
    std::optional<ExecutionId> execution_id;
    std::optional<FlowId> flow_id;

    bool operator==(const EventFilter&) const = default;
    [[nodiscard]] bool empty() const { return !ns && !tag && !execution_id && !flow_id; }
};

struct Event {
    EventCursor cursor;
    EventFamily family = EventFamily::completion;
    std::string type;
    std::optional<ExecutionId> execution_id;
    std::optional<FlowId> flow_id;
    std::optional<std::string> ns;
    TimestampMs at = 0;
    std::string payload = "{}";  ///< a JSON object: what spec 05 section 8 lists for the type

    bool operator==(const Event&) const = default;
};

/// Events behind a cursor are gone: they were too old.
struct EventGap {
    EventCursor missed_from;  ///< the cursor
    EventCursor oldest;       ///< the place from which nothing is missing

    bool operator==(const EventGap&) const = default;
};

/// An event that is there but cannot be read.
struct EventFault {
    EventCursor cursor;
    std::string message;

    bool operator==(const EventFault&) const = default;
};

struct EventPage {
    std::optional<EventGap> gap;  ///< before the events
    std::vector<Event> events;
    std::optional<EventFault> fault;  ///< behind them
    EventCursor next_cursor;          ///< always a place: go on from here
    bool at_end = true;               ///< there was nothing behind it yet

    bool operator==(const EventPage&) const = default;
};

/// Events of a family behind a place. With `block_ms` it waits for the first.
struct ReadEvents {
    using Result = EventPage;
    static constexpr std::string_view name = "read_events";
    EventFamily family = EventFamily::completion;
    EventCursor cursor;
    EventFilter filter;
    std::uint64_t limit = 100;
    DurationMs block_ms = 0;
    std::stop_token abandoned;  ///< when asked to stop, the answer comes at once
};

/// Everything that is kept of what happened to an execution, of every family, oldest first.
struct ReadTimeline {
    using Result = EventPage;
    static constexpr std::string_view name = "read_timeline";
    ExecutionId execution_id;
    EventCursor cursor = EventCursor::earliest();
    std::uint64_t limit = 100;
};

}  // namespace ff
