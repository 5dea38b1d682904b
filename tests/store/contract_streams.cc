// Rows of streams for the tests of stores.
#include "store/contract.h"

namespace ff::store::test {

core::StreamMeta stream_of(const core::StreamKey& key) {
    core::StreamMeta row;
    row.key = key;
    return row;
}

core::StreamMeta full_stream(const core::StreamKey& key) {
    core::StreamMeta row;
    row.key = key;
    row.created_at = t0;
    row.last = {t0 + 9, 3};
    row.frame_count = 12;
    row.total_bytes = 99;
    row.last_frame_at = t0 + 9;
    row.has_durable_frame = true;
    row.retained_durable = 2;
    row.retained_summary = 3;
    row.retained_best_effort = 4;
    row.ema_rate_hz = "0.1";
    row.last_append_ts_ms = t0 + 1;
    row.maxlen_applied_last = 64;
    row.expires_at = t0 + 50;
    row.last_client_seq = 7;
    row.retention_ttl_ms = 1'000;
    row.sweep_at = t0 + 60;
    return row;
}

core::FrameRow frame_of(const core::StreamKey& key, std::int64_t seq, FrameMode mode) {
    core::FrameRow row;
    row.key = {key, {t0, seq}};
    row.mode = mode;
    row.frame_type = "log";
    return row;
}

core::FrameRow full_frame(const core::StreamKey& key, std::int64_t seq) {
    core::FrameRow row = frame_of(key, seq, FrameMode::best_effort);
    row.ts = t0 + 3;
    row.payload = std::string("\0\xff pay", 6);
    row.correlation_id = "c";
    row.summary_version = 4;
    row.ttl_ms = 5'000;
    return row;
}

core::SummaryRow full_summary(const core::StreamKey& key) {
    return {key, R"({"a":1})", 3, t0 + 2, t0 + 1};
}

}  // namespace ff::store::test
