#include "http/config.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "http/config_file.h"
#include "http/config_settings.h"
#include "http/config_values.h"
#include "store/location.h"

namespace ff::http {

namespace {

std::unexpected<Error> invalid(std::string_view name, const std::string& what) {
    return ff::fail(ErrorCode::invalid_config,
                    "invalid value for " + std::string(name) + ": " + what);
}

/// A setting's text and where it was found.
struct FoundValue {
    std::string text;
    Origin origin = Origin::default_;
    std::string where;
};

using FileSettings = std::map<std::string, FileSetting>;

/// Names nobody uses, told in one line each kind.
class UnusedNames {
  public:
    void add(Ignored why, const std::string& name) {
        std::string& list = why == Ignored::obsolete ? obsolete_
                            : why == Ignored::no     ? unknown_
                                                     : other_;
        list += (list.empty() ? "" : ", ") + name;
    }
    void warn(std::vector<std::string>& warnings) const {
        const auto tell = [&](const char* what, const std::string& names) {
            if (!names.empty()) {
                warnings.push_back(what + names);
            }
        };
        tell("these settings have no effect any more: ", obsolete_);
        tell("this version does not use these settings: ", other_);
        tell("the environment has names that are no settings (docs/configuration.md lists them): ",
             unknown_);
    }

  private:
    std::string obsolete_;
    std::string other_;
    std::string unknown_;
};

expected<FileSettings> settings_of_file(const ConfigSources& sources, UnusedNames& unused) {
    FileSettings out;
    if (!sources.file) {
        return out;
    }
    FF_TRY(auto lines, read_config_file(*sources.file));
    for (FileSetting& line : lines) {
        const Ignored why = is_ignored(line.name);
        if (why != Ignored::no) {
            unused.add(why, line.name);
        } else if (find_setting(line.name) == nullptr) {
            return ff::fail(ErrorCode::invalid_config, line.where + ": there is no setting " +
                                                           quoted(line.name) +
                                                           "; docs/configuration.md lists them");
        } else {
            out.emplace(line.name, std::move(line));
        }
    }
    return out;
}

expected<void> check_flags(const ConfigSources& sources) {
    for (const auto& [name, text] : sources.flags) {
        if (find_setting(name) == nullptr) {
            return ff::fail(ErrorCode::invalid_config, "there is no setting " + quoted(name) +
                                                           "; docs/configuration.md lists them");
        }
    }
    return {};
}

/// What tells the other commands of `ff` where a server is.
constexpr std::array<std::string_view, 3> names_of_commands{"FF_CONNECT", "FF_PROFILE",
                                                            "FF_CONFIG"};

void note_unused_environment(const ConfigSources& sources, UnusedNames& unused) {
    for (const auto& [name, text] : sources.environment) {
        const bool of_commands =
            std::ranges::find(names_of_commands, name) != names_of_commands.end();
        if (name.starts_with("FF_") && !of_commands && find_setting(name) == nullptr) {
            unused.add(is_ignored(name), name);
        }
    }
}

/// The first place that has it. An empty text counts as none, unless it is a fault.
std::optional<FoundValue> find_by_name(const Setting& setting, const std::string& name,
                                       const ConfigSources& sources, const FileSettings& file) {
    const auto counts = [&](const std::string& text) {
        return !text.empty() || !setting.may_be_empty;
    };
    if (auto flag = sources.flags.find(name); flag != sources.flags.end() && counts(flag->second)) {
        return FoundValue{flag->second, Origin::flag, ""};
    }
    if (auto variable = sources.environment.find(name);
        variable != sources.environment.end() && counts(variable->second)) {
        return FoundValue{variable->second, Origin::environment, ""};
    }
    if (auto line = file.find(name); line != file.end() && counts(line->second.text)) {
        return FoundValue{line->second.text, Origin::file, line->second.where};
    }
    return std::nullopt;
}

FoundValue find_value(const Setting& setting, const ConfigSources& sources,
                      const FileSettings& file) {
    if (auto found = find_by_name(setting, std::string(setting.name), sources, file)) {
        return std::move(*found);
    }
    if (!setting.old_name.empty()) {
        if (auto found = find_by_name(setting, std::string(setting.old_name), sources, file)) {
            return std::move(*found);
        }
    }
    return {std::string(setting.usual), Origin::default_, ""};
}

expected<void> take_value(const Setting& setting, const FoundValue& found, ServerConfig& config) {
    EffectiveSetting& effective = config.settings.emplace_back();
    effective.name = setting.name;
    effective.origin = found.origin;
    effective.where = found.where;
    if (found.text.empty() && found.origin == Origin::default_) {
        effective.text = setting.kind == Setting::Kind::secret ? "unset" : "";
        return {};
    }
    auto shown = setting.take(config, found.text);
    if (!shown) {
        const std::string place = found.where.empty() ? "" : " (" + found.where + ")";
        return invalid(setting.name, shown.error().detail + place);
    }
    effective.text = std::move(*shown);
    return {};
}

expected<void> check_readable(std::string_view name, const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    // A folder opens, and cannot be read from.
    if (!file || file.peek() == std::ifstream::traits_type::eof()) {
        const std::string why = errno != 0 ? std::strerror(errno) : "it is empty";
        return invalid(name, "cannot read " + quoted(path) + ": " + why);
    }
    return {};
}

// ------------------------------------------------------------- what settings mean for each other

expected<void> check_tls(const ServerConfig& config) {
    if (config.tls_cert.empty() && config.tls_key.empty()) {
        return {};
    }
    if (config.tls_key.empty()) {
        return invalid("FF_TLS_KEY", "it is not set, but FF_TLS_CERT is; TLS needs both");
    }
    if (config.tls_cert.empty()) {
        return invalid("FF_TLS_CERT", "it is not set, but FF_TLS_KEY is; TLS needs both");
    }
    FF_TRY_VOID(check_readable("FF_TLS_CERT", config.tls_cert));
    return check_readable("FF_TLS_KEY", config.tls_key);
}

expected<void> check_access(ServerConfig& config) {
    const std::string address = config.listen.to_string();
    if (!config.listen.is_loopback() && config.api_token.empty() && !config.allow_insecure) {
        return invalid("FF_LISTEN_ADDR",
                       address +
                           " can be reached from other machines and FF_API_TOKEN is not set; "
                           "set a token, or FF_ALLOW_INSECURE=1 to serve without one");
    }
    std::vector<std::string>& warnings = config.warnings;
    if (config.api_token.empty()) {
        const std::string who = "FF_API_TOKEN is not set: whoever reaches " + address;
        if (config.admin_token.empty()) {
            warnings.push_back(who + " may use the admin routes (/v1/admin/)");
        }
        warnings.push_back(who + " may submit work, take work, and read every input and result");
    } else if (config.api_token == config.admin_token) {
        warnings.emplace_back("FF_ADMIN_TOKEN is the same as FF_API_TOKEN, so it keeps nobody out");
    }
    if (!config.listen.is_loopback() && !config.api_token.empty() && !config.uses_tls()) {
        warnings.push_back("tokens come to " + address +
                           " in the clear; set FF_TLS_CERT and FF_TLS_KEY unless something in "
                           "front of it speaks TLS");
    }
    return {};
}

expected<void> choose_store(ServerConfig& config) {
    if (config.backend == Backend::postgres) {
        if (config.postgres_url.empty()) {
            return invalid("FF_POSTGRES_URL", "it is not set, and FF_BACKEND=postgres needs it");
        }
        config.store = config.postgres_url;
        config.engine.pool_size = static_cast<int>(config.postgres_pool_size);
        return {};
    }
    config.store = "sqlite:" + config.sqlite_path;
    config.engine.pool_size = static_cast<int>(config.sqlite_pool_size);
    if (!config.postgres_url.empty()) {
        config.warnings.emplace_back("FF_POSTGRES_URL is set but not used: FF_BACKEND is sqlite");
    }
    FF_TRY(const auto location, store::parse_location(config.store));
    if (location.form != store::Location::Form::sqlite_file) {
        config.warnings.push_back("FF_SQLITE_PATH is " + quoted(config.sqlite_path) +
                                  ": everything is lost when the server stops");
    }
    return {};
}

}  // namespace

expected<ServerConfig> load_config(const ConfigSources& sources) {
    ServerConfig config;
    UnusedNames unused;
    FF_TRY_VOID(check_flags(sources));
    FF_TRY(const FileSettings file, settings_of_file(sources, unused));
    note_unused_environment(sources, unused);
    for (const Setting& setting : settings()) {
        FF_TRY_VOID(take_value(setting, find_value(setting, sources, file), config));
    }
    FF_TRY_VOID(check_tls(config));
    FF_TRY_VOID(check_access(config));
    FF_TRY_VOID(choose_store(config));
    unused.warn(config.warnings);
    return config;
}

std::map<std::string, std::string> process_environment() {
    std::map<std::string, std::string> out;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (equals != std::string_view::npos) {
            out.emplace(text.substr(0, equals), text.substr(equals + 1));
        }
    }
    return out;
}

