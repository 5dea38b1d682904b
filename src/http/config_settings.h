// The table of all settings: the one place where a setting's name, range, default and meaning are
// written down. load_config() reads values with it, docs/configuration.md is made from it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

#include "http/config.h"

namespace ff::http {

struct Setting {
    enum class Kind : std::uint8_t { text, secret, number, boolean };
    /// Reads a value that is not empty into the config; gives the text to show for it, or what is
    /// wrong with it (in `detail`, which for a secret must not quote it).
    using Take = std::function<expected<std::string>(ServerConfig&, std::string_view)>;

    std::string_view name;
    std::string_view old_name;  ///< looked at when nothing is said under the name
    std::string_view group;     ///< the heading it stands under in the document
    Kind kind = Kind::text;
    std::string values;        ///< what may be written, for people
    std::string_view usual;    ///< the default as one would write it; empty: not set
    std::string_view if_none;  ///< what "not set" means, for people
    std::string_view help;
    bool may_be_empty = true;  ///< an empty value counts as none; otherwise it is a fault
    Take take;
};

const std::vector<Setting>& settings();
/// By its name, or its old one. Null when there is none.
const Setting* find_setting(std::string_view name);

/// Names that other versions know and this one does not use, by the reason: told once, never an
/// error.
enum class Ignored : std::uint8_t { no, obsolete, not_in_this_version };
Ignored is_ignored(std::string_view name);

/// The tables of docs/configuration.md.
std::string settings_markdown();

}  // namespace ff::http
