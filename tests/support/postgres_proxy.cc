#include "support/postgres_proxy.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

namespace ff::support {

namespace {

constexpr int look_ms = 50;

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    return address;
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

/// Adds what has arrived; false at the end.
bool read_some(int fd, std::string& to) {
    std::array<char, 65'536> bytes{};
    const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
    if (got > 0) {
        to.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return got > 0;
}

bool readable(int fd, int timeout_ms) {
    pollfd wait{fd, POLLIN, 0};
    return poll(&wait, 1, timeout_ms) > 0;
}

}  // namespace

/// One connection and what its client has said so far.
struct PostgresProxy::Stream {
    int client = -1;
    int server = -1;
    bool greeted = false;           ///< the first message has no type
    std::string heard;              ///< of the client, not passed on yet
    std::set<std::string> commits;  ///< names of statements that commit
    Cut cut = Cut::none;            ///< decided, and to be done at the end of the pipeline

    /// Takes one whole message off what was heard; empty when there is none.
    std::string take_message() {
        const std::size_t head = greeted ? 1 : 0;
        if (heard.size() < head + 4) {
            return {};
        }
        std::size_t size = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            size = size << 8U | static_cast<unsigned char>(heard[head + i]);
        }
        if (heard.size() < head + size) {
            return {};
        }
        std::string message = heard.substr(0, head + size);
        heard.erase(0, head + size);
        greeted = true;
        return message;
    }
    /// Notes statements that are prepared; true for one that commits and is run.
    bool commits_now(const std::string& message) {
        const auto word = [&](std::size_t at) { return std::string(message.c_str() + at); };
        if (message[0] == 'P' && word(5 + word(5).size() + 1) == "COMMIT") {
            commits.insert(word(5));
        }
        return message[0] == 'B' && commits.contains(word(5 + word(5).size() + 1));
    }
};

PostgresProxy::PostgresProxy(std::string server) : server_(std::move(server)) {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(folder_.file(".s.PGSQL.5432"));
    const auto* plain = reinterpret_cast<const sockaddr*>(&address);
    EXPECT_EQ(bind(listener_, plain, sizeof(address)), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    acceptor_ = std::thread([this] { accept_all(); });
}

PostgresProxy::~PostgresProxy() {
    stop_ = true;
    acceptor_.join();
    for (std::thread& carrier : carriers_) {
        carrier.join();
    }
    for (int fd : abandoned_) {
        close(fd);
    }
    close(listener_);
}

void PostgresProxy::accept_all() {
    while (!stop_) {
        if (held_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            continue;
        }
        if (!readable(listener_, look_ms) || held_) {
            continue;
        }
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client >= 0) {
            const std::lock_guard lock(mutex_);
            carriers_.emplace_back([this, client] { carry(client); });
        }
    }
}

void PostgresProxy::carry(int client) {
    Stream stream;
    stream.client = client;
    stream.server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = address_of(server_);
    bool open =
        connect(stream.server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    while (open && !stop_) {
        std::array<pollfd, 2> waits{{{stream.client, POLLIN, 0}, {stream.server, POLLIN, 0}}};
        if (poll(waits.data(), waits.size(), look_ms) <= 0) {
            continue;
        }
        if (waits[0].revents != 0) {
            open = read_some(stream.client, stream.heard) && forward_client(stream);
        }
        if (open && waits[1].revents != 0) {
            std::string said;
            open = read_some(stream.server, said) && write_all(stream.client, said);
        }
    }
    close(stream.client);
    if (stream.cut == Cut::unheard) {
        const std::lock_guard lock(mutex_);
        abandoned_.push_back(stream.server);
    } else {
        close(stream.server);
    }
}

/// False when the connection is to end.
bool PostgresProxy::forward_client(Stream& stream) {
    for (std::string message = stream.take_message(); !message.empty();
         message = stream.take_message()) {
        if (stream.commits_now(message)) {
            stream.cut = cut_.exchange(Cut::none);
            if (stream.cut == Cut::before || stream.cut == Cut::unheard) {
                cuts_ += 1;
                return false;
            }
        }
        if (!write_all(stream.server, message)) {
            return false;
        }
        if (stream.cut != Cut::none && message[0] == 'S') {  // that was all
            // What the server has to say ends with Z, "ready", and its state.
            std::string said;
            while (stream.cut == Cut::after && !stop_ &&
                   !(said.size() >= 6 && said[said.size() - 6] == 'Z')) {
                if (readable(stream.server, look_ms) && !read_some(stream.server, said)) {
                    break;
                }
            }
            cuts_ += 1;
            return false;
        }
    }
    return true;
}

}  // namespace ff::support
