#include <ff/ids.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <unordered_set>

namespace ff {
namespace {

constexpr std::string_view sample_text = "0f8fad5b-d9cb-469f-a165-70867728950e";
constexpr PartitionCounts default_counts{.flow = 256, .budget = 32, .quota = 32};

Uuid uuid_of(std::string_view text) { return Uuid::parse(text).value(); }

Uuid random_uuid() {
    Uuid id;
    for (std::uint8_t& byte : id.bytes) {
        byte = *rc::gen::arbitrary<std::uint8_t>();
    }
    return id;
}

std::string detail_of(const expected<void>& result) {
    if (result) {
        return "accepted";
    }
    EXPECT_EQ(result.error().code, ErrorCode::invalid_input);
    return result.error().detail;
}

// ---------------------------------------------------------------------------------------- Uuid

TEST(Uuid, text_is_lower_case_and_hyphenated) {
    EXPECT_EQ(uuid_of("0F8FAD5B-D9CB-469F-A165-70867728950E").to_string(), sample_text);
    EXPECT_EQ(Uuid{}.to_string(), "00000000-0000-0000-0000-000000000000");
}

TEST(Uuid, bytes_are_in_network_order) {
    EXPECT_EQ(uuid_of(sample_text).bytes[0], 0x0f);
    EXPECT_EQ(uuid_of(sample_text).bytes[15], 0x0e);
}

TEST(Uuid, any_version_is_accepted_nil_included) {
    EXPECT_TRUE(Uuid::parse("00000000-0000-0000-0000-000000000000"));
    EXPECT_TRUE(Uuid::parse("ffffffff-ffff-ffff-ffff-ffffffffffff"));
    EXPECT_TRUE(Uuid::parse("0190163d-8694-739b-aea5-966c26f8ad91"));
}

TEST(Uuid, other_spellings_are_refused) {
    EXPECT_FALSE(Uuid::parse(""));
    EXPECT_FALSE(Uuid::parse("0f8fad5bd9cb469fa16570867728950e"));
    EXPECT_FALSE(Uuid::parse("{0f8fad5b-d9cb-469f-a165-70867728950e}"));
    EXPECT_FALSE(Uuid::parse("urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e"));
    EXPECT_FALSE(Uuid::parse(" 0f8fad5b-d9cb-469f-a165-70867728950e"));
    EXPECT_FALSE(Uuid::parse("0f8fad5b-d9cb-469f-a165-70867728950"));
    EXPECT_FALSE(Uuid::parse("0f8fad5b-d9cb-469f-a165-70867728950e0"));
    EXPECT_FALSE(Uuid::parse("0f8fad5bd-9cb-469f-a165-70867728950e"));
    EXPECT_FALSE(Uuid::parse("0f8fad5b_d9cb_469f_a165_70867728950e"));
}

TEST(Uuid, a_wrong_character_in_any_place_is_refused) {
    for (std::size_t i = 0; i < sample_text.size(); ++i) {
        for (const char wrong : {'g', 'G', '/', ':', '@', '`', ' ', '\0', '\xff'}) {
            std::string text(sample_text);
            text[i] = wrong;
            EXPECT_FALSE(Uuid::parse(text)) << i << " " << static_cast<int>(wrong);
        }
    }
}

TEST(Uuid, text_and_raw_forms_round_trip) {
    EXPECT_TRUE(rc::check([] {
        const Uuid id = random_uuid();
        RC_ASSERT(Uuid::parse(id.to_string()) == id);
        RC_ASSERT(Uuid::from_raw(id.raw()) == id);
    }));
}

TEST(Uuid, raw_form_has_exactly_sixteen_bytes) {
    EXPECT_EQ(Uuid{}.raw().size(), 16U);
    EXPECT_FALSE(Uuid::from_raw(std::string(15, 'x')));
    EXPECT_FALSE(Uuid::from_raw(std::string(17, 'x')));
}

TEST(Uuid, text_sorts_as_the_bytes_do) {
    EXPECT_TRUE(rc::check([] {
        const Uuid a = random_uuid();
        const Uuid b = random_uuid();
        RC_ASSERT((a < b) == (a.to_string() < b.to_string()));
        RC_ASSERT((a < b) == (a.raw() < b.raw()));
    }));
}

TEST(Uuid, kinds_of_ids_share_the_spelling) {
    EXPECT_EQ(LeaseId::parse(sample_text)->to_string(), sample_text);
    EXPECT_FALSE(LeaseId::parse("lease"));
}

TEST(Uuid, hashes_of_neighbours_differ_and_spread_over_low_bits) {
    std::unordered_set<std::size_t> hashes;
    std::set<std::size_t> low;
    SeededIdSource source(1);
    for (int i = 0; i < 4096; ++i) {
        const std::size_t hash = std::hash<Uuid>{}(source.uuid(1'700'000'000'000));
        hashes.insert(hash);
        low.insert(hash % 256);
    }
    EXPECT_EQ(hashes.size(), 4096U);
    EXPECT_EQ(low.size(), 256U);
}

TEST(Uuid, one_flipped_bit_changes_the_hash) {
    for (std::size_t bit = 0; bit < 128; ++bit) {
        Uuid id = uuid_of(sample_text);
        id.bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        EXPECT_NE(std::hash<Uuid>{}(id), std::hash<Uuid>{}(uuid_of(sample_text))) << bit;
    }
}

// ---------------------------------------------------------------------------------- partitions

TEST(Crc16, check_value_is_that_of_xmodem) {
    EXPECT_EQ(crc16_xmodem("123456789"), 0x31C3);
    EXPECT_EQ(crc16_xmodem(""), 0);
}

TEST(Crc16, table_agrees_with_the_polynomial_bit_by_bit) {
    EXPECT_TRUE(rc::check([](const std::string& bytes) {
        unsigned crc = 0;
        for (const char c : bytes) {
            crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
            for (int bit = 0; bit < 8; ++bit) {
                crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? 0x1021U : 0U);
            }
            crc &= 0xFFFF;
        }
        RC_ASSERT(crc16_xmodem(bytes) == crc);
    }));
}

TEST(Partition, of_lanes_follows_the_vectors) {
    EXPECT_EQ(partition_of_lane("default", 256), 86);
    EXPECT_EQ(partition_of_lane("gpu", 256), 144);
    EXPECT_EQ(partition_of_lane("a", 256), 135);
    EXPECT_EQ(partition_of_lane("worker-pool-1", 256), 77);
}

TEST(Partition, of_uuids_follows_the_vectors) {
    const Uuid id = uuid_of("11111111-2222-3333-4444-555555555555");
    EXPECT_EQ(partition_of(id, 256), 181);
    EXPECT_EQ(partition_of(id, 32), 21);
    EXPECT_EQ(partition_of(Uuid{}, 256), 0);
}

TEST(Partition, of_a_single_one_is_zero) {
    EXPECT_EQ(partition_of_lane("default", 1), 0);
    EXPECT_EQ(partition_of(uuid_of(sample_text), 1), 0);
}

TEST(PartitionDeathTest, a_count_of_zero_is_a_bug) {
    EXPECT_DEATH(partition_of_lane("default", 0), "partition count of zero");
}

TEST(PartitionKey, text_and_parse_round_trip_for_every_family) {
    using Family = PartitionKey::Family;
    for (const auto& [text, key] : {std::pair{"{fp:7}", PartitionKey{Family::flow, 7}},
                                    std::pair{"{b:0}", PartitionKey{Family::budget, 0}},
                                    std::pair{"{q:65535}", PartitionKey{Family::quota, 65535}}}) {
        EXPECT_EQ(key.to_string(), text);
        EXPECT_EQ(PartitionKey::parse(text).value(), key);
    }
}

TEST(PartitionKey, each_fault_is_named) {
    const auto detail = [](std::string_view text) {
        return PartitionKey::parse(text).error().detail;
    };
    for (const char* text : {"", "{", "}", "fp:7", "{fp:7", "fp:7}"}) {
        EXPECT_EQ(detail(text), "missing braces") << text;
    }
    EXPECT_EQ(detail("{}"), "body not <prefix>:<index>");
    EXPECT_EQ(detail("{fp7}"), "body not <prefix>:<index>");
    EXPECT_EQ(detail("{x:7}"), "unknown prefix");
    EXPECT_EQ(detail("{FP:7}"), "unknown prefix");
    for (const char* text : {"{fp:}", "{fp:x}", "{fp:-1}", "{fp:+1}", "{fp:07}", "{fp:65536}",
                             "{fp:1:2}", "{fp: 1}"}) {
        EXPECT_EQ(detail(text), "index not u16") << text;
        EXPECT_EQ(PartitionKey::parse(text).error().code, ErrorCode::invalid_input);
    }
}

// --------------------------------------------------------------------------------- ExecutionId

std::string parse_fault(std::string_view text) {
    const auto id = ExecutionId::parse(text);
    if (id) {
        return "accepted";
    }
    EXPECT_EQ(id.error().code, ErrorCode::invalid_input);
    return id.error().detail;
}

std::string with_index(std::string_view index) {
    return "{fp:" + std::string(index) + "}:" + std::string(sample_text);
}

TEST(ExecutionId, parses_its_own_text) {
    const auto id = ExecutionId::parse(with_index("181"));
    ASSERT_TRUE(id);
    EXPECT_EQ(id->partition, 181);
    EXPECT_EQ(id->uuid, uuid_of(sample_text));
    EXPECT_EQ(id->to_string(), with_index("181"));
}

TEST(ExecutionId, upper_case_hex_is_lowered) {
    const auto id = ExecutionId::parse("{fp:0}:0F8FAD5B-D9CB-469F-A165-70867728950E");
    EXPECT_EQ(id.value().to_string(), with_index("0"));
}

TEST(ExecutionId, bare_uuid_is_refused_as_missing_tag) {
    EXPECT_EQ(parse_fault(sample_text), "missing tag");
}

TEST(ExecutionId, text_without_opening_or_closing_tag_is_refused_as_missing_tag) {
    for (const std::string_view text :
         {"", "{fp", "{fp:", "{fp:1", "{fp:1}", "{FP:1}:x", "{b:1}:x", " {fp:1}:x"}) {
        EXPECT_EQ(parse_fault(text), "missing tag") << text;
    }
    EXPECT_EQ(parse_fault("{fp:1}" + std::string(sample_text)), "missing tag");
}

TEST(ExecutionId, index_outside_u16_or_misspelled_is_refused) {
    for (const std::string_view index : {"", "x", "-1", "+1", "01", "00", "0x1", "1.0", " 1", "1 ",
                                         "65536", "99999999999999999999"}) {
        EXPECT_EQ(parse_fault(with_index(index)), "invalid partition index") << index;
    }
}

TEST(ExecutionId, every_u16_index_is_accepted_whatever_the_configured_count) {
    EXPECT_EQ(parse_fault(with_index("0")), "accepted");
    EXPECT_EQ(parse_fault(with_index("9")), "accepted");
    EXPECT_EQ(parse_fault(with_index("10")), "accepted");
    EXPECT_EQ(parse_fault(with_index("65535")), "accepted");
}

TEST(ExecutionId, suffix_that_is_no_hyphenated_uuid_is_refused) {
    for (const std::string_view suffix :
         {"", "x", "0f8fad5bd9cb469fa16570867728950e", "{0f8fad5b-d9cb-469f-a165-70867728950e}",
          "urn:uuid:0f8fad5b-d9cb-469f-a165-70867728950e",
          "0f8fad5b-d9cb-469f-a165-70867728950e "}) {
        EXPECT_EQ(parse_fault("{fp:1}:" + std::string(suffix)), "invalid uuid") << suffix;
    }
}

TEST(ExecutionId, text_and_raw_forms_round_trip_and_raw_sorts_like_the_pair) {
    EXPECT_TRUE(rc::check([](std::uint16_t p, std::uint16_t q) {
        const ExecutionId a{p, random_uuid()};
        const ExecutionId b{q, random_uuid()};
        RC_ASSERT(ExecutionId::parse(a.to_string()).value() == a);
        RC_ASSERT(ExecutionId::from_raw(a.raw()) == a);
        RC_ASSERT((a < b) == (a.raw() < b.raw()));
    }));
}

TEST(ExecutionId, raw_form_has_exactly_eighteen_bytes) {
    EXPECT_EQ(ExecutionId{}.raw().size(), 18U);
    for (const std::size_t size : {0U, 1U, 2U, 16U, 17U, 19U}) {
        EXPECT_FALSE(ExecutionId::from_raw(std::string(size, 'x'))) << size;
    }
}

TEST(ExecutionId, of_a_flow_member_carries_the_flows_partition_and_the_given_uuid) {
    const FlowId flow{uuid_of("11111111-2222-3333-4444-555555555555")};
    const auto id = ExecutionId::for_flow(flow, default_counts, uuid_of(sample_text));
    EXPECT_EQ(id.to_string(), with_index("181"));
}

TEST(ExecutionId, solo_carries_the_lanes_partition_and_the_given_uuid) {
    const auto id = ExecutionId::solo("default", default_counts, uuid_of(sample_text));
    EXPECT_EQ(id.to_string(), with_index("86"));
}

TEST(ExecutionId, ids_that_differ_only_in_partition_hash_differently) {
    const ExecutionId a{0, uuid_of(sample_text)};
    const ExecutionId b{1, uuid_of(sample_text)};
    EXPECT_NE(std::hash<ExecutionId>{}(a), std::hash<ExecutionId>{}(b));
}

// ------------------------------------------------------------------------------- stable hashes

TEST(Fnv, follows_the_published_vectors) {
    EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325U);
    EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cU);
    EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8U);
}

