// The row of a webhook as a plain value. Who delivers holds it for a while, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ff/webhooks.h>

#include "core/suspension_records.h"

namespace ff::core {

struct Webhook {
    WebhookId id;
    std::string url;
    EventFamily family = EventFamily::completion;
    std::string filter;  ///< JSON, as write_filter() gives it
    std::string secret;  ///< bytes; sealed when `sealed`
    bool sealed = false;
    bool paused = false;
    std::int64_t position = 0;  ///< the event it stands behind
    std::uint64_t delivered = 0;
    std::uint64_t failures = 0;
    std::uint64_t missed_gaps = 0;
    std::optional<TimestampMs> next_try_at;
    std::optional<TimestampMs> last_success_at;
    std::optional<TimestampMs> last_failure_at;
    std::optional<std::string> last_error;
    TimestampMs created_at = 0;
    std::optional<std::string> holder;
    std::optional<TimestampMs> held_until;

    bool operator==(const Webhook&) const = default;
};

/// A filter as JSON, and back. `corruption` for what write_filter() does not write.
std::string write_filter(const EventFilter& filter);
expected<EventFilter> read_filter(const std::string& text);

/// What callers see of it. The store tells its cursors from those of another kind.
expected<WebhookInfo> info_of(const Webhook& row, BackendTag store);

/// The row that keeps its secret, as the keystore wants it.
HmacKey box_of(const Webhook& row);

/// A new secret for who brought none.
std::string made_webhook_secret_hex(IdSource& ids);

/// The pause after so many failures in a row, before chance is added.
DurationMs webhook_pause_ms(std::uint64_t failures);

}  // namespace ff::core
