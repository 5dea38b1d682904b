#include "http/config_values.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "base/utf8.h"

namespace ff::http {

namespace {

std::unexpected<Error> wrong(std::string what) {
    return ff::fail(ErrorCode::invalid_config, std::move(what));
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_visible(char c) { return c > 0x20 && c < 0x7F; }

/// `https://app.example.org:8443`: a scheme and a host, nothing after.
bool is_origin(std::string_view text) {
    const std::size_t scheme = text.find("://");
    if (scheme == std::string_view::npos || scheme == 0 || !std::ranges::all_of(text, is_visible)) {
        return false;
    }
    const std::string_view host = text.substr(scheme + 3);
    return !host.empty() && host.find_first_of("/?#@\\\"*") == std::string_view::npos;
}

bool is_host_name(std::string_view text) {
    return !text.empty() && text.size() <= 253 && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
    });
}

bool is_ipv6(const std::string& text) {
    in6_addr address{};
    return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

std::string quoted(std::string_view text) {
    constexpr std::size_t bytes_max = 100;
    std::string shown(text);
    if (!is_valid_utf8(text) || any_code_point(text, is_control)) {
        std::ranges::replace_if(shown, [](char c) { return c != ' ' && !is_visible(c); }, '?');
    }
    shown = truncate_utf8(std::move(shown), bytes_max);
    return "\"" + shown + (text.size() > bytes_max ? "…\"" : "\"");
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
    std::string out;
    for (const std::string& word : words) {
        out += out.empty() ? "" : between;
        out += word;
    }
    return out;
}

std::vector<std::string> read_list(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        if (const auto part = trimmed(text.substr(0, comma)); !part.empty()) {
            out.emplace_back(part);
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return out;
}

expected<std::int64_t> read_number(std::string_view text, std::int64_t low, std::int64_t high) {
    const std::string_view digits = trimmed(text);
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, fault] = std::from_chars(digits.data(), end, value);
    const bool too_long = fault == std::errc::result_out_of_range;
    if (digits.empty() || at != end || (fault != std::errc() && !too_long)) {
        return wrong(quoted(text) + " is not a whole number");
    }
    if (too_long || value < low || value > high) {
        return wrong(std::string(digits) + " is not between " + std::to_string(low) + " and " +
                     std::to_string(high));
    }
    return value;
}

expected<bool> read_boolean(std::string_view text) {
    const std::string word = lower_case(trimmed(text));
    if (word == "1" || word == "true") {
        return true;
    }
    if (word == "0" || word == "false") {
        return false;
    }
    return wrong(quoted(text) + " is neither 1 nor 0, neither true nor false");
}

expected<std::vector<std::string>> read_lanes(std::string_view text) {
    std::vector<std::string> lanes = read_list(text);
    if (lanes.empty()) {
        return wrong("there must be at least one lane");
    }
    std::set<std::string_view> seen;
    for (const std::string& lane : lanes) {
        if (const auto ok = check_lane("lane", lane); !ok) {
            return wrong(quoted(lane) + " cannot be a lane: 1 to 64 printable ASCII characters");
        }
        if (!seen.insert(lane).second) {
            return wrong("lane " + quoted(lane) + " is there twice");
        }
    }
    return lanes;
}

expected<CorsRule> read_origins(std::string_view text, std::vector<std::string>& warnings) {
    CorsRule rule;
    for (const std::string& entry : read_list(text)) {
        if (entry == "*") {
            rule.any_origin = true;
        } else if (is_origin(entry)) {
            rule.origins.push_back(lower_case(entry));
        } else {
            warnings.push_back("FF_CORS_ORIGINS: " + quoted(entry) +
                               " is no origin and is left out; write https://HOST or "
                               "https://HOST:PORT");
        }
    }
    if (rule.any_origin) {
        rule.origins.clear();
    } else if (rule.origins.empty()) {
        return wrong("it holds no origin; write https://HOST, *, or leave the setting out");
    }
    return rule;
}

expected<std::string> read_token(std::string_view text) {
    if (!std::ranges::all_of(text, is_visible)) {
        return wrong(
            "it holds a space, a control character or a byte that is not ASCII, which no "
            "request header can carry");
    }
    return std::string(text);
}

expected<std::string> read_hex(std::string_view text, std::size_t digits) {
    const bool hex =
        std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
    if (!hex || text.size() % 2 != 0 || (digits != 0 && text.size() != digits)) {
        return wrong(digits != 0 ? "it must be " + std::to_string(digits) + " hex digits"
                                 : "it must be an even number of hex digits");
    }
    return std::string(text);
}

// ------------------------------------------------------------------------------------- address

expected<ListenAddress> ListenAddress::parse(std::string_view text) {
    const auto no_address = [&] {
        return wrong(quoted(text) + " is not HOST:PORT, as in 127.0.0.1:9090 or [::1]:9090");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return no_address();
    }
    ListenAddress out;
    out.host = text.substr(0, colon);
    if (out.host.starts_with('[') && out.host.ends_with(']')) {
        out.host = out.host.substr(1, out.host.size() - 2);
        if (!is_ipv6(out.host)) {
            return no_address();
        }
    } else if (!is_host_name(out.host)) {
        return no_address();
    }
    const auto port = read_number(text.substr(colon + 1), 0, 65'535);
    if (!port) {
        return no_address();
    }
    out.port = static_cast<std::uint16_t>(*port);
    return out;
}

std::string ListenAddress::to_string() const {
    const bool brackets = host.find(':') != std::string::npos;
    return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool ListenAddress::is_loopback() const {
    in_addr v4{};
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
        return (ntohl(v4.s_addr) >> 24U) == 127;
    }
    in6_addr v6{};
    if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
    }
    return lower_case(host) == "localhost";
}

}  // namespace ff::http
