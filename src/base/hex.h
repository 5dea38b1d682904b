// Bytes as hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace ff {

/// Two small digits a byte.
inline std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4U];
        out += digits[byte & 15U];
    }
    return out;
}

}  // namespace ff
