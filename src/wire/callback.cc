#include "wire/callback.h"

#include <algorithm>

#include <ff/callback.h>

#include "wire/url.h"
#include "wire/values.h"

namespace ff {

std::string callback_path(const WaitpointTicket& ticket) {
    const std::string& token = ticket.waitpoint_token;
    const std::size_t colon = token.find(':');
    std::string path(wire::callback_prefix);
    path += ticket.waitpoint_id.to_string();
    path += '.';
    wire::append_encoded(path, std::string_view(token).substr(0, colon));
    path += '.';
    if (colon != std::string::npos) {
        wire::append_encoded(path, std::string_view(token).substr(colon + 1));
    }
    return path;
}

namespace wire {

std::optional<CallbackTarget> parse_callback(std::string_view text) {
    constexpr std::size_t id_size = 36;
    constexpr std::size_t digest_size = 64;
    // A kid has one character at least.
    if (text.size() < id_size + 1 + 1 + 1 + digest_size || text[id_size] != '.' ||
        text[text.size() - digest_size - 1] != '.') {
        return std::nullopt;
    }
    const auto id = Uuid::parse(text.substr(0, id_size));
    if (!id) {
        return std::nullopt;
    }
    const std::string_view kid = text.substr(id_size + 1, text.size() - id_size - digest_size - 2);
    const std::string_view digest = text.substr(text.size() - digest_size);
    // What no key can be called is no callback; nobody has to look for it.
    constexpr std::size_t kid_size_max = 64;
    const auto is_printable = [](char c) { return c >= ' ' && c <= '~' && c != ':'; };
    if (kid.size() > kid_size_max || !std::ranges::all_of(kid, is_printable)) {
        return std::nullopt;
    }
    return CallbackTarget{WaitpointId{*id}, std::string(kid) + ":" + std::string(digest)};
}

}  // namespace wire

}  // namespace ff
