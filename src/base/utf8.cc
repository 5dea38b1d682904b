#include "base/utf8.h"

#include "base/check.h"

namespace ff {
namespace {

/// What the first byte of a sequence promises.
struct Lead {
    std::size_t bytes = 0;
    char32_t bits = 0;
    char32_t value_min = 0;  ///< anything smaller is an overlong form
};

Lead read_lead(unsigned char first) {
    if (first < 0x80) {
        return {1, first, 0};
    }
    if ((first & 0xE0) == 0xC0) {
        return {2, static_cast<char32_t>(first & 0x1F), 0x80};
    }
    if ((first & 0xF0) == 0xE0) {
        return {3, static_cast<char32_t>(first & 0x0F), 0x800};
    }
    if ((first & 0xF8) == 0xF0) {
        return {4, static_cast<char32_t>(first & 0x07), 0x10000};
    }
    return {};
}

constexpr bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }
constexpr char32_t code_point_max = 0x10FFFF;

}  // namespace

CodePoint decode_utf8(std::string_view text, std::size_t at) {
    const Lead lead = read_lead(static_cast<unsigned char>(text[at]));
    if (lead.bytes == 0 || text.size() - at < lead.bytes) {
        return {};
    }
    char32_t value = lead.bits;
    for (std::size_t i = 1; i < lead.bytes; ++i) {
        const auto byte = static_cast<unsigned char>(text[at + i]);
        if ((byte & 0xC0) != 0x80) {
            return {};
        }
        value = (value << 6) | static_cast<char32_t>(byte & 0x3F);
    }
    if (value < lead.value_min || is_surrogate(value) || value > code_point_max) {
        return {};
    }
    return {value, lead.bytes};
}

void append_utf8(std::string& out, char32_t value) {
    FF_CHECK(value <= code_point_max && !is_surrogate(value), "not a code point");
    const auto tail = [&](unsigned shift) {
        out.push_back(static_cast<char>(0x80 | ((value >> shift) & 0x3F)));
    };
    if (value < 0x80) {
        out.push_back(static_cast<char>(value));
    } else if (value < 0x800) {
        out.push_back(static_cast<char>(0xC0 | (value >> 6)));
        tail(0);
    } else if (value < 0x10000) {
        out.push_back(static_cast<char>(0xE0 | (value >> 12)));
        tail(6);
        tail(0);
    } else {
        out.push_back(static_cast<char>(0xF0 | (value >> 18)));
        tail(12);
        tail(6);
        tail(0);
    }
}

}  // namespace ff
