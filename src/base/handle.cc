#include <ff/handle.h>

#include <array>
#include <limits>

namespace ff {
namespace {

constexpr std::uint8_t magic = 0x02;
constexpr std::uint8_t wire_version = 0x01;
/// No honest field comes near; a length above it is treated as reaching past the end.
constexpr std::uint32_t string_bytes_max = 1 << 20;
constexpr std::string_view text_prefix = "ff1.";
constexpr std::size_t redacted_bytes = 12;

std::unexpected<Error> corrupt(const std::string& what) {
    return fail(ErrorCode::corruption, "handle_codec: " + what);
}

// ------------------------------------------------------------------------------------- writing

template <class Integer>
void put_integer(std::string& out, Integer value) {
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
        out.push_back(static_cast<char>((value >> (8 * i)) & 0xFF));
    }
}

void put_string(std::string& out, std::string_view text) {
    put_integer(out, static_cast<std::uint32_t>(text.size()));
    out.append(text);
}

// ------------------------------------------------------------------------------------- reading

/// Takes fields off the front; every fault names where it is.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    [[nodiscard]] std::size_t offset() const { return offset_; }
    [[nodiscard]] std::size_t left() const { return bytes_.size() - offset_; }

    template <class Integer>
    expected<Integer> integer() {
        FF_TRY(const std::string_view raw, take(sizeof(Integer)));
        std::uint64_t value = 0;
        for (std::size_t i = sizeof(Integer); i-- > 0;) {
            value = (value << 8) | static_cast<unsigned char>(raw[i]);
        }
        return static_cast<Integer>(value);
    }

    expected<std::string_view> string(std::string_view field) {
        FF_TRY(const std::uint32_t size, integer<std::uint32_t>());
        if (size > string_bytes_max) {
            return truncated();
        }
        FF_TRY(const std::string_view text, take(size));
        if (!is_valid_utf8(text)) {
            return corrupt("bad UTF-8 in " + std::string(field));
        }
        return text;
    }

  private:
    [[nodiscard]] std::unexpected<Error> truncated() const {
        return corrupt("truncated at offset " + std::to_string(offset_));
    }

    expected<std::string_view> take(std::size_t size) {
        if (left() < size) {
            return truncated();
        }
        const std::string_view taken = bytes_.substr(offset_, size);
        offset_ += size;
        return taken;
    }

    std::string_view bytes_;
    std::size_t offset_ = 0;
};

expected<BackendTag> read_header(Reader& reader) {
    const auto unknown = [](std::string_view what, unsigned value) {
        return corrupt("unknown " + std::string(what) + " " + std::to_string(value));
    };
    FF_TRY(const std::uint8_t first, reader.integer<std::uint8_t>());
    if (first != magic) {
        return unknown("first byte", first);
    }
    FF_TRY(const std::uint8_t version, reader.integer<std::uint8_t>());
    if (version != wire_version) {
        return unknown("wire version", version);
    }
    FF_TRY(const std::uint8_t tag, reader.integer<std::uint8_t>());
    switch (static_cast<BackendTag>(tag)) {
        case BackendTag::reserved:
        case BackendTag::postgres:
        case BackendTag::sqlite: return static_cast<BackendTag>(tag);
    }
    return unknown("backend tag", tag);
}

template <class Id>
expected<Id> read_uuid(Reader& reader, std::string_view field) {
    FF_TRY(const std::string_view text, reader.string(field));
    const auto id = Id::parse(text);
    if (!id) {
        return corrupt("invalid " + std::string(field));
    }
    return *id;
}

// ----------------------------------------------------------------------------------- base64url

constexpr std::string_view base64url_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t not_base64url = 0xFF;

