// Waitpoint tokens (spec 04 sections 4.1 and 4.2) and the secrets behind them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "core/waitpoint_tokens.h"

namespace ff::core {
namespace {

constexpr TimestampMs now = 1'700'000'000'000;

std::string bytes(std::string_view hex) { return *secret_of_hex(hex, false); }

HmacKey key_of(std::string kid, std::string secret) {
    HmacKey key;
    key.kid = std::move(kid);
    key.secret = std::move(secret);
    return key;
}

template <class T>
std::string refusal(const expected<T>& answer) {
    return answer ? "none" : answer.error().message();
}

// ------------------------------------------------------------------------------------------ MAC

TEST(Keystore, computes_the_vectors_of_rfc_4231) {
    struct Vector {
        std::string key;
        std::string text;
        std::string digest;
    };
    const std::vector<Vector> vectors = {
        {std::string(20, '\x0b'), "Hi There",
         "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", "what do ya want for nothing?",
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {std::string(20, '\xaa'), std::string(50, '\xdd'),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {bytes("0102030405060708090a0b0c0d0e0f10111213141516171819"), std::string(50, '\xcd'),
         "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
        {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {std::string(131, '\xaa'),
         "This is a test using a larger than block-size key and a larger than block-size data. "
         "The key needs to be hashed before being used by the HMAC algorithm.",
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    Keystore keystore;
    // Twice, and under one name: a context that is kept must be used for its own secret only.
    for (int round = 0; round < 2; ++round) {
        for (const Vector& vector : vectors) {
            EXPECT_EQ(keystore.mac(key_of("k", vector.key), vector.text), vector.digest);
            EXPECT_EQ(keystore.mac(key_of("k", vector.key), vector.text), vector.digest);
            keystore.dummy_mac(vector.text);
        }
    }
}

TEST(Keystore, more_keys_than_it_keeps) {
    Keystore keystore;
    std::map<std::string, std::string> digests;
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < 200; ++i) {
            const std::string kid = "k" + std::to_string(i);
            const std::string digest = *keystore.mac(key_of(kid, "secret " + kid), "text");
            EXPECT_EQ(digests.emplace(kid, digest).first->second, digest);
        }
    }
}

TEST(Keystore, an_empty_secret_is_unusable) {
    Keystore keystore;
    SeededIdSource ids(1);
    EXPECT_EQ(refusal(keystore.mac(key_of("k1", ""), "text")), "invalid_secret: k1");
    EXPECT_EQ(refusal(keystore.holds(key_of("k1", ""), "")), "invalid_secret: k1");
    EXPECT_EQ(refusal(keystore.seal("k1", "", ids)), "invalid_secret: k1");
}

TEST(Secrets, are_compared_whole_and_wiped) {
    EXPECT_TRUE(same_secret("", ""));
    EXPECT_TRUE(same_secret("abc", "abc"));
    EXPECT_FALSE(same_secret("abc", "abd"));
    EXPECT_FALSE(same_secret("abc", "ab"));
    EXPECT_FALSE(same_secret("", "a"));
    std::string secret(100, 's');
    const char* at = secret.data();
    wipe(secret);
    EXPECT_TRUE(secret.empty());
    EXPECT_EQ(secret.data(), at);
    EXPECT_EQ(std::count(at, at + 100, '\0'), 100);
}

// -------------------------------------------------------------------------------------- sealing

TEST(Sealing, a_sealed_secret_works_as_an_open_one) {
    SeededIdSource ids(1);
    Keystore sealing(std::string(32, 'S'));
    Keystore plain;
    for (const std::string& secret : {std::string("x"), std::string(32, '\x07')}) {
        const HmacKey sealed = *sealing.seal("k1", secret, ids);
        const HmacKey open = *plain.seal("k1", secret, ids);
        EXPECT_TRUE(sealed.sealed);
        EXPECT_FALSE(open.sealed);
        EXPECT_EQ(open.secret, secret);
        EXPECT_EQ(sealed.secret.size(), 12 + secret.size() + 16);
        EXPECT_EQ(sealing.mac(sealed, "text"), plain.mac(open, "text"));
        EXPECT_EQ(sealing.holds(sealed, secret), true);
        EXPECT_EQ(sealing.holds(sealed, secret + "x"), false);
        EXPECT_EQ(plain.holds(open, secret), true);
    }
    EXPECT_EQ(sealing.mac(*plain.seal("k1", "old", ids), "text"),
              plain.mac(key_of("k1", "old"), "text"))
        << "what was stored before there was a sealing key still works";
}

TEST(Sealing, no_secret_is_sealed_twice_alike_and_none_is_seen) {
    SeededIdSource ids(1);
    Keystore keystore(std::string(32, 'S'));
    const std::string secret = "a secret that is easy to find again";
    const HmacKey first = *keystore.seal("k1", secret, ids);
    const HmacKey second = *keystore.seal("k1", secret, ids);
    EXPECT_NE(first.secret, second.secret);
    EXPECT_EQ(first.secret.find("secret"), std::string::npos);
    EXPECT_EQ(keystore.mac(first, "text"), keystore.mac(second, "text"));
}

TEST(Sealing, what_cannot_be_opened_is_an_invalid_secret) {
    SeededIdSource ids(1);
    Keystore keystore(std::string(32, 'S'));
    Keystore other(std::string(32, 'T'));
    Keystore none;
    const HmacKey good = *keystore.seal("k1", std::string(32, 's'), ids);
    ASSERT_TRUE(keystore.mac(good, "text"));
    for (Keystore* wrong : {&other, &none}) {
        EXPECT_EQ(refusal(wrong->mac(good, "text")), "invalid_secret: k1");
        EXPECT_EQ(refusal(wrong->holds(good, std::string(32, 's'))), "invalid_secret: k1");
    }
    HmacKey renamed = good;
    renamed.kid = "k2";
    EXPECT_EQ(refusal(keystore.mac(renamed, "text")), "invalid_secret: k2")
        << "the kid is sealed with it";
    for (std::size_t i = 0; i < good.secret.size(); ++i) {
        HmacKey bent = good;
        bent.secret[i] = static_cast<char>(bent.secret[i] ^ 1);
        EXPECT_EQ(refusal(keystore.mac(bent, "text")), "invalid_secret: k1") << i;
        HmacKey cut = good;
        cut.secret.resize(i);
        EXPECT_EQ(refusal(keystore.mac(cut, "text")), "invalid_secret: k1") << i;
    }
    EXPECT_TRUE(keystore.mac(good, "text")) << "and the good one still works";
}

// --------------------------------------------------------------------------------------- tokens

/// An execution with one waitpoint, whose token was signed by the current key k2; k1 is retired.
class Tokens : public ::testing::Test {
  protected:
    Tokens() {
        rows_ = {key_of("k1", std::string(32, '\x01')), key_of("k2", std::string(32, '\x02'))};
        rows_[0].expires_at = now + 1'000;
        rows_[1].is_current = true;
        execution_ = *ExecutionId::parse("{fp:7}:0191b2c3-0000-7000-8000-000000000001");
        waitpoint_.id = *WaitpointId::parse("0191b2c3-0000-7000-8000-00000000000a");
        waitpoint_.execution_id = execution_;
        waitpoint_.token = *mint_token(keys(), execution_, waitpoint_.id, keystore_);
    }

    Keys keys() { return {&rows_[0], &rows_[1]}; }
    /// A token of a key that need not be the current one.
    std::string signed_by(const HmacKey& key, const ExecutionId& execution,
                          const WaitpointId& waitpoint) {
        return key.kid + ":" +
               *keystore_.mac(key,
                              key.kid + ":" + execution.to_string() + ":" + waitpoint.to_string());
    }
    std::string verify(std::string_view token, TimestampMs at = now,
                       Grace grace = Grace::enforced) {
        const auto answer = verify_token(keys(), token, execution_, waitpoint_.id, &waitpoint_, at,
                                         grace, keystore_);
        return answer ? "ok" : answer.error().message();
    }
    /// How many MACs it takes to say no, or yes.
    std::uint64_t work(const std::function<std::string()>& verification,
                       const std::string& answer) {
        const std::uint64_t before = keystore_.macs_computed();
        EXPECT_EQ(verification(), answer);
        return keystore_.macs_computed() - before;
    }
    std::string verify_nowhere(std::string_view token) {
        const auto answer = verify_token(keys(), token, execution_, waitpoint_.id, nullptr, now,
                                         Grace::enforced, keystore_);
        return answer ? "ok" : answer.error().message();
    }
    /// The waitpoint as it is when k1 had signed it.
    void use_retired_key() { waitpoint_.token = signed_by(rows_[0], execution_, waitpoint_.id); }

    Keystore keystore_;
    std::vector<HmacKey> rows_;
    ExecutionId execution_;
    Waitpoint waitpoint_;
};

TEST_F(Tokens, are_the_kid_and_64_digits) {
    EXPECT_EQ(waitpoint_.token.size(), 3 + 64U);
    EXPECT_TRUE(waitpoint_.token.starts_with("k2:"));
    EXPECT_EQ(waitpoint_.token,
              "k2:" + *keystore_.mac(rows_[1],
                                     "k2:{fp:7}:0191b2c3-0000-7000-8000-000000000001:"
                                     "0191b2c3-0000-7000-8000-00000000000a"));
    EXPECT_EQ(*mint_token(keys(), execution_, waitpoint_.id, keystore_), waitpoint_.token)
        << "minting is deterministic";
}

TEST_F(Tokens, need_a_key_that_works) {
    EXPECT_EQ(refusal(mint_token({}, execution_, waitpoint_.id, keystore_)),
              "hmac_secret_not_initialized");
    EXPECT_EQ(refusal(mint_token({&rows_[0]}, execution_, waitpoint_.id, keystore_)),
              "hmac_secret_not_initialized");
    rows_[1].sealed = true;
    EXPECT_EQ(refusal(mint_token(keys(), execution_, waitpoint_.id, keystore_)),
              "invalid_secret: k2");
}

TEST_F(Tokens, the_right_one_is_accepted) { EXPECT_EQ(verify(waitpoint_.token), "ok"); }

TEST_F(Tokens, none_at_all_is_missing) { EXPECT_EQ(verify(""), "missing_token"); }

TEST_F(Tokens, malformed_ones_are_refused) {
    const std::string digest = waitpoint_.token.substr(3);
    std::string upper = digest;
    std::ranges::transform(upper, upper.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::string one_upper = digest;
    const std::size_t letter = digest.find_first_of("abcdef");
    one_upper[letter] = upper[letter];
    for (const std::string& token :
         {digest, ":" + digest, std::string("k2"), std::string("k2:"), std::string(":"),
          "k2:" + upper, "k2:" + one_upper, "k2:" + digest.substr(1), "k2:" + digest + "0",
          "k2::" + digest, "k2:" + digest.substr(1) + "g", "k2:" + digest.substr(1) + " ",
          "k2: " + digest.substr(1), "k2:" + digest + "\n",
          "k2:" + digest.substr(0, 63) + std::string(1, '\0'), "k2:" + digest.substr(0, 40)}) {
        EXPECT_EQ(verify(token), "invalid_token") << token;
        EXPECT_EQ(verify_nowhere(token), "invalid_token") << token;
    }
}

TEST_F(Tokens, every_change_of_a_digit_is_found) {
    for (std::size_t i = 3; i < waitpoint_.token.size(); ++i) {
        std::string forged = waitpoint_.token;
        forged[i] = forged[i] == '0' ? '1' : '0';
        EXPECT_EQ(verify(forged), "invalid_token") << i;
    }
}

TEST_F(Tokens, those_of_others_are_refused) {
    const WaitpointId other = *WaitpointId::parse("0191b2c3-0000-7000-8000-00000000000b");
    ExecutionId elsewhere = execution_;
    elsewhere.partition = 8;
    EXPECT_EQ(verify(*mint_token(keys(), execution_, other, keystore_)), "invalid_token");
    EXPECT_EQ(verify(*mint_token(keys(), elsewhere, waitpoint_.id, keystore_)), "invalid_token");
    HmacKey stranger = key_of("k2", std::string(32, '\x09'));
    EXPECT_EQ(verify(signed_by(stranger, execution_, waitpoint_.id)), "invalid_token");
}

TEST_F(Tokens, a_waitpoint_of_another_execution_is_as_good_as_none) {
    EXPECT_EQ(verify_nowhere(waitpoint_.token), "invalid_token");
    waitpoint_.execution_id.partition = 8;
    EXPECT_EQ(verify(waitpoint_.token), "invalid_token");
}

TEST_F(Tokens, an_unknown_kid_is_refused_like_a_forgery) {
    HmacKey unknown = key_of("k9", std::string(32, '\x02'));
    EXPECT_EQ(verify(signed_by(unknown, execution_, waitpoint_.id)), "invalid_token");
    EXPECT_EQ(verify("K2" + waitpoint_.token.substr(2)), "invalid_token");
}

TEST_F(Tokens, a_valid_one_that_is_not_the_waitpoints_own_is_refused) {
    const std::string by_k1 = signed_by(rows_[0], execution_, waitpoint_.id);
    EXPECT_EQ(verify(by_k1), "invalid_token") << "k1 verifies, but k2 signed this waitpoint";
    waitpoint_.token.clear();
    EXPECT_EQ(verify(by_k1), "invalid_token");
}

TEST_F(Tokens, of_a_retired_key_work_until_its_last_millisecond) {
    use_retired_key();
    EXPECT_EQ(verify(waitpoint_.token, now + 999), "ok");
    EXPECT_EQ(verify(waitpoint_.token, now + 1'000), "ok") << "equality is still valid";
    EXPECT_EQ(verify(waitpoint_.token, now + 1'001), "token_expired");
    EXPECT_EQ(verify(waitpoint_.token, now + 1'001, Grace::waived), "ok") << "for operators";
}

TEST_F(Tokens, of_a_retired_key_without_an_expiry_have_expired) {
    use_retired_key();
    for (const auto expiry : {std::optional<TimestampMs>(), std::optional<TimestampMs>(0),
                              std::optional<TimestampMs>(-1)}) {
        rows_[0].expires_at = expiry;
        EXPECT_EQ(verify(waitpoint_.token), "token_expired");
        EXPECT_EQ(verify(waitpoint_.token, -5), "token_expired") << "whatever the time";
        EXPECT_EQ(verify(waitpoint_.token, now, Grace::waived), "ok");
    }
}

TEST_F(Tokens, waived_grace_waives_nothing_else) {
    use_retired_key();
    std::string forged = waitpoint_.token;
    forged.back() = forged.back() == '0' ? '1' : '0';
    EXPECT_EQ(verify(forged, now + 9'999, Grace::waived), "invalid_token");
    EXPECT_EQ(verify("", now, Grace::waived), "missing_token");
}

TEST_F(Tokens, checks_come_in_their_order) {
    // Each line removes the first fault of the line before it.
    rows_[1].is_current = false;
    rows_[1].expires_at = now - 1;
    rows_[1].sealed = true;
    const std::string token = waitpoint_.token;
    const std::string forged = "k2:" + std::string(64, '0');
    EXPECT_EQ(verify_nowhere(""), "missing_token");
    EXPECT_EQ(verify_nowhere("k2"), "invalid_token");
    EXPECT_EQ(verify_nowhere(forged), "invalid_token") << "before the keys are looked at";
    EXPECT_EQ(verify(forged), "hmac_secret_not_initialized");
    EXPECT_EQ(verify("k9" + forged.substr(2)), "hmac_secret_not_initialized");
    rows_[0].is_current = true;
    EXPECT_EQ(verify("k9" + forged.substr(2)), "invalid_token");
    EXPECT_EQ(verify(forged), "token_expired") << "before the digest is looked at";
    rows_[1].expires_at = now;
    EXPECT_EQ(verify(forged), "invalid_secret: k2");
    rows_[1].sealed = false;
    EXPECT_EQ(verify(forged), "invalid_token");
    EXPECT_EQ(verify(token), "ok");
}

TEST_F(Tokens, every_answer_is_the_same_work) {
    const std::string token = waitpoint_.token;
    const std::string forged = "k2:" + std::string(64, '0');
    const std::string retired = signed_by(rows_[0], execution_, waitpoint_.id);
    const auto here = [this](const std::string& t) { return [=, this] { return verify(t); }; };
    const auto nowhere = [this](const std::string& t) {
        return [=, this] { return verify_nowhere(t); };
    };
    EXPECT_EQ(work(here(token), "ok"), 1U);
    EXPECT_EQ(work(here(forged), "invalid_token"), 1U);
    EXPECT_EQ(work(here(retired), "invalid_token"), 1U);
    EXPECT_EQ(work(here("k9" + token.substr(2)), "invalid_token"), 1U);
    EXPECT_EQ(work(nowhere(token), "invalid_token"), 1U);
    EXPECT_EQ(work(nowhere(forged), "invalid_token"), 1U);
    rows_[0].expires_at = now - 1;
    EXPECT_EQ(work(here(retired), "token_expired"), 1U);
    rows_[1].sealed = true;
    EXPECT_EQ(work(here(token), "invalid_secret: k2"), 1U);
    rows_[1].is_current = false;
    EXPECT_EQ(work(here(token), "hmac_secret_not_initialized"), 1U);
    EXPECT_EQ(work(nowhere(token), "invalid_token"), 1U);
    const std::string digest = token.substr(3);
    for (const std::string& malformed : {std::string("k2"), "k2:" + digest.substr(1), digest,
                                         "k2:" + digest + "0", "k2:A" + digest.substr(1)}) {
        EXPECT_EQ(work(here(malformed), "invalid_token"), 1U) << malformed;
        EXPECT_EQ(work(nowhere(malformed), "invalid_token"), 1U) << malformed;
    }
    EXPECT_EQ(work(here(""), "missing_token"), 0U);
}

TEST_F(Tokens, are_written_without_their_digest) {
    const std::string digest = waitpoint_.token.substr(3);
    EXPECT_EQ(redacted_token(waitpoint_.token), "k2:<REDACTED:len=64>");
    EXPECT_EQ(token_fingerprint(waitpoint_.token), digest.substr(0, 16));
    for (const std::string& token : {std::string(), std::string("k2"), digest, ":" + digest,
                                     "k2:" + digest.substr(1), "k2:" + digest + "a"}) {
        EXPECT_EQ(redacted_token(token), "<REDACTED:malformed>") << token;
        EXPECT_EQ(token_fingerprint(token), "") << token;
    }
}

TEST_F(Tokens, no_refusal_tells_what_would_be_right) {
    const std::string digest = waitpoint_.token.substr(3);
    for (const std::string& token : {"k2:" + std::string(64, '0'), "k9:" + digest, digest}) {
        EXPECT_EQ(verify(token).find(digest.substr(0, 8)), std::string::npos);
    }
}

}  // namespace
}  // namespace ff::core