TEST(Fnv, low_sixteen_bits_spread_workers) {
    EXPECT_EQ((fnv1a64("worker-a") & 0xFFFF) % 256, 253U);
}

TEST(LogDigest, is_eight_hex_digits_of_both_halves) {
    EXPECT_EQ(log_digest("gpu,cuda"), "b21a6dfa");
    EXPECT_EQ(log_digest("").size(), 8U);
}

// --------------------------------------------------------------------------------------- names

TEST(Lane, printable_ascii_of_1_to_64_bytes_is_accepted) {
    EXPECT_EQ(detail_of(check_lane("lane_id", "a")), "accepted");
    EXPECT_EQ(detail_of(check_lane("lane_id", " ~")), "accepted");
    EXPECT_EQ(detail_of(check_lane("lane_id", std::string(64, 'x'))), "accepted");
}

TEST(Lane, faults_name_the_field_and_what_is_wrong) {
    EXPECT_EQ(detail_of(check_lane("lane_id", "")), "lane_id: must not be empty");
    EXPECT_EQ(detail_of(check_lane("lane", std::string(65, 'x'))),
              "lane: exceeds 64 bytes (got 65)");
    EXPECT_EQ(detail_of(check_lane("lane_id", "ab\tc")), "lane_id: non-printable byte at index 2");
}