std::string print_config(const ServerConfig& config) {
    std::size_t name_width = 0;
    std::size_t text_width = 0;
    const auto shown = [](const EffectiveSetting& s) { return s.text.empty() ? "-" : s.text; };
    for (const EffectiveSetting& s : config.settings) {
        name_width = std::max(name_width, s.name.size());
        text_width = std::max(text_width, std::min<std::size_t>(shown(s).size(), 40));
    }
    const auto padded = [](std::string text, std::size_t width) {
        text.resize(std::max(text.size(), width), ' ');
        return text;
    };
    std::string out;
    for (const EffectiveSetting& s : config.settings) {
        out += padded(std::string(s.name), name_width) + "  " + padded(shown(s), text_width) +
               "  " + std::string(to_string(s.origin)) + (s.where.empty() ? "" : " " + s.where) +
               "\n";
    }
    return out;
}

json config_json(const ServerConfig& config) {
    js::Object out;
    for (const EffectiveSetting& s : config.settings) {
        const Setting::Kind kind = find_setting(s.name)->kind;
        json value = s.text;
        if (s.text.empty()) {
            value = nullptr;
        } else if (kind == Setting::Kind::number) {
            value = js::Number{s.text};
        } else if (kind == Setting::Kind::boolean) {
            value = s.text == "1";
        }
        json entry{{"value", std::move(value)}, {"origin", to_string(s.origin)}};
        if (!s.where.empty()) {
            entry.set("where", s.where);
        }
        out.emplace_back(std::string(s.name), std::move(entry));
    }
    return out;
}

}  // namespace ff::http
