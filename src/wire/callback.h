// The path of a callback: a waitpoint and its token in a form that may stand in a URL.
//
// `<waitpoint id>.<kid>.<64 hex digits>`, each part percent-encoded where it must be. The id and
// the digits have their length, so that a kid may have dots.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/ids.h>

namespace ff::wire {

inline constexpr std::string_view callback_prefix = "/v1/callbacks/";

struct CallbackTarget {
    WaitpointId waitpoint_id;
    std::string token;
};

/// Of the decoded last segment; nothing when it has not the form of one.
std::optional<CallbackTarget> parse_callback(std::string_view text);

}  // namespace ff::wire