TEST(Lane, exactly_the_bytes_0x20_to_0x7e_are_printable) {
    for (int byte = 0; byte < 256; ++byte) {
        const std::string lane = {'x', static_cast<char>(byte)};
        EXPECT_EQ(check_lane("lane_id", lane).has_value(), byte >= 0x20 && byte <= 0x7E) << byte;
    }
}

TEST(Lane, length_is_judged_before_the_bytes) {
    EXPECT_EQ(detail_of(check_lane("l", std::string(70, '\n'))), "l: exceeds 64 bytes (got 70)");
}

TEST(WorkerName, text_without_blanks_of_1_to_256_bytes_is_accepted) {
    EXPECT_EQ(detail_of(check_worker_name("worker_id", "worker-gpu-pool")), "accepted");
    EXPECT_EQ(detail_of(check_worker_name("worker_id", "東京-1")), "accepted");
    EXPECT_EQ(detail_of(check_worker_name("worker_id", std::string(256, 'x'))), "accepted");
}

TEST(WorkerName, faults_name_the_field_and_what_is_wrong) {
    EXPECT_EQ(detail_of(check_worker_name("worker_id", "")), "worker_id: must not be empty");
    EXPECT_EQ(detail_of(check_worker_name("worker_id", std::string(257, 'x'))),
              "worker_id: exceeds 256 bytes (got 257)");
    EXPECT_EQ(detail_of(check_worker_name("worker_id", "\xff")), "worker_id: not valid UTF-8");
}

