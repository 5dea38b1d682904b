#include "http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
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

std::optional<std::string> field_of(const Parser& parser, beast::http::field name) {
    const auto& fields = parser.get();
    const auto it = fields.find(name);
    if (it == fields.end()) {
        return std::nullopt;
    }
    return std::string(it->value());
}

RequestHead head_of(const Parser& parser) {
    const auto& message = parser.get();
    RequestHead head;
    head.method = std::string(message.method_string());
    head.target = std::string(message.target());
    head.authorization = field_of(parser, beast::http::field::authorization);
    head.content_type = field_of(parser, beast::http::field::content_type);
    head.origin = field_of(parser, beast::http::field::origin);
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

template <class Stream>
class Connection final : public Session, public std::enable_shared_from_this<Connection<Stream>> {
  public:
    Connection(Stream stream, Service& service, Loop& loop, std::function<void()> ended)
        : stream_(std::move(stream)), service_(service), loop_(loop), ended_(std::move(ended)) {
        loop_.enter(*this);
    }
    ~Connection() override {
        loop_.deadlines().clear(place_);
        loop_.leave(*this);
        ended_();
    }

    void start() {
        error_code ignored;
        socket().set_option(asio::ip::tcp::no_delay(true), ignored);
        if constexpr (is_tls) {
            wait_for(Waits::head);
            stream_.async_handshake(asio::ssl::stream_base::server,
                                    [self = self()](const error_code& error) {
                                        error ? self->close() : self->next_request();
                                    });
        } else {
            next_request();
        }
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
    static constexpr bool is_tls = !std::is_same_v<Stream, asio::ip::tcp::socket>;
    enum class State : std::uint8_t { idle, head, body, working, sending };

    auto self() { return this->shared_from_this(); }
    auto& socket() {
        if constexpr (is_tls) {
            return stream_.next_layer();
        } else {
            return stream_;
        }
    }
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
        if (unread() > 0) {
            parse();
        } else {
            wait_for(Waits::idle);
        }
        read();
    }

    [[nodiscard]] std::size_t unread() const { return input_.size() - parsed_; }

    void read() {
        if (reading_ || closed_ || ended_reading_ || unread() >= early_bytes_max) {
            return;
        }
        reading_ = true;
        stream_.async_read_some(asio::buffer(incoming_),
                                [self = self()](const error_code& error, std::size_t size) {
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
                closing_ = true;  // it may still want the answer
                if (stop_) {
                    gone_ = true;
                    stop_->request_stop();
                }
            } else {
                close();
            }
            return;
        }
        if (parsed_ > 0 && parsed_ == input_.size()) {
            input_.clear();
            parsed_ = 0;
        }
        input_.append(incoming_.data(), size);
        if (state_ != State::working && state_ != State::sending) {
            parse();
        }
        read();
    }

    void parse() {
        if (state_ == State::idle) {
            state_ = State::head;
            began_ = std::chrono::steady_clock::now();
            wait_for(Waits::head);
        }
        while (unread() > 0 && !parser_->is_done()) {
            error_code error;
            const std::size_t used =
                parser_->put(asio::buffer(input_.data() + parsed_, unread()), error);
            parsed_ += used;
            if (error == beast::http::error::need_more) {
                break;
            }
            if (error) {
                refuse_syntax(error);
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
        }
    }

    /// Is the request to be read on?
    bool on_head() {
        head_ = head_of(*parser_);
        admission_ = service_.admit(head_);
        keep_alive_ = parser_->get().keep_alive();
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
            if (expect && beast::iequals(*expect, "100-continue") && unread() == 0) {
                send_continue();
            }
        }
        return true;
    }

    void send_continue() {
        static constexpr std::string_view text = "HTTP/1.1 100 Continue\r\n\r\n";
        asio::async_write(stream_, asio::buffer(text),
                          [self = self()](const error_code& error, std::size_t) {
                              if (error) {
                                  self->close();
                              }
                          });
    }

    // ---------------------------------------------------------------------------------- answering

    void refuse_syntax(const error_code& error) {
        if (error == beast::http::error::body_limit && admission_.route != nullptr) {
            refuse(Service::too_large(*admission_.route));
        } else if (error == beast::http::error::header_limit ||
                   error == beast::http::error::buffer_overflow) {
            refuse(wire::plain_error(431, "the head of the request is too large"));
        } else if (error == beast::http::error::bad_version) {
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
        if (admission_.route->waits) {
            stop_.emplace();
            token = stop_->get_token();
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
            std::move(token));
    }

    void finish(wire::Answer answer) {
        stop_.reset();
        if (closed_ || gone_) {
            close();
        } else {
            send(std::move(answer));
        }
    }

    void send(wire::Answer answer) {
        state_ = State::sending;
        service_.mark(head_, answer);
        closing_ = closing_ || !keep_alive_ || service_.draining();
        write_head(answer);
        if (head_.method != "HEAD") {
            output_ += answer.body;
        }
        status_ = answer.status;
        wait_for(Waits::send);
        asio::async_write(
            stream_, asio::buffer(output_),
            [self = self()](const error_code& error, std::size_t) { self->on_sent(error); });
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
        if (answer.status != 204) {
            output_ += "\r\nContent-Length: ";
            output_ += std::to_string(answer.body.size());
        }
        for (const auto& [name, value] : answer.headers) {
            output_ += "\r\n" + name + ": " + value;
        }
        if (closing_) {
            output_ += "\r\nConnection: close";
        }
        output_ += "\r\n\r\n";
    }

    void on_sent(const error_code& error) {
        service_.finished(head_, admission_.route, status_,
                          std::chrono::steady_clock::now() - began_);
        if (!error && !closed_ && lingers_ && !ended_reading_) {
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
        error_code ignored;
        socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
        wait_for(Waits::head);
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
        error_code ignored;
        socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
        socket().close(ignored);
    }

    Stream stream_;
    Service& service_;
    Loop& loop_;
    std::function<void()> ended_;
    Deadlines<Session>::Place place_;

    std::array<char, read_bytes> incoming_;
    std::string input_;
    std::size_t parsed_ = 0;  ///< of input_
    std::optional<Parser> parser_;
    RequestHead head_;
    Admission admission_;
    std::optional<std::stop_source> stop_;  ///< while a route that waits is at work
    std::string output_;
    int status_ = 0;
    std::chrono::steady_clock::time_point began_;
    State state_ = State::idle;
    bool keep_alive_ = true;
    bool reading_ = false;
    bool ended_reading_ = false;  ///< the client sends no more
    bool gone_ = false;           ///< it went while it should have waited
    bool closing_ = false;        ///< after this answer
    bool lingers_ = false;        ///< after this answer, but not at once
    bool lingering_ = false;
    bool closed_ = false;
};

}  // namespace

void serve_connection(asio::ip::tcp::socket socket, Service& service, Loop& loop,
                      asio::ssl::context* tls, std::function<void()> ended) {
    if (tls != nullptr) {
        using Stream = asio::ssl::stream<asio::ip::tcp::socket>;
        std::make_shared<Connection<Stream>>(Stream(std::move(socket), *tls), service, loop,
                                             std::move(ended))
            ->start();
    } else {
        std::make_shared<Connection<asio::ip::tcp::socket>>(std::move(socket), service, loop,
                                                            std::move(ended))
            ->start();
    }
}

}  // namespace ff::http
