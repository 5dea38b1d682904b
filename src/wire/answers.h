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
Answer write_answer(const typename Op::Result&);

/// An answer as a client got it.
struct Received {
    int status = 0;
    std::string body;
    std::optional<std::string> result_encoding = {};  ///< header FF-Result-Encoding
    std::optional<std::string> next_cursor = {};      ///< header FF-Next-Cursor
};

/// The result of the operation, or the error that the answer tells of. `transport` when the answer
/// is none of ours.
Response read_answer(const Request& request, const Received& received);

/// The answer of `GET /v1/executions/{id}`, whose form is older than the others (times as text).
Answer write_execution(const ExecutionInfo& info);

/// What an older client knows of a cancelled flow, or all that ours want to know.
enum class CancelForm : std::uint8_t { compatible, whole };
Answer write_cancelled(const CancelFlowResult& result, CancelForm form);

/// Inputs by name, spelled for people; or as rows, with their bytes and where they come from.
enum class InputsForm : std::uint8_t { values, rows };
Answer write_inputs(const InputsResult& found, InputsForm form);

/// What an older client knows, or all that ours want to know.
enum class Form : std::uint8_t { compatible, whole };
Answer write_signal(const SignalResult& result, Form form);
Answer write_rotated(const RotateKeyResult& result, Form form);
/// A JSON array; the cursor is in the header FF-Next-Cursor.
Answer write_waitpoints(const WaitpointPage& page, Form form);

Answer write_attempts(const std::vector<AttemptInfo>& attempts,
                      const std::optional<std::string>& next_cursor);
/// The items of a list of edges.
void write_edges(std::string& out, const std::vector<EdgeSnapshot>& edges);

/// `{"items":[…],"next_cursor":…}` from texts of the items; a few lists have a name of their own.
std::string items_page(std::string_view items, const std::optional<std::string>& next_cursor,
                       std::string_view name = "items");

}  // namespace ff::wire
