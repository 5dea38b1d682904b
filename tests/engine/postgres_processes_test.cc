// Three engine processes share one database, and processes or the server are killed without
// warning. What the processes were told is compared with what is there, as in crash_test.cc:
// nothing acknowledged is lost, no lease is given twice, nothing is stuck.
//
// A process is this very program, started again with FF_PROCESS_STORE set. At SIGUSR1 it makes no
// more work and finishes what there is.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "core/derive.h"
#include "core/invariants.h"
#include "engine/conformance.h"
#include "store/location.h"
#include "store/postgres_store.h"
#include "support/postgres.h"
#include "support/private_postgres.h"

namespace ff::engine::test {

namespace {

constexpr std::size_t everything = 10'000'000;
constexpr int process_count = 3;
constexpr int process_threads = 3;
constexpr const char* retry_policy =
    R"({"retry_policy":{"max_retries":2,"backoff":{"type":"fixed","delay_ms":5}}})";

/// What the holder of a lease gives as result; tells whose it was.
std::string result_of(const ExecutionId& id, std::uint64_t epoch) {
    return id.to_string() + '\0' + std::to_string(epoch) + all_bytes();
}

std::string reason_of(std::uint64_t epoch) { return "failed under " + std::to_string(epoch); }

// ----------------------------------------------------------------------------------- the process

/// Set by a signal, which any thread may get, and read by all: a sig_atomic_t is for one thread.
std::atomic<bool> finishing = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

/// Where a process tells what was acknowledged: whole lines, in one write each.
class Account {
  public:
    explicit Account(int fd) : fd_(fd) {}

    template <class... Words>
    void write(const Words&... words) const {
        std::ostringstream line;
        ((line << words << ' '), ...);
        const std::string text = line.str() + "\n";
        if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            _exit(4);
        }
    }
    /// Refusals that a worker under this load must expect; anything else ends the process.
    template <class T>
    bool accepts(const expected<T>& result) const {
        if (result) {
            return true;
        }
        switch (result.error().code) {
            case ErrorCode::lease_expired:
            case ErrorCode::lease_revoked:
            case ErrorCode::stale_lease:
            case ErrorCode::execution_not_active: return false;
            case ErrorCode::commit_in_doubt: write("doubt", result.error().message()); return false;
            default: write("error", result.error().message()); _exit(3);
        }
    }

  private:
    int fd_;
};

class ProcessWorker {
  public:
    ProcessWorker(Engine& engine, const Account& account, const std::string& name,
                  std::uint64_t seed)
        : engine_(engine), account_(account), name_(name), random_(seed) {}

    [[noreturn]] void run() {
        bool creates = true;
        for (;;) {
            if (!finishing) {
                create();
            } else if (std::exchange(creates, false)) {
                account_.write("last");
            }
            const auto claimed = engine_.run(with(claim_by(name_), [&](auto& op) {
                op.max_tasks = 1 + static_cast<std::uint32_t>(random_() % 3);
                op.lease_ttl_ms = finishing ? 10'000 : 400;
                op.max_wait_ms = finishing ? 200 : 0;
            }));
            if (!account_.accepts(claimed)) {
                continue;
            }
            for (const ClaimedTask& task : claimed->tasks) {
                account_.write("lease", task.execution_id().to_string(), task.handle.lease_epoch,
                               task.handle.lease_id.to_string());
            }
            for (const ClaimedTask& task : claimed->tasks) {
                act(task);
            }
        }
    }

  private:
    void create() {
        // Keys of the moment: the other processes use the same ones now.
        const auto moment = std::to_string(SystemClock().now() / 8);
        std::vector<CreateExecution> ops;
        for (std::uint64_t n = 1 + random_() % 3; n > 0; --n) {
            ops.push_back(random_() % 2 == 0 ? job() : job_with_policy(retry_policy));
            if (random_() % 2 == 0) {
                const std::string key(1, static_cast<char>('a' + random_() % 4));
                ops.back() = job_with_policy(R"({"limit_key":")" + key + R"("})");
            }
            ops.back().tags = {{"worker", name_}};
            if (random_() % 3 != 0) {
                ops.back().idempotency_key = moment + "." + std::to_string(n);
            }
        }
        const auto keys = ops;
        const auto results = engine_.run_all(std::move(ops));
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (account_.accepts(results[i])) {
                account_.write("create", results[i]->execution_id.to_string(), results[i]->created,
                               keys[i].idempotency_key.value_or("-"));
            }
        }
    }

