#include "core/keystore.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "base/check.h"
#include "base/hex.h"

namespace ff::core {

namespace {

constexpr std::size_t digest_bytes = 32;
constexpr std::size_t sealing_key_bytes = 32;
constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;
/// Keys come and go with rotations; what is kept of them is dropped now and then.
constexpr std::size_t contexts_max = 64;

template <auto free>
struct Free {
    template <class T>
    void operator()(T* pointer) const {
        free(pointer);
    }
};
using Mac = std::unique_ptr<EVP_MAC, Free<EVP_MAC_free>>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, Free<EVP_MAC_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER, Free<EVP_CIPHER_free>>;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Free<EVP_CIPHER_CTX_free>>;
using Digest = std::array<unsigned char, digest_bytes>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string hex_of(const Digest& digest) {
    return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string random_nonce(IdSource& ids) {
    std::string nonce;
    for (std::size_t i = 0; i < nonce_bytes; ++i) {
        nonce += static_cast<char>(ids.uniform(255));
    }
    return nonce;
}

/// A text that is overwritten when it goes.
struct Secret {
    std::string bytes;

    explicit Secret(std::string_view text) : bytes(text) {}
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;
    /// A short text stays behind when it is moved; hence it is copied and overwritten.
    // NOLINTNEXTLINE(performance-move-constructor-init)
    Secret(Secret&& other) noexcept : bytes(other.bytes) { wipe(other.bytes); }
    Secret& operator=(Secret&&) = delete;
    ~Secret() { wipe(bytes); }
};

std::unexpected<Error> unusable(const HmacKey& key) {
    return ff::fail(ErrorCode::invalid_secret, key.kid);
}

}  // namespace

bool same_secret(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(std::string& secret) {
    OPENSSL_cleanse(secret.data(), secret.size());
    secret.clear();
}

struct Keystore::Parts {
    /// A key ready for use, and what it was made of.
    struct Ready {
        Secret stored;
        bool sealed = false;
        MacContext context;
    };

    explicit Parts(std::string_view key) : sealing_key(key) {
        FF_CHECK(mac && cipher, "the cryptographic library lacks HMAC or AES-256-GCM");
        // Nobody's key, as long as a usual one.
        dummy = context_of(std::string(digest_bytes, '\0'));
    }

    [[nodiscard]] MacContext context_of(std::string_view secret) const {
        MacContext context(EVP_MAC_CTX_new(mac.get()));
        std::array<char, 7> digest{"SHA256"};
        const std::array<OSSL_PARAM, 2> params{
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
            OSSL_PARAM_construct_end()};
        FF_CHECK(context && EVP_MAC_init(context.get(), bytes_of(secret), secret.size(),
                                         params.data()) == 1,
                 "HMAC-SHA256 cannot be set up");
        return context;
    }

    /// With the key it has had.
    Digest digest_of(EVP_MAC_CTX* context, std::string_view text) {
        macs += 1;
        Digest digest{};
        std::size_t size = 0;
        FF_CHECK(EVP_MAC_init(context, nullptr, 0, nullptr) == 1 &&
                     EVP_MAC_update(context, bytes_of(text), text.size()) == 1 &&
                     EVP_MAC_final(context, digest.data(), &size, digest.size()) == 1 &&
                     size == digest.size(),
                 "HMAC-SHA256 failed");
        return digest;
    }

    /// nonce, ciphertext, tag; the kid is bound to it.
    [[nodiscard]] std::string sealed(std::string_view kid, std::string_view secret,
                                     const std::string& nonce) const {
        const CipherContext context(EVP_CIPHER_CTX_new());
        std::string text(secret.size(), '\0');
        std::array<char, tag_bytes> tag{};
        int size = 0;
        FF_CHECK(context &&
                     EVP_EncryptInit_ex2(context.get(), cipher.get(), bytes_of(sealing_key.bytes),
                                         bytes_of(nonce), nullptr) == 1 &&
                     EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(kid),
                                       static_cast<int>(kid.size())) == 1 &&
                     EVP_EncryptUpdate(context.get(), bytes_of(text), &size, bytes_of(secret),
                                       static_cast<int>(secret.size())) == 1 &&
                     EVP_EncryptFinal_ex(context.get(), bytes_of(text) + size, &size) == 1 &&
                     EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes,
                                         tag.data()) == 1,
                 "AES-256-GCM failed");
        return nonce + text + std::string(tag.data(), tag.size());
    }

