// Paths and queries: split first, decoded after, so that an encoded slash stays inside its segment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ff::wire {

/// Appends text with everything but unreserved characters percent-encoded.
void append_encoded(std::string& out, std::string_view text);
/// The decoded text; nothing when an escape is broken. In a query `+` is a space.
std::optional<std::string> decoded(std::string_view text, bool plus_is_space = false);

/// The raw segments of a path: `/v1/lanes` gives `v1`, `lanes`. A trailing slash gives an empty
/// one.
std::vector<std::string_view> segments_of(std::string_view path);

using QueryPair = std::pair<std::string, std::string>;
/// Decoded names and values in order; nothing when an escape is broken.
std::optional<std::vector<QueryPair>> query_of(std::string_view query);

}  // namespace ff::wire
