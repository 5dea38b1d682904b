// The requests of attempt streams, described once like those of requests.h.
#pragma once

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

inline constexpr std::uint64_t frames_per_page_max = 1'000;

FF_BIND(AppendFrames, post, "/v1/executions/{id}/attempts/{idx}/frames", large,
        "Append frames to the stream of an attempt, all or none")
FF_BIND(ReadStream, get, "/v1/executions/{id}/attempts/{idx}/stream", control,
        "Frames of an attempt between two places")
FF_BIND(TailStream, get, "/v1/executions/{id}/attempts/{idx}/stream/tail", control,
        "Frames behind a place; may wait for the first")
FF_BIND(ReadStreamSummary, get, "/v1/executions/{id}/attempts/{idx}/stream/summary", control,
        "The document that the summary frames have made")

template <class V>
void describe_request(V& v, AppendFrames& op) {
    v.lease(op.lease);
    v.frames("frames", op.frames);
}

template <class V>
void describe_request(V& v, ReadStream& op) {
    v.id(op.execution_id);
    v.path_id("idx", op.attempt_index);
    v.query_defaulted("from", op.from);
    v.query_defaulted("to", op.to);
    v.query_count("limit", op.limit, frames_per_page_max);
    v.query_defaulted("visibility", op.visibility);
    v.query_each("frame_type", op.frame_types);
    v.query_defaulted("order", op.order);
}

template <class V>
void describe_request(V& v, TailStream& op) {
    v.id(op.execution_id);
    v.path_id("idx", op.attempt_index);
    v.query_defaulted("after", op.after);
    v.query_defaulted("block_ms", op.block_ms);
    v.query_count("limit", op.limit, frames_per_page_max);
    v.query_defaulted("visibility", op.visibility);
    v.query_each("frame_type", op.frame_types);
}

template <class V>
void describe_request(V& v, ReadStreamSummary& op) {
    v.id(op.execution_id);
    v.path_id("idx", op.attempt_index);
}

/// One frame of a body.
template <class V>
void describe_frame(V& v, Frame& frame) {
    v.sparse("frame_type", frame.frame_type);
    v.bytes("payload", frame.payload);
    v.defaulted("kind", frame.kind);
    v.optional("correlation_id", frame.correlation_id);
    v.sparse("retention_maxlen", frame.retention_maxlen);
    v.optional("client_seq", frame.client_seq);
}

}  // namespace ff::wire
