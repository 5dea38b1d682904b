#include <ff/ids.h>

#include "base/check.h"
#include "base/utf8.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <limits>
#include <ranges>

namespace ff {
namespace {

constexpr std::size_t uuid_text_bytes = 36;
constexpr std::string_view flow_tag_open = "{fp:";
constexpr std::string_view flow_tag_close = "}:";

// ---------------------------------------------------------------------------------- hex tables

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::uint8_t not_hex = 0xFF;

constexpr std::array<std::uint8_t, 256> hex_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(not_hex);
    for (std::uint8_t i = 0; i < 16; ++i) {
        const auto digit = static_cast<unsigned char>(hex_digits[i]);
        values[digit] = i;
        if (i >= 10) {
            values[digit - 'a' + 'A'] = i;
        }
    }
    return values;
}();

/// Where in the text each byte's two digits stand.
constexpr std::array<std::uint8_t, 16> uuid_digit_places = {0,  2,  4,  6,  9,  11, 14, 16,
                                                            19, 21, 24, 26, 28, 30, 32, 34};
constexpr std::array<std::uint8_t, 4> uuid_hyphen_places = {8, 13, 18, 23};

/// Writes exactly `uuid_text_bytes` characters.
void write_uuid(char* out, const Uuid& id) {
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        char* place = out + uuid_digit_places[i];
        place[0] = hex_digits[id.bytes[i] >> 4];
        place[1] = hex_digits[id.bytes[i] & 0x0F];
    }
    for (const std::size_t place : uuid_hyphen_places) {
        out[place] = '-';
    }
}

/// A decimal number of the one spelling we accept: no sign, no leading zero, at most 65535.
std::optional<std::uint16_t> parse_index(std::string_view text) {
    if (text.empty() || (text.size() > 1 && text[0] == '0')) {
        return std::nullopt;
    }
    std::uint16_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end) {
        return std::nullopt;
    }
    return value;
}

constexpr std::array<std::uint16_t, 256> crc16_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

std::string_view as_text(const Uuid& id) {
    return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

}  // namespace

// ---------------------------------------------------------------------------------------- Uuid

std::string Uuid::to_string() const {
    std::string text(uuid_text_bytes, '\0');
    write_uuid(text.data(), *this);
    return text;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
    if (text.size() != uuid_text_bytes) {
        return std::nullopt;
    }
    for (const std::size_t place : uuid_hyphen_places) {
        if (text[place] != '-') {
            return std::nullopt;
        }
    }
    // Bad digits are collected rather than tested one by one: the good case has no branches.
    Uuid id;
    unsigned seen = 0;
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        const std::size_t place = uuid_digit_places[i];
        const unsigned high = hex_values[static_cast<unsigned char>(text[place])];
        const unsigned low = hex_values[static_cast<unsigned char>(text[place + 1])];
        seen |= high | low;
        id.bytes[i] = static_cast<std::uint8_t>((high << 4) | low);
    }
    if (seen > 0x0F) {
        return std::nullopt;
    }
    return id;
}

std::string Uuid::raw() const { return std::string(as_text(*this)); }

std::optional<Uuid> Uuid::from_raw(std::string_view raw) {
    Uuid id;
    if (raw.size() != id.bytes.size()) {
        return std::nullopt;
    }
    std::memcpy(id.bytes.data(), raw.data(), raw.size());
    return id;
}

// ---------------------------------------------------------------------------------- partitions

std::uint16_t crc16_xmodem(std::string_view bytes) {
    unsigned crc = 0;
    for (const char c : bytes) {
        const unsigned row = (crc >> 8) ^ static_cast<unsigned char>(c);
        crc = ((crc << 8) & 0xFFFF) ^ crc16_table[row];
    }
    return static_cast<std::uint16_t>(crc);
}

std::uint16_t partition_of(const Uuid& id, std::uint16_t count) {
    return partition_of_lane(as_text(id), count);
}

std::uint16_t partition_of_lane(std::string_view lane, std::uint16_t count) {
    FF_CHECK(count > 0, "a partition count of zero is refused when a store is opened");
    return static_cast<std::uint16_t>(crc16_xmodem(lane) % count);
}

