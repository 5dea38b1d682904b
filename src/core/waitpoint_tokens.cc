#include "core/waitpoint_tokens.h"

#include <algorithm>
#include <tuple>

namespace ff::core {

namespace {

constexpr std::size_t digest_digits = 64;
constexpr std::size_t fingerprint_digits = 16;
constexpr std::size_t kid_max = 64;

struct TokenParts {
    std::string_view kid;
    std::string_view digest;
};

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

std::optional<TokenParts> parts_of(std::string_view token) {
    const std::size_t colon = token.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    const TokenParts parts{token.substr(0, colon), token.substr(colon + 1)};
    if (parts.digest.size() != digest_digits || !std::ranges::all_of(parts.digest, is_lower_hex)) {
        return std::nullopt;
    }
    return parts;
}

std::string signed_text(std::string_view kid, const ExecutionId& execution,
                        const WaitpointId& waitpoint) {
    std::string text(kid);
    text.append(":").append(execution.to_string()).append(":").append(waitpoint.to_string());
    return text;
}

/// A retired key verifies up to and in the millisecond of its expiry.
bool still_verifies(const HmacKey& key, TimestampMs now) {
    const TimestampMs until = key.expires_at.value_or(0);
    return key.is_current || (until > 0 && until >= now);
}

/// -1 for what is no digit.
int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

const HmacKey* find_key(const Keys& keys, std::string_view kid) {
    const auto it =
        std::ranges::find_if(keys, [kid](const HmacKey* key) { return key->kid == kid; });
    return it == keys.end() ? nullptr : *it;
}

bool is_swept(const HmacKey& key) { return !key.is_current && key.secret.empty(); }

const HmacKey* current_key(const Keys& keys) {
    const auto it = std::ranges::find_if(keys, &HmacKey::is_current);
    return it == keys.end() ? nullptr : *it;
}

expected<std::string> mint_token(const Keys& keys, const ExecutionId& execution,
                                 const WaitpointId& waitpoint, Keystore& keystore) {
    const HmacKey* key = current_key(keys);
    if (key == nullptr) {
        return ff::fail(ErrorCode::hmac_secret_not_initialized);
    }
    FF_TRY(const std::string digest,
           keystore.mac(*key, signed_text(key->kid, execution, waitpoint)));
    return key->kid + ":" + digest;
}

expected<void> verify_token(const Keys& keys, std::string_view token, const ExecutionId& execution,
                            const WaitpointId& waitpoint_id, const Waitpoint* waitpoint,
                            TimestampMs now, Grace grace, Keystore& keystore) {
    if (token.empty()) {
        return ff::fail(ErrorCode::missing_token);
    }
    const auto parts = parts_of(token);
    const std::string text =
        signed_text(parts ? parts->kid : std::string_view(), execution, waitpoint_id);
    const auto refuse = [&](ErrorCode code, std::string detail = {}) {
        keystore.dummy_mac(text);
        return ff::fail(code, std::move(detail));
    };
    if (!parts || waitpoint == nullptr || waitpoint->execution_id != execution ||
        waitpoint->id != waitpoint_id) {
        return refuse(ErrorCode::invalid_token);
    }
    if (current_key(keys) == nullptr) {
        return refuse(ErrorCode::hmac_secret_not_initialized);
    }
    const HmacKey* key = find_key(keys, parts->kid);
    if (key == nullptr || is_swept(*key)) {
        // An operator's own token of long ago: its key was swept, the waitpoint still waits.
        const bool forgiven = grace == Grace::waived && same_secret(token, waitpoint->token);
        return forgiven ? expected<void>() : refuse(ErrorCode::invalid_token);
    }
    if (grace == Grace::enforced && !still_verifies(*key, now)) {
        return refuse(ErrorCode::token_expired);
    }
    auto digest = keystore.mac(*key, text);
    if (!digest) {
        return refuse(digest.error().code, digest.error().detail);
    }
    const bool is_signed = same_secret(*digest, parts->digest);
    wipe(*digest);
    if (!is_signed || !same_secret(token, waitpoint->token)) {
        return ff::fail(ErrorCode::invalid_token);
    }
    return {};
}

std::string redacted_token(std::string_view token) {
    const auto parts = parts_of(token);
    return parts ? std::string(parts->kid) + ":<REDACTED:len=64>" : "<REDACTED:malformed>";
}

std::string token_fingerprint(std::string_view token) {
    const auto parts = parts_of(token);
    return parts ? std::string(parts->digest.substr(0, fingerprint_digits)) : std::string();
}

KeyList list_keys(const Keys& keys, TimestampMs now) {
    KeyList list;
    for (const HmacKey* key : keys) {
        if (key->is_current) {
            list.current_kid = key->kid;
        } else if (still_verifies(*key, now)) {
            list.verifying.push_back({key->kid, *key->expires_at});
        }
    }
    std::ranges::sort(list.verifying, {}, [](const KeyList::Retired& key) {
        return std::tuple(key.expires_at_ms, std::string_view(key.kid));
    });
    return list;
}

expected<void> check_kid(std::string_view kid) {
    if (kid.empty()) {
        return ff::fail(ErrorCode::invalid_kid, "kid must be non-empty");
    }
    if (kid.contains(':')) {
        return ff::fail(ErrorCode::invalid_kid, "kid must not contain ':'");
    }
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
    if (kid.size() > kid_max || !std::ranges::all_of(kid, is_printable)) {
        return ff::fail(ErrorCode::invalid_kid,
                        "kid must be at most 64 printable ASCII characters");
    }
    return {};
}

expected<std::string> secret_of_hex(std::string_view hex, bool exact) {
    const bool right_length =
        exact ? hex.size() == digest_digits : !hex.empty() && hex.size() % 2 == 0;
    const auto is_hex = [](char c) { return hex_value(c) >= 0; };
    if (!right_length || !std::ranges::all_of(hex, is_hex)) {
        return ff::fail(ErrorCode::invalid_secret_hex,
                        exact ? "secret_hex must be 64 hex characters (256-bit secret)"
                              : "new_secret_hex must be a non-empty even-length hex string");
    }
    std::string secret;
    secret.reserve(hex.size() / 2);
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        secret += static_cast<char>(hex_value(hex[i]) * 16 + hex_value(hex[i + 1]));
    }
    return secret;
}

}  // namespace ff::core
