#include "cli/bench_http.h"

#include <fmt/core.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cli/bench_engine.h"
#include "cli/http_load.h"
#include "cli/server_process.h"
#include "client/remote_engine.h"
#include "wire/url.h"

namespace ff::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t echo_bytes = 100;
constexpr std::size_t poll_tasks = 16;
constexpr std::size_t idle_polls = 10'000;
constexpr const char* lane = "bench";

std::string create_body(std::string_view work_lane = lane) {
    return fmt::format(R"({{"namespace":"bench","lane_id":"{}","execution_kind":"work",)"
                       R"("input_payload":{{"text":"{}"}}}})",
                       work_lane, std::string(bench_payload_bytes, 'x'));
}

std::string poll_body(std::size_t connection, std::size_t tasks, int block_ms,
                      std::string_view work_lane = lane) {
    return fmt::format(R"({{"worker_instance_id":"w{}","lanes":["{}"],"max_tasks":{},)"
                       R"("lease_ttl_ms":3600000,"block_ms":{}}})",
                       connection, work_lane, tasks, block_ms);
}

Error refused(const LoadAnswer& answer) {
    return {ErrorCode::internal,
            fmt::format("the server answered {}: {}", answer.status,
                        std::string(answer.body.substr(0, 200))),
            {}};
}

/// `POST …/complete` of the first task of a poll's answer.
void append_complete(std::string& out, std::string_view tasks) {
    std::string path = "/v1/executions/";
    wire::append_encoded(path, member_text(tasks, "execution_id"));
    path += "/attempts/0/complete";
    append_post(out, path,
                fmt::format(R"({{"handle":"{}","result_payload":{{"text":"done"}}}})",
                            member_text(tasks, "handle")));
}

/// `POST /v1/attempts/complete-batch` of all tasks of a poll's answer; how many.
std::size_t append_complete_batch(std::string& out, std::string_view tasks) {
    std::string body = R"({"items":[)";
    std::size_t count = 0;
    constexpr std::string_view key = "\"execution_id\":\"";
    for (std::size_t at = tasks.find(key); at != std::string_view::npos;
         at = tasks.find(key, at + 1)) {
        body += fmt::format(R"({}{{"execution_id":"{}","attempt_index":0,"handle":"{}",)"
                            R"("result_payload":{{"text":"done"}}}})",
                            count++ > 0 ? "," : "", member_text(tasks, "execution_id", at),
                            member_text(tasks, "handle", at));
    }
    append_post(out, "/v1/attempts/complete-batch", body + "]}");
    return count;
}