std::uint64_t fnv1a64(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : bytes) {
        hash ^= static_cast<unsigned char>(c);
        hash *= 0x100000001b3;
    }
    return hash;
}

std::string log_digest(std::string_view bytes) {
    const std::uint64_t hash = fnv1a64(bytes);
    auto half = static_cast<std::uint32_t>(hash >> 32) ^ static_cast<std::uint32_t>(hash);
    std::string text(8, '0');
    for (char& digit : std::views::reverse(text)) {
        digit = hex_digits[half & 0x0F];
        half >>= 4;
    }
    return text;
}

// --------------------------------------------------------------------------------- ExecutionId

std::string ExecutionId::to_string() const {
    std::array<char, 64> buffer;  // 4 + at most 5 digits + 2 + 36
    char* end = std::copy(flow_tag_open.begin(), flow_tag_open.end(), buffer.data());
    end = std::to_chars(end, buffer.data() + buffer.size(), partition).ptr;
    end = std::copy(flow_tag_close.begin(), flow_tag_close.end(), end);
    write_uuid(end, uuid);
    return std::string(buffer.data(), end + uuid_text_bytes);
}

expected<ExecutionId> ExecutionId::parse(std::string_view text) {
    if (!text.starts_with(flow_tag_open)) {
        return fail(ErrorCode::invalid_input, "missing tag");
    }
    text.remove_prefix(flow_tag_open.size());
    const std::size_t close = text.find(flow_tag_close);
    if (close == std::string_view::npos) {
        return fail(ErrorCode::invalid_input, "missing tag");
    }
    const auto index = parse_index(text.substr(0, close));
    if (!index) {
        return fail(ErrorCode::invalid_input, "invalid partition index");
    }
    const auto uuid = Uuid::parse(text.substr(close + flow_tag_close.size()));
    if (!uuid) {
        return fail(ErrorCode::invalid_input, "invalid uuid");
    }
    return ExecutionId{*index, *uuid};
}

std::string ExecutionId::raw() const {
    std::string bytes;
    bytes.reserve(2 + uuid.bytes.size());
    bytes.push_back(static_cast<char>(partition >> 8));
    bytes.push_back(static_cast<char>(partition & 0xFF));
    bytes.append(as_text(uuid));
    return bytes;
}

std::optional<ExecutionId> ExecutionId::from_raw(std::string_view raw) {
    if (raw.size() < 2) {
        return std::nullopt;
    }
    const auto uuid = Uuid::from_raw(raw.substr(2));
    if (!uuid) {
        return std::nullopt;
    }
    const unsigned high = static_cast<unsigned char>(raw[0]);
    const unsigned low = static_cast<unsigned char>(raw[1]);
    return ExecutionId{static_cast<std::uint16_t>((high << 8) | low), *uuid};
}

ExecutionId ExecutionId::for_flow(const FlowId& flow, const PartitionCounts& counts,
                                  const Uuid& uuid) {
    return {partition_of(flow.uuid, counts.flow), uuid};
}

ExecutionId ExecutionId::solo(std::string_view lane, const PartitionCounts& counts,
                              const Uuid& uuid) {
    return {partition_of_lane(lane, counts.flow), uuid};
}

// -------------------------------------------------------------------------------- PartitionKey

std::string PartitionKey::to_string() const {
    std::string text = family == Family::flow ? "{fp:" : family == Family::budget ? "{b:" : "{q:";
    text.append(std::to_string(index)).push_back('}');
    return text;
}

expected<PartitionKey> PartitionKey::parse(std::string_view text) {
    if (!text.starts_with('{') || !text.ends_with('}') || text.size() < 2) {
        return fail(ErrorCode::invalid_input, "missing braces");
    }
    const std::string_view body = text.substr(1, text.size() - 2);
    const std::size_t colon = body.find(':');
    if (colon == std::string_view::npos) {
        return fail(ErrorCode::invalid_input, "body not <prefix>:<index>");
    }
    PartitionKey key;
    const std::string_view prefix = body.substr(0, colon);
    if (prefix == "fp") {
        key.family = Family::flow;
    } else if (prefix == "b") {
        key.family = Family::budget;
    } else if (prefix == "q") {
        key.family = Family::quota;
    } else {
        return fail(ErrorCode::invalid_input, "unknown prefix");
    }
    const auto index = parse_index(body.substr(colon + 1));
    if (!index) {
        return fail(ErrorCode::invalid_input, "index not u16");
    }
    key.index = *index;
    return key;
}