TEST(WorkerName, whitespace_and_controls_are_refused_unicode_ones_included) {
    for (const char* text : {"a b", "a\tb", "a\n", "\x7f", "\x01", "a\u0085", "a\u00A0", "\u2003x",
                             "a\u3000b", "\u2028", "a\u009fb"}) {
        EXPECT_EQ(detail_of(check_worker_name("worker_instance_id", text)),
                  "worker_instance_id: must not contain whitespace or control characters")
            << text;
    }
    EXPECT_FALSE(check_worker_name("w", std::string_view("a\0b", 3)));
}

TEST(Namespace, blanks_are_fine_and_controls_are_not) {
    EXPECT_EQ(detail_of(check_namespace("namespace", "my tenant")), "accepted");
    EXPECT_EQ(detail_of(check_namespace("namespace", std::string(256, 'x'))), "accepted");
    EXPECT_EQ(detail_of(check_namespace("namespace", "")), "namespace: must not be empty");
    EXPECT_EQ(detail_of(check_namespace("namespace", std::string(257, 'x'))),
              "namespace: exceeds 256 bytes (got 257)");
    for (const char* text : {"a\tb", "\x1f", "\x7f", "a\u0080", "\n"}) {
        EXPECT_EQ(detail_of(check_namespace("namespace", text)),
                  "namespace: must not contain control characters")
            << text;
    }
    EXPECT_EQ(detail_of(check_namespace("namespace", "\xC0\x80")), "namespace: not valid UTF-8");
}

