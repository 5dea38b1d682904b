// Base64 with padding (RFC 4648 section 4): how bytes travel in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ff::wire {

void append_base64(std::string& out, std::string_view bytes);
/// Nothing unless it is exactly what append_base64 would have written.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace ff::wire
