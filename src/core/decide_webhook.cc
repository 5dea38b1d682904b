// Webhooks: who is told of events, and how far they have been told.
//
// Deliveries are made elsewhere; here is what is remembered of them. No secret is in any error.
#include <algorithm>
#include <charconv>
#include <utility>

#include <ff/json.h>

#include "base/hex.h"
#include "core/decide.h"
#include "core/keystore.h"
#include "core/waitpoint_tokens.h"
#include "core/webhook_host.h"
#include "core/webhook_records.h"

namespace ff::core {

namespace {

constexpr std::size_t secret_digits_min = 32;
constexpr std::size_t secret_digits_max = 256;
constexpr std::size_t secret_bytes_made = 32;
constexpr std::size_t holder_bytes_max = 256;
constexpr DurationMs hold_ms_max = 600'000;
constexpr DurationMs first_pause_ms = 5'000;
constexpr DurationMs pause_ms_max = 3'600'000;

std::unexpected<Error> unknown_webhook() { return ff::fail(ErrorCode::webhook_not_found); }

/// Of `host`, `host:port`, `[address]` and `[address]:port`.
bool has_good_port(std::string_view host) {
    const std::size_t bracket = host.rfind(']');
    const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
    if (colon == std::string_view::npos) {
        return true;
    }
    const std::string_view digits = host.substr(colon + 1);
    std::uint16_t port = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return fault == std::errc() && end == digits.data() + digits.size() && port > 0;
}

expected<void> check_url(const std::string& url) {
    const auto bad = [](const std::string& why) {
        return ff::fail(ErrorCode::invalid_input, "url: " + why);
    };
    const bool tls = url.starts_with("https://");
    if (!tls && !url.starts_with("http://")) {
        return bad("expected http:// or https://");
    }
    if (url.size() > webhook_url_bytes_max) {
        return bad("longer than " + std::to_string(webhook_url_bytes_max) + " bytes");
    }
    if (std::ranges::any_of(url, [](char c) { return c <= ' ' || c > '~'; })) {
        return bad("only printable ASCII characters without spaces; encode the rest");
    }
    const std::string_view rest = std::string_view(url).substr(tls ? 8 : 7);
    const std::string_view host = webhook_host(url);
    if (host.empty() || host.starts_with(':')) {
        return bad("no host");
    }
    if (host.contains('@')) {
        return bad("no user name or password; deliveries are signed instead");
    }
    if (rest.contains('#')) {
        return bad("no fragment");
    }
    return has_good_port(host) ? expected<void>() : bad("the port is no number from 1 to 65535");
}

std::string made_secret(IdSource& ids) {
    std::string out;
    for (std::size_t i = 0; i < secret_bytes_made; ++i) {
        out += static_cast<char>(ids.uniform(255));
    }
    return out;
}

LogEvent webhook_event(std::string type, const Webhook& row, TimestampMs now) {
    LogEvent event;
    event.family = LogFamily::operator_;
    event.type = std::move(type);
    event.at = now;
    event.payload = js::dump(js::Object{{"webhook_id", row.id.to_string()},
                                        {"host", webhook_host(row.url)},
                                        {"events_of", std::string(to_string(row.family))}});
    return event;
}

bool holds(const Webhook& row, const std::string& holder, TimestampMs now) {
    return row.holder == holder && row.held_until.value_or(0) > now;
}

void let_go(Webhook& row) {
    row.holder.reset();
    row.held_until.reset();
}

}  // namespace

HmacKey box_of(const Webhook& row) {
    HmacKey key;
    key.kid = "webhook:" + row.id.to_string();
    key.secret = row.secret;
    key.sealed = row.sealed;
    return key;
}

std::string made_webhook_secret_hex(IdSource& ids) { return to_hex(made_secret(ids)); }

DurationMs webhook_pause_ms(std::uint64_t failures) {
    DurationMs pause = first_pause_ms;
    for (std::uint64_t i = 1; i < failures && pause < pause_ms_max; ++i) {
        pause *= 2;
    }
    return std::min(pause, pause_ms_max);
}

std::string write_filter(const EventFilter& filter) {
    js::Object out;
    if (filter.ns) {
        out.emplace_back("namespace", *filter.ns);
    }
    if (filter.tag) {
        out.emplace_back("tag", js::Array{filter.tag->first, filter.tag->second});
    }
    if (filter.execution_id) {
        out.emplace_back("execution_id", filter.execution_id->to_string());
    }
    if (filter.flow_id) {
        out.emplace_back("flow_id", filter.flow_id->to_string());
    }
    return js::dump(std::move(out));
}

expected<EventFilter> read_filter(const std::string& text) {
    const auto broken = ff::fail(ErrorCode::corruption, "the filter of a webhook");
    const auto parsed = js::parse(text);
    if (!parsed || parsed->if_object() == nullptr) {
        return broken;
    }
    const auto word = [&](std::string_view name) -> const std::string* {
        const js::Value* member = parsed->find(name);
        return member != nullptr ? member->if_string() : nullptr;
    };
    EventFilter out;
    if (const std::string* ns = word("namespace")) {
        out.ns = *ns;
    }
    if (const js::Value* tag = parsed->find("tag")) {
        const js::Array* pair = tag->if_array();
        if (pair == nullptr || pair->size() != 2 || (*pair)[0].if_string() == nullptr ||
            (*pair)[1].if_string() == nullptr) {
            return broken;
        }
        out.tag.emplace(*(*pair)[0].if_string(), *(*pair)[1].if_string());
    }
    if (const std::string* id = word("execution_id")) {
        FF_TRY(out.execution_id, ExecutionId::parse(*id));
    }
    if (const std::string* id = word("flow_id")) {
        out.flow_id = FlowId::parse(*id);
        if (!out.flow_id) {
            return broken;
        }
    }
    return out;
}

expected<WebhookInfo> info_of(const Webhook& row, BackendTag store) {
    WebhookInfo out;
    out.webhook_id = row.id;
    out.url = row.url;
    out.family = row.family;
    FF_TRY(out.filter, read_filter(row.filter));
    out.paused = row.paused;
    out.cursor = EventCursor::at(store, row.position);
    out.delivered = row.delivered;
    out.failures = row.failures;
    out.missed_gaps = row.missed_gaps;
    out.next_try_at = row.next_try_at;
    out.last_success_at = row.last_success_at;
    out.last_failure_at = row.last_failure_at;
    out.last_error = row.last_error;
    out.created_at = row.created_at;
    return out;
}

// ---------------------------------------------------------------------------------------- create

expected<void> validate(CreateWebhook& args) {
    FF_TRY_VOID(check_url(args.url));
    const std::size_t digits = args.secret_hex.size();
    if (digits == 0) {
        return {};
    }
    if (digits < secret_digits_min || digits > secret_digits_max) {
        return ff::fail(ErrorCode::invalid_secret_hex,
                        "secret_hex must have " + std::to_string(secret_digits_min) + " to " +
                            std::to_string(secret_digits_max) + " hex digits");
    }
    FF_TRY(std::string secret, secret_of_hex(args.secret_hex, false));
    wipe(secret);
    return {};
}

void reads(const CreateWebhook& args, ReadSet& set) { set.webhooks.push_back(*args.webhook_id); }

Decision<CreateWebhookResult> decide(const Snapshot& view, const CreateWebhook& args,
                                     const Context& ctx) {
    if (args.cursor.store() != ctx.settings.backend) {
        return ff::fail(ErrorCode::invalid_input, "invalid event cursor");
    }
    if (const Webhook* found = view.webhook(*args.webhook_id)) {
        if (found->url != args.url || found->family != args.family ||
            found->filter != write_filter(args.filter)) {
            return ff::fail(ErrorCode::webhook_conflict,
                            "the webhook is there, for another address or other events");
        }
        return CreateWebhookResult{false, found->id, {}};
    }
    Webhook row;
    row.id = *args.webhook_id;
    row.url = args.url;
    row.family = args.family;
    row.filter = write_filter(args.filter);
    row.position = args.cursor.event_id();
    row.created_at = ctx.now;
    std::string secret;
    if (args.secret_hex.empty()) {
        secret = made_secret(ctx.ids);
    } else {
        FF_TRY(secret, secret_of_hex(args.secret_hex, false));
    }
    FF_TRY(const HmacKey box, ctx.keystore.seal(box_of(row).kid, secret, ctx.ids));
    row.secret = box.secret;
    row.sealed = box.sealed;
    CreateWebhookResult result{true, row.id, args.secret_hex.empty() ? to_hex(secret) : ""};
    wipe(secret);
    Changes changes;
    changes.log_events.push_back(webhook_event("webhook_created", row, ctx.now));
    changes.put_webhooks.push_back(std::move(row));
    return {std::move(result), std::move(changes)};
}

// --------------------------------------------------------------------------------- pause, delete

void reads(const PauseWebhook& args, ReadSet& set) { set.webhooks.push_back(args.webhook_id); }

Decision<WebhookInfo> decide(const Snapshot& view, const PauseWebhook& args, const Context& ctx) {
    const Webhook* found = view.webhook(args.webhook_id);
    if (found == nullptr) {
        return unknown_webhook();
    }
    Webhook row = *found;
    Changes changes;
    if (row.paused != args.paused) {
        changes.log_events.push_back(
            webhook_event(args.paused ? "webhook_paused" : "webhook_resumed", row, ctx.now));
    }
    row.paused = args.paused;
    if (!args.paused) {
        row.next_try_at.reset();
    }
    FF_TRY(WebhookInfo info, info_of(row, ctx.settings.backend));
    if (row != *found) {
        changes.put_webhooks.push_back(std::move(row));
    }
    return {std::move(info), std::move(changes)};
}

void reads(const DeleteWebhook& args, ReadSet& set) { set.webhooks.push_back(args.webhook_id); }

Decision<Done> decide(const Snapshot& view, const DeleteWebhook& args, const Context& ctx) {
    const Webhook* found = view.webhook(args.webhook_id);
    if (found == nullptr) {
        return unknown_webhook();
    }
    Changes changes;
    changes.log_events.push_back(webhook_event("webhook_deleted", *found, ctx.now));
    changes.delete_webhooks.push_back(found->id);
    return {Done{}, std::move(changes)};
}

// ------------------------------------------------------------------------------------- delivering

namespace {

expected<void> check_hold(const std::string& holder, DurationMs hold_ms) {
    if (holder.empty() || holder.size() > holder_bytes_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "holder must have 1 to " + std::to_string(holder_bytes_max) + " bytes");
    }
    if (hold_ms < 0 || hold_ms > hold_ms_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "lease_ms must be in 0..=" + std::to_string(hold_ms_max));
    }
    return {};
}

}  // namespace

