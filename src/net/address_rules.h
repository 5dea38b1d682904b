// Which addresses this process may be sent to by others: public ones, and those that were allowed.
//
// A name resolves to whatever its owner says, so the address is judged when a connection is made,
// not the name when it is written down.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

namespace ff::net {

class AddressRules {
  public:
    /// Only public addresses.
    AddressRules() = default;
    /// Networks with commas between (`10.0.0.0/8`, `127.0.0.1`, `fd00::/8`), or `any`.
    static expected<AddressRules> parse(std::string_view text);

    /// Of an IP address; any other text is not allowed.
    [[nodiscard]] bool allows(std::string_view text) const;
    /// What was parsed, in a form that can be parsed again.
    [[nodiscard]] std::string to_string() const;

  private:
    struct Network {
        std::vector<unsigned char> bytes;  ///< 4 or 16
        unsigned bits = 0;
        std::string text;
    };
    static expected<Network> parse_network(std::string_view text);
    static bool is_in(const std::vector<unsigned char>& address, const Network& network);

    bool any_ = false;
    std::vector<Network> allowed_;
};

}  // namespace ff::net
