// Handles: what a worker holds after a claim. Opaque bytes that carry the fence of one lease.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ff/error.h>
#include <ff/ids.h>
#include <ff/states.h>

namespace ff {

/// Which kind of store minted a handle.
enum class BackendTag : std::uint8_t { reserved = 0x01, postgres = 0x02, sqlite = 0x03 };

struct Handle {
    HandleKind kind = HandleKind::fresh;
    BackendTag backend = BackendTag::sqlite;
    ExecutionId execution_id;
    std::uint32_t attempt_index = 0;
    AttemptId attempt_id;
    LeaseId lease_id;
    std::uint64_t lease_epoch = 0;
    DurationMs lease_ttl_ms = 0;
    std::string lane_id;
    std::string worker_instance_id;

    bool operator==(const Handle&) const = default;

    /// The layout of spec 01 section 6; the kind is not part of it.
    [[nodiscard]] std::string encode() const;
    /// Any fault is `corruption` with detail `handle_codec: …` naming the offset or field.
    static expected<Handle> decode(std::string_view bytes, HandleKind kind = HandleKind::fresh);

    /// `ff1.<kind>.<base64url>`: for logs, the command line and JSON.
    [[nodiscard]] std::string to_text() const;
    static expected<Handle> parse_text(std::string_view text);
    /// The first 12 characters of the text form and an ellipsis: handles are credentials.
    [[nodiscard]] std::string redacted() const;
};

std::string base64url_encode(std::string_view bytes);
std::optional<std::string> base64url_decode(std::string_view text);

}  // namespace ff