expected<void> validate(ClaimWebhook& args) { return check_hold(args.holder, args.lease_ms); }

void reads(const ClaimWebhook& args, ReadSet& set) { set.webhooks.push_back(args.webhook_id); }

Decision<std::optional<WebhookErrand>> decide(const Snapshot& view, const ClaimWebhook& args,
                                              const Context& ctx) {
    const Webhook* found = view.webhook(args.webhook_id);
    if (found == nullptr) {
        return unknown_webhook();
    }
    const bool others =
        found->holder && found->holder != args.holder && found->held_until.value_or(0) > ctx.now;
    if (found->paused || others || found->next_try_at.value_or(0) > ctx.now) {
        return std::optional<WebhookErrand>();
    }
    Webhook row = *found;
    row.holder = args.holder;
    row.held_until = ctx.now + args.lease_ms;
    WebhookErrand errand;
    FF_TRY(errand.webhook, info_of(row, ctx.settings.backend));
    FF_TRY(errand.secret, ctx.keystore.open(box_of(row)));
    Changes changes;
    changes.put_webhooks.push_back(std::move(row));
    return {std::optional(std::move(errand)), std::move(changes)};
}

expected<void> validate(SettleWebhook& args) {
    if (args.error && args.error->size() > webhook_error_bytes_max) {
        args.error->resize(webhook_error_bytes_max);
    }
    return check_hold(args.holder, args.lease_ms);
}

