// Webhooks: events of a family, sent to an address as they happen.
//
// A webhook has a place in its family that is kept in the store: what could not be delivered is
// tried again from there, after a pause that grows, in order, at least once. Every delivery is
// signed with the webhook's secret.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/events.h>

namespace ff {

using WebhookId = UuidId<struct WebhookIdTag>;

inline constexpr std::size_t webhook_url_bytes_max = 2'048;
inline constexpr std::size_t webhook_error_bytes_max = 512;
inline constexpr std::uint64_t webhooks_per_page_max = 1'000;

struct WebhookInfo {
    WebhookId webhook_id;
    std::string url;
    EventFamily family = EventFamily::completion;
    EventFilter filter;
    bool paused = false;
    EventCursor cursor;             ///< behind the last event that was delivered, or passed over
    std::uint64_t delivered = 0;    ///< events
    std::uint64_t failures = 0;     ///< in a row
    std::uint64_t missed_gaps = 0;  ///< times that it came too late for events
    std::optional<TimestampMs> next_try_at;  ///< after a failure
    std::optional<TimestampMs> last_success_at;
    std::optional<TimestampMs> last_failure_at;
    std::optional<std::string> last_error;
    TimestampMs created_at = 0;

    bool operator==(const WebhookInfo&) const = default;
};

struct CreateWebhookResult {
    bool created = true;  ///< false: it was there already, as asked for
    WebhookId webhook_id;
    /// In hex; told once, when it was made here. Empty when the caller brought it.
    std::string secret_hex;

    bool operator==(const CreateWebhookResult&) const = default;
};

/// The same id again is answered with what is there, if that is for the same address and events.
struct CreateWebhook {
    using Result = CreateWebhookResult;
    static constexpr std::string_view name = "create_webhook";
    std::optional<WebhookId> webhook_id;
    std::string url;
    EventFamily family = EventFamily::completion;
    EventFilter filter;
    EventCursor cursor;      ///< where to begin; empty: with what happens from now on
    std::string secret_hex;  ///< 32 to 256 hex digits; empty: one is made
};

struct WebhookPage {
    std::vector<WebhookInfo> webhooks;
    std::optional<WebhookId> next;

    bool operator==(const WebhookPage&) const = default;
};

/// By id.
struct ListWebhooks {
    using Result = WebhookPage;
    static constexpr std::string_view name = "list_webhooks";
    std::optional<WebhookId> after;
    std::uint32_t limit = 100;
};

struct DescribeWebhook {
    using Result = std::optional<WebhookInfo>;
    static constexpr std::string_view name = "describe_webhook";
    WebhookId webhook_id;
};

/// Pausing keeps its place. Resuming tries at once what waits for its next try.
struct PauseWebhook {
    using Result = WebhookInfo;
    static constexpr std::string_view name = "pause_webhook";
    WebhookId webhook_id;
    bool paused = true;
};

struct DeleteWebhook {
    using Result = Done;
    static constexpr std::string_view name = "delete_webhook";
    WebhookId webhook_id;
};

// ---- for who delivers: only an engine in the same process takes these

struct WebhookErrand {
    WebhookInfo webhook;
    std::string secret;  ///< bytes

    bool operator==(const WebhookErrand&) const = default;
};

/// Takes the deliveries of a webhook over for a while; nothing when somebody else has them, it is
/// paused, or its time has not come. Who has them renews in the same way.
struct ClaimWebhook {
    using Result = std::optional<WebhookErrand>;
    static constexpr std::string_view name = "claim_webhook";
    WebhookId webhook_id;
    std::string holder;
    DurationMs lease_ms = 30'000;
};

/// Says what became of a delivery. `webhook_not_held` when the holder has lost it meanwhile.
struct SettleWebhook {
    using Result = WebhookInfo;
    static constexpr std::string_view name = "settle_webhook";
    WebhookId webhook_id;
    std::string holder;
    EventCursor cursor;  ///< the new place; on a failure not looked at
    std::uint64_t delivered = 0;
    bool gap = false;
    std::optional<std::string> error;  ///< it failed
    DurationMs lease_ms = 0;           ///< kept for so long; 0: given back
};

}  // namespace ff
