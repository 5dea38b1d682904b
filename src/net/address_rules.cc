#include "net/address_rules.h"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace ff::net {

namespace {

namespace ip = boost::asio::ip;

/// Everything that is not for the public network (IANA's special-purpose registries), and what
/// carries an IPv4 address inside: there a closed one could hide.
constexpr std::string_view special[]{
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
    "2001::/23",     "2001:db8::/32",   "2002::/16",      "3fff::/20"};
/// No other part of IPv6 has been given out.
constexpr std::string_view public_ipv6 = "2000::/3";

template <class Bytes>
std::vector<unsigned char> bytes_of(const Bytes& bytes) {
    return {bytes.begin(), bytes.end()};
}

/// An IPv4 address in IPv6 clothes is judged as what it is.
std::optional<std::vector<unsigned char>> parse_address(std::string_view text) {
    boost::system::error_code fault;
    const ip::address address = ip::make_address(std::string(text), fault);
    if (fault) {
        return std::nullopt;
    }
    if (address.is_v4()) {
        return bytes_of(address.to_v4().to_bytes());
    }
    const ip::address_v6 six = address.to_v6();
    if (six.is_v4_mapped()) {
        return bytes_of(ip::make_address_v4(ip::v4_mapped, six).to_bytes());
    }
    return bytes_of(six.to_bytes());
}

}  // namespace

expected<AddressRules::Network> AddressRules::parse_network(std::string_view text) {
    const auto wrong = [&] {
        return ff::fail(ErrorCode::invalid_config,
                        "expected a network such as 10.0.0.0/8, not \"" + std::string(text) + "\"");
    };
    const std::size_t slash = text.find('/');
    const auto bytes = parse_address(text.substr(0, slash));
    if (!bytes) {
        return wrong();
    }
    Network out;
    out.bytes = *bytes;
    out.bits = static_cast<unsigned>(bytes->size()) * 8;
    out.text = text;
    if (slash != std::string_view::npos) {
        const std::string_view digits = text.substr(slash + 1);
        unsigned bits = 0;
        const auto [end, fault] =
            std::from_chars(digits.data(), digits.data() + digits.size(), bits);
        if (fault != std::errc() || end != digits.data() + digits.size() || bits > out.bits) {
            return wrong();
        }
        out.bits = bits;
    }
    return out;
}

expected<AddressRules> AddressRules::parse(std::string_view text) {
    AddressRules out;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        std::string_view word = text.substr(0, comma);
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
        while (word.starts_with(' ')) {
            word.remove_prefix(1);
        }
        while (word.ends_with(' ')) {
            word.remove_suffix(1);
        }
        if (word == "any") {
            out.any_ = true;
        } else {
            FF_TRY(Network network, parse_network(word));
            out.allowed_.push_back(std::move(network));
        }
    }
    return out;
}

bool AddressRules::is_in(const std::vector<unsigned char>& address, const Network& network) {
    if (address.size() != network.bytes.size()) {
        return false;
    }
    for (unsigned bit = 0; bit < network.bits; bit += 8) {
        const unsigned left = std::min(8U, network.bits - bit);
        const auto mask = static_cast<unsigned char>(0xff00U >> left);
        if ((address[bit / 8] & mask) != (network.bytes[bit / 8] & mask)) {
            return false;
        }
    }
    return true;
}

bool AddressRules::allows(std::string_view text) const {
    const auto address = parse_address(text);
    if (!address) {
        return false;
    }
    if (any_ ||
        std::ranges::any_of(allowed_, [&](const Network& n) { return is_in(*address, n); })) {
        return true;
    }
    static const std::vector<Network> closed = [] {
        std::vector<Network> out;
        for (const std::string_view network : special) {
            out.push_back(*parse_network(network));
        }
        return out;
    }();
    static const Network six = *parse_network(public_ipv6);
    if (address->size() == six.bytes.size() && !is_in(*address, six)) {
        return false;
    }
    return std::ranges::none_of(closed, [&](const Network& n) { return is_in(*address, n); });
}

std::string AddressRules::to_string() const {
    std::string out = any_ ? "any" : "";
    for (const Network& network : allowed_) {
        out += (out.empty() ? "" : ",") + network.text;
    }
    return out;
}

}  // namespace ff::net
