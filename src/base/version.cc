#include "base/version.h"

#include <array>
#include <charconv>
#include <system_error>

namespace ff {

Version parse_version(std::string_view text) {
    Version out;
    for (std::uint32_t* number : std::array{&out.major, &out.minor, &out.patch}) {
        const char* const last = text.data() + text.size();
        const auto [end, fault] = std::from_chars(text.data(), last, *number);
        if (fault != std::errc{}) {
            break;
        }
        ++out.given;
        if (end == last || *end != '.') {
            break;
        }
        text.remove_prefix(static_cast<std::size_t>(end + 1 - text.data()));
    }
    return out;
}

}  // namespace ff
