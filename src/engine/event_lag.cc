#include "engine/event_lag.h"

#include <algorithm>
#include <optional>

namespace ff::engine {

namespace {

constexpr std::chrono::seconds lag_counted_every{1};
constexpr std::uint64_t lag_counted_max = 10'000;

expected<EventLag::Counts> lag_of(store::Reader& reader) {
    std::array<std::optional<std::int64_t>, enum_count<EventFamily>> furthest;
    std::optional<WebhookId> after;
    do {
        FF_TRY(const auto rows, reader.webhooks(after, webhooks_per_page_max));
        for (const core::Webhook& row : rows) {
            auto& place = furthest[static_cast<std::size_t>(row.family)];
            if (!row.paused) {
                place = std::min(place.value_or(row.position), row.position);
            }
        }
        after = rows.size() == webhooks_per_page_max ? std::optional(rows.back().id) : std::nullopt;
    } while (after);
    FF_TRY(const std::int64_t highest, reader.highest_event());
    EventLag::Counts out{};
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (!furthest[i] || *furthest[i] >= highest) {
            continue;
        }
        const auto family = static_cast<EventFamily>(i);
        FF_TRY(const auto last, reader.nth_event(family, *furthest[i], lag_counted_max - 1));
        FF_TRY(out[i], reader.count_events(family, *furthest[i], last.value_or(highest)));
    }
    return out;
}

}  // namespace

bool EventLag::begin() {
    const std::lock_guard lock(mutex_);
    if (counting_ || std::chrono::steady_clock::now() < counted_at_ + lag_counted_every) {
        return false;
    }
    counting_ = true;
    return true;
}

void EventLag::count(store::Store& store) {
    std::optional<Counts> found;
    const auto done = store.read([&](store::Reader& reader) -> expected<void> {
        FF_TRY(found, lag_of(reader));
        return {};
    });
    const std::lock_guard lock(mutex_);
    counts_ = done && found ? *found : counts_;  // a store that fails tells so elsewhere
    counted_at_ = std::chrono::steady_clock::now();
    counting_ = false;
}

}  // namespace ff::engine
