#include "http/failed_attempts.h"

#include <arpa/inet.h>

namespace ff::http {

namespace {

constexpr std::chrono::seconds window{60};

/// Who counts as one: an address, of IPv6 the network, which has more addresses than anybody can
/// count; and what it tries at, which follows after a space.
std::string counted_as(std::string_view who) {
    in6_addr six{};
    const std::string_view peer = who.substr(0, who.find(' '));
    const std::string target(who.substr(peer.size()));
    const std::string text(peer.substr(0, peer.find('%')));
    if (inet_pton(AF_INET6, text.c_str(), &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six)) {
        return text + target;
    }
    return std::string(reinterpret_cast<const char*>(six.s6_addr), 8) + target;  // NOLINT: bytes
}

}  // namespace

void FailedAttempts::turn(TimePoint now) {
    if (now - window_began_ >= window) {
        window_began_ = now;
        failed_.clear();
    }
}

std::int64_t FailedAttempts::seconds_to_wait(std::string_view peer, TimePoint now) {
    const std::lock_guard lock(mutex_);
    turn(now);
    const auto known = failed_.find(counted_as(peer));
    if (attempts_max_ == 0 || known == failed_.end() || known->second < attempts_max_) {
        return 0;
    }
    return std::chrono::ceil<std::chrono::seconds>(window_began_ + window - now).count();
}

void FailedAttempts::add(std::string_view peer, TimePoint now) {
    const std::lock_guard lock(mutex_);
    turn(now);
    const std::string key = counted_as(peer);
    if (failed_.contains(key) || failed_.size() < addresses_max) {
        ++failed_[key];
    }
}

}  // namespace ff::http
