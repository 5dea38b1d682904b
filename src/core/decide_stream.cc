// Appending to the stream of an attempt: who may, what a frame becomes, and what it pushes out.
#include <algorithm>

#include "core/decide.h"
#include "core/fence.h"
#include "core/merge_patch.h"
#include "core/stream_rules.h"
#include "core/transitions.h"
#include "core/validate.h"

namespace ff::core {

namespace {

constexpr std::uint64_t durable_frames_default = 10'000;
constexpr DurationMs open_stream_rest_ms = 1'000;

/// A word of an enumerator that had to dodge a macro or a keyword.
std::string kind_word(FrameKind kind) { return std::string(to_string(kind)); }

expected<void> check_frame_type(std::string_view type) {
    const bool control =
        std::ranges::any_of(type, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (type.size() > 128 || control || !is_valid_utf8(type)) {
        return ff::fail(ErrorCode::invalid_frame_type,
                        "frame_type must be 1 to 128 bytes of UTF-8 without control characters");
    }
    return {};
}

expected<void> check_frame(Frame& frame, std::size_t payload_max) {
    if (frame.payload.size() > payload_max) {
        return ff::fail(ErrorCode::retention_limit_exceeded,
                        "payload has " + std::to_string(frame.payload.size()) + " bytes; " +
                            std::to_string(payload_max) + " are allowed");
    }
    if (frame.frame_type.empty()) {
        frame.frame_type = kind_word(frame.kind);
    }
    FF_TRY_VOID(check_frame_type(frame.frame_type));
    if (frame.correlation_id) {
        FF_TRY_VOID(check_reason("correlation_id", *frame.correlation_id, 256));
    }
    if (frame.mode == FrameMode::summary && frame.patch_kind != json_merge_patch) {
        return ff::fail(ErrorCode::invalid_input, "unsupported patch_kind");
    }
    if (frame.client_seq && *frame.client_seq > std::uint64_t{1} << 62U) {
        return ff::fail(ErrorCode::invalid_input, "client_seq: must be at most 2^62");
    }
    return {};
}

bool is_patch(const Frame& frame) { return frame.mode == FrameMode::summary; }

/// `stale_owner_cannot_append` unless the caller holds the current lease of the current attempt.
expected<void> check_owner(const Execution& e, const LeaseRef& lease, TimestampMs now) {
    if (e.state.phase != LifecyclePhase::active) {
        return ff::fail(ErrorCode::stream_closed);
    }
    const bool current = e.state.ownership == OwnershipState::leased && e.lease_expires_at &&
                         *e.lease_expires_at > now && lease.lease_id == e.lease_id &&
                         lease.lease_epoch == e.lease_epoch &&
                         (!lease.attempt_id || lease.attempt_id == e.current_attempt_id) &&
                         (!lease.attempt_index || lease.attempt_index == e.current_attempt_index);
    return current ? expected<void>() : ff::fail(ErrorCode::stale_owner_cannot_append);
}

/// One stream while a command appends to it.
class Appender {
  public:
    Appender(const Snapshot& view, const StreamKey& key, const Policy* policy, Changes& changes,
             TimestampMs now)
        : changes_(changes), now_(now) {
        if (policy != nullptr && policy->stream_policy) {
            durable_max_ = policy->stream_policy->retention_maxlen;
        }
        if (const StreamMeta* meta = view.streams.meta(key)) {
            meta_ = *meta;
        } else {
            meta_.key = key;
            meta_.created_at = now;
            if (policy != nullptr && policy->stream_policy) {
                meta_.retention_ttl_ms = policy->stream_policy->retention_ttl_ms;
            }
        }
        if (view.streams.knows_summary(key)) {
            if (const SummaryRow* summary = view.streams.summary(key)) {
                summary_ = *summary;
            }
        }
    }

    /// `patch` is that of a summary frame.
    expected<AppendedFrame> append(const Frame& frame, const expected<js::Value>* patch) {
        if (frame.client_seq) {
            if (meta_.last_client_seq && *frame.client_seq <= *meta_.last_client_seq) {
                return AppendedFrame{meta_.last, meta_.frame_count, std::nullopt, true};
            }
            meta_.last_client_seq = frame.client_seq;
        }
        if (meta_.expired(now_)) {
            trim(FrameMode::best_effort, 0);  // readers have long seen it empty
            meta_.expires_at.reset();
        }
        std::optional<std::uint64_t> version;
        if (frame.mode == FrameMode::summary) {
            FF_TRY(version, apply_patch(*patch));
        }
        insert(frame, version);
        retain(frame);
        changed_ = true;
        return AppendedFrame{meta_.last, meta_.frame_count, version, false};
    }

    /// Leaves what has changed.
    expected<void> finish() && {
        if (!changed_) {
            return {};
        }
        if (!meta_.sweep_at) {
            meta_.sweep_at = next_sweep(meta_, std::nullopt, now_);
        }
        changes_.put_streams.push_back(std::move(meta_));
        if (document_) {
            FF_TRY(summary_->document, write_document(std::move(*document_)));
            changes_.put_summaries.push_back(std::move(*summary_));
        }
        return {};
    }

  private:
    expected<std::uint64_t> apply_patch(const expected<js::Value>& patch) {
        FF_TRY_VOID(patch);
        if (!document_) {
            // Read once and written once, however many patches come together.
            FF_TRY(document_,
                   read_document(summary_ ? std::string_view(summary_->document) : "{}"));
        }
        merge_into(*document_, *patch);
        if (!summary_) {
            summary_ = SummaryRow{meta_.key, {}, 0, now_, now_};
        }
        summary_->version += 1;
        summary_->last_updated_ms = now_;
        return summary_->version;
    }

    void insert(const Frame& frame, std::optional<std::uint64_t> version) {
        meta_.last = next_frame_id(meta_.last, now_);
        meta_.frame_count += 1;
        meta_.total_bytes += frame.payload.size();
        meta_.last_frame_at = now_;
        meta_.retained(frame.mode) += 1;
        FrameRow row{{meta_.key, meta_.last}, frame.mode,           frame.frame_type, now_,
                     frame.payload,           frame.correlation_id, version,          std::nullopt};
        if (frame.mode == FrameMode::best_effort) {
            row.ttl_ms = frame.best_effort.ttl_ms;
        }
        changes_.put_frames.push_back(std::move(row));
    }

    /// Drops what the frame has pushed out.
    void retain(const Frame& frame) {
        switch (frame.mode) {
            case FrameMode::durable:
                trim(frame.mode,
                     frame.retention_maxlen > 0 ? frame.retention_maxlen : durable_max_);
                break;
            case FrameMode::summary: trim(frame.mode, summary_frames_max); break;
            case FrameMode::best_effort: {
                const std::int64_t keep = best_effort_maxlen(frame.best_effort, meta_, now_);
                trim(frame.mode, static_cast<std::uint64_t>(keep));
                if (!meta_.has_durable_frame && frame.best_effort.ttl_ms > 0) {
                    meta_.expires_at = now_ + 2 * DurationMs{frame.best_effort.ttl_ms};
                }
                return;
            }
        }
        meta_.has_durable_frame = true;
        meta_.expires_at.reset();
    }

    void trim(FrameMode mode, std::uint64_t keep) {
        std::uint64_t& kept = meta_.retained(mode);
        if (kept > keep) {
            changes_.trim_frames.push_back({meta_.key, mode, kept - keep});
            kept = keep;
        }
    }

    Changes& changes_;
    const TimestampMs now_;
    std::uint64_t durable_max_ = durable_frames_default;
    StreamMeta meta_;
    std::optional<SummaryRow> summary_;
    std::optional<js::Value> document_;  ///< the summary's, once there is a patch
    bool changed_ = false;
};

}  // namespace

expected<void> validate(AppendFrames& args) {
    if (args.frames.empty() || args.frames.size() > frames_per_append_max) {
        return ff::fail(ErrorCode::invalid_input,
                        "frames: must hold 1..=" + std::to_string(frames_per_append_max) +
                            " (got " + std::to_string(args.frames.size()) + ")");
    }
    const std::size_t payload_max =
        std::min<std::size_t>(args.max_payload_bytes.value_or(frame_bytes_max), frame_bytes_max);
    for (Frame& frame : args.frames) {
        FF_TRY_VOID(check_frame(frame, payload_max));
    }
    return {};
}

expected<PreparedAppend> prepare(AppendFrames args) {
    FF_TRY_VOID(validate(args));
    PreparedAppend command;
    if (std::ranges::any_of(args.frames, &is_patch)) {
        for (const Frame& frame : args.frames) {
            command.patches.push_back(is_patch(frame) ? read_patch(frame.payload) : js::Value());
        }
    }
    command.args = std::move(args);
    return command;
}

void reads(const PreparedAppend& command, ReadSet& set) {
    set.need(command.args.lease.execution_id, InputNeed::if_tagged_or_policy);
}

void reads_more(const Snapshot& view, const PreparedAppend& command, ReadSet& set) {
    const Execution* e = view.execution(command.args.lease.execution_id);
    if (e == nullptr || !e->current_attempt_index) {
        return;
    }
    const StreamKey key{e->eid, *e->current_attempt_index};
    if (!view.streams.knows_meta(key)) {
        set.streams.metas.push_back(key);
    }
    if (!command.patches.empty() && !view.streams.knows_summary(key)) {
        set.streams.summaries.push_back(key);
    }
}

Decision<AppendResult> decide(const Snapshot& view, const PreparedAppend& command,
                              const Context& ctx) {
    const AppendFrames& args = command.args;
    const Execution* found = view.execution(args.lease.execution_id);
    if (found == nullptr) {
        return ff::fail(ErrorCode::execution_not_found);
    }
    if (auto ok =
            check_fence_shape(args.lease, FenceRule::required, Source::lease_holder, ctx.settings);
        !ok) {
        return std::move(ok).error();
    }
    if (auto ok = check_owner(*found, args.lease, ctx.now); !ok) {
        return std::move(ok).error();
    }
    const auto policy = policy_of(view, *found, ctx);
    if (!policy) {
        return policy.error();
    }
    Changes changes;
    AppendResult result;
    Appender stream(view, {found->eid, *found->current_attempt_index}, *policy, changes, ctx.now);
    for (std::size_t i = 0; i < args.frames.size(); ++i) {
        auto appended =
            stream.append(args.frames[i], command.patches.empty() ? nullptr : &command.patches[i]);
        if (!appended) {
            return std::move(appended).error();
        }
        result.appended.push_back(std::move(*appended));
    }
    if (auto ok = std::move(stream).finish(); !ok) {
        return std::move(ok).error();
    }
    if (!found->has_streams && !changes.put_frames.empty()) {
        Execution e = *found;
        e.has_streams = true;
        changes.put_executions.push_back(std::move(e));
    }
    return {std::move(result), std::move(changes)};
}

// -------------------------------------------------------------------------------------- sweep

void reads(const SweepStream& args, ReadSet& set) { set.need(args.execution_id); }

void reads_more(const Snapshot& view, const SweepStream& args, ReadSet& set) {
    const Execution* e = view.execution(args.execution_id);
    if (e == nullptr) {
        return;
    }
    const StreamKey key{e->eid, args.attempt_index};
    if (!view.streams.knows_meta(key)) {
        set.streams.metas.push_back(key);
    }
    if (!view.streams.knows_summary(key)) {
        set.streams.summaries.push_back(key);
    }
    if (!view.knows_attempt(*e, args.attempt_index)) {
        set.streams.attempts.push_back(key);
    }
}

Decision<SweptStream> decide(const Snapshot& view, const SweepStream& args, const Context& ctx) {
    const Execution* e = view.execution(args.execution_id);
    const StreamMeta* found =
        e == nullptr ? nullptr : view.streams.meta({e->eid, args.attempt_index});
    if (found == nullptr) {
        return SweptStream{};
    }
    StreamMeta meta = *found;
    Changes changes;
    SweptStream result;
    const auto closure = closure_of(*e, args.attempt_index, view.attempt(*e, args.attempt_index));
    if (closure && meta.retention_ttl_ms && closure->at + *meta.retention_ttl_ms <= ctx.now) {
        result.frames = drop_frames(meta, args.frames_max, changes);
        result.swept = true;
        if (meta.retained() == 0) {
            changes.delete_streams.push_back(meta.key);
            return {result, std::move(changes)};
        }
    } else if (meta.expired(ctx.now)) {
        result.frames = drop_frames(meta, FrameMode::best_effort, args.frames_max, changes);
        result.swept = result.frames > 0;
    }
    meta.sweep_at = next_sweep(meta, closure, ctx.now);
    if (meta.sweep_at && !closure && result.frames == 0) {
        // However short its time: while it is open it is not looked at all the time.
        meta.sweep_at = std::max(*meta.sweep_at, ctx.now + open_stream_rest_ms);
    }
    if (meta != *found) {
        changes.put_streams.push_back(std::move(meta));
    }
    return {result, std::move(changes)};
}

}  // namespace ff::core
