#include "cli/bench_streams.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "cli/bench_engine.h"
#include "http/server.h"
#include "store/sqlite_db.h"

namespace ff::cli {

namespace {

constexpr std::size_t frame_bytes = 100;
constexpr std::size_t frames_per_batch = 64;

AppendFrames frames_for(const Handle& handle, std::size_t count) {
    AppendFrames op;
    op.lease = handle;
    op.frames.resize(count);
    for (Frame& frame : op.frames) {
        frame.frame_type = "delta";
        frame.payload.assign(frame_bytes, 'x');
    }
    return op;
}

/// Rows inserted by a program that does nothing but SQLite, so many a transaction, each on disk.
class RawInserts {
  public:
    static expected<std::unique_ptr<RawInserts>> make(const std::string& folder) {
        std::unique_ptr<RawInserts> out(new RawInserts);
        out->path_ = folder + "/raw_frames.db";
        FF_TRY(out->db_, store::SqliteDb::open(out->path_, store::OpenMode::write, 1'000));
        FF_TRY_VOID(out->db_->execute(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192;"
            "CREATE TABLE frame (eid INTEGER NOT NULL, attempt INTEGER NOT NULL,"
            " ms INTEGER NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, mode INTEGER,"
            " ts INTEGER, payload BLOB NOT NULL, PRIMARY KEY (eid, attempt, ms, seq))"
            " STRICT, WITHOUT ROWID"));
        FF_TRY(out->begin_, out->db_->prepare("BEGIN IMMEDIATE"));
        FF_TRY(out->commit_, out->db_->prepare("COMMIT"));
        FF_TRY(out->insert_, out->db_->prepare("INSERT INTO frame VALUES (1, 0, $1, 0, 'delta', 0,"
                                               " $2, $3)"));
        return out;
    }
    ~RawInserts() {
        begin_ = {};
        commit_ = {};
        insert_ = {};
        db_.reset();
        std::error_code ignored;
        for (const char* tail : {"", "-wal", "-shm"}) {
            std::filesystem::remove(path_ + tail, ignored);
        }
    }
    RawInserts(const RawInserts&) = delete;
    RawInserts& operator=(const RawInserts&) = delete;

    expected<double> rows_per_second(std::size_t per_transaction, double seconds) {
        const std::string payload(frame_bytes, 'x');
        const auto begun = SteadyClock::now();
        std::size_t rows = 0;
        while (seconds_since(begun) < seconds) {
            FF_TRY_VOID(begin_.run());
            for (std::size_t i = 0; i < per_transaction; ++i) {
                insert_.integer(++next_);
                insert_.integer(next_);
                insert_.bytes(payload);
                FF_TRY_VOID(insert_.run());
            }
            FF_TRY_VOID(commit_.run());
            rows += per_transaction;
        }
        return static_cast<double>(rows) / seconds_since(begun);
    }

  private:
    RawInserts() = default;
    std::string path_;
    std::unique_ptr<store::SqliteDb> db_;
    store::Statement begin_;
    store::Statement commit_;
    store::Statement insert_;
    std::int64_t next_ = 0;
};

class StreamBench {
  public:
    StreamBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options), folder_(std::move(folder)), figures_(figures) {}

    expected<void> run() {
        FF_TRY_VOID(appends());
        FF_TRY_VOID(long_stream());
        FF_TRY_VOID(many_tailers());
        FF_TRY_VOID(replay());
        figures_.print_table("streams");
        return {};
    }

  private:
    [[nodiscard]] bool is_sqlite() const { return options_.store == BenchStore::sqlite; }
    [[nodiscard]] double seconds() const { return options_.quick ? 0.3 : 3; }

    expected<void> add(BenchEngine& bench, const std::string& name, double value,
                       const std::string& unit, std::optional<double> against = {}) {
        return bench.tell(figures_, "streams." + name, value, unit, against);
    }

    static expected<std::vector<Handle>> started(BenchEngine& bench, std::size_t count,
                                                 const std::optional<std::string>& policy = {}) {
        CreateExecution op;
        op.ns = "bench";
        op.lane_id = bench_lane;
        op.execution_kind = "stream";
        op.input_payload.assign(bench_payload_bytes, 'x');  // what claims look for
        op.policy = policy;
        for (std::size_t i = 0; i < count; ++i) {
            FF_TRY_VOID(bench.engine().run(op));
        }
        std::vector<Handle> handles;
        while (handles.size() < count) {
            std::vector<Handle> some;
            FF_TRY_VOID(bench.claim(some, 64, 0));
            handles.insert(handles.end(), some.begin(), some.end());
        }
        return handles;
    }

    /// Frames a second, by writers that each wait for their answer.
    expected<double> append_rate(Engine& engine, const std::vector<Handle>& handles,
                                 std::size_t batch) {
        std::atomic<std::uint64_t> frames = 0;
        const auto begun = SteadyClock::now();
        Crew crew;
        FF_TRY(const double took,
               crew.run(handles.size(), [&](std::size_t writer) -> expected<void> {
                   while (seconds_since(begun) < seconds() && !crew.failed()) {
                       FF_TRY_VOID(engine.run(frames_for(handles[writer], batch)));
                       frames += batch;
                   }
                   return {};
               }));
        return static_cast<double>(frames) / took;
    }

    expected<void> append_figure(BenchEngine& bench, Engine& engine, const std::string& name,
                                 const std::vector<Handle>& handles, std::size_t batch,
                                 RawInserts* raw) {
        figures_.progress(name);
        std::optional<double> before;
        if (raw != nullptr) {
            FF_TRY(before, raw->rows_per_second(batch, seconds() / 2));
        }
        FF_TRY(const double rate, append_rate(engine, handles, batch));
        if (raw != nullptr) {
            FF_TRY(const double after, raw->rows_per_second(batch, seconds() / 2));
            before = (*before + after) / 2;
        }
        return add(bench, name, rate, "frames_per_second", before);
    }

    expected<void> appends() {
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "streams_append"));
        std::unique_ptr<RawInserts> raw;
        if (is_sqlite()) {
            FF_TRY(raw, RawInserts::make(folder_));
        }
        FF_TRY(const auto handles, started(*bench, 16));
        const std::vector<Handle> one{handles.front()};
        Engine& engine = bench->engine();
        FF_TRY_VOID(append_figure(*bench, engine, "append_1", one, 1, raw.get()));
        FF_TRY_VOID(append_figure(*bench, engine, "append", handles, 1, raw.get()));
        FF_TRY_VOID(append_figure(*bench, engine, "append_64", one, frames_per_batch, raw.get()));
        FF_TRY_VOID(
            append_figure(*bench, engine, "append_batch", handles, frames_per_batch, raw.get()));
        http::ServerOptions options;
        const std::shared_ptr<Engine> shared(&engine, [](Engine*) {});
        FF_TRY(const auto server, http::Server::start(shared, options, {}));
        FF_TRY(const auto remote,
               Engine::try_connect("http://127.0.0.1:" + std::to_string(server->port())));
        FF_TRY_VOID(append_figure(*bench, *remote, "http_append", handles, 1, raw.get()));
        return append_figure(*bench, *remote, "http_append_batch", handles, frames_per_batch,
                             raw.get());
    }

