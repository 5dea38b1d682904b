#include "http/raw_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace ff::http::test {

namespace {

bool same_word(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) ==
               std::tolower(static_cast<unsigned char>(y));
    });
}

bool try_connect(int fd, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

int connect_to(std::uint16_t port, int receive_bytes) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_bytes > 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    const int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (!try_connect(fd, port)) {
        ADD_FAILURE() << "cannot connect to port " << port << ": " << std::strerror(errno);
    }
    return fd;
}

bool wait_for(int fd, short events, std::chrono::milliseconds time) {
    pollfd entry{fd, events, 0};
    return poll(&entry, 1, static_cast<int>(time.count())) > 0;
}

}  // namespace

std::optional<std::string> RawAnswer::header(std::string_view name) const {
    EXPECT_LE(count(name), 1U) << name << " stands more than once";
    for (const auto& [key, value] : headers) {
        if (same_word(key, name)) {
            return value;
        }
    }
    return std::nullopt;
}

std::size_t RawAnswer::count(std::string_view name) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(headers, [&](const auto& h) { return same_word(h.first, name); }));
}

json RawAnswer::document() const {
    auto value = js::parse(body);
    EXPECT_TRUE(value.has_value()) << "not JSON: " << body;
    return value ? std::move(*value) : json();
}

std::string RawAnswer::member(std::string_view name) const {
    const json whole = document();
    const json* found = whole.find(name);
    if (found == nullptr) {
        return "";
    }
    return found->if_string() != nullptr ? *found->if_string() : js::dump(*found);
}

std::string request_text(std::string_view method, std::string_view target, std::string_view body,
                         const std::vector<std::string>& fields) {
    std::string out =
        std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n";
    for (const std::string& field : fields) {
        out += field + "\r\n";
    }
    if (!body.empty()) {
        out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return out + "\r\n" + std::string(body);
}

std::string json_request(std::string_view method, std::string_view target, std::string_view body,
                         std::vector<std::string> fields) {
    fields.insert(fields.begin(), "Content-Type: application/json");
    return request_text(method, target, body, fields);
}

// ------------------------------------------------------------------------------------ the client

RawClient::RawClient(std::uint16_t port) : fd_(connect_to(port, 0)) {}

RawClient RawClient::with_small_buffer(std::uint16_t port) {
    return RawClient(connect_to(port, 2'048));
}

bool RawClient::can_connect(std::uint16_t port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool connected = try_connect(fd, port);
    ::close(fd);
    return connected;
}

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), ended_(other.ended_), input_(std::move(other.input_)) {}

RawClient::~RawClient() { close(); }

void RawClient::close() {
    if (fd_ >= 0) {
        ::close(std::exchange(fd_, -1));
    }
}

void RawClient::reset() {
    const linger at_once{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
}

void RawClient::finish_sending() { shutdown(fd_, SHUT_WR); }

bool RawClient::send(std::string_view bytes) {
    if (sends_within(bytes, patience)) {
        return true;
    }
    if (errno == EAGAIN) {
        ADD_FAILURE() << "the server takes nothing more";
    }
    return false;
}

bool RawClient::sends_within(std::string_view bytes, std::chrono::milliseconds time) {
    while (!bytes.empty()) {
        if (!wait_for(fd_, POLLOUT, time)) {
            errno = EAGAIN;
            return false;
        }
        const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EINTR) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return true;
}

/// Reads some more; false at the end, which a reset is too.
bool RawClient::fill() {
    if (ended_) {
        return false;
    }
    if (!wait_for(fd_, POLLIN, patience)) {
        ADD_FAILURE() << "the server says nothing; so far it said: " << input_.substr(0, 500);
        return false;
    }
    std::array<char, 65'536> buffer;
    const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
        ended_ = true;
        return false;
    }
    input_.append(buffer.data(), static_cast<std::size_t>(size));
    return true;
}

namespace {

/// Reads the head of an answer, up to the empty line.
RawAnswer parse_head(std::string_view head) {
    RawAnswer answer;
    if (!head.starts_with("HTTP/1.1 ") || head.size() < 13) {
        ADD_FAILURE() << "not an answer: " << head.substr(0, 200);
        return answer;
    }
    std::from_chars(head.data() + 9, head.data() + 12, answer.status);
    std::size_t at = head.find("\r\n");
    while (at < head.size()) {
        const std::size_t begin = at + 2;
        at = std::min(head.find("\r\n", begin), head.size());
        const std::string_view line = head.substr(begin, at - begin);
        const std::size_t colon = line.find(": ");
        if (colon == std::string_view::npos) {
            ADD_FAILURE() << "not a field: " << line;
            continue;
        }
        answer.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    }
    return answer;
}

}  // namespace

RawAnswer RawClient::read_answer(bool to_head) {
    std::size_t end = std::string::npos;
    while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
        if (!fill()) {
            return {};
        }
    }
    RawAnswer answer = parse_head(std::string_view(input_).substr(0, end));
    input_.erase(0, end + 4);
    const std::string length = answer.header("Content-Length").value_or("0");
    std::size_t size = 0;
    std::from_chars(length.data(), length.data() + length.size(), size);
    size = to_head ? 0 : size;
    while (input_.size() < size) {
        if (!fill()) {
            ADD_FAILURE() << "the answer ends after " << input_.size() << " of " << size;
            return {};
        }
    }
    answer.body = input_.substr(0, size);
    input_.erase(0, size);
    return answer;
}

std::string RawClient::read_until(std::string_view end) {
    std::size_t at = std::string::npos;
    while ((at = input_.find(end)) == std::string::npos) {
        if (!fill()) {
            return std::exchange(input_, {});
        }
    }
    return read_bytes(at + end.size());
}

std::string RawClient::read_bytes(std::size_t count) {
    while (input_.size() < count && fill()) {
    }
    std::string out = input_.substr(0, count);
    input_.erase(0, out.size());
    return out;
}

std::string RawClient::read_to_end() {
    while (fill()) {
    }
    EXPECT_TRUE(ended_) << "the server keeps the connection open";
    return std::exchange(input_, {});
}

bool RawClient::hears_within(std::chrono::milliseconds time) {
    return !input_.empty() || wait_for(fd_, POLLIN, time);
}

}  // namespace ff::http::test