// --------------------------------------------------------------------------------------- names

namespace {

constexpr std::size_t lane_bytes_max = 64;
constexpr std::size_t name_bytes_max = 256;

std::unexpected<Error> refuse(std::string_view field, std::string_view what) {
    std::string detail(field);
    detail.append(": ").append(what);
    return fail(ErrorCode::invalid_input, std::move(detail));
}

expected<void> check_size(std::string_view field, std::string_view text, std::size_t bytes_min,
                          std::size_t bytes_max) {
    if (text.empty() && bytes_min > 0) {
        return refuse(field, "must not be empty");
    }
    const auto refuse_size = [&](std::string_view what, std::size_t bound) {
        return refuse(field, std::string(what) + " " + std::to_string(bound) + " bytes (got " +
                                 std::to_string(text.size()) + ")");
    };
    if (text.size() < bytes_min) {
        return refuse_size("shorter than", bytes_min);
    }
    if (text.size() > bytes_max) {
        return refuse_size("exceeds", bytes_max);
    }
    return {};
}

}  // namespace

expected<void> check_lane(std::string_view field, std::string_view lane) {
    FF_TRY_VOID(check_size(field, lane, 1, lane_bytes_max));
    const auto is_printable = [](unsigned char c) { return c >= 0x20 && c <= 0x7E; };
    const auto bad = std::ranges::find_if_not(lane, is_printable);
    if (bad != lane.end()) {
        return refuse(field, "non-printable byte at index " + std::to_string(bad - lane.begin()));
    }
    return {};
}

expected<void> check_namespace(std::string_view field, std::string_view text) {
    return check_label(field, text, 1, name_bytes_max);
}

expected<void> check_worker_name(std::string_view field, std::string_view text) {
    FF_TRY_VOID(check_size(field, text, 1, name_bytes_max));
    if (!is_valid_utf8(text)) {
        return refuse(field, "not valid UTF-8");
    }
    if (any_code_point(text, [](char32_t c) { return is_control(c) || is_space(c); })) {
        return refuse(field, "must not contain whitespace or control characters");
    }
    return {};
}

expected<void> check_label(std::string_view field, std::string_view text, std::size_t bytes_min,
                           std::size_t bytes_max) {
    FF_TRY_VOID(check_size(field, text, bytes_min, bytes_max));
    if (!is_valid_utf8(text)) {
        return refuse(field, "not valid UTF-8");
    }
    if (any_code_point(text, is_control)) {
        return refuse(field, "must not contain control characters");
    }
    return {};
}

bool is_namespaced_tag_key(std::string_view key) {
    const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_word = [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; };

    const std::size_t dot = key.find('.');
    if (dot == std::string_view::npos) {
        return false;
    }
    const std::string_view space = key.substr(0, dot);
    const std::string_view name = key.substr(dot + 1);
    return !space.empty() && is_lower(space[0]) && std::ranges::all_of(space, is_word) &&
           !name.empty() && is_word(name[0]) &&
           std::ranges::all_of(name, [&](char c) { return is_word(c) || c == '.'; });
}

// ---------------------------------------------------------------------------------------- text

std::string readable_text(std::string text, std::size_t bytes_max) {
    std::ranges::replace(text, '\0', '?');
    if (!is_valid_utf8(text)) {
        std::ranges::replace_if(
            text, [](char c) { return static_cast<unsigned char>(c) > 0x7E; }, '?');
    }
    return truncate_utf8(std::move(text), bytes_max);
}

