// The keys that waitpoint tokens are signed with: the first one, and one after another.
//
// No secret is in any error or event.
#include "core/decide.h"

#include <ff/json.h>

#include "core/waitpoint_tokens.h"

namespace ff::core {

namespace {

constexpr std::int64_t grace_ms_max = (std::int64_t{1} << 53) - 1;

/// `hex` was validated.
expected<HmacKey> new_current_key(const std::string& kid, std::string_view hex,
                                  const Context& ctx) {
    FF_TRY(std::string secret, secret_of_hex(hex, false));
    auto key = ctx.keystore.seal(kid, secret, ctx.ids);
    wipe(secret);
    if (key) {
        key->installed_at = ctx.now;
        key->is_current = true;
    }
    return key;
}

/// `invalid_secret` when what the row holds cannot be read.
expected<bool> holds(const HmacKey& key, std::string_view hex, const Context& ctx) {
    if (is_swept(key)) {
        return false;
    }
    FF_TRY(std::string secret, secret_of_hex(hex, false));
    auto same = ctx.keystore.holds(key, secret);
    wipe(secret);
    return same;
}

LogEvent rotation_event(const RotateKeyResult& result, DurationMs grace_ms, TimestampMs now) {
    js::Object payload;
    if (result.previous_kid) {
        payload.emplace_back("previous_kid", *result.previous_kid);
    }
    payload.emplace_back("kid", result.new_kid);
    payload.emplace_back("new_kid", result.new_kid);
    payload.emplace_back("grace_ms", grace_ms);
    payload.emplace_back("gc_count", result.gc_count);
    LogEvent event;
    event.family = LogFamily::operator_;
    event.type = "secret_rotated";
    event.at = now;
    event.payload = js::dump(js::Value(std::move(payload)));
    return event;
}

}  // namespace

expected<void> validate(SeedWaitpointKey& args) {
    FF_TRY_VOID(check_kid(args.kid));
    FF_TRY(std::string secret, secret_of_hex(args.secret_hex, true));
    wipe(secret);
    return {};
}

void reads(const SeedWaitpointKey&, ReadSet& set) { set.waits.keys = true; }

Decision<SeedKeyResult> decide(const Snapshot& view, const SeedWaitpointKey& args,
                               const Context& ctx) {
    const Keys keys = view.waits.keys();
    if (const HmacKey* found = find_key(keys, args.kid)) {
        FF_TRY(const bool same, holds(*found, args.secret_hex, ctx));
        return SeedKeyResult{false, same, args.kid};
    }
    if (const HmacKey* current = current_key(keys)) {
        return ff::fail(ErrorCode::invalid_input,
                        "kid " + current->kid + " is active: use rotate to install another");
    }
    FF_TRY(HmacKey key, new_current_key(args.kid, args.secret_hex, ctx));
    Changes changes;
    changes.put_hmac_keys.push_back(std::move(key));
    return {SeedKeyResult{true, false, args.kid}, std::move(changes)};
}

expected<void> validate(RotateWaitpointKey& args) {
    FF_TRY_VOID(check_kid(args.new_kid));
    FF_TRY(std::string secret, secret_of_hex(args.new_secret_hex, false));
    wipe(secret);
    if (args.grace_ms < 0 || args.grace_ms > grace_ms_max) {
        return ff::fail(ErrorCode::invalid_grace_ms,
                        "grace_ms must be in 0..=" + std::to_string(grace_ms_max) + " (got " +
                            std::to_string(args.grace_ms) + ")");
    }
    return {};
}

void reads(const RotateWaitpointKey&, ReadSet& set) { set.waits.keys = true; }

Decision<RotateKeyResult> decide(const Snapshot& view, const RotateWaitpointKey& args,
                                 const Context& ctx) {
    const Keys keys = view.waits.keys();
    RotateKeyResult result;
    result.new_kid = args.new_kid;
    if (const HmacKey* found = find_key(keys, args.new_kid)) {
        // A retired key never comes back: its row would be swept away from under the live one.
        if (!found->is_current) {
            return ff::fail(ErrorCode::rotation_conflict, args.new_kid);
        }
        FF_TRY(const bool same, holds(*found, args.new_secret_hex, ctx));
        if (!same) {
            return ff::fail(ErrorCode::rotation_conflict, args.new_kid);
        }
        return result;
    }
    FF_TRY(HmacKey key, new_current_key(args.new_kid, args.new_secret_hex, ctx));
    Changes changes;
    for (const HmacKey* old : keys) {
        if (old->is_current) {
            HmacKey retired = *old;
            retired.is_current = false;
            retired.expires_at = ctx.now + args.grace_ms;
            result.previous_kid = retired.kid;
            changes.put_hmac_keys.push_back(std::move(retired));
        } else if (old->expires_at.value_or(0) < ctx.now && !is_swept(*old)) {
            // Its name stays: a waitpoint may still carry a token of it, which another key of that
            // name would make a forgery.
            HmacKey swept = *old;
            swept.secret.clear();
            swept.sealed = false;
            changes.put_hmac_keys.push_back(std::move(swept));
            result.gc_count += 1;
        }
    }
    changes.put_hmac_keys.push_back(std::move(key));
    result.rotated = true;
    changes.log_events.push_back(rotation_event(result, args.grace_ms, ctx.now));
    return {std::move(result), std::move(changes)};
}

// ----------------------------------------------------------------------------------------- sealing

void reads(const SealSecrets& args, ReadSet& set) {
    set.waits.keys = true;
    set.webhooks.insert(set.webhooks.end(), args.webhooks.begin(), args.webhooks.end());
}

Decision<Done> decide(const Snapshot& view, const SealSecrets& args, const Context& ctx) {
    Changes changes;
    const auto sealed = [&ctx](const HmacKey& key) -> expected<HmacKey> {
        FF_TRY(std::string secret, ctx.keystore.open(key));
        auto box = ctx.keystore.seal(key.kid, secret, ctx.ids);
        wipe(secret);
        return box;
    };
    for (const HmacKey* key : view.waits.keys()) {
        if (!key->sealed && !is_swept(*key)) {
            FF_TRY(HmacKey box, sealed(*key));
            HmacKey row = *key;
            row.secret = std::move(box.secret);
            row.sealed = box.sealed;
            changes.put_hmac_keys.push_back(std::move(row));
        }
    }
    for (const WebhookId& id : args.webhooks) {
        if (const Webhook* found = view.webhook(id); found != nullptr && !found->sealed) {
            FF_TRY(HmacKey box, sealed(box_of(*found)));
            Webhook row = *found;
            row.secret = std::move(box.secret);
            row.sealed = box.sealed;
            changes.put_webhooks.push_back(std::move(row));
        }
    }
    return {Done{}, std::move(changes)};
}

}  // namespace ff::core