class HttpBench {
  public:
    HttpBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options), folder_(std::move(folder)), figures_(figures) {}

    expected<void> run() {
        FF_TRY_VOID(reach());
        FF_TRY_VOID(memory("rss_rest_mib"));
        FF_TRY_VOID(echo());
        FF_TRY_VOID(create_16());
        for (const int workers : options_.workers) {
            FF_TRY_VOID(claim_complete(static_cast<std::size_t>(workers)));
        }
        FF_TRY_VOID(batches());
        FF_TRY_VOID(memory("rss_load_mib"));
        FF_TRY_VOID(pickup());
        if (process_ && !options_.quick) {
            FF_TRY_VOID(idle());
        }
        figures_.print_table("Over HTTP");
        return {};
    }

  private:
    [[nodiscard]] std::size_t backlog() const {
        return options_.backlog.value_or(options_.quick ? 500 : 20'000);
    }

    expected<void> reach() {
        std::string url = options_.connect.value_or("");
        if (url.empty()) {
            figures_.progress("starting a server");
            FF_TRY(process_,
                   ServerProcess::start(folder_ + "/http.db", {{"FF_HTTP_MAX_CONNECTIONS", "20000"},
                                                               {"FF_MAX_CONCURRENT_POLLS", "20000"},
                                                               {"FF_LOG", "warn,http=info"}}));
            url = process_->url();
        }
        FF_TRY(const auto at, client::ServerAddress::parse(url));
        if (at.tls) {
            return ff::fail(ErrorCode::invalid_config, "the load speaks no TLS");
        }
        host_ = at.host;
        port_ = at.port;
        FF_TRY(const auto engine, client::RemoteEngine::connect(url, {}));
        FF_TRY(const Capabilities server, engine->run(ReadCapabilities{}));
        store_ = server.family;
        durability_ = server.durability;
        return {};
    }

    expected<void> add(const std::string& name, double value, const std::string& unit,
                       std::optional<double> against = {}) {
        Figure figure{name, store_, value, unit, {}, {}, durability_};
        if (against) {
            figure.against(*against);
        }
        return figures_.add(std::move(figure));
    }

    expected<void> echo() {
        figures_.progress("echo, 16 connections");
        FF_TRY(HttpLoad load, HttpLoad::open(host_, port_, 16));
        const std::string body(echo_bytes, 'e');
        const std::uint64_t wanted = options_.quick ? 5'000 : 200'000;
        std::uint64_t asked = 0;
        FF_TRY(const double seconds, load.run([&](std::size_t, const LoadAnswer* last,
                                                  std::string& out) -> expected<bool> {
            if (last != nullptr && (last->status != 200 || last->body != body)) {
                return std::unexpected(refused(*last));
            }
            if (asked == wanted) {
                return false;
            }
            ++asked;
            append_post(out, "/v1/echo", body);
            return true;
        }));
        echo_ = static_cast<double>(wanted) / seconds;
        return add("ceiling.http_echo_16", echo_, "/s");
    }

    expected<void> create_16() {
        figures_.progress("create, 16 connections");
        FF_TRY(HttpLoad load, HttpLoad::open(host_, port_, 16));
        const std::string body = create_body("created");
        std::size_t asked = 0;
        FF_TRY(const double seconds, load.run([&](std::size_t, const LoadAnswer* last,
                                                  std::string& out) -> expected<bool> {
            if (last != nullptr && last->status != 201) {
                return std::unexpected(refused(*last));
            }
            if (asked == backlog()) {
                return false;
            }
            ++asked;
            append_post(out, "/v1/executions", body);
            return true;
        }));
        return add("http.create_16", static_cast<double>(backlog()) / seconds, "/s", echo_);
    }

    expected<void> fill() {
        FF_TRY(HttpLoad load, HttpLoad::open(host_, port_, 2));
        constexpr std::size_t bulk = 500;
        std::string body = R"({"executions":[)";
        for (std::size_t i = 0; i < bulk; ++i) {
            body += (i > 0 ? "," : "") + create_body();
        }
        body += "]}";
        std::size_t asked = 0;
        FF_TRY_VOID(
            load.run([&](std::size_t, const LoadAnswer* last, std::string& out) -> expected<bool> {
                if (last != nullptr && last->status != 200) {
                    return std::unexpected(refused(*last));
                }
                if (asked >= backlog()) {
                    return false;
                }
                asked += bulk;
                append_post(out, "/v1/executions/batch", body);
                return true;
            }));
        filled_ = asked;
        return {};
    }

    expected<void> claim_complete(std::size_t workers) {
        figures_.progress(fmt::format("claim and complete, {} connections", workers));
        FF_TRY_VOID(fill());
        FF_TRY(HttpLoad load, HttpLoad::open(host_, port_, workers));
        std::vector<bool> completing(workers, false);
        std::size_t done = 0;
        FF_TRY(const double seconds, load.run([&](std::size_t i, const LoadAnswer* last,
                                                  std::string& out) -> expected<bool> {
            if (last != nullptr && completing[i]) {
                if (last->status != 200) {
                    return std::unexpected(refused(*last));
                }
                ++done;
            } else if (last != nullptr) {
                if (last->status == 204) {
                    return false;
                }
                if (last->status != 200) {
                    return std::unexpected(refused(*last));
                }
                completing[i] = true;
                append_complete(out, last->body);
                return true;
            }
            completing[i] = false;
            append_post(out, fmt::format("/v1/workers/bench-{}/poll", i), poll_body(i, 1, 0));
            return true;
        }));
        FF_TRY_VOID(check_done(done));
        return add(fmt::format("http.claim_complete_{}", workers),
                   static_cast<double>(done) / seconds, "jobs/s", echo_);
    }

    expected<void> check_done(std::size_t done) {
        if (done != filled_) {
            return ff::fail(ErrorCode::internal,
                            fmt::format("{} of {} jobs were done", done, filled_));
        }
        return {};
    }

    /// The same by the engine in this process: what HTTP costs is the difference.
    expected<double> embedded_batches() {
        BenchOptions same = options_;
        FF_TRY(const auto bench, BenchEngine::open(same, folder_, "http_embedded"));
        FF_TRY_VOID(bench->fill_waiting(backlog()));
        Crew crew;
        std::atomic<std::uint64_t> done = 0;
        FF_TRY(const double seconds, crew.run(16, [&](std::size_t worker) -> expected<void> {
            while (!crew.failed()) {
                std::vector<Handle> handles;
                FF_TRY(const bool some, bench->claim(handles, poll_tasks, worker));
                if (!some) {
                    return {};
                }
                FF_TRY_VOID(bench->complete_many(handles));
                done += handles.size();
            }
            return {};
        }));
        return static_cast<double>(done.load()) / seconds;
    }

    expected<void> batches() {
        figures_.progress("polls of 16 and batches of outcomes, 16 connections");
        FF_TRY(const double embedded, embedded_batches());
        FF_TRY_VOID(fill());
        FF_TRY(HttpLoad load, HttpLoad::open(host_, port_, 16));
        std::vector<std::size_t> completing(load.size(), 0);
        std::size_t done = 0;
        FF_TRY(const double seconds, load.run([&](std::size_t i, const LoadAnswer* last,
                                                  std::string& out) -> expected<bool> {
            if (last != nullptr && completing[i] > 0) {
                if (last->status != 200 || last->body.find("\"error\"") != std::string_view::npos) {
                    return std::unexpected(refused(*last));
                }
                done += completing[i];
            } else if (last != nullptr) {
                if (last->status == 204) {
                    return false;
                }
                if (last->status != 200) {
                    return std::unexpected(refused(*last));
                }
                completing[i] = append_complete_batch(out, last->body);
                return true;
            }
            completing[i] = 0;
            append_post(out, fmt::format("/v1/workers/bench-{}/poll", i),
                        poll_body(i, poll_tasks, 0));
            return true;
        }));
        FF_TRY_VOID(check_done(done));
        return add("http.claim_complete_batch", static_cast<double>(done) / seconds, "jobs/s",
                   embedded);
    }

    /// From sending a create to the answer of a poll that was waiting for it.
    expected<void> pickup() {
        figures_.progress("pick-up by a waiting poll");
        FF_TRY(HttpLoad waiter, HttpLoad::open(host_, port_, 1));
        FF_TRY(HttpLoad maker, HttpLoad::open(host_, port_, 1));
        std::vector<double> ms;
        const std::size_t rounds = options_.quick ? 20 : 500;
        for (std::size_t round = 0; round < rounds; ++round) {
            FF_TRY(const double took, pick_up_once(waiter, maker));
            ms.push_back(took);
        }
        FF_TRY_VOID(add("http.pickup_p50", quantile(ms, 0.5), "ms"));
        return add("http.pickup_p99", quantile(ms, 0.99), "ms");
    }

    expected<double> pick_up_once(HttpLoad& waiter, HttpLoad& maker) {
        Clock::time_point sent;
        double took = 0;
        int phase = 0;
        // The poll is sent first and heard last; in between the create goes out.
        std::thread creator;
        expected<void> created;
        auto outcome = waiter.run([&](std::size_t, const LoadAnswer* last,
                                      std::string& out) -> expected<bool> {
            if (phase++ == 0) {
                append_post(out, "/v1/workers/picker/poll", poll_body(0, 1, 30'000, "pickup"));
                creator = std::thread([&] {
                    // Long enough for the poll to be waiting; not part of what is measured.
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    sent = Clock::now();
                    const auto ran =
                        maker.run([first = true](std::size_t, const LoadAnswer* answer,
                                                 std::string& text) mutable -> expected<bool> {
                            if (answer != nullptr && answer->status != 201) {
                                return std::unexpected(refused(*answer));
                            }
                            if (std::exchange(first, false)) {
                                append_post(text, "/v1/executions", create_body("pickup"));
                                return true;
                            }
                            return false;
                        });
                    if (!ran) {
                        created = std::unexpected(ran.error());
                    }
                });
                return true;
            }
            if (phase == 2) {
                const auto heard = Clock::now();
                creator.join();
                took = std::chrono::duration<double, std::milli>(heard - sent).count();
                if (last->status != 200) {
                    return std::unexpected(refused(*last));
                }
                append_complete(out, last->body);
                return true;
            }
            return last->status == 200 ? expected<bool>(false) : std::unexpected(refused(*last));
        });
        if (creator.joinable()) {
            creator.join();
        }
        FF_TRY_VOID(outcome);
        FF_TRY_VOID(created);
        return took;
    }

    expected<void> idle() {
        figures_.progress("10,000 waiting polls");
        FF_TRY(HttpLoad load, HttpLoad::open(host_, port_, idle_polls));
        FF_TRY_VOID(load.send_all([](std::size_t i) {
            std::string out;
            append_post(out, fmt::format("/v1/workers/idle-{}/poll", i),
                        poll_body(i, 1, 30'000, "nothing-comes"));
            return out;
        }));
        std::this_thread::sleep_for(std::chrono::seconds(3));  // until all of them have been taken
        const double before = process_->cpu_seconds();
        std::this_thread::sleep_for(std::chrono::seconds(10));
        const double share = (process_->cpu_seconds() - before) / 10 * 100;
        FF_TRY_VOID(memory("idle_10k_rss_mib"));
        return add("http.idle_10k_cpu_percent", std::max(share, 0.01), "%");
    }

    expected<void> memory(const std::string& name) {
        return process_ ? add("http." + name, process_->resident_mib(), "MiB") : expected<void>();
    }

    const BenchOptions& options_;
    const std::string folder_;
    Figures& figures_;
    std::unique_ptr<ServerProcess> process_;
    std::string host_;
    std::uint16_t port_ = 0;
    std::string store_;
    std::string durability_;
    double echo_ = 0;
    std::size_t filled_ = 0;
};

}  // namespace

expected<void> bench_http(const BenchOptions& options, const std::string& folder,
                          Figures& figures) {
    return HttpBench(options, folder, figures).run();
}

}  // namespace ff::cli
