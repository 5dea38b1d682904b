#include "client/http_client.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <list>
#include <unordered_set>

#include "net/event_loop.h"
#include "net/stream.h"
#include "net/timer.h"

namespace ff::client {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using net::error_code;
using Parser = beast::http::response_parser<beast::http::string_body>;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t read_bytes = 16 * 1024;
/// How long an answer may still come after nobody waits for it any more.
constexpr auto farewell = std::chrono::milliseconds(5'000);

/// A request and who wants its answer.
struct Job {
    wire::Call call;
    Answers answers = Answers::promptly;
    SteadyClock::time_point until;
    std::stop_token given_up;
    HttpClient::Done done;
    bool again = false;  ///< on a connection of its own: one that was kept had ended
};

Error transport(std::string_view what, bool sent) {
    return {ErrorCode::store_io, std::string(what), {{"sent", sent ? "maybe" : "no"}}};
}

/// What the pool knows of a connection.
class Link {
  public:
    virtual ~Link() = default;
    virtual void run(Job job) = 0;
    virtual void abort(const Error& error) = 0;
    // The pool's.
    SteadyClock::time_point idle_since;
    bool counted = false;  ///< it is one of those that there may only be so many of
};

class Pool {
  public:
    virtual ~Pool() = default;
    virtual void idle(std::shared_ptr<Link> link) = 0;
    virtual void gone(Link& link) = 0;
    /// Sends it once more.
    virtual void again(Job job) = 0;
    [[nodiscard]] virtual const HttpClientOptions& options() const = 0;
    [[nodiscard]] virtual net::EventLoop& loop() = 0;
};

class Connection final : public Link, public std::enable_shared_from_this<Connection> {
  public:
    Connection(Pool& pool, std::unique_ptr<net::Stream> stream)
        : pool_(pool), stream_(std::move(stream)), timer_(pool.loop()) {}

    void run(Job job) override {
        job_.emplace(std::move(job));
        sent_ = false;
        heard_ = false;
        held_ = 0;
        reused_ = connected_;
        set_timer(job_->until);
        if (connected_) {
            write();
        } else {
            connect();
        }
    }

    void abort(const Error& error) override { fail(error); }

  private:
    std::shared_ptr<Connection> self() { return shared_from_this(); }

    void set_timer(SteadyClock::time_point at) {
        timer_.start(at, [self = self()](const error_code& error) {
            // One that was on its way when the job ended finds the time of the next.
            if (!error && self->job_ && self->timer_.expiry() <= SteadyClock::now()) {
                self->fail(Error{ErrorCode::timeout,
                                 self->connected_ ? "the server did not answer in time"
                                                  : "the server could not be reached in time",
                                 {{"sent", self->may_have_arrived() ? "maybe" : "no"}}});
            }
        });
    }

    // --------------------------------------------------------------------------------- connecting

    void connect() {
        const HttpClientOptions& to = pool_.options();
        set_timer(std::min(job_->until, SteadyClock::now() + to.connect_timeout));
        stream_->resolve(
            to.host, to.port,
            [self = self()](const error_code& error, std::vector<std::string> addresses) {
                if (self->check(error, "cannot find")) {
                    self->connect_to(std::move(addresses));
                }
            });
    }

    void connect_to(std::vector<std::string> addresses) {
        if (const auto& allowed = pool_.options().allowed) {
            std::erase_if(addresses, [&](const std::string& address) { return !allowed(address); });
        }
        if (addresses.empty()) {
            fail(transport("no address of " + pool_.options().host + " may be connected to" +
                               pool_.options().when_not_allowed,
                           may_have_arrived()));
            return;
        }
        stream_->connect(addresses, pool_.options().port, [self = self()](const error_code& error) {
            if (self->check(error, "cannot connect to")) {
                self->greet();
            }
        });
    }

    void greet() {
        stream_->greet_server(pool_.options().host, [self = self()](const error_code& error) {
            if (self->check(error, "no TLS with")) {
                self->connected();
            }
        });
    }

    void connected() {
        connected_ = true;
        set_timer(job_->until);
        write();
    }

    // ------------------------------------------------------------------------- asking and hearing

    void write() {
        const HttpClientOptions& to = pool_.options();
        const wire::Call& call = job_->call;
        output_ = std::string(to_string(call.method)) + " " + call.target +
                  " HTTP/1.1\r\nHost: " + authority() + "\r\n";
        if (to.bearer_token) {
            output_ += "Authorization: Bearer " + *to.bearer_token + "\r\n";
        }
        if (!call.body.empty()) {
            output_ += "Content-Type: application/json\r\nContent-Length: " +
                       std::to_string(call.body.size()) + "\r\n";
        } else if (call.method == wire::Method::post || call.method == wire::Method::put) {
            output_ += "Content-Length: 0\r\n";
        }
        for (const auto& [name, value] : call.headers) {
            output_ += name + ": " + value + "\r\n";
        }
        output_ += "\r\n";
        output_ += call.body;
        expect_answer();
        sent_ = true;
        writing_ = true;
        write_fault_ = {};
        stream_->write(output_, [self = self()](const error_code& error, std::size_t) {
            self->writing_ = false;
            // Not the end yet: a server that goes without having read all may have answered first.
            // What is read says so.
            self->write_fault_ = error;
        });
        watch_given_up();
        read();
    }

    void expect_answer() {
        parser_.emplace();
        parser_->body_limit(pool_.options().answer_bytes_max);
        parser_->eager(true);
    }

    void watch_given_up() {
        if (!job_->given_up.stop_possible()) {
            return;
        }
        // The callback may come on any thread: it only passes the word on.
        leaving_.emplace(job_->given_up, [this, weak = this->weak_from_this()] {
            pool_.loop().post([weak] {
                if (auto self = weak.lock()) {
                    self->leave();
                }
            });
        });
    }

    /// Tells the server that nobody waits, and hears what it had to say before that.
    void leave() {
        if (!job_ || !job_->given_up.stop_requested() || closed_) {
            return;
        }
        stream_->shutdown_send();
        left_ = true;
        set_timer(SteadyClock::now() + farewell);
    }

    /// Behind what the parser has left unread of the bytes before. One read is always under way,
    /// also while nothing is asked: it hears that the server goes.
    void read() {
        if (std::exchange(reading_, true)) {
            return;
        }
        stream_->read_some(std::span(incoming_).subspan(held_),
                           [self = self()](const error_code& error, std::size_t size) {
                               self->reading_ = false;
                               self->on_read(error, size);
                           });
    }

    void on_read(const error_code& error, std::size_t size) {
        if (closed_) {
            return;
        }
        if (!job_) {
            close();  // its end, or something that answers nothing that was asked
            return;
        }
        error_code fault = error && write_fault_ ? write_fault_ : error;
        if (!fault) {
            heard_ = true;
            held_ += size;
            fault = parse();
        } else if (net::is_end(error) && parser_->got_some() && !parser_->is_done()) {
            error_code ended;
            parser_->put_eof(ended);
            fault = parser_->is_done() ? error_code() : fault;
        }
        if (!check(fault, "lost the connection to")) {
            return;
        }
        if (parser_->is_done()) {
            finish();
        } else {
            read();
        }
    }

    /// The parser takes a head, and a line between two chunks, only as a whole.
    error_code parse() {
        error_code fault;
        std::size_t used = 0;
        while (used < held_ && !fault && !parser_->is_done()) {
            used += parser_->put(asio::buffer(incoming_.data() + used, held_ - used), fault);
            if (parser_->is_done() && is_interim()) {
                expect_answer();
            }
        }
        std::copy(incoming_.begin() + used, incoming_.begin() + held_, incoming_.begin());
        held_ -= used;
        if (fault != beast::http::error::need_more) {
            return fault;
        }
        return held_ < incoming_.size() ? error_code()
                                        : make_error_code(beast::http::error::header_limit);
    }

    /// The server goes on with the request; the answer comes behind this. After 101 it would speak
    /// something else, which nobody has asked for.
    [[nodiscard]] bool is_interim() const {
        const unsigned status = parser_->get().result_int();
        return status >= 100 && status < 200 && status != 101;
    }

    /// Is the connection good for another request? Not while this one, which the server has not
    /// read to its end, is still being written: the text of the next would take its place.
    [[nodiscard]] bool is_reusable() const {
        return parser_->keep_alive() && parser_->get().result_int() != 101 && !left_ &&
               held_ == 0 && !writing_ && !write_fault_;
    }

    void finish() {
        const auto& message = parser_->get();
        wire::Received received;
        received.status = static_cast<int>(message.result_int());
        received.body = std::move(parser_->get().body());
        if (const auto it = message.find("FF-Result-Encoding"); it != message.end()) {
            received.result_encoding = std::string(it->value());
        }
        if (const auto it = message.find("FF-Next-Cursor"); it != message.end()) {
            received.next_cursor = std::string(it->value());
        }
        const bool again = is_reusable();
        Job job = take_job();
        auto keep = self();  // what follows may let it go
        if (again) {
            read();
            pool_.idle(keep);
        } else {
            close();
        }
        job.done(std::move(received));
    }

    // --------------------------------------------------------------------------------- its endings

    Job take_job() {
        timer_.cancel();
        leaving_.reset();
        Job job = std::move(*job_);
        job_.reset();
        return job;
    }

    /// Is all well? If not the job has failed.
    bool check(const error_code& error, std::string_view what) {
        if (closed_ || !job_) {
            return false;
        }
        if (error && may_go_again()) {
            auto keep = self();
            Job job = take_job();
            job.again = true;
            close();
            pool_.again(std::move(job));
        } else if (error) {
            fail(transport(std::string(what) + " " + authority() + ": " + error.message(),
                           may_have_arrived()));
        }
        return !error;
    }

    /// The request of the job, over this connection or one before it.
    [[nodiscard]] bool may_have_arrived() const { return sent_ || (job_ && job_->again); }

    /// A server may end a connection that it has kept just when it is used again.
    [[nodiscard]] bool may_go_again() const {
        return reused_ && !heard_ && !left_ &&
               (pool_.options().repeats || job_->call.method == wire::Method::get);
    }

    [[nodiscard]] std::string authority() const {
        const HttpClientOptions& to = pool_.options();
        const bool is_v6 = to.host.contains(':');
        return (is_v6 ? "[" + to.host + "]" : to.host) + ":" + std::to_string(to.port);
    }

    void fail(Error error) {
        auto keep = self();
        close();
        if (!job_) {
            return;
        }
        if (left_) {
            error.fields.emplace_back("given_up", "yes");
        }
        Job job = take_job();
        job.done(std::unexpected(std::move(error)));
    }

    void close() {
        if (std::exchange(closed_, true)) {
            return;
        }
        stream_->close();
        pool_.gone(*this);
    }

    Pool& pool_;
    const std::unique_ptr<net::Stream> stream_;
    net::Timer timer_;
    std::optional<Job> job_;
    std::optional<std::stop_callback<std::function<void()>>> leaving_;
    std::optional<Parser> parser_;
    std::string output_;
    std::array<char, read_bytes> incoming_;
    std::size_t held_ = 0;  ///< bytes of `incoming_` that the parser has not taken
    bool connected_ = false;
    bool reused_ = false;  ///< an answer has come over it before
    bool sent_ = false;
    bool writing_ = false;    ///< output_ is on its way
    error_code write_fault_;  ///< why it did not get there
    bool reading_ = false;
    bool heard_ = false;  ///< something of the answer
    bool left_ = false;
    bool closed_ = false;
};

class PooledHttpClient final : public HttpClient, public Pool {
  public:
    explicit PooledHttpClient(HttpClientOptions options) : options_(std::move(options)) {}
    ~PooledHttpClient() override { stop(); }

    expected<void> start() {
        if (options_.tls) {
            FF_TRY(tls_, net::Tls::of_client(options_.ca_file));
        }
        events_.start("ff-client");
        return {};
    }

    void send(wire::Call call, Answers answers, std::chrono::milliseconds timeout,
              std::stop_token given_up, Done done) override {
        auto job = std::make_shared<Job>(Job{std::move(call), answers, SteadyClock::now() + timeout,
                                             std::move(given_up), std::move(done)});
        ++sent_;
        if (!events_.post([this, job] { run(std::move(*job)); })) {
            job->done(ff::fail(ErrorCode::shutting_down, "the engine was stopped"));
        }
    }

    void later(std::chrono::milliseconds pause, std::move_only_function<void()> work) override {
        // Done also when the client stops: then the next send says so.
        const auto kept = std::make_shared<std::move_only_function<void()>>(std::move(work));
        const bool posted = events_.post([this, pause, kept] {
            if (stopped_) {  // stop() may have been here, and has cancelled all pauses there were
                (*kept)();
                return;
            }
            pauses_.push_back(std::make_unique<net::Timer>(events_));
            const auto place = std::prev(pauses_.end());
            (*place)->start(SteadyClock::now() + pause, [this, place, kept](const error_code&) {
                pauses_.erase(place);
                (*kept)();
            });
        });
        if (!posted) {
            (*kept)();
        }
    }

    void stop() override {
        if (stopped_.exchange(true)) {
            return;
        }
        events_.stop([this] {
            for (auto& pause : pauses_) {
                pause->cancel();
            }
            queue_timer_.reset();
            while (!queue_.empty()) {
                run(take_first());  // says that it is over
            }
            const std::vector<Link*> all(links_.begin(), links_.end());
            for (Link* link : all) {
                link->abort({ErrorCode::shutting_down, "the engine was stopped", {}});
            }
            idle_.clear();
        });
    }

    [[nodiscard]] std::uint64_t sent() const override { return sent_; }
    [[nodiscard]] bool on_own_thread() const override { return events_.on_loop(); }

    // The pool; loop thread only.

    void idle(std::shared_ptr<Link> link) override {
        link->idle_since = SteadyClock::now();
        Link& ended = *link;
        idle_.push_back(std::move(link));
        drop_stale();
        end_turn(ended);
    }
    void gone(Link& link) override {
        links_.erase(&link);
        std::erase_if(idle_, [&](const auto& other) { return other.get() == &link; });
        end_turn(link);
    }
    void again(Job job) override { run(std::move(job)); }
    [[nodiscard]] const HttpClientOptions& options() const override { return options_; }
    [[nodiscard]] net::EventLoop& loop() override { return events_; }

  private:
    void run(Job job) {
        if (stopped_) {
            job.done(ff::fail(ErrorCode::shutting_down, "the engine was stopped"));
            return;
        }
        const bool counted = job.answers == Answers::promptly;
        if (counted && at_work_ >= options_.connections_max) {
            queue_.push_back(std::move(job));
            watch_queue(queue_.back().until);
            return;
        }
        const std::shared_ptr<Link> link = job.again ? new_link() : take_link();
        link->counted = counted;
        at_work_ += counted ? 1 : 0;
        link->run(std::move(job));
    }

    /// The connection that was used last, or a new one.
    std::shared_ptr<Link> take_link() {
        drop_stale();
        if (!idle_.empty()) {
            std::shared_ptr<Link> link = std::move(idle_.back());
            idle_.pop_back();
            return link;
        }
        return new_link();
    }

    std::shared_ptr<Link> new_link() {
        const std::shared_ptr<Link> link =
            std::make_shared<Connection>(*this, net::make_stream(events_, tls_.get()));
        links_.insert(link.get());
        return link;
    }

    /// Those that nobody has needed for long stand in front.
    void drop_stale() {
        const auto oldest = SteadyClock::now() - options_.idle_max;
        while (!idle_.empty() && idle_.front()->idle_since < oldest) {
            const std::shared_ptr<Link> link = std::move(idle_.front());
            idle_.pop_front();
            link->abort({});
        }
    }

    void end_turn(Link& link) {
        if (!std::exchange(link.counted, false)) {
            return;
        }
        --at_work_;
        if (!queue_.empty()) {
            run(take_first());
        }
    }

    Job take_first() {
        Job job = std::move(queue_.front());
        queue_.pop_front();
        return job;
    }

    /// What waits for its turn has its time limit too: this is that of one of them.
    void watch_queue(SteadyClock::time_point until) {
        if (queue_timer_ && queue_timer_->expiry() <= until) {
            return;
        }
        queue_timer_.emplace(events_).start(until, [this](const error_code& error) {
            if (error) {
                return;
            }
            queue_timer_.reset();  // or the one that was started meanwhile: it is again, below
            std::deque<Job> late;
            const auto is_late = [now = SteadyClock::now()](const Job& job) {
                return job.until <= now;
            };
            for (Job& job : queue_) {
                if (is_late(job)) {
                    late.push_back(std::move(job));
                }
            }
            std::erase_if(queue_, [&](const Job& job) { return is_late(job); });
            if (!queue_.empty()) {
                watch_queue(std::ranges::min_element(queue_, {}, &Job::until)->until);
            }
            for (Job& job : late) {
                job.done(std::unexpected(Error{ErrorCode::timeout,
                                               "too many requests are under way to this server",
                                               {{"sent", job.again ? "maybe" : "no"}}}));
            }
        });
    }

    const HttpClientOptions options_;
    std::unique_ptr<net::Tls> tls_;
    net::EventLoop events_;
    std::unordered_set<Link*> links_;
    std::deque<std::shared_ptr<Link>> idle_;  ///< the one that was used last at the back
    std::deque<Job> queue_;
    std::optional<net::Timer> queue_timer_;  ///< never later than the first of queue_ is due
    std::size_t at_work_ = 0;                ///< connections with a job that is counted
    std::list<std::unique_ptr<net::Timer>> pauses_;
    std::atomic<std::uint64_t> sent_{0};
    std::atomic<bool> stopped_{false};
};

}  // namespace

expected<std::unique_ptr<HttpClient>> HttpClient::make(HttpClientOptions options) {
    auto client = std::make_unique<PooledHttpClient>(std::move(options));
    FF_TRY_VOID(client->start());
    return client;
}

}  // namespace ff::client
