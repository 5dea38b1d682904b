#include "cli/connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/exit_code.h"
#include "cli/profiles.h"
#include "cli/reading_engine.h"
#include "cli/text.h"
#include "client/remote_engine.h"
#include "store/location.h"
#include "store/postgres_db.h"
#include "store/store_file.h"

namespace ff::cli {

namespace {

/// Runs in a file of their own may be continued after a long weekend.
constexpr DurationMs own_store_retention_ms = DurationMs{30} * 86'400'000;

bool names_server(std::string_view address) {
    return address.starts_with("http://") || address.starts_with("https://");
}

std::optional<std::string> variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::unexpected<Error> refuse(std::string what) {
    return ff::fail(ErrorCode::invalid_config, std::move(what));
}

expected<Target> target_of(const Profiles& profiles, const std::string& name) {
    const Profile* profile = profiles.find(name);
    if (profile == nullptr) {
        std::vector<std::string> names;
        for (const Profile& known : profiles.all) {
            names.push_back(known.name);
        }
        return refuse(fmt::format("there is no profile {} in {}{}", name, profiles.path,
                                  names.empty() ? "" : "; it has " + joined(names)));
    }
    Target target{profile->connect, std::nullopt, profile->ca_file.value_or(""), "profile " + name};
    if (target.is_server()) {
        FF_TRY(target.token, token_of(*profile));
    }
    return target;
}

/// A word alone may be the name of a profile. A file of that name is written ./WORD.
expected<Target> address_or_profile(const std::string& text, const std::string& chosen_by) {
    const auto in_word = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    };
    if (!text.empty() && std::ranges::all_of(text, in_word)) {
        FF_TRY(const Profiles profiles, load_profiles());
        if (profiles.find(text) != nullptr) {
            return target_of(profiles, text);
        }
    }
    return Target{text, std::nullopt, "", chosen_by};
}

expected<Target> choose_address(const ConnectOptions& options) {
    if (options.connect) {
        return address_or_profile(*options.connect, "--connect");
    }
    const auto profile = options.profile ? options.profile : variable("FF_PROFILE");
    const auto connect = variable("FF_CONNECT");
    if (!profile && connect) {
        return address_or_profile(*connect, "FF_CONNECT");
    }
    FF_TRY(const Profiles profiles, load_profiles());
    if (profile) {
        return target_of(profiles, *profile);
    }
    if (profiles.standard) {
        return target_of(profiles, *profiles.standard);
    }
    return Target{default_server, std::nullopt, "",
                  "the default; --connect names another, or a store"};
}

/// The engine behind a server's address. When it cannot be reached, who chose it is part of the
/// answer: it may be a default that nobody thought of.
expected<std::shared_ptr<Engine>> connect_to_server(const Target& target) {
    if (target.shown() != target.address) {
        return refuse(
            fmt::format("{} with a user and a password in it; a server knows only "
                        "tokens: FF_API_TOKEN, or a profile's",
                        target.shown()));
    }
    client::RemoteOptions options;
    options.bearer_token = target.token;
    options.ca_file = target.ca_file;
    auto connected = client::RemoteEngine::connect(target.address, options);
    if (connected) {
        return connected;
    }
    Error error = std::move(connected).error();
    if (error.code == ErrorCode::unauthorized) {
        error.detail = fmt::format("{} wants {}: FF_API_TOKEN, or token_file in a profile",
                                   target.address, target.token ? "another token" : "a token");
    } else if (info(error.code).kind == ErrorKind::transport) {
        const bool distrusted = error.detail.contains("certificate verify failed");
        error.detail = fmt::format(
            "no server answers at {} ({}): {}{}", target.address, target.chosen_by, error.detail,
            distrusted ? "; ca_file in a profile says whose certificates to trust" : "");
    }
    return std::unexpected(std::move(error));
}

expected<void> check_location(const store::Location& location, Access access) {
    using Form = store::Location::Form;
    switch (location.form) {
        case Form::sqlite_private_memory:
        case Form::sqlite_named_memory:
        case Form::memory:
            return refuse("a store in memory ends with this command; name a file or a server");
        case Form::postgres: return {};
        case Form::sqlite_file: break;
    }
    std::error_code fault;
    const bool makes = access == Access::create || access == Access::work;
    if (!makes && !std::filesystem::exists(location.target, fault) &&
        fault != std::errc::permission_denied) {
        return std::unexpected(store::missing_file(location.target));
    }
    return {};
}

/// A running owner of a file is most likely a server, which can be talked to.
Error in_use(const Error& error) {
    Error out = error;
    const std::string who = error.detail.substr(0, error.detail.find(';'));
    out.detail = who + "; if that is a server, talk to it: --connect http://HOST:PORT";
    return out;
}

}  // namespace

bool Target::is_server() const { return names_server(address); }

bool Target::is_file() const {
    if (is_server()) {
        return false;
    }
    const auto location = store::parse_location(address);
    return location && location->form == store::Location::Form::sqlite_file;
}

std::string Target::shown() const { return without_password(address); }

std::string without_password(const std::string& address) {
    if (address.starts_with("postgres://") || address.starts_with("postgresql://")) {
        return store::printable_url(address).value_or("a PostgreSQL store");
    }
    const std::size_t scheme = address.find("://");
    if (!names_server(address) || scheme == std::string::npos) {
        return address;
    }
    const std::size_t host = scheme + 3;
    const std::string_view authority =
        std::string_view(address).substr(host, address.find_first_of("/?#", host) - host);
    const std::size_t at = authority.rfind('@');
    return at == std::string_view::npos ? address
                                        : address.substr(0, host) + address.substr(host + at + 1);
}

expected<Target> choose_target(const ConnectOptions& options) {
    FF_TRY(Target target, choose_address(options));
    if (target.address.empty()) {
        return refuse("the address is empty; write http://HOST:PORT, sqlite:PATH or postgres://…");
    }
    if (target.is_server() && !target.token) {
        target.token = variable("FF_API_TOKEN");
    }
    if (!target.is_server()) {
        FF_TRY(target.scanners, store::take_scanners(target.address));
    }
    return target;
}

expected<std::shared_ptr<Engine>> open_engine(const Target& target, Access access) {
    if (target.is_server()) {
        return connect_to_server(target);
    }
    FF_TRY(const store::Location location, store::parse_location(target.address));
    FF_TRY_VOID(check_location(location, access));
    if (access == Access::look) {
        FF_TRY(std::shared_ptr<Engine> reading, ReadingEngine::open(target.address));
        return reading;
    }
    EngineOptions options;
    options.pool_size = access == Access::work ? 4 : 2;
    // One command leaves what is due to the store's own engines. A worker that stays may be the
    // only one there is: retries, delays and lost leases come back through it.
    options.background = access == Access::work && target.scanners.value_or(true);
    if (access == Access::work && target.is_file()) {
        options.retention_ms = own_store_retention_ms;
    }
    options.warn = [](std::string_view text) { complain(fmt::format("warning: {}", text)); };
    auto opened = Engine::open(target.address, options);
    if (!opened && opened.error().code == ErrorCode::store_in_use) {
        return std::unexpected(in_use(opened.error()));
    }
    return opened;
}

}  // namespace ff::cli
