#include "base/version.h"

#include <gtest/gtest.h>

#include <string>

namespace ff::test {
namespace {

/// `1.2.3`, as far as numbers were given.
std::string read(std::string_view text) {
    const Version version = parse_version(text);
    std::string out;
    int left = version.given;
    for (const std::uint32_t number : {version.major, version.minor, version.patch}) {
        if (left-- > 0) {
            out += (out.empty() ? "" : ".") + std::to_string(number);
        } else {
            EXPECT_EQ(number, 0U) << text;
        }
    }
    return out;
}

TEST(Version, IsTheNumbersATextBeginsWith) {
    EXPECT_EQ(read("3.40.1"), "3.40.1");
    EXPECT_EQ(read("15.18 (Debian 15.18-0+deb12u1)"), "15.18");
    EXPECT_EQ(read("17beta1"), "17");
    EXPECT_EQ(read("1.2.3.4"), "1.2.3");
    EXPECT_EQ(read("4."), "4");
}

TEST(Version, WithoutNumbersThereIsNone) {
    for (const char* text : {"", "unknown", ".1", "-1.2", "99999999999.1"}) {
        EXPECT_EQ(read(text), "") << text;
    }
}

}  // namespace
}  // namespace ff::test
