// Frames of a stream as people and programs read them. Pure functions.
#pragma once

#include <string>

#include <ff/follow.h>
#include <ff/json.h>

#include "cli/terminal.h"

namespace ff::cli {

/// What a program printed as its lines; anything else with its time, its type and, of a JSON
/// object, its members one by one. Ends with a line break.
std::string frame_text(const FollowedFrame& frame, const Terminal& terminal);

/// Only the payload, and nothing between one and the next: tokens become the text they make up. On
/// a terminal what could steer it is made visible.
std::string frame_raw(const FollowedFrame& frame, const Terminal& terminal);

/// As the HTTP interface writes it, with its attempt and the place behind it.
js::Value frame_json(const FollowedFrame& frame);

}  // namespace ff::cli
