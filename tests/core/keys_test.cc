// Seeding and rotating the keys of waitpoint tokens (spec 04 section 4.3).
#include <gtest/gtest.h>

#include "core/decide.h"
#include "core/waitpoint_tokens.h"

namespace ff::core {
namespace {

const std::string secret_a(64, 'a');
const std::string secret_b(64, 'b');
const std::string secret_c(64, 'c');

/// The keys of a store, and decisions about them.
class Vault {
  public:
    explicit Vault(std::string sealing_key = {}) : keystore_(std::move(sealing_key)) {}

    TimestampMs now = 1'700'000'000'000;
    std::vector<HmacKey> rows;
    std::vector<LogEvent> events;

    template <class Op>
    auto run(Op op)
        -> decltype(decide(std::declval<const Snapshot&>(), op, std::declval<const Context&>())
                        .answer) {
        if (auto ok = validate(op); !ok) {
            return std::unexpected(std::move(ok).error());
        }
        ReadSet set;
        reads(op, set);
        EXPECT_TRUE(set.waits.keys);
        Snapshot view(routes_);
        view.waits.load_keys(rows);
        const Context ctx{now, ids_, numbers_, policies_, settings_, keystore_};
        auto decision = decide(view, op, ctx);
        EXPECT_TRUE(decision.answer || decision.changes.empty()) << "a rejection writes nothing";
        view.apply(std::move(decision.changes));
        rows.clear();
        for (const HmacKey* key : view.waits.keys()) {
            rows.push_back(*key);
        }
        events.insert(events.end(), view.log_events.begin(), view.log_events.end());
        return std::move(decision.answer);
    }
    std::string seed(std::string kid, std::string secret) {
        const auto answer = run(SeedWaitpointKey{std::move(kid), std::move(secret)});
        if (!answer) {
            return answer.error().message();
        }
        return (answer->seeded        ? "seeded "
                : answer->same_secret ? "same "
                                      : "differs ") +
               answer->kid;
    }
    std::string rotate(std::string kid, std::string secret, std::int64_t grace_ms = 1'000) {
        const auto answer = run(RotateWaitpointKey{std::move(kid), std::move(secret), grace_ms});
        if (!answer) {
            return answer.error().message();
        }
        EXPECT_EQ(answer->waitpoints_outliving_grace, 0U) << "the engine counts them";
        if (!answer->rotated) {
            return "noop " + answer->new_kid;
        }
        return answer->previous_kid.value_or("nothing") + "->" + answer->new_kid + " gc " +
               std::to_string(answer->gc_count);
    }
    /// `current | retired@expiry after now ...`
    [[nodiscard]] std::string list() const {
        const KeyList list = list_keys(keys(), now);
        std::string out = list.current_kid.value_or("none") + " |";
        for (const KeyList::Retired& key : list.verifying) {
            out += " " + key.kid + "@" + std::to_string(key.expires_at_ms - now);
        }
        return out;
    }
    [[nodiscard]] Keys keys() const {
        Keys keys;
        for (const HmacKey& row : rows) {
            keys.push_back(&row);
        }
        return keys;
    }
    Keystore& keystore() { return keystore_; }

  private:
    struct NoNumbers final : RowNumbers {
        std::int64_t next_eid(TimestampMs) override { return 0; }
        std::int64_t next_route_id() override { return 0; }
    };

    RouteTable routes_;
    SeededIdSource ids_{1};
    NoNumbers numbers_;
    PolicyCache policies_;
    Settings settings_;
    Keystore keystore_;
};

/// A waitpoint that outlives rotations, and whether its token still works.
class Holder {
  public:
    explicit Holder(Vault& vault) : vault_(vault) {
        waitpoint_.token = *mint_token(vault.keys(), {}, {}, vault.keystore());
    }
    [[nodiscard]] std::string signal() const {
        const auto answer = verify_token(vault_.keys(), waitpoint_.token, {}, {}, &waitpoint_,
                                         vault_.now, Grace::enforced, vault_.keystore());
        return answer ? "ok" : answer.error().message();
    }

