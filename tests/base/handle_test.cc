#include <ff/handle.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace ff {
namespace {

Handle sample() {
    Handle handle;
    handle.kind = HandleKind::resumed;
    handle.backend = BackendTag::sqlite;
    handle.execution_id =
        ExecutionId::parse("{fp:181}:0f8fad5b-d9cb-469f-a165-70867728950e").value();
    handle.attempt_index = 3;
    handle.attempt_id = AttemptId::parse("11111111-2222-3333-4444-555555555555").value();
    handle.lease_id = LeaseId::parse("66666666-7777-8888-9999-aaaaaaaaaaaa").value();
    handle.lease_epoch = 0x0102030405060708;
    handle.lease_ttl_ms = 30'000;
    handle.lane_id = "gpu";
    handle.worker_instance_id = "container-7f3a";
    return handle;
}

constexpr std::size_t id_length_at = 3;
constexpr std::size_t id_at = id_length_at + 4;
constexpr std::size_t id_bytes = 8 + 2 + 36 - 1;  // {fp:181}: and a UUID
constexpr std::size_t attempt_index_at = id_at + id_bytes;
constexpr std::size_t attempt_id_at = attempt_index_at + 4 + 4;
constexpr std::size_t lease_id_at = attempt_id_at + 36 + 4;
constexpr std::size_t epoch_at = lease_id_at + 36;
constexpr std::size_t ttl_at = epoch_at + 8;
constexpr std::size_t lane_length_at = ttl_at + 8;

std::string fault_of(std::string_view bytes) {
    const auto handle = Handle::decode(bytes);
    if (handle) {
        return "accepted";
    }
    EXPECT_EQ(handle.error().code, ErrorCode::corruption);
    EXPECT_TRUE(handle.error().detail.starts_with("handle_codec: ")) << handle.error().detail;
    return handle.error().detail;
}

std::string with_byte(std::size_t at, int value) {
    std::string bytes = sample().encode();
    bytes.at(at) = static_cast<char>(value);
    return bytes;
}

TEST(HandleCodec, layout_is_little_endian_with_length_prefixed_strings) {
    const std::string bytes = sample().encode();
    EXPECT_EQ(bytes.substr(0, 3), std::string("\x02\x01\x03"));
    EXPECT_EQ(bytes.substr(id_length_at, 4), std::string("\x2d\0\0\0", 4));
    EXPECT_EQ(bytes.substr(id_at, id_bytes), "{fp:181}:0f8fad5b-d9cb-469f-a165-70867728950e");
    EXPECT_EQ(bytes.substr(attempt_index_at, 4), std::string("\x03\0\0\0", 4));
    EXPECT_EQ(bytes.substr(attempt_id_at, 36), "11111111-2222-3333-4444-555555555555");
    EXPECT_EQ(bytes.substr(lease_id_at, 36), "66666666-7777-8888-9999-aaaaaaaaaaaa");
    EXPECT_EQ(bytes.substr(epoch_at, 8), "\x08\x07\x06\x05\x04\x03\x02\x01");
    EXPECT_EQ(bytes.substr(ttl_at, 8), std::string("\x30\x75\0\0\0\0\0\0", 8));
    EXPECT_EQ(bytes.substr(lane_length_at),
              std::string("\x03\0\0\0gpu\x0e\0\0\0", 11) + "container-7f3a");
}

TEST(HandleCodec, bytes_round_trip_and_the_kind_travels_beside_them) {
    const Handle handle = sample();
    EXPECT_EQ(Handle::decode(handle.encode(), HandleKind::resumed).value(), handle);
    EXPECT_EQ(Handle::decode(handle.encode()).value().kind, HandleKind::fresh);
}

TEST(HandleCodec, any_handle_round_trips_as_bytes_and_as_text) {
    EXPECT_TRUE(rc::check(
        [](std::uint16_t partition, std::uint32_t index, std::uint64_t epoch, std::uint64_t seed) {
            SeededIdSource ids(seed);
            Handle handle;
            handle.kind = *rc::gen::element(HandleKind::fresh, HandleKind::resumed,
                                            HandleKind::suspended, HandleKind::reclaimed);
            handle.backend =
                *rc::gen::element(BackendTag::reserved, BackendTag::postgres, BackendTag::sqlite);
            handle.execution_id = {partition, ids.uuid(1)};
            handle.attempt_index = index;
            handle.attempt_id = {ids.uuid(2)};
            handle.lease_id = {ids.uuid(3)};
            handle.lease_epoch = epoch;
            handle.lease_ttl_ms = static_cast<DurationMs>(ids.uniform(3'600'000));
            handle.lane_id = *rc::gen::element<std::string>("", "default", "東京", "a b");
            handle.worker_instance_id = std::string(ids.uniform(300), 'w');
            RC_ASSERT(Handle::decode(handle.encode(), handle.kind).value() == handle);
            RC_ASSERT(Handle::parse_text(handle.to_text()).value() == handle);
        }));
}

TEST(HandleCodec, every_truncation_is_corruption) {
    const std::string bytes = sample().encode();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const std::string fault = fault_of(std::string(bytes, 0, size));
        EXPECT_TRUE(fault.starts_with("handle_codec: truncated at offset ")) << size << fault;
    }
    EXPECT_EQ(fault_of(""), "handle_codec: truncated at offset 0");
}