void reads(const SettleWebhook& args, ReadSet& set) { set.webhooks.push_back(args.webhook_id); }

Decision<WebhookInfo> decide(const Snapshot& view, const SettleWebhook& args, const Context& ctx) {
    const Webhook* found = view.webhook(args.webhook_id);
    if (found == nullptr) {
        return unknown_webhook();
    }
    if (!holds(*found, args.holder, ctx.now)) {
        return ff::fail(ErrorCode::webhook_not_held);
    }
    Webhook row = *found;
    if (args.error) {
        row.failures += 1;
        const DurationMs pause = webhook_pause_ms(row.failures);
        // Who failed together does not try again together.
        row.next_try_at =
            ctx.now + pause +
            static_cast<DurationMs>(ctx.ids.uniform(static_cast<std::uint64_t>(pause) / 10));
        row.last_failure_at = ctx.now;
        row.last_error = args.error;
        let_go(row);
    } else {
        if (args.cursor.empty() || args.cursor.is_earliest() ||
            args.cursor.store() != ctx.settings.backend || args.cursor.event_id() < row.position) {
            return ff::fail(ErrorCode::invalid_input, "invalid event cursor");
        }
        row.position = args.cursor.event_id();
        row.missed_gaps += args.gap ? 1 : 0;
        if (args.delivered > 0) {
            row.delivered += args.delivered;
            row.last_success_at = ctx.now;
            row.failures = 0;
            row.next_try_at.reset();
            row.last_error.reset();
        }
        row.held_until = ctx.now + args.lease_ms;
        if (args.lease_ms == 0) {
            let_go(row);
        }
    }
    FF_TRY(WebhookInfo info, info_of(row, ctx.settings.backend));
    Changes changes;
    changes.put_webhooks.push_back(std::move(row));
    return {std::move(info), std::move(changes)};
}

}  // namespace ff::core
