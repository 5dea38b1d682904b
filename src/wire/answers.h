// The answers of the engine over HTTP: how each is written by a server and read by a client.
#pragma once

#include <string>
#include <string_view>

#include <ff/contracts.h>

#include "wire/message.h"
#include "wire/requests.h"

namespace ff::wire {

/// The answer to a successful operation.
template <class Op>
Answer write_answer(const typename Op::Result& result);

/// An answer as a client got it.
struct Received {
    int status = 0;
    std::string body;
    std::optional<std::string> result_encoding;  ///< header FF-Result-Encoding
};

/// The result of the operation, or the error that the answer tells of. `transport` when the answer
/// is none of ours.
Response read_answer(const Request& request, const Received& received);

/// The answer of `GET /v1/executions/{id}`, whose form is older than the others (times as text).
Answer write_execution(const ExecutionInfo& info);

/// `{"items":[…],"next_cursor":…}` from texts of the items.
std::string items_page(std::string_view items, const std::optional<std::string>& next_cursor);

}  // namespace ff::wire
