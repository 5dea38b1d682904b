#include "cli/bench_growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cli/bench_engine.h"
#include "cli/svg_plot.h"
#include "cli/table.h"
#include "cli/text.h"

namespace ff::cli {

namespace {

FF_WORD_ENUM(Operation, claim, renew, complete, create)

/// What one operation cost, in microseconds. CPU is that of this process: most of it with a store
/// in a file, little with a server.
struct Cost {
    double cpu = 0;
    double wall = 0;
};

/// Time of all threads of this process, and of the world.
class Stopwatch {
  public:
    [[nodiscard]] Cost per(std::size_t operations) const {
        const auto share = [&](double seconds) {
            return seconds * 1e6 / static_cast<double>(operations);
        };
        const std::chrono::duration<double> wall = SteadyClock::now() - begun_;
        return {share(cpu_seconds() - cpu_begun_), share(wall.count())};
    }

  private:
    static double cpu_seconds() {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
    }

    SteadyClock::time_point begun_ = SteadyClock::now();
    double cpu_begun_ = cpu_seconds();
};

/// A store of one size, and what the rounds so far cost in it.
struct SizedStore {
    std::uint64_t size = 0;
    std::unique_ptr<BenchEngine> bench;
    std::size_t routes = 1;
    std::array<std::vector<Cost>, enum_count<Operation>> costs;

    /// The median of the rounds, of CPU and wall each for itself.
    [[nodiscard]] Cost cost(Operation operation) const {
        std::vector<double> cpu;
        std::vector<double> wall;
        for (const Cost& cost : costs[static_cast<std::size_t>(operation)]) {
            cpu.push_back(cost.cpu);
            wall.push_back(cost.wall);
        }
        return {quantile(std::move(cpu), 0.5), quantile(std::move(wall), 0.5)};
    }
};

/// What grows: how a store of a size is made, and which operations are looked at.
struct Dimension {
    std::string name;
    std::string label;  ///< of the axis
    std::vector<std::uint64_t> sizes;
    std::vector<Operation> operations;
    std::function<expected<void>(SizedStore&)> fill;
};

class GrowthBench {
  public:
    GrowthBench(const BenchOptions& options, std::string folder, Figures& figures)
        : options_(options), folder_(std::move(folder)), figures_(figures) {}

    expected<void> run() {
        FF_TRY_VOID(check_room());
        for (const Dimension& dimension : dimensions()) {
            FF_TRY_VOID(measure(dimension));
        }
        FF_TRY_VOID(churn());
        figures_.print_table("growth");
        return {};
    }

  private:
    /// Operations in one transaction, and transactions in one round.
    static constexpr std::size_t batch = 100;
    static constexpr std::size_t batches = 4;

    [[nodiscard]] int rounds() const { return options_.quick ? 3 : 9; }
    /// Executions that wait where something else grows.
    [[nodiscard]] std::uint64_t waiting() const { return options_.quick ? 1'000 : 10'000; }

