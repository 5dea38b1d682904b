// Frames as JSON; for answers, and for events that carry one frame each.
#pragma once

#include <string>

#include <ff/streams.h>

#include "wire/values.h"

namespace ff::wire {

/// `{"id":"…","fields":{…}}`: every field is a text, in the order of their names.
void write_frame(std::string& out, const StreamFrame& frame);
Fault read_frame(const json& value, StreamFrame& out);

expected<AppendResult> result_of(const AppendFrames& op, const json& body);
expected<StreamPage> result_of(const ReadStream& op, const json& body);
expected<StreamPage> result_of(const TailStream& op, const json& body);
expected<std::optional<StreamSummary>> result_of(const ReadStreamSummary& op, const json& body);

}  // namespace ff::wire
