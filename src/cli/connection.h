// Which engine a command talks to, and the way to it. The only place that knows.
//
// In this order: --connect, --profile (or FF_PROFILE), FF_CONNECT, the default of the profiles
// file, and at last the server on this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <ff/engine.h>

namespace ff::cli {

/// What the command line says of it.
struct ConnectOptions {
    std::optional<std::string> connect;
    std::optional<std::string> profile;
};

inline constexpr const char* default_server = "http://127.0.0.1:9090";

struct Target {
    std::string address;               ///< http(s)://…, postgres://…, sqlite:PATH or a path
    std::optional<std::string> token;  ///< for a server
    std::string ca_file;               ///< whose certificates to trust; empty: the system's
    std::string chosen_by;             ///< `--connect`, `profile prod`, …; for messages
    std::optional<bool> scanners;      ///< what the address of a store says of them

    [[nodiscard]] bool is_server() const;
    /// A SQLite file: one process at a time has it open.
    [[nodiscard]] bool is_file() const;
    /// The address as people may see it: without a password.
    [[nodiscard]] std::string shown() const;
};

/// Errors: `invalid_config` for a profile that does not exist or a file that is not right.
expected<Target> choose_target(const ConnectOptions& options);

/// What is going to be done. A store that is only looked at is not locked, and may be open
/// elsewhere; only `create` and `work` make a file that is missing. Who comes to `work` stays, and
/// runs the timers and sweeps of a store meanwhile.
enum class Access : std::uint8_t { look, change, create, work };

/// Errors say what to do: `store_in_use` when a store belongs to a running process, a missing file
/// (see store::is_missing_file), or what the engine says.
expected<std::shared_ptr<Engine>> open_engine(const Target& target, Access access);

/// An address without the password in it.
std::string without_password(const std::string& address);

}  // namespace ff::cli
