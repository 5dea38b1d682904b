#include "cli/demo.h"

#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <ff/engine.h>

#include "cli/demo_actors.h"
#include "cli/demo_board.h"
#include "cli/demo_screen.h"
#include "cli/demo_story.h"
#include "cli/interrupt.h"
#include "cli/read_only_store.h"
#include "cli/serving.h"
#include "cli/store_checks.h"
#include "cli/table.h"
#include "cli/temp_folder.h"
#include "cli/text.h"
#include "store/location.h"

namespace ff::cli {

namespace {

constexpr double grace_s = 60;  // beyond the time the jobs come in

/// Where the demo's store is.
struct DemoPlace {
    TempFolder folder;  ///< when nobody named a file
    std::string path;
};

expected<DemoPlace> find_place(const DemoOptions& options) {
    DemoPlace place;
    if (!options.db) {
        FF_TRY(place.folder, TempFolder::make("ff-demo-"));
        place.path = place.folder.path() + "/demo.db";
        return place;
    }
    FF_TRY(const store::Location location, store::parse_location(*options.db));
    if (location.form != store::Location::Form::sqlite_file) {
        return ff::fail(ErrorCode::invalid_config, "the demo wants a file; name one with --db");
    }
    std::error_code ignored;
    if (std::filesystem::exists(location.target, ignored)) {
        return ff::fail(ErrorCode::store_in_use,
                        location.target + " exists already; the demo wants a fresh file");
    }
    place.path = store::canonical_path(location.target);
    return place;
}

/// Everything is done, or nothing more will come.
bool is_over(const DemoBoard& board, double seconds_max) {
    return board.done() >= board.jobs || board.stopped() || InterruptGuard::interrupted() ||
           output_fault() != 0 || board.seconds() > seconds_max;
}

void play(Engine& engine, DemoStory& story, DemoBoard& board, const DemoOptions& options,
          const std::string& url, const std::string& path) {
    std::vector<std::thread> threads;
    for (int i = 0; i < options.workers; ++i) {
        threads.emplace_back(
            [&, i] { run_worker(engine, story, board, static_cast<std::size_t>(i)); });
    }
    threads.emplace_back([&] { submit_jobs(engine, story, board, options.seconds); });
    {
        DemoScreen screen(board,
                          fmt::format("FlowFabric demo: {} jobs, {} worker{}, {}, store {}",
                                      with_commas(static_cast<std::uint64_t>(options.jobs)),
                                      options.workers, options.workers == 1 ? "" : "s", url, path));
        while (!is_over(board, options.seconds + grace_s)) {
            screen.update();
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        board.stop();
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
}

/// The demo goes through a server, as everybody's work does: on its usual port if that is free.
expected<std::unique_ptr<Serving>> serve_demo(const std::shared_ptr<Engine>& engine,
                                              Logger& logger) {
    http::ConfigSources sources;
    FF_TRY(http::ServerConfig config, http::load_config(sources));
    if (auto usual = Serving::start(config, logger, engine)) {
        return usual;
    }
    config.listen.port = 0;
    return Serving::start(std::move(config), logger, engine);
}

// ------------------------------------------------------------------------------------ the ending

struct StoryEnd {
    std::map<PublicState, std::uint64_t> states;
    std::uint64_t retries = 0;
    std::uint64_t reclaims = 0;
    std::vector<std::string> surprises;  ///< where it is not as the story wants
};

expected<void> compare(Engine& engine, const DemoJob& job, StoryEnd& ending) {
    const auto surprise = [&](const std::string& what) {
        ending.surprises.push_back(job.title() + ": " + what);
    };
    FF_TRY(const auto found, engine.run(DescribeExecution{job.id}));
    if (!found) {
        surprise("it is not in the store");
        return {};
    }
    ending.states[found->info.public_state] += 1;
    ending.retries += found->retry_count;
    ending.reclaims += found->lease_reclaim_count;
    if (found->info.public_state != job.ending) {
        surprise(fmt::format("it is {} and should be {}", to_string(found->info.public_state),
                             to_string(job.ending)));
    }
    if (found->retry_count != static_cast<std::uint32_t>(job.failures)) {
        surprise(fmt::format("it was retried {} times and should have been {}", found->retry_count,
                             job.failures));
    }
    if (job.kills_worker && found->lease_reclaim_count == 0) {
        surprise("its worker was killed, and nobody took it over");
    }
    if (!job.needs_gpu) {
        return {};
    }
    FF_TRY(const auto attempts, engine.run(ListAttempts{job.id}));
    for (const AttemptInfo& attempt : attempts) {
        if (attempt.worker_id != "worker-a") {
            surprise("it needs a gpu and ran on " + attempt.worker_id);
        }
    }
    return {};
}

expected<StoryEnd> compare_all(Engine& engine, DemoStory& story) {
    StoryEnd ending;
    for (const DemoJob& job : story.jobs()) {
        FF_TRY_VOID(compare(engine, job, ending));
    }
    return ending;
}

struct Verdict {
    std::vector<std::string> faults;
    std::size_t checks = 0;
};

Verdict judge(const StoryEnd& ending, const std::string& path) {
    Verdict verdict;
    verdict.faults = ending.surprises;
    auto file = open_store_file(path);
    if (!file) {
        verdict.faults.push_back(file.error().message());
        return verdict;
    }
    const auto checks = check_store(std::move(*file), {});
    verdict.checks = checks.size();
    for (const Check& check : checks) {
        for (const std::string& finding : check.findings) {
            verdict.faults.push_back(fmt::format("{}: {}", check.name, finding));
        }
    }
    return verdict;
}

expected<void> print_summary(Engine& engine, const DemoBoard& board, const StoryEnd& ending,
                             const Verdict& verdict, const std::string& path, double seconds) {
    FF_TRY(const Capabilities capabilities, engine.run(ReadCapabilities{}));
    const EngineStats stats = engine.stats();
    const Terminal terminal = Terminal::output();
    const auto number = [](auto value) { return with_commas(static_cast<std::uint64_t>(value)); };
    Table table({{"summary"}, {"", Align::right}, {""}});
    for (const auto& [state, count] : ending.states) {
        table.add({to_string(state), number(count)});
    }
    table.add({"retries", number(ending.retries), "after transient failures, with backoff"});
    table.add({"takeovers", number(ending.reclaims), "of leases that a lost worker left behind"});
    table.add({"renewals", number(board.renewals.load())});
    table.add({"gpu jobs", number(board.gpu_jobs.load()), "all on the one worker that has it"});
    table.add({"rate", rounded(static_cast<double>(board.done()) / seconds),
               fmt::format("jobs/s, {} in {:.1f} s", number(board.done()), seconds)});
    table.add({"commits", number(stats.batches),
               fmt::format("for {} commands, {} rows", number(stats.commands),
                           number(stats.rows_written))});
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(path, ignored);
    const auto log_bytes = std::filesystem::file_size(path + "-wal", ignored);
    table.add({"store", bytes_text(bytes), fmt::format("and a log of {}", bytes_text(log_bytes))});
    table.add({"durability", capabilities.durability,
               fmt::format("{} {}.{}.{}", capabilities.family, capabilities.major,
                           capabilities.minor, capabilities.patch)});
    std::string text = "\n" + table.render(terminal) + "\n";
    if (verdict.faults.empty()) {
        text += terminal.paint(
            fmt::format("ok: every execution ended as it should, {} checks of the store passed",
                        verdict.checks),
            Style::green);
    } else {
        constexpr std::size_t shown = 10;
        text += terminal.paint(
            fmt::format("FAIL: {} things are not as they should be", verdict.faults.size()),
            Style::red);
        for (std::size_t i = 0; i < std::min(shown, verdict.faults.size()); ++i) {
            text += "\n  " + printable(verdict.faults[i]);
        }
    }
    print_out(text + "\n");
    return {};
}

/// So that a person can look around in it.
void hold_open(const std::string& url, const std::string& path) {
    print_out(
        fmt::format("\nThe server goes on at {0}. From another window:\n"
                    "  curl '{0}/v1/executions?state=failed'\n"
                    "  ff top --connect {0}\n"
                    "  ff ls --connect {0} --state failed\n"
                    "  ff doctor --db {1}\n"
                    "Ctrl-C ends it.\n",
                    url, path));
    while (!InterruptGuard::interrupted()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    print_out("\n");
}

expected<ExitCode> run(const DemoOptions& options) {
    FF_TRY(DemoPlace place, find_place(options));
    if (options.keep) {
        place.folder.keep();
    }
    DemoBoard board(static_cast<std::size_t>(options.jobs));
    DemoStory story(static_cast<std::size_t>(options.jobs));
    EngineOptions how;
    how.lanes.assign(demo_lanes.begin(), demo_lanes.end());
    how.warn = [&board](std::string_view text) { board.tell(std::string(text), Style::yellow); };
    InterruptGuard guard;
    FF_TRY(const auto engine, Engine::open(place.path, how));
    Logger logger({}, std::make_shared<SystemClock>(), [&board](std::string_view line) {
        if (line.find(" INFO ") == std::string_view::npos) {  // the board tells the story itself
            board.tell(std::string(line.substr(0, line.find('\n'))), Style::yellow);
        }
    });
    FF_TRY(const auto serving, serve_demo(engine, logger));
    FF_TRY(const auto client, Engine::try_connect(serving->url()));
    play(*client, story, board, options, serving->url(), place.path);
    const double seconds = board.seconds();
    if (const auto failure = board.failure()) {
        complain(*failure);
        return ExitCode::failed;
    }
    if (board.done() < board.jobs) {
        if (output_fault() != 0) {
            return ExitCode::failed;  // nobody looks; main says why, if there is something to say
        }
        complain(InterruptGuard::interrupted() ? "interrupted before the end"
                                               : "the jobs were not done in time");
        return ExitCode::failed;
    }
    FF_TRY(const StoryEnd ending, compare_all(*client, story));
    const Verdict verdict = judge(ending, place.path);
    FF_TRY_VOID(print_summary(*engine, board, ending, verdict, place.path, seconds));
    if (Terminal::output().interactive) {
        hold_open(serving->url(), place.path);
    }
    if (options.db || options.keep) {
        print_out(fmt::format("the store is kept: ff inspect --db {} ls\n", place.path));
    }
    client->stop();
    serving->stop();
    return verdict.faults.empty() ? ExitCode::ok : ExitCode::failed;
}

}  // namespace

ExitCode run_demo(const DemoOptions& options) {
    auto outcome = run(options);
    return outcome ? *outcome : complain(outcome.error());
}

}  // namespace ff::cli
