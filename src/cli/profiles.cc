#include "cli/profiles.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/text.h"
#include "http/toml.h"

namespace ff::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t file_bytes_max = 1U << 20;

std::string variable_or_empty(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::unexpected<Error> refuse(const std::string& path, const std::string& what) {
    return ff::fail(ErrorCode::invalid_config, path + ": " + what);
}

struct Text {
    std::string text;
    bool is_private = false;  ///< nobody but its owner can read or change it
};

/// The whole file; nothing when there is none. The mode is that of what was read.
expected<std::optional<Text>> read_file(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
        return std::nullopt;
    }
    struct stat about{};
    if (fd < 0 || fstat(fd, &about) != 0) {
        return refuse(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    }
    Text out;
    out.is_private = (about.st_mode & 0077U) == 0;
    std::array<char, 4096> part{};
    ssize_t size = 0;
    while ((size = read(fd, part.data(), part.size())) > 0 && out.text.size() <= file_bytes_max) {
        out.text.append(part.data(), static_cast<std::size_t>(size));
    }
    const std::string fault = size < 0 ? std::strerror(errno) : "";
    close(fd);
    if (!fault.empty()) {
        return refuse(path, "cannot be read: " + fault);
    }
    if (out.text.size() > file_bytes_max) {
        return refuse(path, "is larger than 1 MiB");
    }
    return out;
}

std::unexpected<Error> not_private(const std::string& path) {
    return refuse(path, "holds a token and others can read or change it; chmod 600 " + path);
}

/// `~/x` is in the home folder, anything else that is relative lies beside the profiles file.
std::string resolved(const std::string& file, const std::string& profiles) {
    if (file.starts_with("~/")) {
        return variable_or_empty("HOME") + file.substr(1);
    }
    return (fs::path(profiles).parent_path() / file).string();
}

std::string place(const toml::node& node) {
    return fmt::format("line {}", node.source().begin.line);
}

class ProfileReading {
  public:
    explicit ProfileReading(std::string path) { out_.path = std::move(path); }

    expected<Profiles> read(const toml::table& root) {
        for (const auto& [key, node] : root) {
            if (key == "default") {
                FF_TRY(out_.standard, text_of("default", node));
            } else if (key == "profiles" && node.is_table()) {
                FF_TRY_VOID(read_all(*node.as_table()));
            } else {
                return refuse(out_.path,
                              fmt::format("{}: \"{}\" is not known; write default = \"NAME\" or "
                                          "[profiles.NAME]",
                                          place(node), printable(key.str())));
            }
        }
        if (out_.standard && out_.find(*out_.standard) == nullptr) {
            return refuse(out_.path, fmt::format("the default is \"{}\", which is no profile of "
                                                 "the file",
                                                 printable(*out_.standard)));
        }
        return std::move(out_);
    }

  private:
    expected<std::string> text_of(std::string_view name, const toml::node& node) const {
        const auto* text = node.as_string();
        if (text == nullptr || text->get().empty()) {
            return refuse(out_.path,
                          fmt::format("{}: {} must be a text, and not empty", place(node), name));
        }
        return text->get();
    }

    expected<void> read_all(const toml::table& profiles) {
        for (const auto& [key, node] : profiles) {
            if (!node.is_table()) {
                return refuse(out_.path,
                              fmt::format("{}: write [profiles.{}] and its settings below",
                                          place(node), printable(key.str())));
            }
            FF_TRY(Profile profile, read_one(std::string(key.str()), *node.as_table()));
            out_.all.push_back(std::move(profile));
        }
        return {};
    }

    expected<Profile> read_one(std::string name, const toml::table& table) const {
        Profile profile;
        profile.name = std::move(name);
        for (const auto& [key, node] : table) {
            if (key == "connect") {
                FF_TRY(profile.connect, text_of("connect", node));
            } else if (key == "token") {
                FF_TRY(profile.token, text_of("token", node));
            } else if (key == "token_file") {
                FF_TRY(const std::string file, text_of("token_file", node));
                profile.token_file = resolved(file, out_.path);
            } else if (key == "ca_file") {
                FF_TRY(const std::string file, text_of("ca_file", node));
                profile.ca_file = resolved(file, out_.path);
            } else {
                return refuse(out_.path, fmt::format("{}: \"{}\" is not known; a profile has "
                                                     "connect, token, token_file and ca_file",
                                                     place(node), printable(key.str())));
            }
        }
        if (profile.connect.empty()) {
            return refuse(out_.path, fmt::format("{}: profile \"{}\" has no connect = \"ADDRESS\"",
                                                 place(table), printable(profile.name)));
        }
        if (profile.token && profile.token_file) {
            return refuse(out_.path, fmt::format("{}: profile \"{}\" has both a token and a "
                                                 "token_file",
                                                 place(table), printable(profile.name)));
        }
        return profile;
    }

    Profiles out_;
};

}  // namespace

const Profile* Profiles::find(const std::string& name) const {
    const auto at = std::ranges::find(all, name, &Profile::name);
    return at == all.end() ? nullptr : &*at;
}

std::string profiles_path() {
    if (const std::string named = variable_or_empty("FF_CONFIG"); !named.empty()) {
        return named;
    }
    std::string folder = variable_or_empty("XDG_CONFIG_HOME");
    if (!folder.starts_with('/')) {  // the standard says to ignore a relative one
        const std::string home = variable_or_empty("HOME");
        folder = home.empty() ? "" : home + "/.config";
    }
    return folder.empty() ? "" : folder + "/flowfabric/config.toml";
}

expected<Profiles> load_profiles() {
    const std::string path = profiles_path();
    Profiles none;
    none.path = path;
    if (path.empty()) {
        return none;
    }
    FF_TRY(const auto file, read_file(path));
    if (!file) {
        if (!variable_or_empty("FF_CONFIG").empty()) {
            return refuse(path, "there is no such file, and FF_CONFIG names it");
        }
        return none;
    }
    const toml::parse_result parsed = toml::parse(file->text, path);
    if (!parsed) {
        const toml::parse_error& fault = parsed.error();
        return refuse(path, fmt::format("line {}: {}", fault.source().begin.line,
                                        printable(fault.description())));
    }
    FF_TRY(Profiles profiles, ProfileReading(path).read(parsed.table()));
    const bool holds_token =
        std::ranges::any_of(profiles.all, [](const Profile& p) { return p.token.has_value(); });
    if (holds_token && !file->is_private) {
        return not_private(path);
    }
    return profiles;
}

expected<std::optional<std::string>> token_of(const Profile& profile) {
    if (!profile.token_file) {
        return profile.token;
    }
    FF_TRY(auto file, read_file(*profile.token_file));
    if (!file) {
        return refuse(*profile.token_file,
                      fmt::format("there is no such file; profile \"{}\" has its token there",
                                  printable(profile.name)));
    }
    if (!file->is_private) {
        return not_private(*profile.token_file);
    }
    std::string& token = file->text;
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) {
        return refuse(*profile.token_file, "is empty; it should hold a token");
    }
    return std::move(token);
}

}  // namespace ff::cli
