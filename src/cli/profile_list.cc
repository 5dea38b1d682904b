#include "cli/profile_list.h"

#include <fmt/core.h>

#include <string>

#include "cli/connection.h"
#include "cli/profiles.h"
#include "cli/table.h"
#include "cli/terminal.h"

namespace ff::cli {

namespace {

/// Where a profile's token comes from.
std::string token_source(const Profile& profile) {
    return profile.token ? "set" : profile.token_file ? "file " + *profile.token_file : "";
}

js::Value profile_json(const Profile& profile, bool standard) {
    return js::Object{{"name", profile.name},
                      {"connect", without_password(profile.connect)},
                      {"token", profile.token || profile.token_file ? "set" : "unset"},
                      {"default", standard}};
}

}  // namespace

ExitCode list_profiles(Output output) {
    const auto profiles = load_profiles();
    if (!profiles) {
        return complain(profiles.error());
    }
    if (for_programs(output)) {
        js::Array list;
        for (const Profile& profile : profiles->all) {
            list.push_back(profile_json(profile, profile.name == profiles->standard));
        }
        print_out(list_document(output, list, std::nullopt));
        return ExitCode::ok;
    }
    Table table({{"profile"}, {"connect", Align::left, Give::shrink}, {"token"}, {""}});
    for (const Profile& profile : profiles->all) {
        table.add({profile.name, without_password(profile.connect), token_source(profile),
                   profile.name == profiles->standard ? "default" : ""});
    }
    print_out(table.empty()
                  ? fmt::format("no profile in {}; see ff profiles --help\n", profiles->path)
                  : table.render(Terminal::output()));
    return ExitCode::ok;
}

}  // namespace ff::cli