    [[nodiscard]] std::vector<Dimension> dimensions() const {
        using enum Operation;
        const bool quick = options_.quick;
        const auto thousands = [](std::vector<std::uint64_t> sizes) {
            for (std::uint64_t& size : sizes) {
                size *= 1'000;
            }
            return sizes;
        };
        const auto sizes = thousands(quick ? std::vector<std::uint64_t>{1, 2, 5}
                                           : std::vector<std::uint64_t>{1, 10, 100, 1'000});
        const auto route_counts = quick ? std::vector<std::uint64_t>{1, 10, 100}
                                        : std::vector<std::uint64_t>{1, 10, 100, 1'000, 10'000};
        return {
            {"backlog",
             "executions waiting",
             sizes,
             {claim, renew, complete, create},
             [](SizedStore& s) { return s.bench->fill_waiting(s.size); }},
            {"finished",
             "executions finished",
             sizes,
             {claim, renew, complete, create},
             [this](SizedStore& s) -> expected<void> {
                 FF_TRY_VOID(s.bench->fill_finished(s.size));
                 return s.bench->fill_waiting(waiting());
             }},
            {"routes",
             "routes of the lane",
             route_counts,
             {claim, create},
             [this](SizedStore& s) {
                 s.routes = s.size;
                 return s.bench->fill_waiting(waiting(), s.routes);
             }},
        };
    }

    /// A million executions of each kind take some room.
    expected<void> check_room() const {
        std::error_code failed;
        const auto space = std::filesystem::space(folder_, failed);
        constexpr std::uintmax_t needed = 5ULL << 30U;
        if (options_.quick || options_.store != BenchStore::sqlite || failed ||
            space.available >= needed) {
            return {};
        }
        return ff::fail(ErrorCode::store_full,
                        fmt::format("growth needs {} in {}, there are {}; use --db or --quick",
                                    bytes_text(needed), folder_, bytes_text(space.available)));
    }

    expected<void> measure(const Dimension& dimension) {
        std::vector<SizedStore> stores;
        for (const std::uint64_t size : dimension.sizes) {
            figures_.progress(
                fmt::format("growth.{}: making {}", dimension.name, with_commas(size)));
            SizedStore& sized = stores.emplace_back();
            sized.size = size;
            FF_TRY(sized.bench, BenchEngine::open(options_, folder_,
                                                  fmt::format("{}-{}", dimension.name, size)));
            FF_TRY_VOID(dimension.fill(sized));
        }
        // Small and large take turns, so that what else the machine does falls on both.
        for (int i = 0; i < rounds(); ++i) {
            figures_.progress(
                fmt::format("growth.{}: round {} of {}", dimension.name, i + 1, rounds()));
            for (SizedStore& sized : stores) {
                FF_TRY_VOID(round(sized));
            }
            std::ranges::reverse(stores);
        }
        std::ranges::sort(stores, {}, &SizedStore::size);
        print_costs(dimension, stores);
        FF_TRY_VOID(plot(dimension, stores));
        return add_figures(dimension, stores);
    }

    /// Claims, renews, completes and replaces the same number of executions.
    static expected<void> round(SizedStore& s) {
        std::vector<std::vector<Handle>> handles(batches);
        const auto timed =
            [&](Operation operation,
                const std::function<expected<void>(std::size_t)>& body) -> expected<void> {
            const Stopwatch watch;
            for (std::size_t i = 0; i < batches; ++i) {
                FF_TRY_VOID(body(i));
            }
            s.costs[static_cast<std::size_t>(operation)].push_back(watch.per(batches * batch));
            return {};
        };
        FF_TRY_VOID(timed(Operation::claim, [&](std::size_t i) -> expected<void> {
            FF_TRY_VOID(s.bench->claim(handles[i], batch, 0));
            if (handles[i].size() != batch) {
                return ff::fail(ErrorCode::internal, "a claim did not get all it asked for");
            }
            return {};
        }));
        FF_TRY_VOID(timed(Operation::renew,
                          [&](std::size_t i) { return s.bench->renew_many(handles[i]); }));
        FF_TRY_VOID(timed(Operation::complete,
                          [&](std::size_t i) { return s.bench->complete_many(handles[i]); }));
        return timed(Operation::create,
                     [&](std::size_t) { return s.bench->create_many(batch, s.routes); });
    }

    /// What a figure compares: the largest size with one a hundredth of it, or what is nearest.
    static const SizedStore& reference(const std::vector<SizedStore>& stores) {
        const std::uint64_t wanted = stores.back().size / 100;
        for (const SizedStore& sized : stores) {
            if (sized.size >= wanted) {
                return sized;
            }
        }
        return stores.front();
    }

    expected<void> add_figures(const Dimension& dimension, const std::vector<SizedStore>& stores) {
        for (const Operation operation : dimension.operations) {
            FF_TRY_VOID(add_figures(operation, dimension.name, stores.back().cost(operation),
                                    reference(stores).cost(operation), *stores[0].bench));
        }
        return {};
    }

    expected<void> add_figures(Operation operation, const std::string& dimension, const Cost& large,
                               const Cost& small, const BenchEngine& bench) {
        const auto add = [&](const std::string& tail, double value) {
            return figures_.add(
                {fmt::format("growth.{}{}.{}", to_string(operation), tail, dimension),
                 bench.store(),
                 value,
                 "ratio",
                 {},
                 {},
                 bench.durability()});
        };
        FF_TRY_VOID(add("", told(large) / told(small)));
        return tells_cpu() ? add("_wall", large.wall / small.wall) : expected<void>();
    }

    /// CPU is the steadier measure where the work is done in this process.
    [[nodiscard]] bool tells_cpu() const { return options_.store != BenchStore::postgres; }
    [[nodiscard]] double told(const Cost& cost) const { return tells_cpu() ? cost.cpu : cost.wall; }

    /// Executions come and go, and the queue stays as short as it was: what a store costs that has
    /// seen many, against what it cost at first.
    expected<void> churn() {
        const std::size_t through = options_.quick ? 4'000 : 500'000;
        const std::size_t count = through / (batch * batches);
        const std::size_t tenth = count / 10;
        SizedStore store;
        FF_TRY(store.bench, BenchEngine::open(options_, folder_, "churn"));
        FF_TRY_VOID(store.bench->fill_waiting(waiting()));
        for (std::size_t i = 0; i < count; ++i) {
            if (i % tenth == 0) {
                figures_.progress(
                    fmt::format("growth.churn: {} through", with_commas(i * batch * batches)));
            }
            FF_TRY_VOID(round(store));
        }
        for (const Operation operation :
             {Operation::claim, Operation::renew, Operation::complete, Operation::create}) {
            const std::span costs(store.costs[static_cast<std::size_t>(operation)]);
            FF_TRY_VOID(add_figures(operation, "churn", mean(costs.last(tenth)),
                                    mean(costs.first(tenth)), *store.bench));
        }
        return {};
    }

    static Cost mean(std::span<const Cost> costs) {
        Cost sum;
        for (const Cost& cost : costs) {
            sum.cpu += cost.cpu;
            sum.wall += cost.wall;
        }
        const auto count = static_cast<double>(costs.size());
        return {sum.cpu / count, sum.wall / count};
    }

    void print_costs(const Dimension& dimension, const std::vector<SizedStore>& stores) const {
        if (for_programs(options_.output)) {
            return;
        }
        std::vector<Column> columns{{dimension.label, Align::right}};
        for (const Operation operation : dimension.operations) {
            columns.push_back(
                {fmt::format("{} µs{}", to_string(operation), tells_cpu() ? " CPU" : ""),
                 Align::right});
            if (tells_cpu()) {
                columns.push_back({"wall", Align::right});
            }
        }
        Table table(std::move(columns));
        for (const SizedStore& sized : stores) {
            std::vector<Cell> cells{with_commas(sized.size)};
            for (const Operation operation : dimension.operations) {
                const Cost cost = sized.cost(operation);
                cells.emplace_back(rounded(told(cost)), Style::bold);
                if (tells_cpu()) {
                    cells.emplace_back(rounded(cost.wall));
                }
            }
            table.add(std::move(cells));
        }
        print_out("\n" + table.render(Terminal::output()) + "\n");
    }

    expected<void> plot(const Dimension& dimension, const std::vector<SizedStore>& stores) const {
        if (!options_.svg) {
            return {};
        }
        Plot plot;
        plot.title = fmt::format("Cost against {}", dimension.label);
        plot.x_label = dimension.label;
        plot.y_label = tells_cpu() ? "µs of CPU per operation" : "µs per operation";
        for (const Operation operation : dimension.operations) {
            PlotLine line;
            line.name = to_string(operation);
            for (const SizedStore& sized : stores) {
                line.points.emplace_back(static_cast<double>(sized.size),
                                         told(sized.cost(operation)));
            }
            plot.lines.push_back(std::move(line));
        }
        // What a tree allows: cost in proportion to the logarithm, drawn from the first operation.
        PlotLine allowed{"log n", {}, true};
        const auto depth = [](std::uint64_t size) {
            return std::log2(static_cast<double>(size) + 1'000);
        };
        for (const SizedStore& sized : stores) {
            allowed.points.emplace_back(static_cast<double>(sized.size),
                                        told(stores[0].cost(dimension.operations[0])) *
                                            depth(sized.size) / depth(stores[0].size));
        }
        plot.lines.push_back(std::move(allowed));
        std::error_code failed;
        std::filesystem::create_directories(*options_.svg, failed);
        const std::string path = fmt::format("{}/growth-{}.svg", *options_.svg, dimension.name);
        std::ofstream out(path, std::ios::binary);
        out << plot.svg();
        out.close();
        if (!out) {
            return ff::fail(ErrorCode::store_io, "cannot write " + path);
        }
        return {};
    }

    const BenchOptions& options_;
    const std::string folder_;
    Figures& figures_;
};

}  // namespace

expected<void> bench_growth(const BenchOptions& options, const std::string& folder,
                            Figures& figures) {
    return GrowthBench(options, folder, figures).run();
}

}  // namespace ff::cli
