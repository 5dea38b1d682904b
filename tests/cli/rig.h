// A store with a way to it: a file, a server in front of one, a PostgreSQL database. The commands
// of `ff` must be the same on all.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ff/engine.h>

#include "cli/program.h"
#include "http/server.h"

namespace ff::test {

enum class Way { file, server, postgres };

class Rig {
  public:
    /// Without a PostgreSQL server a rig for one is not ready().
    explicit Rig(Way way);
    ~Rig();
    Rig(const Rig&) = delete;
    Rig& operator=(const Rig&) = delete;

    /// Does something with the store's engine, which is closed again before the program runs when
    /// there is no server.
    void with_engine(const std::function<void(Engine&)>& body);

    [[nodiscard]] bool ready() const { return !store_.empty(); }
    [[nodiscard]] std::string address() const;
    /// `sqlite` or `postgres`.
    [[nodiscard]] std::string family() const;
    [[nodiscard]] const Folder& folder() const { return folder_; }

    /// Runs `ff <arguments>` with FF_CONNECT set to the way to the store.
    [[nodiscard]] Ran ff(const std::vector<std::string>& arguments, Around around = {}) const;
    /// The same; the output must be JSON and the exit code 0.
    [[nodiscard]] js::Value json(std::vector<std::string> arguments) const;
    /// The items of a list.
    [[nodiscard]] js::Array items(const std::vector<std::string>& arguments) const;

    // What workers do.
    ExecutionId create(const std::string& lane, const std::string& kind = "kind");
    void complete(const std::string& lane, const std::string& result);
    void fail(const std::string& lane, const std::string& reason);
    /// Takes one and keeps it.
    void hold(const std::string& lane, DurationMs ttl_ms = 600'000);
    /// Asks for one, and gets none.
    void find_nothing(const std::string& lane);
    void register_worker(const std::string& lane);

  private:
    std::shared_ptr<Engine> open() const;

    Folder folder_;
    std::string store_;
    std::shared_ptr<Engine> engine_;  ///< only with a server
    std::unique_ptr<http::Server> server_;
};

/// For suites that run on all of them.
class OnEveryWay : public ::testing::TestWithParam<Way> {
  protected:
    void SetUp() override {
        if (!rig_.ready()) {
            GTEST_SKIP() << "no PostgreSQL server: see scripts/postgres.sh";
        }
    }

    Rig rig_{GetParam()};
};

inline auto every_way() { return ::testing::Values(Way::file, Way::server, Way::postgres); }
std::string way_name(const ::testing::TestParamInfo<Way>& info);

/// Does the text contain the part?
bool contains(std::string_view text, std::string_view part);

}  // namespace ff::test
