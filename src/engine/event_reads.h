// Reading events: pages of a family, what of them is wanted, and where they end.
#pragma once

#include <ff/events.h>

#include "engine/reads.h"

namespace ff::engine {

/// Shape and limits; whether the cursor is one of this store.
expected<void> check(const ReadEvents& op);

/// A page, and the operation moved on to where it ended.
expected<EventPage> read_events(ReadEvents& op, const ReadContext& c);

/// A place for `now` and `earliest`; others as they are. `invalid_input` for one of another store.
expected<EventCursor> resolve(const EventCursor& cursor, EventFamily family, const ReadContext& c);

}  // namespace ff::engine