TEST(Label, bounds_are_inclusive) {
    EXPECT_EQ(detail_of(check_label("f", "", 0, 4)), "accepted");
    EXPECT_EQ(detail_of(check_label("f", "abcd", 0, 4)), "accepted");
    EXPECT_EQ(detail_of(check_label("f", "abcde", 0, 4)), "f: exceeds 4 bytes (got 5)");
    EXPECT_EQ(detail_of(check_label("f", "ab", 2, 4)), "accepted");
    EXPECT_EQ(detail_of(check_label("f", "a", 2, 4)), "f: shorter than 2 bytes (got 1)");
    EXPECT_EQ(detail_of(check_label("f", "", 2, 4)), "f: must not be empty");
}

TEST(TagKey, the_namespaced_form_is_accepted) {
    for (const char* key :
         {"a.b", "a1_2.x", "app.sub.field", "cairn.session_id", "a._", "a.0", "a.b..", "z_.9"}) {
        EXPECT_TRUE(is_namespaced_tag_key(key)) << key;
    }
}

TEST(TagKey, every_other_form_is_refused) {
    for (const char* key :
         {"",         "Cairn.x",   "1c.x",          "cairn",     "cairn.", "cairn..x", ".cairn",
          "ca-irn.x", "cairn.Foo", "cairn.foo-bar", "cairn.a b", " a.b",   "a.b ",     "cairn.\"x",
          "cairn.'x", "cairn.\\x", "_a.b",          ".",         "a.é",    "a.b\n"}) {
        EXPECT_FALSE(is_namespaced_tag_key(key)) << key;
    }
}

// ---------------------------------------------------------------------------------------- text

TEST(Utf8, well_formed_text_is_valid) {
    for (const char* text :
         {"", "plain ascii, longer than eight bytes", "é", "東京-gpu", "😀", "\u0080", "\u07ff",
          "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"}) {
        EXPECT_TRUE(is_valid_utf8(text)) << text;
    }
    EXPECT_TRUE(is_valid_utf8(std::string_view("\0", 1)));
}