    template <class Op, class... Words>
    void attempt(Op op, const Words&... words) {
        if (account_.accepts(engine_.run(std::move(op)))) {
            account_.write(words...);
        }
    }

    void act(const ClaimedTask& task) {
        const std::string id = task.execution_id().to_string();
        const std::uint64_t epoch = task.handle.lease_epoch;
        const Source source = Source::lease_holder;
        switch (finishing ? 20 : random_() % 20) {
            case 0: return;  // forgets it: the lease runs out and another takes over
            case 1: attempt(Release{task.handle}, "pause", id, epoch); return;
            case 2:
                attempt(Delay{task.handle, task.lease_expires_at - 380, source}, "pause", id,
                        epoch);
                return;
            case 3:
                attempt(CancelExecution{LeaseRef(task.execution_id()), "not wanted",
                                        "operator_override"},
                        "cancel", id);
                return;
            case 4:
                attempt(Fail{task.handle, reason_of(epoch), "permanent", source}, "fail", id,
                        epoch);
                return;
            case 5:
            case 6: {
                const auto failed =
                    engine_.run(Fail{task.handle, reason_of(epoch), "transient", source});
                if (account_.accepts(failed)) {
                    account_.write(failed->retry_scheduled ? "retry" : "fail", id, epoch);
                }
                return;
            }
            case 7:
            case 8:
            case 9: {
                const auto renewed = engine_.run(Renew{task.handle, 1'000});
                if (account_.accepts(renewed)) {
                    account_.write("renew", id, epoch, renewed->expires_at_ms);
                }
                break;
            }
            default: break;
        }
        attempt(Complete{task.handle, result_of(task.execution_id(), epoch), {}, source},
                "complete", id, epoch);
    }

    Engine& engine_;
    const Account& account_;
    const std::string name_;
    std::mt19937_64 random_;
};

[[noreturn]] void run_process(const std::string& store, int fd, std::uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, [](int) { finishing = true; });
    const Account account(fd);
    EngineOptions options;
    options.warn = [](std::string_view) {};  // lost connections are what this is about
    auto engine = Engine::open(store, options);
    while (!engine && engine.error().code == ErrorCode::store_open_failed) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the server is away
        engine = Engine::open(store, options);
    }
    if (!engine) {
        account.write("error", engine.error().message());
        _exit(3);
    }
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < process_threads; ++t) {
        threads.emplace_back([&, t] {
            ProcessWorker(**engine, account, "p" + std::to_string(seed) + "." + std::to_string(t),
                          seed + t)
                .run();
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    _exit(3);
}

/// Becomes the process before any test runs, if that is what this program was started for.
class ProcessEnvironment : public testing::Environment {
  public:
    void SetUp() override {
        if (const char* store = std::getenv("FF_PROCESS_STORE")) {
            run_process(store, std::atoi(std::getenv("FF_PROCESS_FD")),
                        std::strtoull(std::getenv("FF_PROCESS_SEED"), nullptr, 10));
        }
    }
};

[[maybe_unused]] const testing::Environment* const process_environment =
    testing::AddGlobalTestEnvironment(new ProcessEnvironment);

// --------------------------------------------------------------------------------------- the test

/// What was acknowledged for one execution, by all processes. They tell in no common order.
struct Told {
    bool cancelled = false;
    std::optional<std::uint64_t> completed;       ///< under this epoch
    std::optional<std::uint64_t> failed;          ///< for good, under this epoch
    std::map<std::uint64_t, std::string> leases;  ///< lease id by epoch
    std::set<std::uint64_t> paused;               ///< epochs given back
    std::set<std::uint64_t> retried;              ///< epochs whose failure is retried
};

struct Process {
    pid_t pid = -1;
    int fd = -1;
    std::string buffer;
    int finishing = 0;  ///< threads that have made their last execution
};

class Processes : public testing::Test {
  protected:
    Processes() : seed_(std::random_device{}()), random_(seed_) {
        signal(SIGUSR1, SIG_IGN);  // processes inherit it until they are ready to take it
    }
    ~Processes() override {
        for (Process& process : processes_) {
            end(process);
        }
    }
    void SetUp() override {
        if (support::postgres_address().empty()) {
            GTEST_SKIP() << "FF_TEST_POSTGRES is not set";
        }
        std::printf("[   seed   ] %llu\n", static_cast<unsigned long long>(seed_));
    }

    void start_processes(const std::string& store) {
        store_ = store;
        for (Process& process : processes_) {
            start(process);
        }
    }
    void start(Process& process);
    /// Kills it without warning and hears what it had told before.
    void end(Process& process);
    /// Notes what the processes tell, until so many more lines have come.
    void listen(std::size_t lines);
    bool hear(Process& process);
    void note(const std::string& line);
    /// They make no more work, and all there is comes to an end.
    void finish_all_work();

    expected<void> read(const std::function<expected<void>(store::Reader&)>& body);
    void verify();
    void verify_execution(store::Reader& reader, const core::Execution& e);
    void verify_told(store::Reader& reader, const core::Execution& e, const Told& told);
    /// Holds at any moment: all is read as of one.
    void verify_side_tables();
    void verify_events(store::Reader& reader);

    const std::uint64_t seed_;
    std::mt19937_64 random_;
    std::string store_;
    std::array<Process, process_count> processes_;
    std::map<ExecutionId, Told> told_;
    std::map<std::string, ExecutionId> keys_;
    std::size_t lines_ = 0;
    std::size_t doubts_ = 0;
    std::size_t duplicates_ = 0;
};

void Processes::start(Process& process) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    // Everything the child needs is made before the fork: after it only exec may be called.
    std::vector<std::string> variables{
        "FF_PROCESS_STORE=" + store_,
        "FF_PROCESS_FD=" + std::to_string(ends[1]),
        "FF_PROCESS_SEED=" + std::to_string(random_()),
    };
    std::vector<char*> environment;
    for (std::string& variable : variables) {
        environment.push_back(variable.data());
    }
    for (char** variable = environ; *variable != nullptr; ++variable) {
        environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    std::string program = "/proc/self/exe";
    std::string brief = "--gtest_brief=1";
    std::array<char*, 3> arguments{program.data(), brief.data(), nullptr};
    process.pid = fork();
    ASSERT_GE(process.pid, 0);
    if (process.pid == 0) {
        close(ends[0]);
        execve(program.c_str(), arguments.data(), environment.data());
        _exit(127);
    }
    close(ends[1]);
    process.fd = ends[0];
    fcntl(process.fd, F_SETFD, FD_CLOEXEC);
}

void Processes::end(Process& process) {
    if (process.pid < 0) {
        return;
    }
    kill(process.pid, SIGKILL);
    while (hear(process)) {
    }
    int status = 0;
    waitpid(process.pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a process ended by itself: " << status;
    EXPECT_TRUE(process.buffer.empty()) << "half a line";
    close(process.fd);
    process = {};
}

bool Processes::hear(Process& process) {
    std::array<char, 65'536> bytes{};
    const ssize_t size = ::read(process.fd, bytes.data(), bytes.size());
    if (size <= 0) {
        return false;
    }
    process.buffer.append(bytes.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = process.buffer.find('\n'); end != std::string::npos;
         begin = end + 1, end = process.buffer.find('\n', begin)) {
        const std::string line = process.buffer.substr(begin, end - begin);
        if (line == "last ") {
            ++process.finishing;
        } else {
            note(line);
        }
    }
    process.buffer.erase(0, begin);
    return true;
}

void Processes::listen(std::size_t lines) {
    const std::size_t until = lines_ + lines;
    while (lines_ < until && !HasFailure()) {
        std::vector<pollfd> waits;
        for (const Process& process : processes_) {
            waits.push_back({process.fd, POLLIN, 0});
        }
        ASSERT_GT(poll(waits.data(), waits.size(), 60'000), 0) << "the processes say nothing";
        for (std::size_t i = 0; i < waits.size(); ++i) {
            if (waits[i].revents != 0) {
                ASSERT_TRUE(hear(processes_[i])) << "a process ended by itself";
            }
        }
    }
}

void Processes::note(const std::string& line) {
    std::istringstream in(line);
    std::string what;
    std::string text;
    in >> what >> text;
    ++lines_;
    if (what == "doubt") {
        ++doubts_;
        return;
    }
    const auto id = ExecutionId::parse(text);
    if (what == "error" || !id) {
        ADD_FAILURE() << "a process: " << line;
        return;
    }
    Told& told = told_[*id];
    std::uint64_t epoch = 0;
    in >> epoch;
    if (what == "create") {
        std::string key;
        in >> key;
        const bool created = epoch == 1;
        duplicates_ += created ? 0 : 1;
        if (key != "-") {
            EXPECT_EQ(keys_.emplace(key, *id).first->second, *id) << "two for one key: " << line;
        }
    } else if (what == "lease") {
        std::string lease;
        in >> lease;
        EXPECT_TRUE(told.leases.emplace(epoch, lease).second)
            << "an epoch was handed out twice: " << line;
    } else if (what == "complete") {
        EXPECT_FALSE(told.completed) << "it succeeded twice: " << line;
        told.completed = epoch;
    } else if (what == "fail") {
        told.failed = epoch;
    } else if (what == "retry") {
        told.retried.insert(epoch);
    } else if (what == "pause") {
        told.paused.insert(epoch);
    } else if (what == "cancel") {
        told.cancelled = true;
    } else if (what != "renew") {
        ADD_FAILURE() << "a process: " << line;
    }
}

expected<void> Processes::read(const std::function<expected<void>(store::Reader&)>& body) {
    FF_TRY(auto store, store::PostgresStore::open(*store::parse_location(store_), {}));
    return store->read(body);
}

void Processes::finish_all_work() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    const auto all_finishing = [&] {
        return std::ranges::all_of(processes_,
                                   [](const Process& p) { return p.finishing == process_threads; });
    };
    std::size_t unfinished = 1;
    while (unfinished > 0 && std::chrono::steady_clock::now() < deadline) {
        for (Process& process : processes_) {
            kill(process.pid, SIGUSR1);  // again and again: it may only just have started
            pollfd wait{process.fd, POLLIN, 0};
            while (poll(&wait, 1, 20) > 0) {
                ASSERT_TRUE(hear(process)) << "a process ended by itself";
            }
        }
        // One that is only just starting makes work even when there is none left now.
        if (!all_finishing()) {
            continue;
        }
        ASSERT_TRUE(read([&](store::Reader& reader) -> expected<void> {
            FF_TRY(const auto all,
                   reader.newest(std::numeric_limits<core::Eid>::max(), everything));
            unfinished = static_cast<std::size_t>(std::ranges::count_if(
                all, [](const core::Execution& e) { return !is_terminal(e.state); }));
            return {};
        }));
    }
    EXPECT_TRUE(all_finishing()) << "a process did not hear that it is to finish";
    EXPECT_EQ(unfinished, 0U) << "executions are stuck";
    for (Process& process : processes_) {
        end(process);
    }
}

void Processes::verify_told(store::Reader& reader, const core::Execution& e, const Told& told) {
    const auto attempts = *reader.attempts(e.eid);
    const auto attempt_under = [&](std::uint64_t epoch) {
        const auto it = std::ranges::find(attempts, epoch, &core::Attempt::lease_epoch);
        return it == attempts.end() ? std::optional<core::Attempt>() : *it;
    };
    if (!told.leases.empty()) {
        EXPECT_GE(e.lease_epoch, told.leases.rbegin()->first) << "a lease was lost";
    }
    if (told.completed) {
        EXPECT_EQ(e.public_state, PublicState::completed);
        EXPECT_EQ(e.lease_epoch, *told.completed);
        const auto attempt = attempt_under(*told.completed);
        ASSERT_TRUE(attempt);
        EXPECT_EQ(attempt->result, result_of(e.id, *told.completed));
    }
    if (told.failed) {
        EXPECT_EQ(e.public_state, PublicState::failed);
        EXPECT_EQ(e.failure_reason, reason_of(*told.failed));
    }
    if (told.cancelled) {
        EXPECT_EQ(e.public_state, PublicState::cancelled);
    }
    for (const std::uint64_t epoch : told.retried) {
        const auto attempt = attempt_under(epoch);
        ASSERT_TRUE(attempt) << "a failure was lost";
        EXPECT_EQ(attempt->state, AttemptLifecycle::ended_failure);
        EXPECT_EQ(attempt->failure_reason, reason_of(epoch));
    }
}

void Processes::verify_execution(store::Reader& reader, const core::Execution& e) {
    using enum core::LeaseEventType;
    const auto attempts = reader.attempts(e.eid);
    ASSERT_TRUE(attempts);
    for (const std::string& violation : core::check_invariants(e, *attempts)) {
        ADD_FAILURE() << violation;
    }
    auto history = reader.history(e, 1'000);
    ASSERT_TRUE(history);
    std::ranges::reverse(*history);
    const auto told = told_.find(e.id);
    std::uint64_t epoch = 0;
    std::uint64_t attempt_ends = 0;
    bool held = false;
    for (const core::ExecutionEvent& event : *history) {
        if (event.type == acquired || event.type == reclaimed) {
            EXPECT_FALSE(held) << "a lease began while another lasted";
            EXPECT_EQ(event.lease_epoch, ++epoch) << "epochs do not follow each other";
            held = true;
            if (told != told_.end() && told->second.leases.contains(epoch)) {
                EXPECT_EQ(event.lease_id->to_string(), told->second.leases.at(epoch));
            }
        } else if (event.type == expired || event.type == revoked || event.type == released) {
            held = false;
        }
        attempt_ends += event.outcome ? 1 : 0;
    }
    EXPECT_EQ(epoch, e.lease_epoch);
    EXPECT_FALSE(held);
    EXPECT_EQ(attempt_ends, 1U) << "it must have ended once";
}

void Processes::verify_events(store::Reader& reader) {
    const auto events = *reader.events_after(0, everything);
    const auto others = *reader.log_events_after(0, everything);
    std::set<std::int64_t> ids;
    std::map<core::Eid, std::int64_t> last;
    for (const core::ExecutionEvent& event : events) {
        EXPECT_TRUE(ids.insert(event.event_id).second) << "a number was given twice";
        if (event.type == core::LeaseEventType::renewed) {
            continue;  // not part of the chain
        }
        const auto before = last.find(event.eid);
        EXPECT_EQ(event.previous_event_id, before == last.end() ? std::optional<std::int64_t>()
                                                                : std::optional(before->second))
            << "the chain of an execution's events is broken";
        last[event.eid] = event.event_id;
    }
    for (const core::LogEvent& event : others) {
        EXPECT_TRUE(ids.insert(event.event_id).second) << "a number was given twice";
    }
}

void Processes::verify_side_tables() {
    const auto done = read([&](store::Reader& reader) -> expected<void> {
        std::set<core::ReadyKey> ready;
        std::set<core::TimerKey> timers;
        std::set<core::TurnKey> turns;
        std::set<std::pair<core::Bucket, core::Eid>> listed;
        FF_TRY(const auto all, reader.newest(std::numeric_limits<core::Eid>::max(), everything));
        for (const core::Execution& e : all) {
            if (const auto key = core::ready_key(e)) {
                ready.insert(*key);
            }
            if (const auto key = core::timer_key(e)) {
                timers.insert(*key);
            }
            if (const auto key = core::turn_key(e)) {
                turns.insert(*key);
            }
            if (core::bucket(e) != core::Bucket::none) {
                listed.emplace(core::bucket(e), e.eid);
            }
        }
        const core::ReadyKey first_ready{std::numeric_limits<core::RouteId>::min(), 0, 0};
        FF_TRY(const auto stored_ready, reader.ready_after(first_ready, everything));
        EXPECT_EQ(std::set(stored_ready.begin(), stored_ready.end()), ready);
        FF_TRY(const auto stored_timers,
               reader.timers_after({core::TimerKind::lease, 0, 0}, everything));
        EXPECT_EQ(std::set(stored_timers.begin(), stored_timers.end()), timers);
        const core::TurnKey first_turn{std::numeric_limits<core::RouteId>::min(), 0};
        FF_TRY(const auto stored_turns, reader.turns_after(first_turn, everything));
        EXPECT_EQ(std::set(stored_turns.begin(), stored_turns.end()), turns);
        FF_TRY(const auto stored_listed, reader.listed_after(core::Bucket::none, 0, everything));
        EXPECT_EQ(std::set(stored_listed.begin(), stored_listed.end()), listed);
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
}

void Processes::verify() {
    verify_side_tables();
    std::set<ExecutionId> there;
    const auto done = read([&](store::Reader& reader) -> expected<void> {
        std::set<std::string> keys;
        FF_TRY(const auto all, reader.newest(std::numeric_limits<core::Eid>::max(), everything));
        for (const core::Execution& e : all) {
            SCOPED_TRACE(e.id.to_string());
            there.insert(e.id);
            verify_execution(reader, e);
            FF_TRY(const auto input, reader.input(e.eid));
            EXPECT_TRUE(input) << "an execution without its input";
            if (input && input->idempotency_key) {
                EXPECT_TRUE(keys.insert(*input->idempotency_key).second) << "two for one key";
            }
            if (const auto told = told_.find(e.id); told != told_.end()) {
                verify_told(reader, e, told->second);
            }
        }
        verify_events(reader);
        return {};
    });
    EXPECT_TRUE(done) << done.error().message();
    for (const auto& [id, told] : told_) {
        EXPECT_TRUE(there.contains(id)) << id.to_string() << " was acknowledged and is lost";
    }
    std::printf("[ acks told] %zu, %zu executions, %zu duplicates, %zu in doubt\n", lines_,
                there.size(), duplicates_, doubts_);
}

TEST_F(Processes, NothingIsLostOrDoubledWhenProcessesAreKilled) {
    start_processes(support::postgres_store("Processes"));
    for (int kills = 0; kills < 6 && !HasFailure(); ++kills) {
        SCOPED_TRACE("seed " + std::to_string(seed_) + ", kill " + std::to_string(kills));
        listen(100 + random_() % 600);
        Process& victim = processes_[random_() % processes_.size()];
        end(victim);
        listen(50);  // the others go on
        verify_side_tables();
        start(victim);
    }
    finish_all_work();
    verify();
    EXPECT_EQ(doubts_, 0U);
}

TEST_F(Processes, NothingIsLostOrDoubledWhenTheServerIsKilled) {
    support::PrivatePostgres server;
    start_processes(server.address());
    for (int kills = 0; kills < 3 && !HasFailure(); ++kills) {
        SCOPED_TRACE("seed " + std::to_string(seed_) + ", kill " + std::to_string(kills));
        listen(100 + random_() % 600);
        if (kills % 2 == 0) {
            server.kill();
        } else {
            server.crash();
        }
        server.start();
        verify_side_tables();
    }
    listen(200);
    finish_all_work();
    verify();
}

}  // namespace

}  // namespace ff::engine::test
