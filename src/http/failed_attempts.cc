#include "http/failed_attempts.h"

#include <arpa/inet.h>

namespace ff::http {

namespace {

constexpr std::chrono::seconds window{60};
/// So many are looked at for one to forget.
constexpr std::size_t candidates_max = 8;

/// Who counts as one: an address, of IPv6 the network, which has more addresses than anybody can
/// count.
std::string counted_as(std::string_view peer) {
    in6_addr six{};
    std::string text(peer.substr(0, peer.find('%')));
    if (inet_pton(AF_INET6, text.c_str(), &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six)) {
        return text;
    }
    return {reinterpret_cast<const char*>(six.s6_addr), 8};  // NOLINT: bytes
}

std::string at_target(const std::string& address, std::string_view target) {
    return address + " " + std::string(target);
}

}  // namespace

void FailedAttempts::turn(TimePoint now) {
    if (now - window_began_ >= window) {
        window_began_ = now;
        by_address_.clear();
        by_target_.clear();
    }
}

std::int64_t FailedAttempts::seconds_to_wait(std::string_view peer, std::string_view target,
                                             TimePoint now) {
    const std::lock_guard lock(mutex_);
    turn(now);
    const auto reached = [](const Counts& counts, const std::string& key, std::size_t most) {
        const auto known = counts.find(key);
        return known != counts.end() && known->second >= most;
    };
    const std::string address = counted_as(peer);
    const bool too_many = target.empty()
                              ? reached(by_address_, address, attempts_max_ * targets_factor)
                              : reached(by_target_, at_target(address, target), attempts_max_);
    if (attempts_max_ == 0 || !too_many) {
        return 0;
    }
    return std::chrono::ceil<std::chrono::seconds>(window_began_ + window - now).count();
}

void FailedAttempts::add(std::string_view peer, std::string_view target, TimePoint now) {
    const std::lock_guard lock(mutex_);
    turn(now);
    const std::string address = counted_as(peer);
    count(by_address_, address);
    if (!target.empty()) {
        count(by_target_, at_target(address, target));
    }
}

void FailedAttempts::count(Counts& counts, const std::string& key) {
    if (counts.size() >= counted_max && !counts.contains(key)) {
        auto least = counts.begin();
        auto other = least;
        for (std::size_t i = 1; i < candidates_max; ++i) {
            ++other;
            least = other->second < least->second ? other : least;
        }
        counts.erase(least);
    }
    ++counts[key];
}

}  // namespace ff::http
