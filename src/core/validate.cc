#include "core/validate.h"

namespace ff::core {

namespace {

expected<void> check_range(std::string_view field, std::int64_t value, std::int64_t low,
                           std::int64_t high) {
    if (value < low || value > high) {
        return ff::fail(ErrorCode::invalid_input,
                        std::string(field) + " must be in " + std::to_string(low) +
                            "..=" + std::to_string(high) + " (got " + std::to_string(value) + ")");
    }
    return {};
}

}  // namespace

expected<void> check_lease_ttl(DurationMs ttl_ms) {
    return check_range("lease_ttl_ms", ttl_ms, 100, 3'600'000);
}

expected<void> check_grant_ttl(DurationMs ttl_ms) {
    if (ttl_ms < 1 || ttl_ms > 60'000) {
        return ff::fail(ErrorCode::invalid_input, "grant_ttl_ms must be in 1..=60000");
    }
    return {};
}

expected<void> check_resume_delay(DurationMs delay_ms) {
    if (delay_ms < 0 || delay_ms >= (DurationMs{1} << 53)) {
        return ff::fail(ErrorCode::invalid_input, "resume_delay_ms: must be between 0 and 2^53-1");
    }
    return {};
}

expected<void> check_worker(std::string_view worker_id, std::string_view worker_instance_id) {
    FF_TRY_VOID(check_worker_name("worker_id", worker_id));
    return check_worker_name("worker_instance_id", worker_instance_id);
}

expected<void> check_reason(std::string_view field, std::string_view text, std::size_t bytes_max) {
    if (text.size() > bytes_max) {
        return ff::fail(ErrorCode::invalid_input, std::string(field) + ": exceeds " +
                                                      std::to_string(bytes_max) + " bytes (got " +
                                                      std::to_string(text.size()) + ")");
    }
    return check_text(field, text);
}

expected<void> check_text(std::string_view field, std::string_view text) {
    if (!is_valid_utf8(text)) {
        return ff::fail(ErrorCode::invalid_input, std::string(field) + ": not valid UTF-8");
    }
    if (text.find('\0') != std::string_view::npos) {
        return ff::fail(ErrorCode::invalid_input,
                        std::string(field) + ": must not contain NUL characters");
    }
    return {};
}

expected<void> check_audit(std::string_view field, const std::optional<std::string>& text) {
    return text ? check_reason(field, *text, 16'384) : expected<void>();
}

expected<void> check_tag(std::string_view key, std::string_view value) {
    FF_TRY_VOID(check_label("tag key", key, 1, 128));
    return check_reason("tag value of " + std::string(key), value, 4096);
}

}  // namespace ff::core
