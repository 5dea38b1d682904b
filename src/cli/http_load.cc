#include "cli/http_load.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

namespace ff::cli {

namespace {

Error fault(std::string_view what) {
    return {ErrorCode::store_io, std::string(what) + ": " + std::strerror(errno), {}};
}

/// Bytes of a whole answer at the front, 0 when it is not whole yet.
std::size_t answer_size(std::string_view input, LoadAnswer& answer) {
    const std::size_t head = input.find("\r\n\r\n");
    if (head == std::string_view::npos || input.size() < 12) {
        return 0;
    }
    std::from_chars(input.data() + 9, input.data() + 12, answer.status);
    constexpr std::string_view name = "Content-Length: ";
    const std::size_t at = input.substr(0, head).find(name);
    std::size_t length = 0;
    if (at != std::string_view::npos) {
        std::from_chars(input.data() + at + name.size(), input.data() + head, length);
    }
    if (input.size() < head + 4 + length) {
        return 0;
    }
    answer.body = input.substr(head + 4, length);
    return head + 4 + length;
}

}  // namespace

void append_post(std::string& out, std::string_view path, std::string_view body) {
    out += "POST ";
    out += path;
    out += " HTTP/1.1\r\nHost: localhost\r\n";
    if (!body.empty()) {
        out += "Content-Type: application/json\r\n";
    }
    out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    out += body;
}

std::string_view member_text(std::string_view body, std::string_view name, std::size_t from) {
    const std::string key = "\"" + std::string(name) + "\":\"";
    const std::size_t at = body.find(key, from);
    if (at == std::string_view::npos) {
        return {};
    }
    const std::size_t begin = at + key.size();
    return body.substr(begin, body.find('"', begin) - begin);
}

expected<HttpLoad> HttpLoad::open(const std::string& host, std::uint16_t port,
                                  std::size_t connections) {
    HttpLoad load;
    load.epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (load.epoll_ < 0) {
        return std::unexpected(fault("epoll"));
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &address.sin_addr) !=
        1) {
        return ff::fail(ErrorCode::invalid_config, "the load goes to an IPv4 address, not " + host);
    }
    load.links_.reserve(connections);
    for (std::size_t i = 0; i < connections; ++i) {
        Link& link = load.links_.emplace_back();
        link.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (link.fd < 0 ||
            connect(link.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
            return std::unexpected(fault("cannot connect to " + host + ":" + std::to_string(port)));
        }
        const int yes = 1;
        setsockopt(link.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        if (epoll_ctl(load.epoll_, EPOLL_CTL_ADD, link.fd, &event) != 0) {
            return std::unexpected(fault("epoll"));
        }
    }
    return load;
}

HttpLoad::HttpLoad(HttpLoad&& other) noexcept
    : epoll_(std::exchange(other.epoll_, -1)), links_(std::move(other.links_)) {
    other.links_.clear();
}

HttpLoad::~HttpLoad() {
    for (const Link& link : links_) {
        if (link.fd >= 0) {
            close(link.fd);
        }
    }
    if (epoll_ >= 0) {
        close(epoll_);
    }
}

expected<bool> HttpLoad::ask(std::size_t index, const LoadAnswer* last, const Step& step) {
    Link& link = links_[index];
    link.output.clear();
    FF_TRY(const bool more, step(index, last, link.output));
    link.asking = more;
    std::string_view rest = link.output;
    while (more && !rest.empty()) {
        const ssize_t sent = send(link.fd, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return std::unexpected(fault("sending"));
        }
        rest.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
    }
    return more;
}

/// Reads what is there; true while the connection goes on.
expected<bool> HttpLoad::hear(std::size_t index, const Step& step) {
    Link& link = links_[index];
    thread_local std::array<char, 65'536> block;
    const ssize_t size = recv(link.fd, block.data(), block.size(), MSG_DONTWAIT);
    if (size <= 0) {
        if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
            return true;
        }
        return ff::fail(ErrorCode::store_io, "the server closed a connection");
    }
    link.input.append(block.data(), static_cast<std::size_t>(size));
    LoadAnswer answer;
    const std::size_t used = answer_size(link.input, answer);
    if (used == 0) {
        return true;
    }
    FF_TRY(const bool more, ask(index, &answer, step));
    link.input.erase(0, used);
    return more;
}

expected<double> HttpLoad::run(const Step& step) {
    const auto began = std::chrono::steady_clock::now();
    std::size_t asking = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
        FF_TRY(const bool more, ask(i, nullptr, step));
        asking += more ? 1 : 0;
    }
    std::array<epoll_event, 256> events{};
    while (asking > 0) {
        const int count = epoll_wait(epoll_, events.data(), events.size(), 60'000);
        if (count == 0) {
            return ff::fail(ErrorCode::timeout, "the server did not answer for a minute");
        }
        for (int i = 0; i < count; ++i) {
            const auto index =
                static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64);
            if (!links_[index].asking) {
                continue;
            }
            FF_TRY(const bool more, hear(index, step));
            asking -= more ? 0 : 1;
        }
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

expected<void> HttpLoad::send_all(
    const std::function<std::string(std::size_t connection)>& request) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
        FF_TRY_VOID(ask(i, nullptr, [&](std::size_t, const LoadAnswer*, std::string& out) {
            out += request(i);
            return expected<bool>(true);
        }));
    }
    return {};
}

}  // namespace ff::cli
