#include "http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <charconv>
#include <optional>

#include "wire/errors.h"

namespace ff::http {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using Parser = beast::http::request_parser<beast::http::string_body>;

/// Each connection has room for so much at a time, also while it waits: ten thousand of them do.
constexpr std::size_t read_bytes = 4 * 1024;
constexpr std::uint32_t head_bytes_max = 32 * 1024;
/// What a client may send ahead of its turn before it has to wait.
constexpr std::size_t early_bytes_max = 64 * 1024;
/// Buffers that have grown beyond this are not kept for the next request.
constexpr std::size_t kept_bytes_max = 64 * 1024;

std::optional<std::string> field_of(const Parser& parser, beast::http::field name) {
    const auto& fields = parser.get();
    const auto it = fields.find(name);
    if (it == fields.end()) {
        return std::nullopt;
    }
    return std::string(it->value());
}

/// A target may be a whole address; what it says of the host is no concern of ours.
std::string target_of(std::string_view target) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (target.starts_with(scheme)) {
            target.remove_prefix(
                std::min(target.find_first_of("/?", scheme.size()), target.size()));
            return target.starts_with('/') ? std::string(target) : "/" + std::string(target);
        }
    }
    return std::string(target);
}

/// What of a head is against the rules although it could be read; empty when nothing is.
std::string_view objection(const Parser& parser) {
    const auto& message = parser.get();
    if (message.version() >= 11 && message.count(beast::http::field::host) != 1) {
        return "it must name its host, once";
    }
    const std::size_t lengths = message.count(beast::http::field::content_length);
    const std::string_view length = message[beast::http::field::content_length];
    if (lengths > 1 ||
        (lengths == 1 && length.find_first_not_of("0123456789") != std::string_view::npos)) {
        return "the length of its body must be one number";
    }
    const std::size_t codings = message.count(beast::http::field::transfer_encoding);
    const std::string_view coding = message[beast::http::field::transfer_encoding];
    if (codings > 1 || (codings == 1 && !beast::iequals(coding, "chunked"))) {
        return "its body may be chunked, and nothing else";
    }
    return {};
}

/// Does a head that the parser could not read name a version, only another than ours?
bool names_a_version(std::string_view head) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::string_view word = line.substr(line.rfind(' ') + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return word.size() == 8 && word.starts_with("HTTP/") && is_digit(word[5]) && word[6] == '.' &&
           is_digit(word[7]);
}

RequestHead head_of(const Parser& parser) {
    const auto& message = parser.get();
    RequestHead head;
    head.method = std::string(message.method_string());
    head.target = target_of(message.target());
    head.authorization = field_of(parser, beast::http::field::authorization);
    head.content_type = field_of(parser, beast::http::field::content_type);
    head.host = field_of(parser, beast::http::field::host);
    head.origin = field_of(parser, beast::http::field::origin);
    if (const auto key = message.find("Idempotency-Key"); key != message.end()) {
        head.idempotency_key = std::string(key->value());
    }
    head.accept = field_of(parser, beast::http::field::accept);
    if (const auto id = message.find("Last-Event-ID"); id != message.end()) {
        head.last_event_id = std::string(id->value());
    }
    if (head.origin && head.method == "OPTIONS") {
        head.asked_method = field_of(parser, beast::http::field::access_control_request_method);
        head.asked_headers = field_of(parser, beast::http::field::access_control_request_headers);
    }
    if (const auto length = parser.content_length()) {
        head.content_length = *length;
    }
    head.chunked = parser.chunked();
    return head;
}

std::string_view reason_of(int status) {
    const auto text = beast::http::obsolete_reason(static_cast<beast::http::status>(status));
    return {text.data(), text.size()};
}

class Connection final : public Session, public std::enable_shared_from_this<Connection> {
  public:
    Connection(std::unique_ptr<net::Stream> stream, Service& service, Loop& loop,
               std::function<void()> ended)
        : stream_(std::move(stream)), service_(service), loop_(loop), ended_(std::move(ended)) {
        loop_.enter(*this);
    }
    ~Connection() override {
        loop_.deadlines().clear(place_);
        loop_.leave(*this);
        ended_();
    }

    void start() {
        peer_ = stream_->peer();
        wait_for(Waits::head);
        stream_->greet_client([self = self()](const error_code& error) {
            error ? self->close() : self->next_request();
        });
    }

    void late() override {
        loop_.deadlines().clear(place_);
        const bool half_sent = state_ == State::head || state_ == State::body;
        if (half_sent && !closed_ && parser_) {
            refuse(wire::plain_error(408, "the request was not sent in time"));
        } else {
            close();
        }
    }