  private:
    Vault& vault_;
    Waitpoint waitpoint_;
};

// ----------------------------------------------------------------------------------------- seed

TEST(SeedWaitpointKey, installs_the_first_key) {
    Vault vault;
    EXPECT_EQ(vault.list(), "none |");
    EXPECT_EQ(vault.seed("k1", secret_a), "seeded k1");
    ASSERT_EQ(vault.rows.size(), 1U);
    EXPECT_EQ(vault.rows[0].kid, "k1");
    EXPECT_EQ(vault.rows[0].secret, std::string(32, '\xaa'));
    EXPECT_EQ(vault.rows[0].installed_at, vault.now);
    EXPECT_TRUE(vault.rows[0].is_current);
    EXPECT_FALSE(vault.rows[0].expires_at);
    EXPECT_EQ(vault.list(), "k1 |");
}

TEST(SeedWaitpointKey, never_overwrites) {
    Vault vault;
    vault.seed("k1", secret_a);
    const auto rows = vault.rows;
    vault.now += 1;
    EXPECT_EQ(vault.seed("k1", secret_a), "same k1");
    EXPECT_EQ(vault.seed("k1", std::string(64, 'A')), "same k1") << "hex of either case";
    EXPECT_EQ(vault.seed("k1", secret_b), "differs k1");
    EXPECT_EQ(vault.rows, rows);
}

TEST(SeedWaitpointKey, another_key_is_installed_by_rotation) {
    Vault vault;
    vault.seed("k1", secret_a);
    EXPECT_EQ(vault.seed("k2", secret_b),
              "invalid_input: kid k1 is active: use rotate to install another");
    vault.rotate("k2", secret_b);
    EXPECT_EQ(vault.seed("k1", secret_a), "same k1") << "a retired one is there, too";
    EXPECT_EQ(vault.seed("k1", secret_c), "differs k1");
    EXPECT_EQ(vault.list(), "k2 | k1@1000");
}

TEST(SeedWaitpointKey, refuses_bad_kids) {
    Vault vault;
    const std::string odd = "invalid_kid: kid must be at most 64 printable ASCII characters";
    EXPECT_EQ(vault.seed("", secret_a), "invalid_kid: kid must be non-empty");
    EXPECT_EQ(vault.seed("a:b", secret_a), "invalid_kid: kid must not contain ':'");
    EXPECT_EQ(vault.seed(std::string(65, 'k'), secret_a), odd);
    EXPECT_EQ(vault.seed("k\n", secret_a), odd);
    EXPECT_EQ(vault.seed("k\x7f", secret_a), odd);
    EXPECT_EQ(vault.seed("k\u00e9", secret_a), odd);
    EXPECT_EQ(vault.seed(std::string("k\0", 2), secret_a), odd);
    EXPECT_TRUE(vault.rows.empty());
    EXPECT_EQ(vault.seed(std::string(64, '~'), secret_a), "seeded " + std::string(64, '~'));
}

TEST(SeedWaitpointKey, refuses_secrets_of_another_length) {
    Vault vault;
    for (const std::string& secret :
         {std::string(), std::string(62, 'a'), std::string(63, 'a'), std::string(66, 'a'),
          std::string(63, 'a') + "g", std::string(63, 'a') + " "}) {
        EXPECT_EQ(vault.seed("k1", secret),
                  "invalid_secret_hex: secret_hex must be 64 hex characters (256-bit secret)");
    }
    EXPECT_EQ(vault.seed("", ""), "invalid_kid: kid must be non-empty") << "the kid is first";
}

// --------------------------------------------------------------------------------------- rotate

TEST(RotateWaitpointKey, makes_a_new_key_current_and_retires_the_old_one) {
    Vault vault;
    vault.seed("k1", secret_a);
    vault.now += 10;
    EXPECT_EQ(vault.rotate("k2", secret_b, 500), "k1->k2 gc 0");
    ASSERT_EQ(vault.rows.size(), 2U);
    EXPECT_FALSE(vault.rows[0].is_current);
    EXPECT_EQ(vault.rows[0].expires_at, vault.now + 500);
    EXPECT_EQ(vault.rows[0].installed_at, vault.now - 10);
    EXPECT_TRUE(vault.rows[1].is_current);
    EXPECT_FALSE(vault.rows[1].expires_at);
    EXPECT_EQ(vault.rows[1].installed_at, vault.now);
}

TEST(RotateWaitpointKey, works_without_a_key_before) {
    Vault vault;
    EXPECT_EQ(vault.rotate("k1", secret_a), "nothing->k1 gc 0");
    EXPECT_EQ(vault.list(), "k1 |");
}

TEST(RotateWaitpointKey, to_the_current_key_does_nothing) {
    Vault vault;
    vault.seed("k1", secret_a);
    const auto rows = vault.rows;
    EXPECT_EQ(vault.rotate("k1", secret_a), "noop k1");
    EXPECT_EQ(vault.rotate("k1", secret_b), "rotation_conflict: k1");
    EXPECT_EQ(vault.rotate("k1", "aa"), "rotation_conflict: k1");
    EXPECT_EQ(vault.rows, rows);
    EXPECT_TRUE(vault.events.empty());
}

TEST(RotateWaitpointKey, a_retired_key_never_comes_back) {
    Vault vault;
    vault.seed("k1", secret_a);
    vault.rotate("k2", secret_b);
    EXPECT_EQ(vault.rotate("k1", secret_a), "rotation_conflict: k1");
    EXPECT_EQ(vault.rotate("k1", secret_c), "rotation_conflict: k1");
    vault.now += 5'000;
    EXPECT_EQ(vault.rotate("k1", secret_a), "rotation_conflict: k1") << "though its time is over";
    EXPECT_EQ(vault.list(), "k2 |");
}

TEST(RotateWaitpointKey, earlier_keys_keep_their_own_expiry) {
    Vault vault;
    vault.seed("A", secret_a);
    const Holder of_a(vault);
    vault.rotate("B", secret_b, 1'000);
    const Holder of_b(vault);
    vault.now += 400;
    EXPECT_EQ(vault.rotate("C", secret_c, 1'000), "B->C gc 0");
    const Holder of_c(vault);
    EXPECT_EQ(vault.list(), "C | A@600 B@1000");
    EXPECT_EQ(of_a.signal(), "ok");
    EXPECT_EQ(of_b.signal(), "ok");
    EXPECT_EQ(of_c.signal(), "ok");
    vault.now += 600;
    EXPECT_EQ(of_a.signal(), "ok") << "the last millisecond";
    EXPECT_EQ(vault.list(), "C | A@0 B@400");
    vault.now += 1;
    EXPECT_EQ(of_a.signal(), "token_expired");
    EXPECT_EQ(of_b.signal(), "ok");
    EXPECT_EQ(vault.list(), "C | B@399");
    vault.now += 400;
    EXPECT_EQ(of_b.signal(), "token_expired");
    EXPECT_EQ(of_c.signal(), "ok");
    EXPECT_EQ(vault.list(), "C |");
}

TEST(RotateWaitpointKey, forgets_the_secrets_of_keys_that_verify_no_more) {
    Vault vault;
    vault.seed("A", secret_a);
    const Holder of_a(vault);
    vault.rotate("B", secret_b, 1'000);
    vault.now += 1'000;
    EXPECT_EQ(vault.rotate("C", secret_c, 5'000), "B->C gc 0") << "A still verifies now";
    EXPECT_EQ(of_a.signal(), "ok");
    vault.now += 1;
    EXPECT_EQ(vault.rotate("D", std::string(64, 'd'), 5'000), "C->D gc 1");
    ASSERT_EQ(vault.rows.size(), 4U) << "its name stays";
    EXPECT_EQ(vault.rows[0].kid, "A");
    EXPECT_EQ(vault.rows[0].secret, "");
    EXPECT_EQ(of_a.signal(), "invalid_token") << "nobody knows that key any more";
    EXPECT_EQ(vault.list(), "D | B@4999 C@5000");
    vault.rows[1].expires_at.reset();
    EXPECT_EQ(vault.rotate("E", std::string(64, 'e')), "D->E gc 1")
        << "one without an expiry; what was forgotten is not counted again";
}

TEST(RotateWaitpointKey, a_kid_is_never_used_for_another_key) {
    Vault vault;
    vault.seed("A", secret_a);
    vault.rotate("B", secret_b, 0);
    vault.now += 1;
    EXPECT_EQ(vault.rotate("C", secret_c, 0), "B->C gc 1");
    EXPECT_EQ(vault.rotate("A", secret_b), "rotation_conflict: A");
    EXPECT_EQ(vault.rotate("A", secret_a), "rotation_conflict: A");
    EXPECT_EQ(vault.seed("A", secret_a), "differs A");
}

TEST(RotateWaitpointKey, without_grace_old_tokens_fail_in_the_next_millisecond) {
    Vault vault;
    vault.seed("A", secret_a);
    const Holder of_a(vault);
    EXPECT_EQ(vault.rotate("B", secret_b, 0), "A->B gc 0");
    EXPECT_EQ(of_a.signal(), "ok");
    vault.now += 1;
    EXPECT_EQ(of_a.signal(), "token_expired");
}

TEST(RotateWaitpointKey, refuses_bad_arguments) {
    Vault vault;
    EXPECT_EQ(vault.rotate("", secret_a, -1), "invalid_kid: kid must be non-empty");
    EXPECT_EQ(vault.rotate("a:b", secret_a), "invalid_kid: kid must not contain ':'");
    for (const std::string secret : {"", "a", "abc", "zz", "0x", "a "}) {
        EXPECT_EQ(vault.rotate("k1", secret, -1),
                  "invalid_secret_hex: new_secret_hex must be a non-empty even-length hex string");
    }
    EXPECT_EQ(vault.rotate("k1", secret_a, -1),
              "invalid_grace_ms: grace_ms must be in 0..=9007199254740991 (got -1)");
    EXPECT_EQ(vault.rotate("k1", secret_a, std::int64_t{1} << 53),
              "invalid_grace_ms: grace_ms must be in 0..=9007199254740991 (got "
              "9007199254740992)");
    EXPECT_TRUE(vault.rows.empty());
}

TEST(RotateWaitpointKey, short_secrets_and_the_longest_grace_are_accepted) {
    Vault vault;
    constexpr std::int64_t longest = (std::int64_t{1} << 53) - 1;
    EXPECT_EQ(vault.rotate("k1", "0fF0"), "nothing->k1 gc 0");
    EXPECT_EQ(vault.rows[0].secret, "\x0f\xf0");
    EXPECT_EQ(vault.rotate("k2", secret_b, longest), "k1->k2 gc 0");
    EXPECT_EQ(vault.rows[0].expires_at, vault.now + longest);
}

TEST(RotateWaitpointKey, is_told_without_secrets) {
    Vault vault;
    vault.rotate("k1", secret_a, 7);
    vault.rotate("k2", secret_b, 7);
    ASSERT_EQ(vault.events.size(), 2U);
    EXPECT_EQ(vault.events[0].payload, R"({"kid":"k1","new_kid":"k1","grace_ms":7,"gc_count":0})");
    EXPECT_EQ(vault.events[1].family, LogFamily::operator_);
    EXPECT_EQ(vault.events[1].type, "secret_rotated");
    EXPECT_EQ(vault.events[1].at, vault.now);
    EXPECT_EQ(vault.events[1].payload,
              R"({"previous_kid":"k1","kid":"k2","new_kid":"k2","grace_ms":7,"gc_count":0})");
}

TEST(WaitpointKeys, no_refusal_tells_a_secret) {
    Vault vault;
    const std::string secret = "5ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7e75ec7";
    vault.seed("k1", secret);
    const auto is_silent = [](const std::string& text) {
        return text.find("5ec7e7") == std::string::npos;
    };
    EXPECT_TRUE(is_silent(vault.seed("k2", secret)));
    EXPECT_TRUE(is_silent(vault.seed("k2", secret + "z")));
    EXPECT_TRUE(is_silent(vault.rotate("k1", secret_a)));
    EXPECT_TRUE(is_silent(vault.rotate("k2", secret + "5")));
    EXPECT_TRUE(is_silent(vault.rotate("k2", secret, -1)));
}

// -------------------------------------------------------------------------------------- sealing

TEST(WaitpointKeys, rest_sealed_when_the_keystore_seals) {
    Vault vault(std::string(32, 'S'));
    EXPECT_EQ(vault.seed("k1", secret_a), "seeded k1");
    EXPECT_TRUE(vault.rows[0].sealed);
    EXPECT_EQ(vault.rows[0].secret.find(std::string(4, '\xaa')), std::string::npos);
    EXPECT_EQ(vault.seed("k1", secret_a), "same k1");
    const Holder of_k1(vault);
    EXPECT_EQ(vault.rotate("k2", secret_b), "k1->k2 gc 0");
    EXPECT_EQ(vault.rotate("k2", secret_b), "noop k2");
    EXPECT_EQ(of_k1.signal(), "ok");
}

TEST(WaitpointKeys, that_rest_in_the_open_are_sealed_later) {
    Vault open;
    open.seed("A", secret_a);
    open.rotate("B", secret_b, 0);
    open.now += 1;
    open.rotate("C", secret_c, 5'000);
    open.rotate("D", std::string(64, 'd'), 5'000);
    Vault sealing(std::string(32, 'S'));
    sealing.rows = open.rows;
    ASSERT_TRUE(sealing.run(SealSecrets{}));
    ASSERT_EQ(sealing.rows.size(), 4U);
    EXPECT_EQ(sealing.rows[0], open.rows[0]) << "nothing is left of A that could be sealed";
    for (const std::size_t i : {2U, 3U}) {
        EXPECT_TRUE(sealing.rows[i].sealed);
        EXPECT_EQ(sealing.rows[i].secret.find(open.rows[i].secret), std::string::npos);
        EXPECT_EQ(sealing.rows[i].is_current, open.rows[i].is_current);
        EXPECT_EQ(sealing.rows[i].expires_at, open.rows[i].expires_at);
    }
    EXPECT_EQ(sealing.rotate("D", std::string(64, 'd')), "noop D") << "the secret is the same";
    const auto rows = sealing.rows;
    ASSERT_TRUE(sealing.run(SealSecrets{}));
    EXPECT_EQ(sealing.rows, rows) << "what is sealed stays as it is";
}

TEST(WaitpointKeys, sealed_with_another_key_are_an_invalid_secret) {
    Vault vault(std::string(32, 'S'));
    vault.seed("k1", secret_a);
    Vault other(std::string(32, 'T'));
    other.rows = vault.rows;
    EXPECT_EQ(other.seed("k1", secret_a), "invalid_secret: k1");
    EXPECT_EQ(other.rotate("k1", secret_a), "invalid_secret: k1");
    EXPECT_EQ(other.rotate("k2", secret_b), "k1->k2 gc 0") << "the way out";
}

TEST(WaitpointKeys, are_listed_by_expiry_and_kid) {
    Vault vault;
    for (const auto& [kid, expiry] : {std::pair("b", 5), std::pair("a", 5), std::pair("c", 1),
                                      std::pair("d", -1), std::pair("e", 0)}) {
        HmacKey& key = vault.rows.emplace_back();
        key.kid = kid;
        key.expires_at = vault.now + expiry;
    }
    vault.rows.emplace_back().kid = "no expiry";
    EXPECT_EQ(vault.list(), "none | e@0 c@1 a@5 b@5");
}

}  // namespace
}  // namespace ff::core
