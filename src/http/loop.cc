#include "http/loop.h"

#include <ctime>

namespace ff::http {

namespace {

constexpr auto sweep_every = std::chrono::milliseconds(250);

}  // namespace

Loop::Loop(const Timeouts& timeouts)
    : timer_(events_.context()),
      deadlines_({timeouts.idle, timeouts.head, timeouts.body, timeouts.send}) {}

Loop::~Loop() { stop(); }

void Loop::start() {
    tick();
    events_.start("ff-http");
}

void Loop::stop() {
    events_.stop([this] {
        timer_.cancel();
        for (Session* session : sessions()) {
            session->abort();
        }
    });
}

void Loop::tick() {
    timer_.expires_after(sweep_every);
    timer_.async_wait([this](const boost::system::error_code& error) {
        if (error) {
            return;
        }
        deadlines_.sweep(std::chrono::steady_clock::now(),
                         [](Session& session) { session.late(); });
        tick();
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