    void drain() override {
        closing_ = true;
        if (state_ == State::idle || lingering_) {
            close();
        } else if (stop_) {
            stop_->request_stop();
        }
    }

    void abort() override { close(); }

  private:
    enum class State : std::uint8_t { idle, head, body, working, sending };

    std::shared_ptr<Connection> self() { return shared_from_this(); }
    void wait_for(Waits waits) { loop_.deadlines().set(place_, *this, waits); }

    // ------------------------------------------------------------------------------------ reading

    void next_request() {
        parser_.emplace();
        parser_->header_limit(head_bytes_max);
        parser_->body_limit(boost::none);  // the route says, once it is known
        parser_->eager(false);
        head_ = {};
        admission_ = {};
        state_ = State::idle;
        // Who connects has something to ask; only who has asked may keep the connection for later.
        wait_for(std::exchange(fresh_, false) ? Waits::head : Waits::idle);
        if (unread() > 0) {
            parse();
        }
        if (ended_reading_ && state_ != State::working && state_ != State::sending) {
            close();  // the rest of this request will not come
        }
        read();
    }

    [[nodiscard]] std::size_t unread() const { return input_.size() - parsed_; }

    void read() {
        if (reading_ || closed_ || ended_reading_ || unread() >= early_bytes_max) {
            return;
        }
        reading_ = true;
        stream_->read_some(incoming_, [self = self()](const error_code& error, std::size_t size) {
            self->reading_ = false;
            self->on_read(error, size);
        });
    }

    void on_read(const error_code& error, std::size_t size) {
        if (closed_) {
            return;
        }
        if (lingering_) {
            error ? close() : read();  // what comes is not looked at
            return;
        }
        if (error) {
            ended_reading_ = true;
            if (state_ == State::working || state_ == State::sending) {
                // Who only sends no more may still want the answers to what was sent.
                closing_ = closing_ || !net::is_end(error);
                if (stop_) {
                    gone_ = true;
                    stop_->request_stop();
                }
            } else {
                close();
            }
            return;
        }
        forget_parsed();
        input_.append(incoming_.data(), size);
        if (state_ != State::working && state_ != State::sending) {
            parse();
        }
        read();
    }

    /// Lets go of what has been read, when that costs little.
    void forget_parsed() {
        if (parsed_ == input_.size() || parsed_ >= kept_bytes_max) {
            input_.erase(0, parsed_);
            parsed_ = 0;
        }
    }

    /// Is there something after the empty lines that may stand before a request?
    bool begins() {
        const auto rest = [this] { return std::string_view(input_).substr(parsed_); };
        while (rest().starts_with("\r\n")) {
            parsed_ += 2;
        }
        return !rest().empty() && rest() != "\r";
    }

    void parse() {
        if (state_ == State::idle) {
            if (!begins()) {
                return;
            }
            state_ = State::head;
            began_ = std::chrono::steady_clock::now();
            wait_for(Waits::head);
        }
        while (unread() > 0 && !parser_->is_done()) {
            error_code error;
            const std::size_t begin = parsed_;
            parsed_ += parser_->put(asio::buffer(input_.data() + begin, unread()), error);
            if (error == beast::http::error::need_more) {
                break;
            }
            if (error) {
                refuse_syntax(error, std::string_view(input_).substr(begin));
                return;
            }
            if (state_ == State::head && parser_->is_header_done() && !on_head()) {
                return;
            }
        }
        if (state_ == State::head && parser_->is_header_done() && !on_head()) {
            return;
        }
        if (parser_->is_done()) {
            work();
        } else if (state_ == State::body && unread() >= head_bytes_max) {
            // Bodies are taken as they come: what is left over is a line between two chunks.
            refuse(wire::plain_error(400, "not an HTTP request: the head of a chunk is too large"));
        }
    }

    /// Is the request to be read on?
    bool on_head() {
        head_ = head_of(*parser_);
        head_.peer = peer_;
        keep_alive_ = parser_->get().keep_alive();
        is_old_ = parser_->get().version() < 11;
        if (const std::string_view why = objection(*parser_); !why.empty()) {
            closing_ = true;
            refuse(wire::plain_error(400, "not an HTTP request: " + std::string(why)));
            return false;
        }
        admission_ = service_.admit(head_);
        if (admission_.refusal) {
            refuse(std::move(*admission_.refusal));
            return false;
        }
        state_ = State::body;
        parser_->eager(true);
        parser_->body_limit(admission_.body_max);
        if (!parser_->is_done()) {
            wait_for(Waits::body);
            const auto expect = field_of(*parser_, beast::http::field::expect);
            if (expect && beast::iequals(*expect, "100-continue") && unread() == 0 && !is_old_) {
                send_continue();
            }
        }
        return true;
    }