std::string truncate_utf8(std::string text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) {
        return text;
    }
    const auto continues = [&](std::size_t at) {
        return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
    };
    // A character has at most three continuation bytes; more of them is not UTF-8 anyway, and then
    // any place is as good to cut.
    std::size_t cut = bytes_max;
    for (int step = 0; step < 3 && cut > 0 && continues(cut); ++step) {
        --cut;
    }
    text.resize(continues(cut) ? bytes_max : cut);
    return text;
}

bool is_valid_utf8(std::string_view text) {
    constexpr std::uint64_t high_bits = 0x8080808080808080;
    std::size_t at = 0;
    while (at < text.size()) {
        // Most text is ASCII: take it eight bytes at a time.
        std::uint64_t word = high_bits;
        if (text.size() - at >= sizeof word) {
            std::memcpy(&word, text.data() + at, sizeof word);
        }
        if ((word & high_bits) == 0) {
            at += sizeof word;
            continue;
        }
        const CodePoint c = decode_utf8(text, at);
        if (c.bytes == 0) {
            return false;
        }
        at += c.bytes;
    }
    return true;
}

// ----------------------------------------------------------------------------------- id sources

namespace {

constexpr std::size_t uuid_stamp_bytes = 6;

/// Stamps time, version and variant onto 16 bytes whose last ten are random.
void make_version_7(Uuid& id, TimestampMs now) {
    auto stamp = static_cast<std::uint64_t>(now);
    for (std::size_t i = uuid_stamp_bytes; i-- > 0;) {
        id.bytes[i] = static_cast<std::uint8_t>(stamp & 0xFF);
        stamp >>= 8;
    }
    id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0F) | 0x70);
    id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3F) | 0x80);
}

/// Maps 64 random bits to 0..bound without favouring small numbers: what lies in the incomplete
/// last stretch of the 64-bit range is drawn again.
template <class Next>
std::uint64_t draw_uniform(std::uint64_t bound, Next next) {
    if (bound == std::numeric_limits<std::uint64_t>::max()) {
        return next();
    }
    const std::uint64_t range = bound + 1;
    const std::uint64_t skipped = (0 - range) % range;
    std::uint64_t value = next();
    while (value < skipped) {
        value = next();
    }
    return value % range;
}

}  // namespace

Uuid SystemIdSource::uuid(TimestampMs now) {
    Uuid id;
    fill(std::span(id.bytes).subspan(uuid_stamp_bytes));
    make_version_7(id, now);
    return id;
}

std::uint64_t SystemIdSource::uniform(std::uint64_t bound) {
    return draw_uniform(bound, [this] {
        std::array<std::uint8_t, 8> bytes;
        fill(bytes);
        std::uint64_t value = 0;
        std::memcpy(&value, bytes.data(), bytes.size());
        return value;
    });
}

void SystemIdSource::fill(std::span<std::uint8_t> out) {
    FF_CHECK(out.size() <= pool_.size(), "asked for more than the pool holds");
    if (pool_.size() - used_ < out.size()) {
        std::size_t filled = 0;
        while (filled < pool_.size()) {
            const ssize_t n = getrandom(pool_.data() + filled, pool_.size() - filled, 0);
            FF_CHECK(n > 0 || errno == EINTR, "the system gives no random bytes");
            filled += n > 0 ? static_cast<std::size_t>(n) : 0;
        }
        used_ = 0;
    }
    std::memcpy(out.data(), pool_.data() + used_, out.size());
    used_ += out.size();
}

Uuid SeededIdSource::uuid(TimestampMs now) {
    Uuid id;
    const std::array<std::uint64_t, 2> random = {next(), next()};
    std::memcpy(id.bytes.data(), random.data(), sizeof random);
    make_version_7(id, now);
    return id;
}

std::uint64_t SeededIdSource::uniform(std::uint64_t bound) {
    return draw_uniform(bound, [this] { return next(); });
}

std::uint64_t SeededIdSource::next() {
    // splitmix64: every seed is a good one, zero included.
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

Uuid new_uuid() {
    // After a fork both processes would hold the same unused random bytes and mint the same ids.
    thread_local pid_t owner = getpid();
    thread_local SystemIdSource source;
    if (const pid_t self = getpid(); self != owner) {
        source = SystemIdSource();
        owner = self;
    }
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return source.uuid(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
}

}  // namespace ff