    /// Milliseconds of one append of a batch.
    static expected<double> append_ms(Engine& engine, const Handle& handle, int rounds) {
        std::vector<double> times;
        for (int i = 0; i < rounds; ++i) {
            const auto begun = SteadyClock::now();
            FF_TRY_VOID(engine.run(frames_for(handle, frames_per_batch)));
            times.push_back(ms_since(begun));
        }
        return quantile(std::move(times), 0.5);
    }

    expected<void> long_stream() {
        const std::size_t frames = options_.quick ? 10'000 : 1'000'000;
        figures_.progress("filling a stream");
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "streams_long"));
        FF_TRY(const auto handles,
               started(*bench, 2, R"({"stream_policy":{"retention_maxlen":100000000}})"));
        for (std::size_t done = 0; done < frames;) {
            std::vector<AppendFrames> ops(16, frames_for(handles[0], 256));
            for (const auto& answer : bench->engine().run_all(std::move(ops))) {
                if (!answer) {
                    return std::unexpected(answer.error());
                }
                done += 256;
            }
        }
        // In turns, so that whatever else the machine does falls on both.
        const int rounds = options_.quick ? 5 : 100;
        double empty_ms = 0;
        double full_ms = 0;
        for (int i = 0; i < 5; ++i) {
            FF_TRY(const double a, append_ms(bench->engine(), handles[1], rounds));
            FF_TRY(const double b, append_ms(bench->engine(), handles[0], rounds));
            empty_ms += a;
            full_ms += b;
        }
        return add(*bench, "append_to_" + std::to_string(frames), full_ms / 5, "ms", empty_ms / 5);
    }

    expected<void> many_tailers() {
        const std::size_t tailers = 1'000;
        figures_.progress("a thousand tailers of one stream");
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "streams_tail"));
        FF_TRY(const auto handles, started(*bench, 1));
        const Handle& handle = handles.front();
        std::vector<double> slowest;
        FrameId last;
        for (int round = 0; round < (options_.quick ? 2 : 20); ++round) {
            std::mutex mutex;
            std::size_t left = tailers;
            SteadyClock::time_point appended;
            std::vector<SteadyClock::time_point> woken;
            std::promise<void> all;
            TailStream tail;
            tail.execution_id = handle.execution_id;
            tail.attempt_index = handle.attempt_index;
            tail.after = last;
            tail.block_ms = 30'000;
            for (std::size_t i = 0; i < tailers; ++i) {
                bench->engine().async(tail, [&](const expected<StreamPage>&) {
                    std::lock_guard lock(mutex);
                    woken.push_back(SteadyClock::now());
                    if (--left == 0) {
                        all.set_value();
                    }
                });
            }
            // A look behind them in the same queue: when it is answered, they wait.
            FF_TRY_VOID(bench->engine().run(ReadStreamSummary{handle.execution_id, 0}));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            FF_TRY(const AppendResult done, bench->engine().run(frames_for(handle, 1)));
            appended = SteadyClock::now();
            all.get_future().wait();
            last = done.appended.back().id;
            const double ms = std::chrono::duration<double, std::milli>(
                                  *std::ranges::max_element(woken) - appended)
                                  .count();
            slowest.push_back(std::max(ms, 0.001));
        }
        return add(*bench, "last_of_1000_tailers_wakes", quantile(slowest, 0.5), "ms");
    }

    /// A pass over the whole table of events, every column looked at, with nothing made of it.
    static expected<double> raw_scan_seconds(const std::string& path) {
        FF_TRY(const auto db, store::SqliteDb::open(path, store::OpenMode::read_only, 1'000));
        FF_TRY(auto scan, db->prepare("SELECT * FROM ff_exec_event ORDER BY event_id"));
        const auto begun = SteadyClock::now();
        std::size_t bytes = 0;
        for (;;) {
            FF_TRY(const bool more, scan.step());
            if (!more) {
                break;
            }
            for (int column = 0; column < 20; ++column) {
                bytes += scan.bytes().size();
            }
        }
        return bytes > 0 ? seconds_since(begun) : 0;
    }

    expected<void> replay() {
        const std::uint64_t executions = options_.quick ? 2'000 : 500'000;
        figures_.progress("making events");
        FF_TRY(const auto bench, BenchEngine::open(options_, folder_, "streams_replay"));
        FF_TRY_VOID(bench->fill_finished(executions));
        figures_.progress("replaying them");
        FF_TRY(const auto subscription,
               bench->engine().subscribe(EventFamily::lease_history, EventCursor::earliest()));
        const auto begun = SteadyClock::now();
        std::uint64_t events = 0;
        for (;;) {
            const SubscriptionItem item = subscription->next(std::chrono::milliseconds(0));
            if (std::holds_alternative<Event>(item)) {
                events += 1;
            } else if (events >= 2 * executions) {
                break;
            } else if (!std::holds_alternative<SubscriptionIdle>(item)) {
                return ff::fail(ErrorCode::internal, "the subscription ended early");
            }
        }
        const double rate = static_cast<double>(events) / seconds_since(begun);
        std::optional<double> raw;
        if (is_sqlite()) {
            FF_TRY(const double took, raw_scan_seconds(folder_ + "/streams_replay.db"));
            raw = static_cast<double>(events) / took;
        }
        return add(*bench, "replay_events", rate, "events_per_second", raw);
    }

    const BenchOptions& options_;
    std::string folder_;
    Figures& figures_;
};

}  // namespace

expected<void> bench_streams(const BenchOptions& options, const std::string& folder,
                             Figures& figures) {
    return StreamBench(options, folder, figures).run();
}

}  // namespace ff::cli