    void send_continue() {
        static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
        continuing_ = true;
        stream_->write(text, [self = self()](const error_code& error, std::size_t) {
            self->continuing_ = false;
            if (error) {
                self->close();
            } else if (self->state_ == State::sending) {
                self->write_output();
            }
        });
    }

    // ---------------------------------------------------------------------------------- answering

    void refuse_syntax(const error_code& error, std::string_view text) {
        if (error == beast::http::error::body_limit && admission_.route != nullptr) {
            refuse(Service::too_large(*admission_.route));
        } else if (error == beast::http::error::header_limit ||
                   error == beast::http::error::buffer_overflow) {
            refuse(wire::plain_error(431, "the head of the request is too large"));
        } else if (error == beast::http::error::bad_version && names_a_version(text)) {
            refuse(wire::plain_error(505, "only HTTP/1.0 and HTTP/1.1 are spoken here"));
        } else {
            refuse(wire::plain_error(400, "not an HTTP request: " + error.message()));
        }
    }

    /// Answers a request that goes no further. What of it is still to come is not waited for.
    void refuse(wire::Answer answer) {
        const bool whole = parser_->is_done() || (parser_->is_header_done() && !head_.has_body());
        lingers_ = !whole;
        closing_ = closing_ || !whole;
        send(std::move(answer));
    }

    void work() {
        state_ = State::working;
        loop_.deadlines().clear(place_);
        std::stop_token token;
        Later later;
        if (admission_.route->waits) {
            later = [&loop = loop_](std::chrono::milliseconds pause,
                                    std::move_only_function<void()> work) {
                loop.later(pause, std::move(work));
            };
            // Who only sends no more may still want the answer, unless that may take long.
            if (head_.query().contains(admission_.route->waits_with)) {
                stop_.emplace();
                token = stop_->get_token();
            }
        }
        std::string body = std::move(parser_->get().body());
        service_.run(
            std::move(admission_), head_, std::move(body),
            [self = self()](MakeAnswer make) mutable {
                Loop& loop = self->loop_;
                loop.post([self = std::move(self), make = std::move(make)]() mutable {
                    self->finish(
                        make(self->closed_ || self->gone_ ? Client::gone : Client::waiting));
                });
            },
            std::move(token), std::move(later));
    }

    void finish(wire::Answer answer) {
        if (!answer.parts) {
            stop_.reset();
        }
        if (closed_ || gone_) {
            close();
        } else {
            send(std::move(answer));
        }
    }

    void send(wire::Answer answer) {
        state_ = State::sending;
        service_.mark(head_, answer);
        const bool in_parts = answer.parts != nullptr;
        closing_ = closing_ || !keep_alive_ || service_.draining() || (in_parts && is_old_);
        undelivered_ = std::move(answer.undelivered);
        permit_ = std::move(answer.permit);
        write_head(answer);
        if (head_.method != "HEAD" && in_parts) {
            parts_ = std::move(answer.parts);
            add_part(answer.body);
        } else if (head_.method != "HEAD") {
            output_ += answer.body;
        }
        status_ = answer.status;
        if (output_.size() <= kept_bytes_max) {
            // The network takes it at once, and the client may ask again before we hear of it.
            permit_.reset();
        }
        wait_for(Waits::send);
        if (!continuing_) {  // one thing is written at a time
            write_output();
        }
    }

    void write_output() {
        if (closed_) {
            return;
        }
        writing_ = true;
        stream_->write(output_, [self = self()](const error_code& error, std::size_t) {
            self->on_sent(error);
        });
    }

    void write_head(const wire::Answer& answer) {
        output_.clear();
        output_ += "HTTP/1.1 ";
        output_ += std::to_string(answer.status);
        output_ += ' ';
        output_ += reason_of(answer.status);
        output_ += "\r\nDate: ";
        output_ += loop_.date();
        if (!answer.content_type.empty()) {
            output_ += "\r\nContent-Type: ";
            output_ += answer.content_type;
        }
        if (answer.parts) {
            output_ += is_old_ ? "" : "\r\nTransfer-Encoding: chunked";
        } else if (answer.status != 204) {
            output_ += "\r\nContent-Length: ";
            output_ += std::to_string(answer.body.size());
        }
        for (const auto& [name, value] : answer.headers) {
            output_ += "\r\n" + name + ": " + value;
        }
        if (closing_) {
            output_ += "\r\nConnection: close";
        } else if (is_old_) {
            output_ += "\r\nConnection: keep-alive";
        }
        output_ += "\r\n\r\n";
    }