TEST(Utf8, malformed_text_is_not_valid_wherever_it_stands) {
    const std::string_view bad[] = {
        "\x80",              // continuation without a lead
        "\xBF",              //
        "\xC0\x80",          // overlong NUL
        "\xC1\xBF",          // overlong two
        "\xE0\x80\x80",      // overlong three
        "\xE0\x9F\xBF",      //
        "\xF0\x80\x80\x80",  // overlong four
        "\xF0\x8F\xBF\xBF",  //
        "\xED\xA0\x80",      // first surrogate
        "\xED\xBF\xBF",      // last surrogate
        "\xF4\x90\x80\x80",  // above U+10FFFF
        "\xF5\x80\x80\x80",  //
        "\xF8\x88\x80\x80",  // five-byte form
        "\xFE",              //
        "\xFF",              //
        "\xC3",              // cut
        "\xE6\x9D",          //
        "\xF0\x9F\x98",      //
        "\xC3\x28",          // continuation missing
        "\xE2\x28\xA1",      //
        "\xF0\x28\x8C\xBC",  //
    };
    for (const std::string_view bytes : bad) {
        for (std::size_t before = 0; before < 10; ++before) {
            const std::string text = std::string(before, 'x') + std::string(bytes);
            EXPECT_FALSE(is_valid_utf8(text)) << ::testing::PrintToString(text);
            EXPECT_FALSE(is_valid_utf8(text + "tail of ascii")) << ::testing::PrintToString(text);
        }
    }
}

TEST(ReadableText, keeps_what_can_be_kept_of_any_bytes) {
    EXPECT_EQ(readable_text("aé", 9), "aé");
    EXPECT_EQ(readable_text(std::string("a\0b", 3), 9), "a?b");
    EXPECT_EQ(readable_text("a\xff"
                            "b",
                            9),
              "a?b");
    EXPECT_EQ(readable_text("aé", 2), "a");
}

TEST(TruncateUtf8, short_text_is_left_alone) {
    EXPECT_EQ(truncate_utf8("abc", 3), "abc");
    EXPECT_EQ(truncate_utf8("", 0), "");
}

TEST(TruncateUtf8, never_cuts_a_character) {
    EXPECT_EQ(truncate_utf8("abc", 2), "ab");
    EXPECT_EQ(truncate_utf8("aé", 2), "a");
    EXPECT_EQ(truncate_utf8("aé", 3), "aé");
    for (const std::size_t bytes_max : {0U, 1U, 2U, 3U}) {
        EXPECT_EQ(truncate_utf8("😀", bytes_max), "") << bytes_max;
    }
    EXPECT_EQ(truncate_utf8("😀😀", 7), "😀");
}

TEST(TruncateUtf8, of_bytes_that_are_no_text_still_keeps_the_bound) {
    EXPECT_EQ(truncate_utf8(std::string(100, '\x80'), 10).size(), 10U);
}

TEST(TruncateUtf8, valid_text_stays_valid_and_loses_at_most_three_bytes_more_than_needed) {
    EXPECT_TRUE(rc::check([] {
        const auto pieces = *rc::gen::container<std::vector<std::string>>(
            rc::gen::element<std::string>("a", "é", "東", "😀"));
        std::string text;
        for (const std::string& piece : pieces) {
            text += piece;
        }
        const auto bytes_max = *rc::gen::inRange<std::size_t>(0, 40);
        const std::string cut = truncate_utf8(text, bytes_max);
        RC_ASSERT(is_valid_utf8(cut));
        RC_ASSERT(text.starts_with(cut));
        RC_ASSERT(cut.size() <= bytes_max);
        RC_ASSERT(cut.size() + 3 >= std::min(text.size(), bytes_max));
    }));
}

// ----------------------------------------------------------------------------------- id sources

void expect_version_7(const Uuid& id, TimestampMs stamp) {
    TimestampMs read = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        read = (read << 8) | id.bytes[i];
    }
    EXPECT_EQ(read, stamp);
    EXPECT_EQ(id.bytes[6] >> 4, 7);
    EXPECT_EQ(id.bytes[8] >> 6, 2);
}

