// The secrets behind waitpoint tokens, ready for use: unsealed once, their HMAC contexts kept.
//
// A secret rests in the store as it is, or sealed (AES-256-GCM) when the keystore has a key of its
// own. Not thread-safe; each user has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ff/error.h>
#include <ff/ids.h>

#include "core/suspension_records.h"

namespace ff::core {

/// Are they the same? Takes as long wherever they differ; lengths are no secret.
bool same_secret(std::string_view a, std::string_view b);
/// Overwrites the bytes and empties the text.
void wipe(std::string& secret);

/// The 32 bytes of the digest.
std::string sha256(std::string_view text);

class Keystore {
  public:
    /// `sealing_key` is 32 bytes, or empty: then secrets rest unsealed.
    explicit Keystore(std::string sealing_key = {});
    ~Keystore();
    Keystore(Keystore&&) noexcept;
    Keystore& operator=(Keystore&&) noexcept;

    /// HMAC-SHA256 of `text` under the key, in lower-case hex. `invalid_secret` when its secret
    /// cannot be used (sealed with another key, or empty).
    expected<std::string> mac(const HmacKey& key, std::string_view text);
    /// The work of one mac() for nobody, so that a refusal takes as long as an answer.
    void dummy_mac(std::string_view text);
    /// By both.
    [[nodiscard]] std::uint64_t macs_computed() const;

    /// A row for a new secret (bytes), sealed if this keystore seals.
    expected<HmacKey> seal(std::string kid, std::string_view secret, IdSource& ids);
    /// Does the row hold this secret? Compared in constant time.
    expected<bool> holds(const HmacKey& key, std::string_view secret);
    /// The secret of a row, for who must sign elsewhere.
    expected<std::string> open(const HmacKey& key);

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace ff::core
