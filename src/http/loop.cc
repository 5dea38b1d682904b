#include "http/loop.h"

#include <ctime>
#include <memory>

namespace ff::http {

namespace {

constexpr auto sweep_every = std::chrono::milliseconds(250);
/// For an answer to cross the network behind what the client still sends; who sends on and on keeps
/// a place no longer.
constexpr std::chrono::milliseconds linger_at_most{5'000};

}  // namespace

Loop::Loop(const Timeouts& timeouts)
    : timer_(events_),
      deadlines_({timeouts.idle, timeouts.head, timeouts.body, timeouts.send,
                  std::min<std::chrono::milliseconds>(timeouts.head, linger_at_most)}) {}

Loop::~Loop() { stop(); }

void Loop::start() {
    tick();
    events_.start("ff-http");
}

void Loop::stop() {
    events_.stop([this] {
        over_ = true;  // a tick that is under way has no wait to cancel
        timer_.cancel();
        for (Session* session : sessions()) {
            session->abort();
        }
    });
}

void Loop::tick() {
    const auto next = std::chrono::steady_clock::now() + sweep_every;
    timer_.start(next, [this](const boost::system::error_code& error) {
        if (error || over_) {
            return;
        }
        deadlines_.sweep(std::chrono::steady_clock::now(),
                         [](Session& session) { session.late(); });
        tick();
    });
}

void Loop::later(std::chrono::milliseconds pause, std::move_only_function<void()> work) {
    if (pause <= std::chrono::milliseconds::zero()) {
        post(std::move(work));
        return;
    }
    post([this, pause, work = std::move(work)]() mutable {
        auto timer = std::make_unique<net::Timer>(events_);
        net::Timer& waits = *timer;
        waits.start(std::chrono::steady_clock::now() + pause,
                    [timer = std::move(timer),
                     work = std::move(work)](const boost::system::error_code&) mutable { work(); });
    });
}

const std::string& Loop::date() {
    const std::int64_t now = std::time(nullptr);
    if (now != date_second_) {
        date_second_ = now;
        std::tm parts{};
        const std::time_t seconds = now;
        gmtime_r(&seconds, &parts);
        std::array<char, 40> text{};
        const std::size_t size =
            std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
        date_.assign(text.data(), size);
    }
    return date_;
}

}  // namespace ff::http
