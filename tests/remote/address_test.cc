// Addresses of servers.
#include <gtest/gtest.h>

#include "client/remote_engine.h"

namespace ff::client {
namespace {

TEST(ServerAddress, HostPortAndTlsAreRead) {
    const auto plain = ServerAddress::parse("http://127.0.0.1:9090");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->host, "127.0.0.1");
    EXPECT_EQ(plain->port, 9090);
    EXPECT_FALSE(plain->tls);
    const auto tls = ServerAddress::parse("https://ff.example.org//");
    ASSERT_TRUE(tls);
    EXPECT_EQ(tls->host, "ff.example.org");
    EXPECT_EQ(tls->port, 443);
    EXPECT_TRUE(tls->tls);
    const auto six = ServerAddress::parse("http://[::1]:80");
    ASSERT_TRUE(six);
    EXPECT_EQ(six->host, "::1");
    EXPECT_EQ(six->port, 80);
}

TEST(ServerAddress, WhatIsNoneIsRefusedWithAWordOnIt) {
    for (const char* url : {"ftp://x", "http://", "http://x:0", "http://x:70000", "http://x:a",
                            "http://x/path", "x:9090"}) {
        const auto at = ServerAddress::parse(url);
        ASSERT_FALSE(at) << url;
        EXPECT_EQ(at.error().code, ErrorCode::invalid_config);
        EXPECT_NE(at.error().detail.find(url), std::string::npos) << at.error().detail;
    }
}

TEST(ServerAddress, AWordOnItNamesNoSecret) {
    for (const char* url :
         {"http://ada:pass/wo@rd@host:1", "ada:password@host", "http://ada@host"}) {
        const auto at = ServerAddress::parse(url);
        ASSERT_FALSE(at) << url;
        EXPECT_EQ(at.error().detail.find("ada"), std::string::npos) << at.error().detail;
        EXPECT_EQ(at.error().detail.find("pass"), std::string::npos) << at.error().detail;
        EXPECT_NE(at.error().detail.find("host"), std::string::npos) << at.error().detail;
    }
}

}  // namespace
}  // namespace ff::client
