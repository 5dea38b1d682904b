#include "client/webhook_sender.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "client/http_client.h"
#include "client/remote_engine.h"
#include "core/keystore.h"
#include "wire/event_answers.h"
#include "wire/event_values.h"
#include "wire/object.h"

namespace ff::client {

namespace {

constexpr std::uint64_t events_per_delivery = 100;
/// Nobody reads more of a receiver's answer than its status.
constexpr std::uint64_t answer_bytes_max = 64U << 10;

/// `https://host:port/path?query` taken apart.
struct Target {
    ServerAddress server;
    std::string path;
};

expected<Target> target_of(const std::string& url) {
    const std::size_t begin = url.find("://") + 3;
    const std::size_t path = url.find_first_of("/?", begin);
    Target out;
    FF_TRY(out.server, ServerAddress::parse(url.substr(0, path)));
    out.path = path == std::string::npos ? "/" : url.substr(path);
    if (out.path.starts_with('?')) {
        out.path.insert(0, "/");
    }
    return out;
}

std::string body_of(const WebhookInfo& webhook, const EventPage& page) {
    std::string out;
    wire::ObjectOut object(out);
    object.field("webhook_id", webhook.webhook_id);
    object.field("family", webhook.family);
    if (page.gap) {
        object.object("gap", *page.gap);
    }
    object.key("events");
    out += '[';
    for (const Event& event : page.events) {
        out += &event == page.events.data() ? "" : ",";
        wire::write_event(out, event);
    }
    out += ']';
    object.close();
    return out;
}

}  // namespace

std::string webhook_signature(std::string_view secret, std::int64_t timestamp_s,
                              std::string_view body) {
    core::Keystore keystore;
    core::HmacKey key;
    key.kid = "webhook";
    key.secret = secret;
    return "v1=" +
           keystore.mac(key, std::to_string(timestamp_s) + "." + std::string(body)).value_or("");
}

/// Outlives the sender until the last answer has come.
class WebhookSender::Parts : public std::enable_shared_from_this<WebhookSender::Parts> {
  public:
    Parts(std::shared_ptr<Engine> engine, WebhookSenderOptions options)
        : engine_(std::move(engine)), options_(std::move(options)) {}

    void start() {
        thread_ = std::thread([this] { look(); });
    }
    void stop() {
        {
            std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        stop_.request_stop();
        changed_.notify_all();
        thread_.join();
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return running_.empty(); });
        const Clients gone = std::exchange(clients_, {});
        lock.unlock();
    }

  private:
    class Errand;

    void look() {
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            lock.unlock();
            look_once();
            tidy();
            lock.lock();
            changed_.wait_for(lock, options_.look_every, [this] { return stopping_; });
        }
    }
    void look_once();
    /// Lets go of clients that deliver nothing, and have not for a while.
    void tidy();
    void ended(const WebhookId& id) {
        std::lock_guard lock(mutex_);
        running_.erase(id);
        changed_.notify_all();
    }
    expected<std::shared_ptr<HttpClient>> client_of(const ServerAddress& server);

    const std::shared_ptr<Engine> engine_;
    const WebhookSenderOptions options_;
    std::stop_source stop_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;        // guarded by mutex_
    std::set<WebhookId> running_;  // guarded by mutex_
    struct Known {
        std::shared_ptr<HttpClient> client;
        std::chrono::steady_clock::time_point used;  ///< for a delivery that began
    };
    using Clients = std::map<std::string, Known>;
    /// By `host:port`; each has a thread. Let go by ours alone: none can wait for itself.
    Clients clients_;  // guarded by mutex_
    std::thread thread_;
};

/// The deliveries of one webhook, from its claim until it fails, is paused, or all is over. Each
/// step ends in a callback that takes the next.
class WebhookSender::Parts::Errand : public std::enable_shared_from_this<Errand> {
  public:
    Errand(std::shared_ptr<Parts> parts, WebhookId id) : parts_(std::move(parts)), id_(id) {}
    /// The client goes first: who waits for the end of errands lets go of the clients next, and the
    /// last to do so must not be an answer on the client's own thread.
    ~Errand() {
        client_.reset();
        parts_->ended(id_);
    }
    Errand(const Errand&) = delete;
    Errand& operator=(const Errand&) = delete;

