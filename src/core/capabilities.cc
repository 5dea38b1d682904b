// Tokens that say what a worker can and what an execution needs: their shape, and who suffices.
#include <ff/policy.h>

#include "base/utf8.h"

#include <algorithm>
#include <iterator>

namespace ff {

namespace {

constexpr std::size_t capability_tokens_max = 256;
constexpr std::size_t capability_bytes_max = 4096;

std::string join(const std::vector<std::string>& tokens) {
    std::string text;
    for (const std::string& token : tokens) {
        if (!text.empty()) {
            text.push_back(',');
        }
        text.append(token);
    }
    return text;
}

bool has_control_or_space(const std::string& token, CapabilitySide side) {
    const auto is_bad_byte = [](unsigned char c) { return c <= 0x20 || c == 0x7F; };
    if (std::ranges::any_of(token, is_bad_byte)) {
        return true;
    }
    // What is not text at all could not be stored; it is refused as a control character would be.
    if (!is_valid_utf8(token)) {
        return true;
    }
    return side == CapabilitySide::worker &&
           any_code_point(token, [](char32_t c) { return is_control(c) || is_space(c); });
}

/// The first fault in the order the specification gives, or nothing. The limits count what would
/// be stored, hence the sorted list without duplicates.
std::string_view capability_fault(const std::vector<std::string>& tokens, CapabilitySide side) {
    const auto any = [&tokens](auto bad) { return std::ranges::any_of(tokens, bad); };
    if (any([](const std::string& token) { return token.empty(); })) {
        return "empty_token";
    }
    if (any([](const std::string& token) { return token.contains(','); })) {
        return "comma_in_token";
    }
    if (any([side](const std::string& token) { return has_control_or_space(token, side); })) {
        return "control_or_whitespace";
    }
    if (tokens.size() > capability_tokens_max) {
        return "too_many_tokens";
    }
    if (join(tokens).size() > capability_bytes_max) {
        return "too_many_bytes";
    }
    return {};
}

}  // namespace

expected<std::vector<std::string>> normalise_capabilities(std::vector<std::string> tokens,
                                                          CapabilitySide side) {
    std::ranges::sort(tokens);
    const auto repeats = std::ranges::unique(tokens);
    tokens.erase(repeats.begin(), repeats.end());
    const std::string_view fault = capability_fault(tokens, side);
    if (!fault.empty()) {
        const std::string prefix = side == CapabilitySide::worker ? "worker:" : "required:";
        return fail(ErrorCode::invalid_capabilities, prefix + std::string(fault));
    }
    return tokens;
}

bool satisfies(const std::vector<std::string>& offered, const std::vector<std::string>& required) {
    return std::ranges::includes(offered, required);
}

std::string missing_capabilities(const std::vector<std::string>& offered,
                                 const std::vector<std::string>& required) {
    std::vector<std::string> missing;
    std::ranges::set_difference(required, offered, std::back_inserter(missing));
    return join(missing);
}

}  // namespace ff
