// Cursors of lists as text: opaque to clients, checked when they come back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/contracts.h>

namespace ff::wire {

std::string cursor_text(const WorkerCursor& cursor);
std::string cursor_text(const ExpiredLeaseCursor& cursor);

bool parse_cursor(std::string_view text, WorkerCursor& out);
bool parse_cursor(std::string_view text, ExpiredLeaseCursor& out);

}  // namespace ff::wire