TEST(HandleCodec, every_changed_byte_either_decodes_or_is_corruption) {
    const std::string bytes = sample().encode();
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            const auto handle = Handle::decode(with_byte(at, value));
            if (!handle) {
                EXPECT_EQ(handle.error().code, ErrorCode::corruption);
            }
        }
    }
}

TEST(HandleCodec, arbitrary_bytes_never_crash) {
    EXPECT_TRUE(rc::check([](const std::string& bytes) {
        RC_ASSERT(!Handle::decode(bytes).has_value());
        RC_ASSERT(!Handle::decode("\x02\x01\x03" + bytes).has_value());
    }));
}

TEST(HandleCodec, bytes_left_over_are_corruption) {
    const std::string bytes = sample().encode();
    EXPECT_EQ(fault_of(bytes + "x"),
              "handle_codec: bytes left over at offset " + std::to_string(bytes.size()));
}

TEST(HandleCodec, any_first_byte_but_the_magic_is_corruption_the_old_layout_included) {
    for (int value = 0; value < 256; ++value) {
        if (value != 0x02) {
            EXPECT_EQ(fault_of(with_byte(0, value)),
                      "handle_codec: unknown first byte " + std::to_string(value));
        }
    }
}

TEST(HandleCodec, any_other_wire_version_is_corruption) {
    EXPECT_EQ(fault_of(with_byte(1, 0)), "handle_codec: unknown wire version 0");
    EXPECT_EQ(fault_of(with_byte(1, 2)), "handle_codec: unknown wire version 2");
}

TEST(HandleCodec, exactly_the_three_backend_tags_are_known) {
    for (int value = 0; value < 256; ++value) {
        const std::string fault = fault_of(with_byte(2, value));
        if (value >= 1 && value <= 3) {
            EXPECT_EQ(fault, "accepted");
        } else {
            EXPECT_EQ(fault, "handle_codec: unknown backend tag " + std::to_string(value));
        }
    }
}

TEST(HandleCodec, a_length_above_one_mebibyte_is_truncated_even_when_the_bytes_are_there) {
    std::string bytes = "\x02\x01\x03";
    bytes += std::string("\x01\x00\x10\x00", 4);  // 2^20 + 1
    bytes += std::string((1 << 20) + 100, 'x');
    EXPECT_EQ(fault_of(bytes), "handle_codec: truncated at offset 7");
    EXPECT_EQ(fault_of(std::string("\x02\x01\x03\xff\xff\xff\xff", 7)),
              "handle_codec: truncated at offset 7");
}

