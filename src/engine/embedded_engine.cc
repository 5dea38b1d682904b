#include "engine/embedded_engine.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <future>
#include <type_traits>
#include <utility>

#include "core/condition_rules.h"
#include "core/waitpoint_tokens.h"
#include "engine/engine_thread.h"
#include "engine/reads.h"

namespace ff::engine {

namespace {

/// Ids for creates are minted on callers' threads, each from its own source.
IdSource& thread_ids() {
    thread_local SystemIdSource ids;
    return ids;
}

/// Ids and keys that a caller may leave out.
template <class Op>
void fill_in(Op& args, IdSource& ids, TimestampMs now) {
    const auto mint = [&]<class Id>(std::optional<Id>& id) {
        if (!id) {
            id = Id{ids.uuid(now)};
        }
    };
    if constexpr (std::is_same_v<Op, CreateFlow>) {
        mint(args.flow_id);
    } else if constexpr (std::is_same_v<Op, StageDependencyEdge>) {
        mint(args.edge_id);
    } else if constexpr (std::is_same_v<Op, Suspend>) {
        mint(args.suspension_id);
        core::complete_bindings(args, [&] { return WaitpointId{ids.uuid(now)}; });
    } else if constexpr (std::is_same_v<Op, DeliverSignal> ||
                         std::is_same_v<Op, DeliverApprovalSignal>) {
        mint(args.signal_id);
    } else if constexpr (std::is_same_v<Op, CreateWebhook>) {
        mint(args.webhook_id);
    }
}

/// Reads, and commands that begin with one.
bool begins_on_a_reader(const Request& request) {
    return is_read_request(request) || ff::holds_alternative<RotateWaitpointKey>(request) ||
           ff::holds_alternative<CreateWebhook>(request);
}

std::size_t size_of(const std::string& text) { return text.size(); }
std::size_t size_of(const std::vector<std::string>& words) {
    std::size_t bytes = 0;
    for (const std::string& word : words) {
        bytes += sizeof(std::string) + word.size();
    }
    return bytes;
}
std::size_t size_of(const Tags& tags) {
    std::size_t bytes = 0;
    for (const auto& [key, value] : tags) {
        bytes += 2 * sizeof(std::string) + key.size() + value.size();
    }
    return bytes;
}
template <class T>
std::size_t size_of(const std::optional<T>& value) {
    return value ? size_of(*value) : 0;
}
std::size_t size_of(const ResumeCondition& condition) {
    std::size_t bytes = sizeof condition + condition.waitpoint_key.size() +
                        size_of(condition.signal_name) + size_of(condition.waitpoints) +
                        size_of(condition.required_signal_names);
    for (const ResumeCondition& member : condition.members) {
        bytes += size_of(member);
    }
    return bytes;
}

/// What a command holds while it waits, near enough: its fixed part and the parts that may be long.
std::size_t bytes_of(const Request& request) {
    return ff::visit(
        []<class Op>(const Op& op) {
            std::size_t bytes = sizeof(Op) + 256;
            const auto add = [&bytes](const auto&... members) {
                bytes += (size_of(members) + ... + 0);
            };
            if constexpr (std::is_same_v<Op, CreateExecution>) {
                add(op.input_payload, op.policy, op.tags);
            }
            if constexpr (requires { op.result_payload; }) {
                add(op.result_payload);
            }
            if constexpr (std::is_same_v<Op, AppendFrames>) {
                for (const Frame& frame : op.frames) {
                    bytes += sizeof(Frame);
                    add(frame.payload, frame.frame_type, frame.correlation_id);
                }
            }
            if constexpr (std::is_same_v<Op, DeliverSignal>) {
                add(op.payload, op.signal_name, op.source_identity, op.correlation_id,
                    op.idempotency_key);
            }
            if constexpr (std::is_same_v<Op, DeliverApprovalSignal>) {
                add(op.note, op.signal_name, op.actor);
            }
            if constexpr (std::is_same_v<Op, Suspend>) {
                bytes += op.waitpoints.size() * sizeof(WaitpointBinding);
                add(op.resume_condition, op.continuation_metadata_pointer, op.idempotency_key);
            }
            if constexpr (std::is_same_v<Op, SetExecutionTags>) {
                add(op.tags);
            }
            if constexpr (requires { op.route_snapshot_json; }) {
                add(op.capability_hash, op.route_snapshot_json, op.admission_summary);
            }
            if constexpr (requires {
                              op.lanes;
                              op.capabilities;
                          }) {
                add(op.lanes, op.capabilities);
            }
            if constexpr (requires { op.kinds; }) {
                add(op.kinds);
            }
            if constexpr (requires {
                              op.nodes;
                              op.edges;
                          }) {
                for (const FlowNode& node : op.nodes) {
                    bytes += sizeof(FlowNode);
                    add(node.name, node.execution.input_payload, node.execution.policy,
                        node.execution.tags);
                }
                bytes += op.edges.size() * sizeof(FlowEdge);
            }
            return bytes;
        },
        request);
}

/// One source serves both writers, and when the opener handed it in all callers' threads.
class LockedIdSource final : public IdSource {
  public:
    explicit LockedIdSource(std::shared_ptr<IdSource> source) : source_(std::move(source)) {}
    Uuid uuid(TimestampMs now) override {
        std::lock_guard lock(mutex_);
        return source_->uuid(now);
    }
    std::uint64_t uniform(std::uint64_t bound) override {
        std::lock_guard lock(mutex_);
        return source_->uniform(bound);
    }