    // ------------------------------------------------------------------------ bodies in parts

    /// Older clients read until the connection ends.
    void add_part(std::string_view text) {
        if (text.empty() || is_old_) {
            output_ += text;
            return;
        }
        std::array<char, 16> digits{};
        const auto [end, fault] =
            std::to_chars(digits.data(), digits.data() + digits.size(), text.size(), 16);
        output_.append(digits.data(), end);
        output_ += "\r\n";
        output_ += text;
        output_ += "\r\n";
    }

    void next_part() {
        loop_.deadlines().clear(place_);
        parts_->next([self = self()](wire::BodyPart part) mutable {
            Loop& loop = self->loop_;
            loop.post([self = std::move(self), part = std::move(part)] { self->send_part(part); });
        });
    }

    void send_part(const wire::BodyPart& part) {
        if (closed_ || gone_) {
            parts_.reset();
            close();
            return;
        }
        output_.clear();
        add_part(part.text);
        if (part.last) {
            parts_.reset();
            stop_.reset();
            output_ += is_old_ ? "" : "0\r\n\r\n";
        }
        wait_for(Waits::send);
        write_output();
    }

    void on_sent(const error_code& error) {
        writing_ = false;
        if (!error) {
            undelivered_ = nullptr;
        } else {
            tell_undelivered();
        }
        if (parts_ && !error && !closed_) {
            next_part();
            return;
        }
        parts_.reset();
        permit_.reset();
        service_.finished(head_, admission_.route, status_,
                          std::chrono::steady_clock::now() - began_);
        if (output_.capacity() > kept_bytes_max) {
            output_ = {};
        }
        const bool more_comes = lingers_ || (closing_ && unread() > 0);
        if (!error && !closed_ && more_comes && !ended_reading_ && !service_.draining()) {
            linger();
        } else if (error || closing_ || closed_) {
            close();
        } else {
            next_request();
        }
    }

    /// Closing while the client still sends would make the network throw away the answer: the rest
    /// of the request is taken for a while, then it is over.
    void linger() {
        lingering_ = true;
        input_.clear();
        parsed_ = 0;
        stream_->shutdown_send();
        wait_for(Waits::linger);
        read();
    }

    void close() {
        if (std::exchange(closed_, true)) {
            return;
        }
        loop_.deadlines().clear(place_);
        if (stop_) {
            stop_->request_stop();
        }
        stream_->shutdown();
        stream_->close();
        permit_.reset();
        if (!writing_) {  // else the end of that tells whether the network had taken it all
            tell_undelivered();
        }
    }

    void tell_undelivered() {
        if (const auto undelivered = std::exchange(undelivered_, nullptr)) {
            undelivered();
        }
    }

    const std::unique_ptr<net::Stream> stream_;
    Service& service_;
    Loop& loop_;
    std::function<void()> ended_;
    Deadlines<Session>::Place place_;
    std::string peer_;

    std::array<char, read_bytes> incoming_;
    std::string input_;
    std::size_t parsed_ = 0;  ///< of input_
    std::optional<Parser> parser_;
    RequestHead head_;
    Admission admission_;
    std::optional<std::stop_source> stop_;  ///< while a route that waits is at work
    std::string output_;
    std::function<void()> undelivered_;       ///< of the answer that is being sent
    std::shared_ptr<wire::BodyParts> parts_;  ///< the rest of it, while there is more
    std::shared_ptr<void> permit_;            ///< that its size may hold back from others
    int status_ = 0;
    std::chrono::steady_clock::time_point began_;
    State state_ = State::idle;
    bool fresh_ = true;  ///< nothing has been asked yet
    bool keep_alive_ = true;
    bool is_old_ = false;      ///< HTTP/1.0
    bool continuing_ = false;  ///< `100 Continue` is being written
    bool writing_ = false;     ///< output_ is on its way
    bool reading_ = false;
    bool ended_reading_ = false;  ///< the client sends no more
    bool gone_ = false;           ///< it went while it should have waited
    bool closing_ = false;        ///< after this answer
    bool lingers_ = false;        ///< after this answer, but not at once
    bool lingering_ = false;
    bool closed_ = false;
};

}  // namespace

void serve_connection(std::unique_ptr<net::Stream> stream, Service& service, Loop& loop,
                      std::function<void()> ended) {
    std::make_shared<Connection>(std::move(stream), service, loop, std::move(ended))->start();
}

}  // namespace ff::http