    void claim() {
        parts_->engine_->async(
            ClaimWebhook{id_, options().holder, options().hold_ms},
            [self = shared_from_this()](expected<std::optional<WebhookErrand>> found) {
                if (found && *found) {
                    self->webhook_ = std::move((*found)->webhook);
                    self->secret_ = std::move((*found)->secret);
                    self->wait();
                } else if (!found && found.error().code != ErrorCode::webhook_not_found) {
                    self->warn("cannot be taken up", found.error());
                }
            });
    }

  private:
    [[nodiscard]] const WebhookSenderOptions& options() const { return parts_->options_; }
    [[nodiscard]] bool stopping() const { return parts_->stop_.stop_requested(); }

    void warn(std::string_view what, const Error& error) const {
        if (options().warn && error.code != ErrorCode::shutting_down) {
            options().warn("webhook " + id_.to_string() + " " + std::string(what) + ": " +
                           error.message());
        }
    }

    void wait() {
        ReadEvents op;
        op.family = webhook_.family;
        op.cursor = webhook_.cursor;
        op.filter = webhook_.filter;
        op.limit = events_per_delivery;
        op.block_ms = options().wait_ms;
        op.abandoned = parts_->stop_.get_token();
        parts_->engine_->async(std::move(op),
                               [self = shared_from_this()](expected<EventPage> page) {
                                   if (!page && page.error().code == ErrorCode::invalid_input) {
                                       self->fail(page.error().message());  // its place is unknown
                                   } else if (!page) {
                                       self->warn("cannot read events", page.error());
                                   } else if (self->stopping()) {
                                       self->settle(self->webhook_.cursor, 0, false);
                                   } else if (page->events.empty() && !page->gap) {
                                       self->settle(page->next_cursor, 0, page->fault.has_value());
                                   } else {
                                       self->renew(std::move(*page));
                                   }
                               });
    }

    /// It may have waited for long: is it still wanted, and still ours?
    void renew(EventPage page) {
        parts_->engine_->async(
            ClaimWebhook{id_, options().holder, options().hold_ms},
            [self = shared_from_this(),
             page = std::move(page)](expected<std::optional<WebhookErrand>> found) mutable {
                if (!found) {
                    if (found.error().code != ErrorCode::webhook_not_found) {
                        self->warn("lost its place", found.error());
                    }
                } else if (*found && (*found)->webhook.cursor == self->webhook_.cursor) {
                    self->secret_ = std::move((*found)->secret);
                    self->deliver(std::move(page));
                }
            });
    }

    void deliver(EventPage page) {
        auto target = target_of(webhook_.url);
        if (!target) {
            fail(target.error().message());
            return;
        }
        auto client = parts_->client_of(target->server);
        if (!client) {
            fail(client.error().message());
            return;
        }
        client_ = *client;  // until it has answered, which may be before send() returns
        const std::int64_t now_s = SystemClock().now() / 1'000;
        wire::Call call;
        call.method = wire::Method::post;
        call.target = target->path;
        call.body = body_of(webhook_, page);
        call.headers = {{"FF-Webhook-Id", id_.to_string()},
                        {"FF-Webhook-Timestamp", std::to_string(now_s)},
                        {"FF-Webhook-Signature", webhook_signature(secret_, now_s, call.body)}};
        (*client)->send(
            std::move(call), Answers::promptly, options().timeout, {},
            [self = shared_from_this(), page = std::move(page)](expected<wire::Received> received) {
                // The next events may be long in coming. The list has another hold of it.
                self->client_.reset();
                if (!received) {
                    self->fail(received.error().detail);  // its code says nothing more
                } else if (received->status < 200 || received->status > 299) {
                    self->fail("HTTP " + std::to_string(received->status));
                } else {
                    self->settle(page.next_cursor, page.events.size(), page.gap || page.fault);
                }
            });
    }

