// UTF-8, one code point at a time; the strict reading of RFC 3629. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/check.h"

namespace ff {

struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;  ///< 0: no valid sequence starts here
};

/// The code point that starts at `at`, which must lie inside `text`. Overlong forms, surrogates,
/// values above U+10FFFF and cut sequences are not valid.
CodePoint decode_utf8(std::string_view text, std::size_t at);
/// `value` must be a code point that is not a surrogate.
void append_utf8(std::string& out, char32_t value);

/// The controls of ASCII and of Latin-1 (general category Cc).
constexpr bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }
/// The Unicode property White_Space.
constexpr bool is_space(char32_t c) {
    return c == 0x20 || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/// Is there a code point for which `predicate` holds? The text must be valid UTF-8.
template <class Predicate>
bool any_code_point(std::string_view text, Predicate predicate) {
    std::size_t at = 0;
    while (at < text.size()) {
        const CodePoint c = decode_utf8(text, at);
        FF_CHECK(c.bytes != 0, "the caller has checked the encoding");
        if (predicate(c.value)) {
            return true;
        }
        at += c.bytes;
    }
    return false;
}

}  // namespace ff
