#include "store/postgres_clock.h"

#include <optional>

#include "base/log.h"

namespace ff::store {

namespace {

constexpr int times_asked = 3;

}  // namespace

expected<ClockSample> ask_time(PgConnection& connection, Clock& local) {
    std::optional<ClockSample> best;
    for (int i = 0; i < times_asked; ++i) {
        ClockSample sample;
        sample.sent = local.now();
        FF_TRY(const std::string answer,
               connection.scalar("SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000)"
                                 " AS bigint)"));
        sample.received = local.now();
        sample.server = std::stoll(answer);
        if (!best || sample.round_trip() < best->round_trip()) {
            best = sample;
        }
    }
    return *best;
}

std::string clocks_apart(const ClockSample& sample) {
    const DurationMs ahead = sample.ahead();
    return "the clock of this machine is " + std::to_string(ahead < 0 ? -ahead : ahead) + " ms " +
           (ahead < 0 ? "ahead of" : "behind") + " the PostgreSQL server's (" +
           utc_text(sample.received) + " here, " + utc_text(sample.received + ahead) + " there)";
}

}  // namespace ff::store
