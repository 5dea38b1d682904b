#include "http/config_settings.h"

#include <algorithm>
#include <array>
#include <thread>

#include "http/config_values.h"
#include "store/location.h"
#include "store/postgres_db.h"

namespace ff::http {

namespace {

using Kind = Setting::Kind;

constexpr std::int64_t year_s = 366 * 86'400LL;
constexpr std::int64_t u32_max = 4'294'967'295;

constexpr std::string_view listener = "The listener";
constexpr std::string_view access = "Who may call";
constexpr std::string_view waitpoints = "Waitpoints";
constexpr std::string_view store_group = "The store";
constexpr std::string_view telling = "Log and metrics";
constexpr std::string_view passes = "Periodic passes";

// ---------------------------------------------------------------- kinds of settings, for the table

template <class Assign>
Setting number(std::string_view name, std::int64_t low, std::int64_t high, std::string_view usual,
               std::string_view help, Assign assign) {
    Setting s;
    s.name = name;
    s.kind = Kind::number;
    s.values = std::to_string(low) + " to " + std::to_string(high);
    s.usual = usual;
    s.help = help;
    s.take = [low, high, assign](ServerConfig& c, std::string_view text) -> expected<std::string> {
        FF_TRY(const std::int64_t value, read_number(text, low, high));
        assign(c, value);
        return std::to_string(value);
    };
    return s;
}

template <class Assign>
Setting boolean(std::string_view name, std::string_view usual, std::string_view help,
                Assign assign) {
    Setting s;
    s.name = name;
    s.kind = Kind::boolean;
    s.values = "`1`, `true`, `0`, `false`";
    s.usual = usual;
    s.help = help;
    s.take = [assign](ServerConfig& c, std::string_view text) -> expected<std::string> {
        FF_TRY(const bool value, read_boolean(text));
        assign(c, value);
        return std::string(value ? "1" : "0");
    };
    return s;
}

template <class E, class Assign>
Setting word(std::string_view name, std::string_view usual, std::string_view help, Assign assign) {
    Setting s;
    s.name = name;
    for (const std::string_view value : enum_names<E>) {
        s.values += (s.values.empty() ? "`" : ", `") + std::string(value) + "`";
    }
    s.usual = usual;
    s.help = help;
    s.take = [assign](ServerConfig& c, std::string_view text) -> expected<std::string> {
        FF_TRY(const E value, read_word<E>(text));
        assign(c, value);
        return std::string(to_string(value));
    };
    return s;
}

Setting text(std::string_view name, std::string values, std::string_view usual,
             std::string_view help, Setting::Take take) {
    Setting s;
    s.name = name;
    s.values = std::move(values);
    s.usual = usual;
    s.help = help;
    s.take = std::move(take);
    return s;
}

Setting path(std::string_view name, std::string_view help, std::string ServerConfig::* member) {
    return text(name, "a path", "", help,
                [member](ServerConfig& c, std::string_view value) -> expected<std::string> {
                    c.*member = value;
                    return std::string(value);
                });
}

Setting token(std::string_view name, std::string_view help, std::string ServerConfig::* member) {
    Setting s = text(name, "visible ASCII", "", help,
                     [member](ServerConfig& c, std::string_view value) -> expected<std::string> {
                         FF_TRY(c.*member, read_token(value));
                         return std::string("set");
                     });
    s.kind = Kind::secret;
    return s;
}

/// Bytes that nobody may see, in hex. `digits` 0: any even number.
Setting hex_secret(std::string_view name, std::size_t digits, std::string_view help,
                   std::string EngineOptions::* member) {
    Setting s =
        text(name, digits == 0 ? "hex digits" : std::to_string(digits) + " hex digits", "", help,
             [digits, member](ServerConfig& c, std::string_view value) -> expected<std::string> {
                 FF_TRY(c.engine.*member, read_hex(value, digits));
                 return std::string("set");
             });
    s.kind = Kind::secret;
    return s;
}

/// How often a pass of the engine runs; the name says the unit.
Setting period(std::string_view name, std::string_view scanner, std::string_view usual,
               std::string_view help) {
    const bool in_ms = name.ends_with("_MS");
    const std::int64_t unit_ms = in_ms ? 1 : 1'000;
    return number(name, in_ms ? 100 : 1, year_s * 1'000 / unit_ms, usual, help,
                  [scanner, unit_ms](ServerConfig& c, std::int64_t value) {
                      c.engine.scanner_periods_ms[std::string(scanner)] = value * unit_ms;
                  });
}

Setting if_none(std::string_view meaning, Setting s) {
    s.if_none = meaning;
    return s;
}

Setting never_empty(Setting s) {
    s.may_be_empty = false;
    return s;
}

// ----------------------------------------------------------------------------------- the table

FF_WORD_ENUM(Synchronous, full, normal)
FF_WORD_ENUM(Notify, auto_, on, off)
static_assert(static_cast<int>(Synchronous::normal) ==
                  static_cast<int>(EngineOptions::Synchronous::normal) &&
              static_cast<int>(Notify::off) == static_cast<int>(EngineOptions::Notify::off));

Setting once_named(std::string_view old_name, Setting setting) {
    setting.old_name = old_name;
    return setting;
}

/// More threads than this only pass the store's lock around.
std::int64_t usual_threads() {
    const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
    return std::clamp<std::int64_t>(cores / 2, 1, 4);
}

std::vector<Setting> listener_settings() {
    return {
        text("FF_LISTEN_ADDR", "`HOST:PORT`", "127.0.0.1:9090",
             "Where requests are taken. Port 0 picks a free one and logs it. An address that other "
             "machines can reach needs `FF_API_TOKEN`, or `FF_ALLOW_INSECURE=1`.",
             [](ServerConfig& c, std::string_view value) -> expected<std::string> {
                 FF_TRY(c.listen, ListenAddress::parse(value));
                 return c.listen.to_string();
             }),
        path("FF_TLS_CERT", "Certificate chain in PEM form; serves HTTPS. Needs `FF_TLS_KEY`.",
             &ServerConfig::tls_cert),
        path("FF_TLS_KEY", "Private key in PEM form. Needs `FF_TLS_CERT`.", &ServerConfig::tls_key),
        text("FF_HTTP_THREADS", "1 to 64, `auto`", "auto",
             "Threads that serve connections. `auto`: half the cores, at least 1, at most 4.",
             [](ServerConfig& c, std::string_view value) -> expected<std::string> {
                 if (lower_case(value) == "auto") {
                     c.http_threads = usual_threads();
                 } else {
                     FF_TRY(c.http_threads, read_number(value, 1, 64));
                 }
                 return std::to_string(c.http_threads);
             }),
        number("FF_HTTP_MAX_CONNECTIONS", 1, u32_max, "1024",
               "Open connections; further ones wait until one closes.",
               [](ServerConfig& c, std::int64_t v) { c.http_connections_max = v; }),
        number("FF_MAX_CONCURRENT_POLLS", 1, u32_max, "1024",
               "Requests that wait for work at a time; further ones get 429. Never more than "
               "three quarters of `FF_HTTP_MAX_CONNECTIONS`.",
               [](ServerConfig& c, std::int64_t v) { c.concurrent_polls_max = v; }),
        once_named(
            "FF_MAX_CONCURRENT_TAIL",
            number("FF_MAX_CONCURRENT_STREAM_OPS", 1, u32_max, "64",
                   "Requests that read streams at a time, those that wait among them; "
                   "further ones get 429. `FF_MAX_CONCURRENT_TAIL` is its old name.",
                   [](ServerConfig& c, std::int64_t v) { c.concurrent_stream_ops_max = v; })),
        number("FF_MAX_EVENT_STREAMS", 1, u32_max, "256",
               "Requests that wait for events at a time, server-sent events among them; further "
               "ones get 429.",
               [](ServerConfig& c, std::int64_t v) { c.event_streams_max = v; }),
        number("FF_SHUTDOWN_GRACE_S", 0, 3'600, "15",
               "Seconds that each step of a shutdown may take.",
               [](ServerConfig& c, std::int64_t v) { c.shutdown_grace_ms = v * 1'000; }),
    };
}

std::vector<Setting> access_settings() {
    return {
        if_none("only public ones",
                text("FF_WEBHOOK_ALLOW", "networks with commas between, `any`", "",
                     "Addresses that webhooks may be sent to beside public ones, such as "
                     "`10.0.0.0/8` or `127.0.0.1`.",
                     [](ServerConfig& c, std::string_view value) -> expected<std::string> {
                         FF_TRY(c.webhook_addresses, net::AddressRules::parse(value));
                         return c.webhook_addresses.to_string();
                     })),
        if_none("nobody is asked for one",
                token("FF_API_TOKEN",
                      "What callers show as `Authorization: Bearer …` on every route but "
                      "`/healthz`, `/metrics`, callbacks and approval links. Without one, requests "
                      "of web pages are refused unless `FF_CORS_ORIGINS` lists them.",
                      &ServerConfig::api_token)),
        if_none("they take the ordinary token",
                token("FF_ADMIN_TOKEN",
                      "What `/v1/admin/` routes, tokens of waitpoints and approval links want "
                      "instead.",
                      &ServerConfig::admin_token)),
        boolean("FF_ALLOW_INSECURE", "0",
                "Serve other machines without a token, and what is otherwise kept from callers "
                "without one.",
                [](ServerConfig& c, bool v) { c.allow_insecure = v; }),
        never_empty(
            if_none("same origin only",
                    text("FF_CORS_ORIGINS", "origins with commas between, `*`", "",
                         "Origins whose pages may call. `*`: any.",
                         [](ServerConfig& c, std::string_view value) -> expected<std::string> {
                             FF_TRY(c.cors, read_origins(value, c.warnings));
                             return c.cors.any_origin ? "*" : join(c.cors.origins, ",");
                         }))),
    };
}

std::vector<Setting> waitpoint_settings() {
    constexpr std::int64_t json_integer_max = (1LL << 53) - 1;
    return {
        if_none("one is made in the store when the first token is",
                hex_secret("FF_WAITPOINT_HMAC_SECRET", 0,
                           "Signs the tokens of waitpoints; 64 digits are advised. Installed as "
                           "key `k1` in a store that has none; a store that has one keeps its "
                           "own, and the server says so when they differ.",
                           &EngineOptions::waitpoint_secret)),
        number("FF_WAITPOINT_HMAC_GRACE_MS", 0, json_integer_max, "86400000",
               "How long tokens of the old key are good after "
               "`POST /v1/admin/rotate-waitpoint-secret`, unless that says itself.",
               [](ServerConfig& c, std::int64_t v) { c.waitpoint_grace_ms = v; }),
        if_none("secrets rest as they are; keep the file to yourself",
                hex_secret("FF_KEYSTORE_KEY", 64,
                           "The secrets of waitpoints and webhooks rest in the store encrypted "
                           "with it; those that were there before are encrypted at the start. "
                           "Without the key they were encrypted with they cannot be used.",
                           &EngineOptions::keystore_key)),
        number("FF_CALLBACK_FAILURES_MAX", 0, 1'000'000, "60",
               "Calls of `/v1/callbacks/` that fail, for each address, waitpoint and minute; then "
               "429 to all that comes from there for that waitpoint. Of those and calls of "
               "`/v1/approve/` together an address may fail ten times as often; then what fails is "
               "answered 429 and not written down, and a right token of another waitpoint or a "
               "right link is heard all the same: behind a proxy all callers share its address. "
               "0: no limit.",
               [](ServerConfig& c, std::int64_t v) { c.failed_attempts_max = v; }),
    };
}

expected<std::string> take_sqlite_path(ServerConfig& c, std::string_view value) {
    FF_TRY_VOID(store::parse_location("sqlite:" + std::string(value)));
    c.sqlite_path = value;
    return std::string(value);
}

expected<std::string> take_postgres_url(ServerConfig& c, std::string_view value) {
    if (!value.starts_with("postgres://") && !value.starts_with("postgresql://")) {
        return ff::fail(ErrorCode::invalid_config,
                        "it must begin with postgresql:// or postgres://");
    }
    FF_TRY(std::string shown, store::printable_url(std::string(value)));
    c.postgres_url = value;
    return shown;
}

std::vector<Setting> store_settings() {
    return {
        word<Backend>("FF_BACKEND", "sqlite", "What keeps the executions.",
                      [](ServerConfig& c, Backend v) { c.backend = v; }),
        text("FF_SQLITE_PATH", "a path, `file:…`, `:memory:`", "flowfabric.db",
             "The file, made if it is missing; its folder must exist.", take_sqlite_path),
        number("FF_SQLITE_POOL_SIZE", 1, 1'000, "4", "Connections: one writes, the rest read.",
               [](ServerConfig& c, std::int64_t v) { c.sqlite_pool_size = v; }),
        number("FF_SQLITE_CACHE_MIB", 1, 1'000'000, "8", "Page cache of the writer.",
               [](ServerConfig& c, std::int64_t v) { c.engine.cache_mib = static_cast<int>(v); }),
        word<Synchronous>("FF_SQLITE_SYNCHRONOUS", "full",
                          "`normal` may lose the newest commits at a power loss.",
                          [](ServerConfig& c, Synchronous v) {
                              c.engine.synchronous = static_cast<EngineOptions::Synchronous>(v);
                          }),
        text("FF_POSTGRES_URL", "`postgresql://…`", "",
             "The database; needed when `FF_BACKEND` is `postgres`. Shown without its password.",
             take_postgres_url),
        number("FF_POSTGRES_POOL_SIZE", 1, 1'000, "10",
               "Connections: one writes, the rest read. Two more listen and tidy up.",
               [](ServerConfig& c, std::int64_t v) { c.postgres_pool_size = v; }),
        number("FF_POSTGRES_WRITERS", 1, 2, "2",
               "With 2, a further connection writes while more waits than fills a transaction; "
               "from then on it and two that listen and tidy up for it stay.",
               [](ServerConfig& c, std::int64_t v) { c.engine.writers = static_cast<int>(v); }),
        number("FF_POSTGRES_STATEMENT_TIMEOUT_MS", 0, 3'600'000, "30000",
               "Longer statements are given up; 0: never.",
               [](ServerConfig& c, std::int64_t v) {
                   c.engine.statement_timeout_ms = static_cast<int>(v);
               }),
        word<Notify>("FF_POSTGRES_NOTIFY", "auto",
                     "Hear of other processes by notifications (`on`), by asking (`off`), or as a "
                     "test at start finds it.",
                     [](ServerConfig& c, Notify v) {
                         c.engine.notify = static_cast<EngineOptions::Notify>(v);
                     }),
        if_none("1 on SQLite, 256 on PostgreSQL",
                number("FF_FLOW_PARTITIONS", 1, 65'535, "",
                       "Partitions of a store that is made now; for one that exists it must be "
                       "its own count.",
                       [](ServerConfig& c, std::int64_t v) {
                           c.engine.flow_partitions = static_cast<std::uint16_t>(v);
                       })),
        never_empty(text("FF_LANES", "names with commas between", "default",
                         "Lanes registered at start.",
                         [](ServerConfig& c, std::string_view value) -> expected<std::string> {
                             FF_TRY(c.engine.lanes, read_lanes(value));
                             return join(c.engine.lanes, ",");
                         })),
        number("FF_RETENTION_S", 0, 100 * year_s, "86400",
               "How long finished executions stay readable.",
               [](ServerConfig& c, std::int64_t v) { c.engine.retention_ms = v * 1'000; }),
        number("FF_EVENT_RETENTION_S", 0, 100 * year_s, "604800", "How long events are kept.",
               [](ServerConfig& c, std::int64_t v) { c.engine.event_retention_ms = v * 1'000; }),
        number("FF_EVENT_MAX_ROWS", 0, 1'000'000'000'000, "1000000",
               "Events kept of each family; completion and lease history share a table and a "
               "limit. 0: as many as are not too old.",
               [](ServerConfig& c, std::int64_t v) {
                   c.engine.event_rows_max = static_cast<std::uint64_t>(v);
               }),
        number("FF_RECLAIM_GRACE_MS", 0, year_s * 1'000, "0",
               "Pause before a lost lease may be taken over.",
               [](ServerConfig& c, std::int64_t v) { c.engine.reclaim_grace_ms = v; }),
    };
}

std::vector<Setting> telling_settings() {
    return {
        text("FF_LOG", "a level, `name=level`, with commas between", "info",
             "What is logged: `error`, `warn`, `info`, `debug` or `trace`, for all or for one "
             "part, as in `info,http=debug`. The part `audit` is always on.",
             [](ServerConfig& c, std::string_view value) -> expected<std::string> {
                 FF_TRY(c.log.filter, LogFilter::parse(value));
                 return c.log.filter.to_string();
             }),
        word<LogFormat>("FF_LOG_FORMAT", "text", "Lines for people or for programs.",
                        [](ServerConfig& c, LogFormat v) { c.log.format = v; }),
        boolean("FF_METRICS", "1", "Serve `/metrics`.",
                [](ServerConfig& c, bool v) { c.metrics = v; }),
    };
}

/// Due times wake the engine by themselves: all of these are safety nets and sweeps.
std::vector<Setting> pass_settings() {
    return {
        period("FF_LEASE_EXPIRY_INTERVAL_MS", "lease_expiry", "1500", "Leases past their time."),
        period("FF_DELAYED_PROMOTER_INTERVAL_MS", "delayed_promoter", "750",
               "Executions whose delay is over."),
        period("FF_ATTEMPT_TIMEOUT_INTERVAL_S", "attempt_timeout", "2",
               "Attempts past their time."),
        period("FF_SUSPENSION_TIMEOUT_INTERVAL_S", "suspension_timeout", "2",
               "Suspensions past their time."),
        period("FF_PENDING_WP_EXPIRY_INTERVAL_S", "pending_wp_expiry", "5",
               "Waitpoints made ahead whose time is over."),
        period("FF_EXECUTION_DEADLINE_INTERVAL_S", "execution_deadline", "5",
               "Executions past their deadline."),
        period("FF_RETENTION_TRIMMER_INTERVAL_S", "retention_trimmer", "60",
               "Finished executions past `FF_RETENTION_S`."),
        period("FF_INDEX_RECONCILER_INTERVAL_S", "index_reconciler", "45",
               "Checks some executions against the invariants."),
        period("FF_UNBLOCK_INTERVAL_S", "unblock", "5", "Blocks that are over."),
        period("FF_DEPENDENCY_RECONCILER_INTERVAL_S", "dependency_reconciler", "15",
               "Edges of flows that were staged and forgotten."),
        period("FF_FLOW_PROJECTOR_INTERVAL_S", "flow_projector", "15",
               "Checks some flows against the invariants."),
        period("FF_CANCEL_RECONCILER_INTERVAL_S", "cancel_reconciler", "15",
               "Members of cancelled flows whose grace is over."),
        period("FF_EDGE_CANCEL_DISPATCHER_INTERVAL_S", "edge_cancel_dispatcher", "1",
               "What is left of large cancellations."),
        period("FF_EDGE_CANCEL_RECONCILER_INTERVAL_S", "edge_cancel_reconciler", "10", "The same."),
        period("FF_WORKER_TTL_INTERVAL_S", "worker_ttl_sweep", "30",
               "Workers that were not heard of."),
        period("FF_GRANT_SWEEP_INTERVAL_S", "grant_sweep", "5", "Grants past their time."),
        period("FF_IDEMPOTENCY_SWEEP_INTERVAL_S", "idempotency_sweep", "60",
               "Idempotency keys past their window."),
        period("FF_STREAM_TRIMMER_INTERVAL_S", "stream_trimmer", "30", "Streams past their time."),
        period("FF_BUDGET_RESET_INTERVAL_S", "budget_reset", "15", "Budgets whose period is over."),
        period("FF_BUDGET_RECONCILER_INTERVAL_S", "budget_reconciler", "30",
               "Checks some budgets, and drops keys of reports past their time."),
        period("FF_QUOTA_RECONCILER_INTERVAL_S", "quota_reconciler", "30",
               "Checks what some quotas count."),
        period("FF_EVENT_TRIMMER_INTERVAL_S", "event_trimmer", "60",
               "Events past `FF_EVENT_RETENTION_S`."),
    };
}

std::vector<Setting> make_table() {
    std::vector<Setting> all;
    const auto add = [&all](std::string_view group, std::vector<Setting> some) {
        for (Setting& setting : some) {
            setting.group = group;
            all.push_back(std::move(setting));
        }
    };
    add(listener, listener_settings());
    add(access, access_settings());
    add(waitpoints, waitpoint_settings());
    add(store_group, store_settings());
    add(telling, telling_settings());
    add(passes, pass_settings());
    return all;
}

constexpr std::array<std::string_view, 5> obsolete_names{"FF_HOST", "FF_PORT", "FF_TLS",
                                                         "FF_CLUSTER", "FF_DEV_MODE"};

/// Of partitions and error reporting.
constexpr std::array<std::string_view, 5> names_of_other_versions{
    "FF_BUDGET_PARTITIONS",  "FF_QUOTA_PARTITIONS", "FF_SENTRY_DSN",
    "FF_SENTRY_ENVIRONMENT", "FF_SENTRY_RELEASE",
};

}  // namespace

const std::vector<Setting>& settings() {
    static const std::vector<Setting> all = make_table();
    return all;
}

const Setting* find_setting(std::string_view name) {
    const auto at = std::ranges::find_if(settings(), [&](const Setting& setting) {
        return setting.name == name || setting.old_name == name;
    });
    return at == settings().end() ? nullptr : &*at;
}

Ignored is_ignored(std::string_view name) {
    if (std::ranges::find(obsolete_names, name) != obsolete_names.end()) {
        return Ignored::obsolete;
    }
    const bool other =
        std::ranges::find(names_of_other_versions, name) != names_of_other_versions.end();
    return other ? Ignored::not_in_this_version : Ignored::no;
}

std::string settings_markdown() {
    std::string out;
    std::string_view group;
    for (const Setting& s : settings()) {
        if (s.group != group) {
            out += out.empty() ? "" : "\n";
            out += "## " + std::string(s.group) +
                   "\n\n| Setting | Values | Default | Meaning |\n|---|---|---|---|\n";
            group = s.group;
        }
        std::string usual = s.usual.empty() ? "not set" : "`" + std::string(s.usual) + "`";
        if (!s.if_none.empty()) {
            usual += ": " + std::string(s.if_none);
        }
        out += "| `" + std::string(s.name) + "` | " + s.values + " | " + usual + " | " +
               std::string(s.help) + " |\n";
    }
    return out;
}

}  // namespace ff::http
