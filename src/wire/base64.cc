#include "wire/base64.h"

#include <array>
#include <cstdint>

namespace ff::wire {

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> values = [] {
    std::array<std::int8_t, 256> out{};
    out.fill(-1);
    for (std::size_t i = 0; i < alphabet.size(); ++i) {
        out[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
    }
    return out;
}();

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
    out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
    const auto at = [&](std::size_t i) -> std::uint32_t {
        return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
    };
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::uint32_t word = at(i) << 16U | at(i + 1) << 8U | at(i + 2);
        out.push_back(alphabet[word >> 18U & 63U]);
        out.push_back(alphabet[word >> 12U & 63U]);
        out.push_back(i + 1 < bytes.size() ? alphabet[word >> 6U & 63U] : '=');
        out.push_back(i + 2 < bytes.size() ? alphabet[word & 63U] : '=');
    }
}

std::optional<std::string> base64_decode(std::string_view text) {
    if (text.size() % 4 != 0) {
        return std::nullopt;
    }
    std::string out;
    out.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        const bool last = i + 4 == text.size();
        const std::size_t padding =
            !last || text[i + 3] != '=' ? 0U : (text[i + 2] == '=' ? 2U : 1U);
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            const bool padded = k >= 4 - padding;
            const int value = padded ? 0 : values[static_cast<unsigned char>(text[i + k])];
            if (value < 0) {
                return std::nullopt;
            }
            word = word << 6U | static_cast<std::uint32_t>(value);
        }
        // The bits that padding leaves over must be zero: one text for one value.
        if ((padding == 1 && (word & 0xFFU) != 0) || (padding == 2 && (word & 0xFFFFU) != 0)) {
            return std::nullopt;
        }
        out.push_back(static_cast<char>(word >> 16U & 0xFFU));
        if (padding < 2) {
            out.push_back(static_cast<char>(word >> 8U & 0xFFU));
        }
        if (padding < 1) {
            out.push_back(static_cast<char>(word & 0xFFU));
        }
    }
    return out;
}

}  // namespace ff::wire
