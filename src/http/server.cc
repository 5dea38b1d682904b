#include "http/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <vector>

#include "http/connection.h"
#include "http/loop.h"
#include "net/stream.h"

namespace ff::http {

namespace {

using net::error_code;

constexpr auto accept_pause = std::chrono::milliseconds(50);

/// Descriptors for the store, and for what the server calls itself.
constexpr std::size_t descriptors_kept = 64;

/// Requests that wait hold their connections for long: some are kept for all others, completions
/// and renewals above all. Polls leave some of the waiting places to those who read along.
ServiceOptions leaving_room(ServiceOptions service, const ServerOptions& server) {
    const std::size_t waiting = std::max<std::size_t>(1, server.connections_max * 3 / 4);
    service.waiting_max = std::min(service.waiting_max, waiting);
    service.polls_max = std::min(service.polls_max, waiting - waiting / 8);
    return service;
}

std::size_t descriptors_in_use() {
    std::error_code error;
    std::size_t found = 0;
    for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
         at.increment(error)) {
        ++found;
    }
    return found;
}

/// Takes all the descriptors this process may have, and no more connections than they allow.
ServerOptions within_descriptors(ServerOptions options) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return options;
    }
    if (limit.rlim_cur < limit.rlim_max) {
        rlimit raised = limit;
        raised.rlim_cur = raised.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) {
            limit = raised;
        }
    }
    const std::size_t most =
        connections_within(options.connections_max, limit.rlim_cur, descriptors_in_use());
    if (most < options.connections_max && options.warn) {
        options.warn("this process may have " + std::to_string(limit.rlim_cur) +
                     " descriptors (ulimit -n): at most " + std::to_string(most) +
                     " connections are taken instead of " +
                     std::to_string(options.connections_max));
    }
    options.connections_max = most;
    return options;
}

class LoopServer final : public Server {
  public:
    LoopServer(std::shared_ptr<Engine> engine, ServerOptions options, ServiceOptions service)
        : options_(std::move(options)),
          service_(std::move(engine), leaving_room(std::move(service), options_)) {
        const Timeouts timeouts{options_.head_timeout, options_.body_timeout, options_.idle_timeout,
                                options_.send_timeout};
        for (std::size_t i = 0; i < std::max<std::size_t>(1, options_.threads); ++i) {
            loops_.push_back(std::make_unique<Loop>(timeouts));
        }
        listener_.emplace(loops_[0]->events());
        pause_.emplace(loops_[0]->events());
    }
    ~LoopServer() override {
        service_.drain();
        stop_accepting();
        for (auto& loop : loops_) {
            loop->post([&loop = *loop] {
                for (Session* session : loop.sessions()) {
                    session->abort();
                }
            });
        }
        {
            // A request that the engine has still to answer holds its connection.
            std::unique_lock lock(mutex_);
            emptied_.wait(lock, [this] { return connections_ == 0; });
        }
        for (auto& loop : loops_) {
            loop->stop();
        }
    }

    expected<void> open() {
        FF_TRY_VOID(load_tls());
        FF_TRY_VOID(listener_->listen(options_.host, options_.port));
        port_ = listener_->port();
        for (auto& loop : loops_) {
            loop->start();
        }
        loops_[0]->post([this] { accept(); });
        return {};
    }

    [[nodiscard]] std::uint16_t port() const override { return port_; }
    [[nodiscard]] std::size_t connections() const override { return connections_; }
    [[nodiscard]] Service& service() override { return service_; }

    bool drain(std::chrono::milliseconds grace) override {
        service_.drain();
        stop_accepting();
        for (auto& loop : loops_) {
            loop->post([&loop = *loop] {
                for (Session* session : loop.sessions()) {
                    session->drain();
                }
            });
        }
        std::unique_lock lock(mutex_);
        return emptied_.wait_for(lock, grace, [this] { return connections_ == 0; });
    }

  private:
    expected<void> load_tls() {
        if (!options_.tls_cert.empty()) {
            FF_TRY(tls_, net::Tls::of_server(options_.tls_cert, options_.tls_key));
        }
        return {};
    }

    // Loop 0 only.
    void accept() {
        if (!listener_->is_open() || accepting_) {
            return;
        }
        // Said before it is looked at: a connection that ends in between lets the next one in.
        full_ = true;
        if (connections_ >= options_.connections_max) {
            return;
        }
        full_ = false;
        accepting_ = true;
        Loop& loop = *loops_[next_loop_++ % loops_.size()];
        listener_->accept(
            loop.events(), tls_.get(),
            [this, &loop](const error_code& error, std::unique_ptr<net::Stream> stream) {
                accepting_ = false;
                if (net::is_aborted(error)) {
                    return;
                }
                if (error) {
                    accept_later(error);
                    return;
                }
                accept_fails_ = false;
                ++connections_;
                serve(loop, std::move(stream));
                accept();
            });
    }

    void serve(Loop& loop, std::unique_ptr<net::Stream> stream) {
        loop.post([this, &loop, stream = std::move(stream)]() mutable {
            if (service_.draining()) {
                stream.reset();  // it is closed before it counts no more
                ended();
                return;
            }
            serve_connection(std::move(stream), service_, loop, [this] { ended(); });
        });
    }

    /// Out of descriptors, mostly: a moment later there may be some again.
    void accept_later(const error_code& error) {
        if (!std::exchange(accept_fails_, true)) {
            warn("cannot accept connections: " + error.message());
        }
        pause_->start(std::chrono::steady_clock::now() + accept_pause,
                      [this](const error_code& stopped) {
                          if (!stopped) {
                              accept();
                          }
                      });
    }

    /// On the loop of the connection that ended.
    void ended() {
        {
            const std::lock_guard lock(mutex_);
            --connections_;
        }
        emptied_.notify_all();
        if (full_.exchange(false)) {
            loops_[0]->post([this] { accept(); });
        }
    }

    void stop_accepting() {
        loops_[0]->post([this] {
            listener_->close();
            pause_->cancel();
        });
    }

    void warn(std::string_view text) const {
        if (options_.warn) {
            options_.warn(text);
        }
    }

    const ServerOptions options_;
    Service service_;
    std::unique_ptr<net::Tls> tls_;
    std::vector<std::unique_ptr<Loop>> loops_;
    std::optional<net::Listener> listener_;
    std::optional<net::Timer> pause_;
    std::size_t next_loop_ = 0;
    bool accepting_ = false;     // loop 0 only
    bool accept_fails_ = false;  // loop 0 only; told once
    std::uint16_t port_ = 0;
    std::atomic<std::size_t> connections_{0};
    std::atomic<bool> full_{false};
    std::mutex mutex_;
    std::condition_variable emptied_;
};

}  // namespace

std::size_t connections_within(std::size_t wanted, std::size_t descriptors, std::size_t in_use) {
    const std::size_t taken = in_use + descriptors_kept;
    return std::clamp<std::size_t>(descriptors > taken ? descriptors - taken : 0, 1,
                                   std::max<std::size_t>(1, wanted));
}

expected<void> check_listening(const std::string& host, std::uint16_t port) {
    net::EventLoop loop;
    return net::Listener(loop).listen(host, port);
}

expected<std::unique_ptr<Server>> Server::start(std::shared_ptr<Engine> engine,
                                                ServerOptions options, ServiceOptions service) {
    auto server = std::make_unique<LoopServer>(
        std::move(engine), within_descriptors(std::move(options)), std::move(service));
    FF_TRY_VOID(server->open());
    return server;
}

}  // namespace ff::http