    [[nodiscard]] std::optional<Secret> unsealed(const HmacKey& key) const {
        const std::string_view box = key.secret;
        if (sealing_key.bytes.empty() || box.size() <= nonce_bytes + tag_bytes) {
            return std::nullopt;
        }
        const std::string_view text = box.substr(nonce_bytes, box.size() - nonce_bytes - tag_bytes);
        std::string tag(box.substr(box.size() - tag_bytes));
        Secret secret(std::string(text.size(), '\0'));
        const CipherContext context(EVP_CIPHER_CTX_new());
        int size = 0;
        const bool opens =
            context &&
            EVP_DecryptInit_ex2(context.get(), cipher.get(), bytes_of(sealing_key.bytes),
                                bytes_of(box), nullptr) == 1 &&
            EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(key.kid),
                              static_cast<int>(key.kid.size())) == 1 &&
            EVP_DecryptUpdate(context.get(), bytes_of(secret.bytes), &size, bytes_of(text),
                              static_cast<int>(text.size())) == 1 &&
            EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) == 1 &&
            EVP_DecryptFinal_ex(context.get(), bytes_of(secret.bytes) + size, &size) == 1;
        return opens ? std::optional(std::move(secret)) : std::nullopt;
    }

    /// The bytes of the secret, or nothing when they cannot be had.
    [[nodiscard]] std::optional<Secret> open(const HmacKey& key) const {
        if (key.sealed) {
            return unsealed(key);
        }
        return key.secret.empty() ? std::nullopt : std::optional(Secret(key.secret));
    }

    /// Null when its secret cannot be had.
    EVP_MAC_CTX* ready(const HmacKey& key) {
        const auto found = contexts.find(key.kid);
        if (found != contexts.end()) {
            if (found->second.sealed == key.sealed &&
                same_secret(found->second.stored.bytes, key.secret)) {
                return found->second.context.get();
            }
            contexts.erase(found);
        }
        const std::optional<Secret> secret = open(key);
        if (!secret) {
            return nullptr;
        }
        if (contexts.size() >= contexts_max) {
            contexts.clear();
        }
        Ready made{Secret(key.secret), key.sealed, context_of(secret->bytes)};
        return contexts.emplace(key.kid, std::move(made)).first->second.context.get();
    }

    Secret sealing_key;
    Mac mac{EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr)};
    Cipher cipher{EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr)};
    MacContext dummy;
    std::map<std::string, Ready> contexts;  ///< by kid
    std::uint64_t macs = 0;
};

Keystore::Keystore(std::string sealing_key) {
    FF_CHECK(sealing_key.empty() || sealing_key.size() == sealing_key_bytes,
             "a keystore seals with 32 bytes");
    parts_ = std::make_unique<Parts>(sealing_key);
    wipe(sealing_key);
}
Keystore::~Keystore() = default;
Keystore::Keystore(Keystore&&) noexcept = default;
Keystore& Keystore::operator=(Keystore&&) noexcept = default;

expected<std::string> Keystore::mac(const HmacKey& key, std::string_view text) {
    EVP_MAC_CTX* context = parts_->ready(key);
    if (context == nullptr) {
        return unusable(key);
    }
    return hex_of(parts_->digest_of(context, text));
}

void Keystore::dummy_mac(std::string_view text) {
    static_cast<void>(parts_->digest_of(parts_->dummy.get(), text));
}

std::uint64_t Keystore::macs_computed() const { return parts_->macs; }

expected<HmacKey> Keystore::seal(std::string kid, std::string_view secret, IdSource& ids) {
    if (secret.empty()) {
        return ff::fail(ErrorCode::invalid_secret, kid);
    }
    HmacKey key;
    key.sealed = !parts_->sealing_key.bytes.empty();
    key.secret = key.sealed ? parts_->sealed(kid, secret, random_nonce(ids)) : std::string(secret);
    key.kid = std::move(kid);
    return key;
}

expected<std::string> Keystore::open(const HmacKey& key) {
    const std::optional<Secret> own = parts_->open(key);
    if (!own) {
        return unusable(key);
    }
    return own->bytes;
}

expected<bool> Keystore::holds(const HmacKey& key, std::string_view secret) {
    const std::optional<Secret> own = parts_->open(key);
    if (!own) {
        return unusable(key);
    }
    return same_secret(own->bytes, secret);
}

std::string sha256(std::string_view text) {
    Digest digest{};
    FF_CHECK(
        EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr) == 1,
        "SHA-256 failed");
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace ff::core
