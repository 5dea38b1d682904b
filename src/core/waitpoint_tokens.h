// Waitpoint tokens: `kid:` and 64 hex digits that prove a signal. Spec 04 section 4.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>
#include <ff/ids.h>

#include "core/keystore.h"
#include "core/suspension_records.h"

namespace ff::core {

using Keys = std::vector<const HmacKey*>;

/// The key that signs, or null.
const HmacKey* current_key(const Keys& keys);
/// The key of that name, or null.
const HmacKey* find_key(const Keys& keys, std::string_view kid);
/// Nothing but the name is left of it, so that no other key gets that name.
bool is_swept(const HmacKey& key);

/// `hmac_secret_not_initialized` without a key, `invalid_secret` when it cannot be used.
expected<std::string> mint_token(const Keys& keys, const ExecutionId& execution,
                                 const WaitpointId& waitpoint, Keystore& keystore);

/// May a retired key be used although its time is over? Operators may, callers may not.
enum class Grace : bool { enforced, waived };

/// Steps 1 to 7 of section 4.2, each refusal with the work of an acceptance. `waitpoint` is null
/// when there is none of that id, or it belongs to another execution.
expected<void> verify_token(const Keys& keys, std::string_view token, const ExecutionId& execution,
                            const WaitpointId& waitpoint_id, const Waitpoint* waitpoint,
                            TimestampMs now, Grace grace, Keystore& keystore);

/// `kid:<REDACTED:len=64>` or `<REDACTED:malformed>`: the only form that may be written anywhere.
std::string redacted_token(std::string_view token);
/// The first 16 digits, for listings; empty for a token that is malformed.
std::string token_fingerprint(std::string_view token);

/// The key that signs and those that still verify, by expiry and kid.
KeyList list_keys(const Keys& keys, TimestampMs now);

/// `invalid_kid`: empty, with a colon, longer than 64 or not printable ASCII.
expected<void> check_kid(std::string_view kid);
/// The bytes of a secret, or `invalid_secret_hex`. `exact`: 64 digits, not merely an even number.
expected<std::string> secret_of_hex(std::string_view hex, bool exact);

}  // namespace ff::core
