// The requests of attempt streams: what their members are called.
#include "wire/stream_requests.h"

#include "wire/request_visitor.h"

namespace ff::wire {

void describe_request(RequestVisitor& v, AppendFrames& op) {
    v.lease(op.lease);
    v.frames("frames", op.frames);
}

void describe_request(RequestVisitor& v, ReadStream& op) {
    v.id(op.execution_id);
    v.path_id("idx", op.attempt_index);
    v.query_defaulted("from", op.from);
    v.query_defaulted("to", op.to);
    v.query_count("limit", op.limit, frames_per_page_max);
    v.query_defaulted("visibility", op.visibility);
    v.query_each("frame_type", op.frame_types);
    v.query_defaulted("order", op.order);
}

void describe_request(RequestVisitor& v, TailStream& op) {
    v.id(op.execution_id);
    v.path_id("idx", op.attempt_index);
    v.query_defaulted("after", op.after);
    v.query_defaulted("block_ms", op.block_ms);
    v.query_count("limit", op.limit, frames_per_page_max);
    v.query_defaulted("visibility", op.visibility);
    v.query_each("frame_type", op.frame_types);
}

void describe_request(RequestVisitor& v, ReadStreamSummary& op) {
    v.id(op.execution_id);
    v.path_id("idx", op.attempt_index);
}

/// One frame of a body.
void describe_frame(RequestVisitor& v, Frame& frame) {
    v.sparse("frame_type", frame.frame_type);
    v.bytes("payload", frame.payload);
    v.defaulted("kind", frame.kind);
    v.optional("correlation_id", frame.correlation_id);
    v.sparse("retention_maxlen", frame.retention_maxlen);
    v.optional("client_seq", frame.client_seq);
}

}  // namespace ff::wire
