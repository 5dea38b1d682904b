// The profiles file: names for the servers and stores that a person works with.
//
//     default = "prod"
//
//     [profiles.prod]
//     connect = "https://flow.example.org"
//     token_file = "prod.token"            # beside this file; or: token = "…"
//     ca_file = "our-ca.pem"               # if the system does not know who signed for it
//
//     [profiles.local]
//     connect = "sqlite:app.db"
//
// Read anew by each command that needs it. A token is a credential: it is never printed, and a file
// that holds one must be readable by its owner only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ff/error.h>

namespace ff::cli {

struct Profile {
    std::string name;
    std::string connect;
    std::optional<std::string> token;
    std::optional<std::string> token_file;  ///< as a path that opens; not read yet
    std::optional<std::string> ca_file;     ///< the same: whose certificates to trust
};

struct Profiles {
    std::string path;                     ///< of the file, which need not exist
    std::vector<Profile> all;             ///< by name
    std::optional<std::string> standard;  ///< the one that is used when none is named

    [[nodiscard]] const Profile* find(const std::string& name) const;
};

/// FF_CONFIG, else flowfabric/config.toml in XDG_CONFIG_HOME or ~/.config; empty without any.
std::string profiles_path();

/// A file that does not exist holds nothing, unless FF_CONFIG names it. Errors: `invalid_config`
/// with the place and what to do.
expected<Profiles> load_profiles();

/// The token of a profile, from where it says. Absent: it has none.
expected<std::optional<std::string>> token_of(const Profile& profile);

}  // namespace ff::cli
