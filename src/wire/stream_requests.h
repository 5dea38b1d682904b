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

/// One frame of a body.
void describe_frame(RequestVisitor& v, Frame& frame);

}  // namespace ff::wire
