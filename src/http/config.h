// What a server is told: every setting with its value and where that came from.
//
// `ff serve` loads it once, before anything else is made; from then on it is fixed. Settings are
// found in four places, the first that has one wins: flags, the environment, a TOML file, the
// default. One table (config_settings.h) says what there is; parsing, printing and
// docs/configuration.md come from it.
//
// Secrets are in the members where they are used and nowhere else: not in errors, not in warnings,
// not in what is printed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ff/engine.h>
#include <ff/json.h>

#include "base/log.h"

#include "net/address_rules.h"

namespace ff::http {

FF_WORD_ENUM(Backend, sqlite, postgres)
FF_WORD_ENUM(Origin, default_, file, environment, flag)

/// `127.0.0.1:9090`, `[::1]:9090`, `localhost:9090`.
struct ListenAddress {
    std::string host;  ///< a name or an address, without brackets
    std::uint16_t port = 0;

    bool operator==(const ListenAddress&) const = default;
    /// Errors say what to write instead.
    static expected<ListenAddress> parse(std::string_view text);
    [[nodiscard]] std::string to_string() const;
    /// Can only this machine reach it?
    [[nodiscard]] bool is_loopback() const;
};

/// Who may call from a page of another origin. Nobody unless configured.
struct CorsRule {
    bool any_origin = false;
    std::vector<std::string> origins;  ///< in lower case, as browsers send them
};

/// One setting as it counts, for people.
struct EffectiveSetting {
    std::string_view name;
    std::string text;  ///< `set` or `unset` for a secret; empty: not set
    Origin origin = Origin::default_;
    std::string where;  ///< of a file: `ff.toml:3`
};

/// Made by load_config(): a default-constructed one holds no defaults.
struct ServerConfig {
    // The listener.
    ListenAddress listen;
    std::int64_t http_threads = 0;
    std::int64_t http_connections_max = 0;
    std::int64_t concurrent_polls_max = 0;
    std::int64_t concurrent_stream_ops_max = 0;
    std::int64_t event_streams_max = 0;
    DurationMs shutdown_grace_ms = 0;  ///< for each step
    std::string tls_cert;              ///< paths; both or none
    std::string tls_key;

    // Who may do what.
    std::string api_token;    ///< empty: no authentication
    std::string admin_token;  ///< empty: admin routes take the ordinary one
    bool allow_insecure = false;
    CorsRule cors;
    DurationMs waitpoint_grace_ms = 0;  ///< of a key that a rotation retires
    std::int64_t failed_attempts_max = 0;
    net::AddressRules webhook_addresses;

    // The store.
    Backend backend = Backend::sqlite;
    std::string sqlite_path;
    std::int64_t sqlite_pool_size = 0;
    std::string postgres_url;
    std::int64_t postgres_pool_size = 0;
    /// What Engine::open() takes. `clock`, `ids` and `warn` are the server's to fill in.
    std::string store;
    EngineOptions engine;

    // What it tells.
    LogOptions log;
    bool metrics = false;

    /// Every setting, in the order of the table.
    std::vector<EffectiveSetting> settings;
    /// What an operator should hear at start; none of it stops the server.
    std::vector<std::string> warnings;

    [[nodiscard]] bool uses_tls() const { return !tls_cert.empty(); }
};

struct ConfigFile {
    std::string name;  ///< for messages
    std::string text;
};

struct ConfigSources {
    std::map<std::string, std::string> flags;        ///< by the names of settings
    std::map<std::string, std::string> environment;  ///< names without `FF_` are not looked at
    std::optional<ConfigFile> file;
};

/// `invalid_config`, of which `detail` is the line to print: `invalid value for <NAME>: <what>`, or
/// `<file>:<line>: <what>`. Looks into the file system only for the files of TLS.
expected<ServerConfig> load_config(const ConfigSources& sources);

/// The environment of this process.
std::map<std::string, std::string> process_environment();

/// Aligned lines of name, value and origin.
std::string print_config(const ServerConfig& config);
/// `{"FF_BACKEND":{"value":"sqlite","origin":"default"},…}`; numbers and truth as such.
json config_json(const ServerConfig& config);

}  // namespace ff::http