    void settle(const EventCursor& cursor, std::size_t delivered, bool gap) {
        SettleWebhook op;
        op.webhook_id = id_;
        op.holder = options().holder;
        op.cursor = cursor;
        op.delivered = delivered;
        op.gap = gap;
        const bool ends = stopping();  // then the place is given back with it
        op.lease_ms = ends ? 0 : options().hold_ms;
        parts_->engine_->async(std::move(op),
                               [self = shared_from_this(), ends](expected<WebhookInfo> webhook) {
                                   if (!webhook) {
                                       self->warn("lost its place", webhook.error());
                                   } else if (!ends && !webhook->paused) {
                                       self->webhook_ = std::move(*webhook);
                                       self->go_on();
                                   }
                               });
    }

    void go_on() {
        if (stopping()) {
            settle(webhook_.cursor, 0, false);
        } else {
            wait();
        }
    }

    void fail(std::string error) {
        SettleWebhook op;
        op.webhook_id = id_;
        op.holder = options().holder;
        op.error = std::move(error);
        parts_->engine_->async(std::move(op),
                               [self = shared_from_this()](expected<WebhookInfo> webhook) {
                                   if (!webhook) {
                                       self->warn("lost its place", webhook.error());
                                   }
                               });
    }

    const std::shared_ptr<Parts> parts_;
    const WebhookId id_;
    WebhookInfo webhook_;
    std::string secret_;
    std::shared_ptr<HttpClient> client_;
};

void WebhookSender::Parts::look_once() {
    ListWebhooks op;
    op.limit = webhooks_per_page_max;
    for (;;) {
        const auto page = engine_->run(op);
        if (!page) {
            return;  // the engine tells what ails it; there is another look
        }
        const TimestampMs now = engine_->now();
        for (const WebhookInfo& webhook : page->webhooks) {
            if (webhook.paused || webhook.next_try_at.value_or(0) > now) {
                continue;
            }
            {
                std::lock_guard lock(mutex_);
                if (stopping_ || !running_.insert(webhook.webhook_id).second) {
                    continue;
                }
            }
            std::make_shared<Errand>(shared_from_this(), webhook.webhook_id)->claim();
        }
        if (!page->next) {
            return;
        }
        op.after = page->next;
    }
}

expected<std::shared_ptr<HttpClient>> WebhookSender::Parts::client_of(const ServerAddress& server) {
    const std::string key =
        (server.tls ? "s " : "p ") + server.host + ":" + std::to_string(server.port);
    std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (const auto known = clients_.find(key); known != clients_.end()) {
        known->second.used = now;
        return known->second.client;
    }
    HttpClientOptions how;
    how.host = server.host;
    how.port = server.port;
    how.tls = server.tls;
    how.ca_file = options_.ca_file;
    how.connections_max = 16;
    how.answer_bytes_max = answer_bytes_max;
    how.repeats = true;
    how.when_not_allowed = "; FF_WEBHOOK_ALLOW adds networks";
    how.allowed = [rules = options_.addresses](std::string_view address) {
        return rules.allows(address);
    };
    FF_TRY(std::shared_ptr<HttpClient> client, HttpClient::make(std::move(how)));
    clients_[key] = {client, now};
    return client;
}

void WebhookSender::Parts::tidy() {
    std::vector<std::shared_ptr<HttpClient>> unused;  // gone after the lock is
    std::lock_guard lock(mutex_);
    const auto idle_since = std::chrono::steady_clock::now() - options_.client_idle;
    std::erase_if(clients_, [&](auto& entry) {
        if (entry.second.client.use_count() > 1 || entry.second.used > idle_since) {
            return false;
        }
        unused.push_back(std::move(entry.second.client));
        return true;
    });
}

WebhookSender::WebhookSender(std::shared_ptr<Engine> engine, WebhookSenderOptions options)
    : parts_(std::make_shared<Parts>(std::move(engine), std::move(options))) {
    parts_->start();
}

WebhookSender::~WebhookSender() { parts_->stop(); }

}  // namespace ff::client
