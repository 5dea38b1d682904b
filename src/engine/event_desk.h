// Where readers of events wait for the next one of their family.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/webhook_records.h"
#include "engine/event_families.h"
#include "engine/event_reads.h"
#include "engine/wait_desk.h"

namespace ff::engine {

struct EventKind {
    using Op = ReadEvents;
    using Page = EventPage;
    /// Who wants the same events of a family waits for them together.
    struct Place {
        EventFamily family = EventFamily::completion;
        std::string filter;
        auto operator<=>(const Place&) const = default;
    };

    static Place place_of(const Op& op) {
        return {op.family, op.filter.empty() ? std::string() : core::write_filter(op.filter)};
    }
    static expected<void> check(const Op& op) { return engine::check(op); }
    static expected<Page> read(Op& op, const ReadContext& c) { return read_events(op, c); }
    static bool is_answer(const Page& page) {
        return !page.events.empty() || page.gap || page.fault;
    }
    /// After a gap or a fault everybody reads for himself.
    static bool is_last(const Page& page) { return page.at_end && !page.gap && !page.fault; }
    static Op common(std::span<const Op* const> ops) {
        Op out = **std::ranges::min_element(ops, {}, [](const Op* op) { return op->cursor; });
        out.limit = events_per_read_max;
        out.abandoned = {};
        return out;
    }
    static Page share(Op& op, const Page& page) {
        Page own;
        if (page.gap || page.fault) {
            own.next_cursor = op.cursor;
            return own;
        }
        own.next_cursor = std::max(op.cursor, page.next_cursor);
        own.at_end = page.at_end;
        for (const Event& event : page.events) {
            if (event.cursor <= op.cursor) {
                continue;
            }
            if (own.events.size() == op.limit) {
                own.next_cursor = own.events.back().cursor;
                own.at_end = false;
                break;
            }
            own.events.push_back(event);
        }
        op.cursor = own.next_cursor;
        return own;
    }
};

class EventDesk : public WaitDesk<EventKind> {
  public:
    using WaitDesk::changed;
    using WaitDesk::WaitDesk;
    using WaitDesk::waiting;
    /// Something was written to these families, and it is durable.
    void changed(EventFamilies families) {
        if (is_empty()) {
            return;
        }
        for (std::size_t i = 0; i < enum_count<EventFamily>; ++i) {
            const auto family = static_cast<EventFamily>(i);
            if (families.has(family)) {
                changed(first_of(family), last_of(family));
            }
        }
    }
    /// How many wait for each family.
    std::array<std::uint64_t, enum_count<EventFamily>> waiting_by_family() {
        std::array<std::uint64_t, enum_count<EventFamily>> out{};
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto family = static_cast<EventFamily>(i);
            out[i] = waiting(first_of(family), last_of(family));
        }
        return out;
    }

  private:
    static EventKind::Place first_of(EventFamily family) { return {family, {}}; }
    /// No filter begins with a byte above those of JSON.
    static EventKind::Place last_of(EventFamily family) { return {family, "\x7f"}; }
};

}  // namespace ff::engine
