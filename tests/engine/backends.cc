// The engines of this process that the conformance suite runs on.
#include "engine/conformance.h"
#include "support/emptied_postgres.h"

namespace ff::engine::test {

namespace {

/// A backend in this process, opened by name.
Backend embedded(std::string name, bool durable,
                 std::function<std::string(const std::string& folder)> location) {
    return {std::move(name), durable, false,
            [location = std::move(location)](const std::string& folder, EngineOptions options,
                                             std::shared_ptr<ManualClock> clock) -> expected<Rig> {
                options.clock = clock;
                if (!options.flow_partitions) {
                    options.flow_partitions = 1;  // on every store: ids of tests are of the first
                }
                FF_TRY(auto engine, Engine::open(location(folder), options));
                return Rig{std::move(engine), std::move(clock)};
            }};
}

}  // namespace

const std::vector<Backend>& engine_backends() {
    static const std::vector<Backend> backends = [] {
        std::vector<Backend> all{
            embedded("memory", false, [](const std::string&) { return "memory:"; }),
            embedded("sqlite_memory", false, [](const std::string&) { return ":memory:"; }),
            embedded("sqlite_file", true,
                     [](const std::string& folder) { return "sqlite:" + folder + "/store.db"; }),
        };
        if (!support::postgres_address().empty()) {
            all.push_back(embedded("postgres", true, support::emptied_postgres_store));
        }
        return all;
    }();
    return backends;
}

}  // namespace ff::engine::test
