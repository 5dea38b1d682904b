// Subscriptions: long reads of events, one after another, for any engine.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include <ff/engine.h>

namespace ff {

namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint64_t events_per_batch = 256;
constexpr std::size_t items_max = 1'024;
/// A read waits so long; a subscription that nobody asks does not wait for ever.
constexpr DurationMs read_waits_ms = 20'000;
constexpr milliseconds shortest_read{20};
constexpr milliseconds first_pause{200};
constexpr milliseconds longest_pause{5'000};
/// The clock cannot count much further than this.
constexpr milliseconds longest_wait = std::chrono::hours(24 * 3'650);

/// Shared with the answers that are on their way.
struct Inbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<SubscriptionItem> items;  // guarded by mutex
    EventCursor cursor;                  // guarded by mutex: behind what is in `items`
    bool reading = false;                // guarded by mutex
    bool ended = false;                  // guarded by mutex: no more will come
    std::optional<SteadyClock::time_point> pause_until;  // guarded by mutex: after a fault
    milliseconds pause{0};                               // guarded by mutex
};

class EngineSubscription final : public Subscription {
  public:
    EngineSubscription(Engine& engine, ReadEvents op) : engine_(engine), op_(std::move(op)) {
        inbox_->cursor = op_.cursor;
        op_.limit = events_per_batch;
        op_.block_ms = read_waits_ms;
        op_.abandoned = stop_.get_token();
    }
    ~EngineSubscription() override {
        close();
        // The engine may go with us: nothing of ours is left in it.
        std::unique_lock lock(inbox_->mutex);
        inbox_->arrived.wait(lock, [this] { return !inbox_->reading; });
    }

    SubscriptionItem next(milliseconds timeout) override {
        const auto deadline = SteadyClock::now() + std::min(timeout, longest_wait);
        for (;;) {
            read_ahead();
            std::unique_lock lock(inbox_->mutex);
            // Any answer ends the wait, also one that brings nothing: the next read must begin.
            const bool read_on = !inbox_->reading && !inbox_->pause_until;
            if (inbox_->items.empty() && !inbox_->ended && !closed_ && !read_on) {
                inbox_->arrived.wait_until(lock, inbox_->pause_until
                                                     ? std::min(deadline, *inbox_->pause_until)
                                                     : deadline);
            }
            if (closed_) {
                return SubscriptionEnd{};
            }
            if (!inbox_->items.empty()) {
                SubscriptionItem item = std::move(inbox_->items.front());
                inbox_->items.pop_front();
                return item;
            }
            if (inbox_->ended) {
                return SubscriptionEnd{};
            }
            if (SteadyClock::now() >= deadline) {
                return SubscriptionIdle{inbox_->cursor};
            }
        }
    }

    void close() override {
        {
            std::lock_guard lock(inbox_->mutex);
            closed_ = true;
        }
        stop_.request_stop();
        inbox_->arrived.notify_all();
    }

  private:
    /// Begins a read, if there is room for what it may bring and none is under way.
    void read_ahead() {
        ReadEvents op = op_;
        {
            std::lock_guard lock(inbox_->mutex);
            const bool pausing = inbox_->pause_until && SteadyClock::now() < *inbox_->pause_until;
            if (inbox_->reading || inbox_->ended || closed_ || pausing ||
                inbox_->items.size() + events_per_batch > items_max) {
                return;
            }
            inbox_->reading = true;
            inbox_->pause_until.reset();
            op.cursor = inbox_->cursor;
        }
        engine_.async(std::move(op), [inbox = inbox_,
                                      began = SteadyClock::now()](expected<EventPage> page) {
            {
                std::lock_guard lock(inbox->mutex);
                if (page && page->events.empty() && SteadyClock::now() < began + shortest_read) {
                    // It should have waited; one that only looks does not.
                    inbox->pause_until = began + first_pause;
                }
                page ? take(*inbox, std::move(*page)) : stumble(*inbox, std::move(page).error());
                inbox->reading = false;
            }
            inbox->arrived.notify_all();
        });
    }

    static void take(Inbox& inbox, EventPage page) {
        inbox.pause = milliseconds(0);
        if (page.gap) {
            inbox.items.emplace_back(std::move(*page.gap));
        }
        for (Event& event : page.events) {
            inbox.items.emplace_back(std::move(event));
        }
        if (page.fault) {
            inbox.items.emplace_back(std::move(*page.fault));
        }
        inbox.cursor = page.next_cursor;
    }

    static void stumble(Inbox& inbox, Error error) {
        // A server elsewhere that stops says who it is; it comes back.
        const bool is_server = std::ranges::any_of(error.fields, [](const auto& field) {
            return field.first == "who" && field.second == "server";
        });
        if (error.code == ErrorCode::shutting_down && !is_server) {
            inbox.ended = true;
            return;
        }
        inbox.ended = info(error.code).kind == ErrorKind::validation;  // no later read is better
        inbox.pause = std::clamp(inbox.pause * 2, first_pause, longest_pause);
        inbox.pause_until = SteadyClock::now() + inbox.pause;
        inbox.items.emplace_back(SubscriptionDisconnected{inbox.cursor, std::move(error)});
    }

    Engine& engine_;
    ReadEvents op_;
    std::stop_source stop_;
    const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
    bool closed_ = false;  // guarded by inbox_->mutex
};

}  // namespace

expected<std::unique_ptr<Subscription>> Engine::subscribe(EventFamily family, EventCursor from,
                                                          EventFilter filter) {
    ReadEvents op;
    op.family = family;
    op.cursor = from;
    op.filter = std::move(filter);
    // One look: says whether the cursor is one of this store's, and finds a place for an empty one.
    op.limit = 1;
    FF_TRY(const EventPage first, run(op));
    if (from.empty()) {
        op.cursor = first.next_cursor;
    }
    return std::unique_ptr<Subscription>(
        std::make_unique<EngineSubscription>(*this, std::move(op)));
}

}  // namespace ff