TEST(HandleCodec, a_field_that_does_not_parse_is_named) {
    EXPECT_EQ(fault_of(with_byte(id_at, 'x')), "handle_codec: invalid execution_id: missing tag");
    EXPECT_EQ(fault_of(with_byte(attempt_id_at, 'x')), "handle_codec: invalid attempt_id");
    EXPECT_EQ(fault_of(with_byte(lease_id_at, 'x')), "handle_codec: invalid lease_id");
    EXPECT_EQ(fault_of(with_byte(ttl_at + 7, 0x80)), "handle_codec: invalid lease_ttl_ms");
    EXPECT_EQ(fault_of(with_byte(lane_length_at + 4, 0xFF)), "handle_codec: bad UTF-8 in lane_id");
    EXPECT_EQ(fault_of(with_byte(lane_length_at + 11, 0xFF)),
              "handle_codec: bad UTF-8 in worker_instance_id");
}

// ---------------------------------------------------------------------------------- text form

TEST(HandleText, names_version_and_kind_before_the_bytes) {
    Handle handle = sample();
    EXPECT_TRUE(handle.to_text().starts_with("ff1.resumed."));
    handle.kind = HandleKind::fresh;
    EXPECT_EQ(handle.to_text(), "ff1.fresh." + base64url_encode(handle.encode()));
}

TEST(HandleText, faults_are_corruption) {
    const auto fault = [](std::string_view text) {
        const auto handle = Handle::parse_text(text);
        EXPECT_EQ(handle.error().code, ErrorCode::corruption);
        return handle.error().detail;
    };
    EXPECT_EQ(fault(""), "handle_codec: text does not start with ff1.");
    EXPECT_EQ(fault("ff2.fresh.AgED"), "handle_codec: text does not start with ff1.");
    EXPECT_EQ(fault("ff1.fresh"), "handle_codec: text has no kind");
    EXPECT_EQ(fault("ff1.Fresh.AgED"), "handle_codec: unknown kind");
    EXPECT_EQ(fault("ff1..AgED"), "handle_codec: unknown kind");
    EXPECT_EQ(fault("ff1.fresh.Ag=="), "handle_codec: invalid base64url");
    EXPECT_EQ(fault("ff1.fresh."), "handle_codec: truncated at offset 0");
    EXPECT_EQ(fault("ff1.fresh.AgED"), "handle_codec: truncated at offset 3");
}

TEST(HandleText, redaction_keeps_twelve_characters_and_nothing_of_the_lease) {
    EXPECT_EQ(sample().redacted(), "ff1.resumed.…");
    Handle handle = sample();
    handle.kind = HandleKind::fresh;
    EXPECT_EQ(handle.redacted(), "ff1.fresh.Ag…");
}

// ---------------------------------------------------------------------------------- base64url

TEST(Base64Url, follows_the_vectors_of_the_rfc_without_padding) {
    const std::pair<std::string_view, std::string_view> vectors[] = {
        {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
        {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xfb\xff\xbf", "-_-_"}};
    for (const auto& [bytes, text] : vectors) {
        EXPECT_EQ(base64url_encode(bytes), text);
        EXPECT_EQ(base64url_decode(text), bytes);
    }
}

TEST(Base64Url, padding_other_alphabets_blanks_and_impossible_lengths_are_refused) {
    for (const char* text : {"Zg==", "Zm8=", "+/+/", "Zm 9v", "Zm9v\n", "Z", "Zm9vY", "Zm9v!"}) {
        EXPECT_FALSE(base64url_decode(text)) << text;
    }
    EXPECT_FALSE(base64url_decode(std::string_view("Zm9\0", 4)));
}

TEST(Base64Url, left_over_bits_must_be_zero) {
    EXPECT_FALSE(base64url_decode("Zh"));
    EXPECT_FALSE(base64url_decode("Zm9"));
}

TEST(Base64Url, any_bytes_round_trip) {
    EXPECT_TRUE(rc::check([](const std::string& bytes) {
        RC_ASSERT(base64url_decode(base64url_encode(bytes)) == bytes);
    }));
}

TEST(Base64Url, bytes_have_exactly_one_spelling) {
    std::size_t accepted = 0;
    for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) {
            const std::string text = {static_cast<char>(first), static_cast<char>(second)};
            if (const auto bytes = base64url_decode(text)) {
                EXPECT_EQ(base64url_encode(*bytes), text);
                ++accepted;
            }
        }
    }
    EXPECT_EQ(accepted, 256U);
}

}  // namespace
}  // namespace ff