TEST(IdSource, ids_are_version_7_stamped_with_the_given_time) {
    SystemIdSource system;
    SeededIdSource seeded(7);
    for (const TimestampMs now : {TimestampMs{0}, TimestampMs{1'700'000'000'123}}) {
        expect_version_7(system.uuid(now), now);
        expect_version_7(seeded.uuid(now), now);
    }
}

TEST(IdSource, later_ids_sort_after_earlier_ones) {
    SystemIdSource source;
    EXPECT_LT(source.uuid(1'700'000'000'000), source.uuid(1'700'000'000'001));
}

TEST(IdSource, system_ids_do_not_repeat_over_many_refills_of_the_pool) {
    SystemIdSource source;
    std::unordered_set<Uuid> seen;
    for (int i = 0; i < 20'000; ++i) {
        EXPECT_TRUE(seen.insert(source.uuid(1)).second);
    }
}

TEST(IdSource, every_bit_that_is_not_fixed_takes_both_values) {
    SystemIdSource system;
    SeededIdSource seeded(3);
    for (IdSource* source : {static_cast<IdSource*>(&system), static_cast<IdSource*>(&seeded)}) {
        Uuid ones;
        Uuid zeros;
        for (int i = 0; i < 200; ++i) {
            const Uuid id = source->uuid(0);
            for (std::size_t b = 0; b < 16; ++b) {
                ones.bytes[b] = static_cast<std::uint8_t>(ones.bytes[b] | id.bytes[b]);
                zeros.bytes[b] = static_cast<std::uint8_t>(zeros.bytes[b] | ~id.bytes[b]);
            }
        }
        EXPECT_EQ(ones.to_string(), "00000000-0000-7fff-bfff-ffffffffffff");
        EXPECT_EQ(zeros.to_string(), "ffffffff-ffff-8fff-7fff-ffffffffffff");
    }
}

TEST(IdSource, the_same_seed_gives_the_same_ids_and_another_seed_others) {
    SeededIdSource a(42);
    SeededIdSource b(42);
    SeededIdSource c(43);
    EXPECT_EQ(a.uuid(5), b.uuid(5));
    EXPECT_EQ(a.uniform(1000), b.uniform(1000));
    EXPECT_NE(a.uuid(5), c.uuid(5));
}

TEST(IdSource, splitmix_follows_its_published_vector) {
    SeededIdSource source(1234567);
    EXPECT_EQ(source.uniform(~std::uint64_t{0}), 6457827717110365317U);
    EXPECT_EQ(source.uniform(~std::uint64_t{0}), 3203168211198807973U);
}

TEST(IdSource, uniform_reaches_both_ends_and_nothing_beyond) {
    SystemIdSource system;
    SeededIdSource seeded(9);
    for (IdSource* source : {static_cast<IdSource*>(&system), static_cast<IdSource*>(&seeded)}) {
        std::set<std::uint64_t> seen;
        for (int i = 0; i < 500; ++i) {
            seen.insert(source->uniform(3));
        }
        EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3}));
        EXPECT_EQ(source->uniform(0), 0U);
        EXPECT_LE(source->uniform((std::uint64_t{1} << 63) + 1), (std::uint64_t{1} << 63) + 1);
    }
}

TEST(NewUuid, is_stamped_with_the_wall_clock_and_unique) {
    const auto wall = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
    const Uuid a = new_uuid();
    const Uuid b = new_uuid();
    EXPECT_NE(a, b);
    TimestampMs stamp = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        stamp = (stamp << 8) | a.bytes[i];
    }
    EXPECT_GE(stamp, wall);
    EXPECT_LT(stamp, wall + 60'000);
}

TEST(NewUuid, a_forked_process_does_not_repeat_its_parents_ids) {
    new_uuid();  // fills the pool both would otherwise share
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const std::string raw = new_uuid().raw();
        const bool sent = write(ends[1], raw.data(), raw.size()) == 16;
        _exit(sent ? 0 : 1);
    }
    std::string raw(16, '\0');
    ASSERT_EQ(read(ends[0], raw.data(), raw.size()), 16);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    EXPECT_NE(raw.substr(8), new_uuid().raw().substr(8));
}

}  // namespace
}  // namespace ff
