#include "wire/cursors.h"

#include <charconv>

namespace ff::wire {

// A line break stands in no namespace and in no name of a worker.

std::string cursor_text(const WorkerCursor& cursor) {
    return base64url_encode(cursor.ns + "\n" + cursor.worker_instance_id);
}

std::string cursor_text(const ExpiredLeaseCursor& cursor) {
    return base64url_encode(std::to_string(cursor.expires_at_ms) + "\n" +
                            cursor.execution_id.to_string());
}

bool parse_cursor(std::string_view text, WorkerCursor& out) {
    const auto bytes = base64url_decode(text);
    const std::size_t split = bytes ? bytes->find('\n') : std::string::npos;
    if (split == std::string::npos) {
        return false;
    }
    out = {bytes->substr(0, split), bytes->substr(split + 1)};
    return true;
}

bool parse_cursor(std::string_view text, ExpiredLeaseCursor& out) {
    const auto bytes = base64url_decode(text);
    const std::size_t split = bytes ? bytes->find('\n') : std::string::npos;
    if (split == std::string::npos) {
        return false;
    }
    ExpiredLeaseCursor cursor;
    const char* end = bytes->data() + split;
    const auto [at, error] = std::from_chars(bytes->data(), end, cursor.expires_at_ms);
    const auto id = ExecutionId::parse(std::string_view(*bytes).substr(split + 1));
    if (error != std::errc() || at != end || !id) {
        return false;
    }
    cursor.execution_id = *id;
    out = cursor;
    return true;
}

}  // namespace ff::wire
