#include "store/location.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>

namespace ff::store {

namespace {

/// Does the query part hold exactly `mode=memory`?
bool has_memory_mode(std::string_view text) {
    text = text.substr(0, text.find('#'));
    std::size_t at = text.find('?');
    while (at != std::string_view::npos) {
        text.remove_prefix(at + 1);
        at = text.find('&');
        if (text.substr(0, at) == "mode=memory") {
            return true;
        }
    }
    return false;
}

expected<Location> file_location(std::string_view path) {
    if (path.empty()) {
        return ff::fail(ErrorCode::invalid_config,
                        "the store's path is empty; write sqlite:PATH, for example sqlite:app.db");
    }
    return Location{Location::Form::sqlite_file, std::string(path),
                    "file:" + canonical_path(std::string(path))};
}

/// `localhost:9090`, `127.0.0.1:9090`, `[::1]:9090`.
bool is_host_and_port(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0 || text.contains('/')) {
        return false;
    }
    const std::string_view port = text.substr(colon + 1);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return !port.empty() && port.size() <= 5 && std::ranges::all_of(port, is_digit);
}

}  // namespace

std::string canonical_path(const std::string& path) {
    // Absolute first: of a relative path that does not exist yet nothing is made absolute.
    std::error_code failed;
    const auto absolute = std::filesystem::absolute(path, failed);
    if (failed) {
        return path;
    }
    const auto canonical = std::filesystem::weakly_canonical(absolute, failed);
    return failed ? absolute.lexically_normal().string() : canonical.string();
}

expected<Location> parse_location(const std::string& text) {
    std::string_view rest = text;
    if (rest.starts_with("postgres://") || rest.starts_with("postgresql://")) {
        return Location{Location::Form::postgres, text, text};
    }
    if (rest == "memory:") {
        return Location{Location::Form::memory, "", ""};
    }
    if (rest.starts_with("http://") || rest.starts_with("https://")) {
        return ff::fail(ErrorCode::invalid_config,
                        "an address is not a store; write sqlite:PATH or postgres://…");
    }
    const bool named = rest.starts_with("sqlite:");
    if (named) {
        rest.remove_prefix(7);
    } else if (!rest.starts_with("file:") && is_host_and_port(rest)) {
        return ff::fail(ErrorCode::invalid_config,
                        "\"" + text + "\" looks like a server's address; write http://" + text +
                            ", or ./" + text + " for a file of that name");
    }
    // A word and a colon in front mean another kind of store; a file of such a name can be written
    // as ./NAME or sqlite:NAME.
    const std::size_t colon = rest.find(':');
    const auto in_scheme = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    if (!named && colon != std::string_view::npos && colon > 0 && !rest.starts_with("file:") &&
        std::ranges::all_of(rest.substr(0, colon), in_scheme)) {
        return ff::fail(ErrorCode::invalid_config,
                        "there is no store \"" + std::string(rest.substr(0, colon + 1)) +
                            "\"; write sqlite:PATH, a path, :memory: or postgres://…");
    }
    // What is meant as an option must not become part of a name. Such a file is written ./NAME.
    if (const std::size_t query = rest.find('?');
        named && !rest.starts_with("file:") && query != std::string_view::npos) {
        return ff::fail(ErrorCode::invalid_config,
                        "\"" + std::string(rest.substr(query)) +
                            "\" is no option of a SQLite store; write sqlite:PATH alone");
    }
    if (rest == ":memory:" || rest == "file::memory:" || rest == "file::memory:?cache=shared") {
        return Location{Location::Form::sqlite_private_memory, "", ""};
    }
    if (rest.starts_with("file:")) {
        rest.remove_prefix(5);
        const std::string_view name = rest.substr(0, rest.find_first_of("?#"));
        if (has_memory_mode(rest)) {
            return Location{Location::Form::sqlite_named_memory, std::string(name),
                            "memory:" + std::string(name)};
        }
        if (name.starts_with("//")) {
            // file://HOST/PATH: the host is ours whatever it says.
            const std::size_t path = name.find('/', 2);
            return file_location(path == std::string_view::npos ? "" : name.substr(path));
        }
        return file_location(name);
    }
    return file_location(rest);
}

expected<std::optional<bool>> take_scanners(std::string& address) {
    constexpr std::string_view name = "scanners=";
    std::optional<bool> scanners;
    std::size_t begin = address.find('?');
    while (begin != std::string::npos && begin + 1 < address.size()) {
        const std::size_t end = std::min(address.find('&', begin + 1), address.size());
        const std::string parameter = address.substr(begin + 1, end - begin - 1);
        if (!parameter.starts_with(name)) {
            begin = end < address.size() ? end : std::string::npos;
            continue;
        }
        const std::string word = parameter.substr(name.size());
        if (word != "on" && word != "off") {
            return ff::fail(ErrorCode::invalid_config,
                            "scanners must be on or off (got \"" + word + "\")");
        }
        scanners = word == "on";
        // With its separator: the one after it, or at the end the one before it.
        const bool last = end == address.size();
        address.erase(last ? begin : begin + 1, end - begin);
    }
    return scanners;
}

}  // namespace ff::store