constexpr std::array<std::uint8_t, 256> base64url_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(not_base64url);
    for (std::size_t i = 0; i < base64url_digits.size(); ++i) {
        values[static_cast<unsigned char>(base64url_digits[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
}();

}  // namespace

std::string base64url_encode(std::string_view bytes) {
    std::string text;
    text.reserve((bytes.size() * 4 + 2) / 3);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        held += 8;
        while (held >= 6) {
            held -= 6;
            text.push_back(base64url_digits[(bits >> held) & 0x3F]);
        }
    }
    if (held > 0) {
        text.push_back(base64url_digits[(bits << (6 - held)) & 0x3F]);
    }
    return text;
}

std::optional<std::string> base64url_decode(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const std::uint8_t value = base64url_values[static_cast<unsigned char>(c)];
        if (value == not_base64url) {
            return std::nullopt;
        }
        bits = (bits << 6) | value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes.push_back(static_cast<char>((bits >> held) & 0xFF));
        }
    }
    // A lone last digit carries no byte, and set left-over bits would be a second spelling.
    const std::uint32_t left_over = bits & ((1U << held) - 1);
    if (held >= 6 || left_over != 0) {
        return std::nullopt;
    }
    return bytes;
}

std::string Handle::encode() const {
    std::string out;
    out.reserve(192 + lane_id.size() + worker_instance_id.size());
    put_integer(out, magic);
    put_integer(out, wire_version);
    put_integer(out, static_cast<std::uint8_t>(backend));
    put_string(out, execution_id.to_string());
    put_integer(out, attempt_index);
    put_string(out, attempt_id.to_string());
    put_string(out, lease_id.to_string());
    put_integer(out, lease_epoch);
    put_integer(out, static_cast<std::uint64_t>(lease_ttl_ms));
    put_string(out, lane_id);
    put_string(out, worker_instance_id);
    return out;
}

expected<Handle> Handle::decode(std::string_view bytes, HandleKind kind) {
    Reader reader(bytes);
    Handle handle;
    handle.kind = kind;
    FF_TRY(handle.backend, read_header(reader));
    FF_TRY(const std::string_view id_text, reader.string("execution_id"));
    const auto id = ExecutionId::parse(id_text);
    if (!id) {
        return corrupt("invalid execution_id: " + id.error().detail);
    }
    handle.execution_id = *id;
    FF_TRY(handle.attempt_index, reader.integer<std::uint32_t>());
    FF_TRY(handle.attempt_id, read_uuid<AttemptId>(reader, "attempt_id"));
    FF_TRY(handle.lease_id, read_uuid<LeaseId>(reader, "lease_id"));
    FF_TRY(handle.lease_epoch, reader.integer<std::uint64_t>());
    FF_TRY(const std::uint64_t ttl, reader.integer<std::uint64_t>());
    if (ttl > static_cast<std::uint64_t>(std::numeric_limits<DurationMs>::max())) {
        return corrupt("invalid lease_ttl_ms");
    }
    handle.lease_ttl_ms = static_cast<DurationMs>(ttl);
    FF_TRY(handle.lane_id, reader.string("lane_id"));
    FF_TRY(handle.worker_instance_id, reader.string("worker_instance_id"));
    if (reader.left() > 0) {
        return corrupt("bytes left over at offset " + std::to_string(reader.offset()));
    }
    return handle;
}

std::string Handle::to_text() const {
    std::string text(text_prefix);
    text.append(to_string(kind)).push_back('.');
    return text.append(base64url_encode(encode()));
}

expected<Handle> Handle::parse_text(std::string_view text) {
    if (!text.starts_with(text_prefix)) {
        return corrupt("text does not start with ff1.");
    }
    text.remove_prefix(text_prefix.size());
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) {
        return corrupt("text has no kind");
    }
    const auto kind = parse_enum<HandleKind>(text.substr(0, dot));
    if (!kind) {
        return corrupt("unknown kind");
    }
    const auto bytes = base64url_decode(text.substr(dot + 1));
    if (!bytes) {
        return corrupt("invalid base64url");
    }
    return decode(*bytes, *kind);
}

std::string Handle::redacted() const { return to_text().substr(0, redacted_bytes) + "…"; }

}  // namespace ff