  private:
    std::mutex mutex_;
    std::shared_ptr<IdSource> source_;  // guarded by mutex_
};

std::shared_ptr<IdSource> shared_ids(const std::shared_ptr<IdSource>& given) {
    return std::make_shared<LockedIdSource>(given ? given : std::make_shared<SystemIdSource>());
}

Error stopped() { return {ErrorCode::shutting_down, "the engine is stopping", {}}; }

std::shared_ptr<Clock> clock_of(const EngineOptions& options, const store::Store& store) {
    if (options.clock) {
        return options.clock;
    }
    auto kept = store.clock();
    return kept ? kept : std::make_shared<SystemClock>();
}

}  // namespace

void warn_to_stderr(std::string_view text) {
    std::fprintf(stderr, "flowfabric: warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

EmbeddedEngine::EmbeddedEngine(std::unique_ptr<store::Store> store, EngineOptions options)
    : options_(std::move(options)),
      clock_(clock_of(options_, *store)),
      ids_(shared_ids(options_.ids)),
      store_(std::move(store)) {
    if (!options_.warn) {
        options_.warn = warn_to_stderr;
    }
    settings_.backend = store_->info().backend;
    settings_.partitions = store_->info().partitions;
    settings_.reclaim_grace_ms = options_.reclaim_grace_ms;
    settings_.retention_ms = options_.retention_ms;
    settings_.make_waitpoint_key = options_.make_waitpoint_key;
    if (auto key = core::secret_of_hex(options_.keystore_key, true)) {
        settings_.keystore_key = std::move(*key);  // its shape was checked at open
    }
}

expected<std::shared_ptr<EmbeddedEngine>> EmbeddedEngine::start(std::unique_ptr<store::Store> store,
                                                                EngineOptions options,
                                                                Writers::OpenStore open_second) {
    std::shared_ptr<EmbeddedEngine> engine(
        new EmbeddedEngine(std::move(store), std::move(options)));
    EmbeddedEngine& e = *engine;
    const ReadLater later = [&e](ReadJob job) {
        std::lock_guard lock(e.reads_mutex_);
        e.reads_.push_back(std::move(job));
        e.reads_arrived_.notify_one();
    };
    e.tails_ =
        std::make_unique<TailDesk>(*e.store_, *e.clock_, e.options_.waiting_claims_max, later);
    e.events_ =
        std::make_unique<EventDesk>(*e.store_, *e.clock_, e.options_.waiting_claims_max, later);
    Writer::Notices notices;
    notices.durable = [&e](const Changed& changed) {
        e.tails_->changed(changed.executions);
        e.events_->changed(changed.families);
    };
    notices.others = [&e] {
        e.tails_->changed_anywhere();
        e.events_->changed_anywhere();
    };
    e.writers_ = std::make_unique<Writers>(*e.store_, e.settings_, e.options_, *e.clock_, *e.ids_,
                                           std::move(notices), std::move(open_second));
    e.clock_token_ = e.clock_->subscribe([&e] {
        e.writers_->wake();
        std::lock_guard lock(e.reads_mutex_);
        e.clock_moved_ = true;
        e.reads_arrived_.notify_one();
    });
    const int readers = std::max(1, e.options_.pool_size - 1);
    for (int i = 0; i < readers; ++i) {
        e.readers_.emplace_back([&e] { e.run_reads(); });
    }
    FF_TRY_VOID(e.register_lanes());
    FF_TRY_VOID(e.install_secret());
    FF_TRY_VOID(e.seal_secrets());
    return engine;
}

expected<void> EmbeddedEngine::register_lanes() {
    FF_TRY(const LanePage known, run(ListLanes{std::nullopt, 100'000}));
    for (const std::string& lane : options_.lanes) {
        const bool there = std::ranges::any_of(
            known.lanes, [&](const LaneInfo& info) { return info.lane_id == lane; });
        if (!there) {
            FF_TRY_VOID(run(SetLaneState{lane, LaneState::active}));
        }
    }
    return {};
}

expected<void> EmbeddedEngine::install_secret() {
    const std::string& secret = options_.waitpoint_secret;
    if (secret.empty()) {
        return {};
    }
    FF_TRY(const KeyList known, run(ListWaitpointKeys{}));
    if (!known.current_kid) {
        // Rotating in an empty keystore is seeding, with secrets of any length.
        FF_TRY_VOID(run(RotateWaitpointKey{"k1", secret, 0}));
        return {};
    }
    if (secret.size() < 64) {
        options_.warn("the waitpoint secret has fewer than 64 hex digits");
    }
    // The current key again: nothing happens when it is the same, and a conflict when it is not.
    const auto same = run(RotateWaitpointKey{*known.current_kid, secret, 0});
    if (!same && same.error().code == ErrorCode::rotation_conflict) {
        options_.warn("the store signs waitpoint tokens with key " + *known.current_kid +
                      ", which is not the configured secret; the store's is used");
    } else if (!same) {
        options_.warn("the key that signs waitpoint tokens cannot be used: " +
                      same.error().message() + " (is the keystore key the right one?)");
    }
    return {};
}

expected<void> EmbeddedEngine::seal_secrets() {
    if (settings_.keystore_key.empty()) {
        return {};
    }
    FF_TRY(auto open, unsealed_secrets({*store_, clock_->now(), nullptr}));
    if (!open) {
        return {};
    }
    std::promise<Response> sealed;
    writers_->submit({Command(std::in_place_type<core::SealSecrets>, std::move(*open)),
                      [&sealed](Response response) { sealed.set_value(std::move(response)); }, 0,
                      std::nullopt});
    if (const Response response = sealed.get_future().get(); !response) {
        options_.warn("secrets that rest unsealed in the store could not be sealed: " +
                      response.error().message());
    }
    return {};
}

EmbeddedEngine::~EmbeddedEngine() { stop(); }

void EmbeddedEngine::stop() {
    std::call_once(stopped_, [this] {
        clock_->unsubscribe(clock_token_);
        {
            std::lock_guard lock(reads_mutex_);
            stopping_ = true;
        }
        tails_->close();
        events_->close();
        reads_arrived_.notify_all();
        writers_->stop();
        for (std::thread& reader : readers_) {
            reader.join();
        }
    });
}

EngineStats EmbeddedEngine::stats() const {
    EngineStats stats = writers_->stats();
    stats.event_readers = events_->waiting_by_family();
    renew_lag();
    stats.event_lag = lag_.read();
    return stats;
}

void EmbeddedEngine::renew_lag() const {
    // Who asks for figures does not wait for the store.
    std::lock_guard lock(reads_mutex_);
    if (!stopping_ && reads_.size() < options_.queue_commands_max && lag_.begin()) {
        reads_.emplace_back([this] { lag_.count(*store_); });
        reads_arrived_.notify_one();
    }
}

expected<Command> EmbeddedEngine::prepare(Request request) {
    IdSource& ids = options_.ids ? *ids_ : thread_ids();
    return ff::visit(
        [&]<class T>(T& op) -> expected<Command> {
            if constexpr (is_read<T>) {
                return ff::fail(ErrorCode::internal, "a read is not a command");
            } else if constexpr (std::is_same_v<T, CreateExecution>) {
                FF_TRY(core::PreparedCreate prepared,
                       core::prepare(std::move(op), settings_, ids, clock_->now()));
                return Command(std::in_place_type<core::PreparedCreate>, std::move(prepared));
            } else if constexpr (std::is_same_v<T, SubmitFlow>) {
                FF_TRY(core::PreparedSubmit prepared,
                       core::prepare(std::move(op), settings_, ids, clock_->now()));
                return Command(std::in_place_type<core::PreparedSubmit>, std::move(prepared));
            } else if constexpr (std::is_same_v<T, SpawnChildren>) {
                FF_TRY(core::PreparedSpawn prepared,
                       core::prepare(std::move(op), settings_, ids, clock_->now()));
                return Command(std::in_place_type<core::PreparedSpawn>, std::move(prepared));
            } else if constexpr (std::is_same_v<T, AppendFrames>) {
                FF_TRY(core::PreparedAppend prepared, core::prepare(std::move(op)));
                return Command(std::in_place_type<core::PreparedAppend>, std::move(prepared));
            } else {
                fill_in(op, ids, clock_->now());
                FF_TRY_VOID(core::validate(op));
                return Command::adopt<T>(std::move(request));
            }
        },
        request);
}

void EmbeddedEngine::call(Request request, DoneFn done) {
    if (begins_on_a_reader(request)) {
        read_later(std::move(request), std::move(done));
        return;
    }
    submit(std::move(request), std::move(done));
}

void EmbeddedEngine::submit(Request request, DoneFn done) {
    const std::size_t bytes = bytes_of(request);
    auto command = prepare(std::move(request));
    if (!command) {
        done(std::unexpected(std::move(command).error()));
        return;
    }
    Pending pending{std::move(*command), std::move(done), bytes, std::nullopt};
    watch_abandonment(pending);
    writers_->submit(std::move(pending));
}

void EmbeddedEngine::call_many(std::vector<Request> requests,
                               std::move_only_function<void(std::vector<Response>)> done) {
    struct Gathering {
        std::vector<Response> responses;
        std::atomic<std::size_t> missing;
        std::move_only_function<void(std::vector<Response>)> done;
    };
    if (requests.empty()) {
        done({});
        return;
    }
    auto gathering = std::make_shared<Gathering>();
    gathering->responses.resize(requests.size(), Response(Done{}));
    gathering->missing = requests.size();
    gathering->done = std::move(done);
    const auto settle = [gathering](std::size_t index) {
        return [gathering, index](Response response) {
            gathering->responses[index] = std::move(response);
            if (gathering->missing.fetch_sub(1) == 1) {
                gathering->done(std::move(gathering->responses));
            }
        };
    };
    std::vector<Pending> commands;
    commands.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (begins_on_a_reader(requests[i])) {
            read_later(std::move(requests[i]), settle(i));
            continue;
        }
        const std::size_t bytes = bytes_of(requests[i]);
        auto command = prepare(std::move(requests[i]));
        if (!command) {
            settle(i)(std::unexpected(std::move(command).error()));
        } else {
            commands.push_back({std::move(*command), settle(i), bytes, std::nullopt});
            watch_abandonment(commands.back());
        }
    }
    if (!commands.empty()) {
        writers_->submit(std::move(commands));
    }
}

Response EmbeddedEngine::run_any(Request request) {
    const auto* tail = ff::get_if<TailStream>(&request);
    const auto* events = ff::get_if<ReadEvents>(&request);
    const bool waits =
        (tail != nullptr && tail->block_ms > 0) || (events != nullptr && events->block_ms > 0);
    if (is_read_request(request) && !waits) {
        return stopping_ ? Response(std::unexpected(stopped())) : read(request);
    }
    return Engine::run_any(std::move(request));
}

Response EmbeddedEngine::read(const Request& request) {
    return answer_any(request, {*store_, clock_->now(), &writers_->scanner_log()});
}

void EmbeddedEngine::create_webhook(CreateWebhook args, DoneFn done) {
    auto place = resolve(args.cursor, args.family, {*store_, clock_->now(), nullptr});
    if (!place) {
        done(std::unexpected(std::move(place).error()));
        return;
    }
    args.cursor = *place;
    submit(std::move(args), std::move(done));
}

void EmbeddedEngine::rotate_key(const RotateWaitpointKey& args, DoneFn done) {
    const DurationMs grace_ms = std::clamp<DurationMs>(args.grace_ms, 0, DurationMs{1} << 53);
    auto left_behind =
        waitpoints_outliving(args.new_kid, grace_ms, {*store_, clock_->now(), nullptr});
    if (!left_behind) {
        done(std::unexpected(std::move(left_behind).error()));
        return;
    }
    const bool is_short = args.new_secret_hex.size() < 64;
    submit(args, [this, is_short, count = *left_behind,
                  done = std::move(done)](Response response) mutable {
        if (response) {
            auto& result = ff::get<RotateKeyResult>(*response);
            result.waitpoints_outliving_grace = result.rotated ? count : 0;
            if (result.rotated && is_short) {
                options_.warn("the waitpoint secret has fewer than 64 hex digits");
            }
            if (result.waitpoints_outliving_grace > 0) {
                options_.warn(std::to_string(count) + " open waitpoints have tokens of key " +
                              result.previous_kid.value_or("") +
                              " and may outlive it; operators can still resume them");
            }
        }
        done(std::move(response));
    });
}

void EmbeddedEngine::watch_abandonment(Pending& pending) {
    const auto* claim = ff::get_if<Claim>(&pending.command);
    if (claim == nullptr || claim->max_wait_ms == 0 || !claim->abandoned.stop_possible()) {
        return;
    }
    pending.number = ++claim_numbers_;
    pending.on_abandon = std::make_unique<std::stop_callback<std::function<void()>>>(
        claim->abandoned,
        [writers = writers_.get(), number = pending.number] { writers->abandon(number); });
}

void EmbeddedEngine::read_later(Request request, DoneFn done) {
    Error refusal = stopped();
    {
        std::lock_guard lock(reads_mutex_);
        if (!stopping_ && reads_.size() < options_.queue_commands_max) {
            reads_.emplace_back([this, request = std::move(request), asked_at = clock_->now(),
                                 done = std::move(done)]() mutable {
                read_now(request, asked_at, std::move(done));
            });
            reads_arrived_.notify_one();
            return;
        }
        if (!stopping_) {
            refusal = {
                ErrorCode::overloaded, "too many reads are waiting; try again in a moment", {}};
        }
    }
    done(std::unexpected(std::move(refusal)));
}

void EmbeddedEngine::read_now(const Request& request, TimestampMs asked_at, DoneFn done) {
    if (const auto* rotate = ff::get_if<RotateWaitpointKey>(&request)) {
        rotate_key(*rotate, std::move(done));
    } else if (const auto* webhook = ff::get_if<CreateWebhook>(&request)) {
        create_webhook(*webhook, std::move(done));
    } else if (const auto* tail = ff::get_if<TailStream>(&request)) {
        tails_->ask(*tail, asked_at, std::move(done));
    } else if (const auto* events = ff::get_if<ReadEvents>(&request)) {
        events_->ask(*events, asked_at, std::move(done));
    } else {
        done(read(request));
    }
}

std::optional<TimestampMs> EmbeddedEngine::next_deadline() {
    const auto tail = tails_->next_deadline();
    const auto event = events_->next_deadline();
    return tail && event ? std::min(tail, event) : std::max(tail, event);
}

void EmbeddedEngine::run_reads() {
    enter_engine_thread("ff-reader");
    std::unique_lock lock(reads_mutex_);
    for (;;) {
        const auto deadline = next_deadline();
        // Who is woken is on its way here from the desk: nobody leaves while one waits there.
        const auto over = [&] { return stopping_ && tails_->is_empty() && events_->is_empty(); };
        const auto ready = [&] { return !reads_.empty() || clock_moved_ || over(); };
        if (deadline) {
            const DurationMs left = std::max<DurationMs>(*deadline - clock_->now(), 0);
            reads_arrived_.wait_for(lock, std::chrono::milliseconds(left), ready);
        } else {
            reads_arrived_.wait(lock, ready);
        }
        if (reads_.empty() && over()) {
            reads_arrived_.notify_all();
            return;
        }
        clock_moved_ = false;
        ReadJob job;
        if (!reads_.empty()) {
            job = std::move(reads_.front());
            reads_.pop_front();
        }
        lock.unlock();
        if (job) {
            job();
            job = {};  // what it owns is let go before the lock is taken again
        }
        tails_->expire();
        events_->expire();
        lock.lock();
    }
}

}  // namespace ff::engine
