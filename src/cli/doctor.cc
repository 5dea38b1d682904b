#include "cli/doctor.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <ff/json.h>
#include "cli/store_checks.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "store/location.h"
#include "store/postgres_db.h"

namespace ff::cli {

namespace {

js::Value checks_json(const std::string& path, const std::vector<Check>& checks) {
    js::Array list;
    for (const Check& check : checks) {
        js::Array findings;
        for (const std::string& finding : check.findings) {
            findings.emplace_back(finding);
        }
        list.emplace_back(js::Object{{"name", check.name},
                                     {"status", to_string(check.status)},
                                     {"detail", check.detail},
                                     {"found", check.found},
                                     {"findings", std::move(findings)}});
    }
    return js::Object{
        {"store", path}, {"ok", all_sound(checks)}, {"checks", js::Value(std::move(list))}};
}

Cell status_cell(CheckStatus status) {
    switch (status) {
        case CheckStatus::ok: return {"ok", Style::green};
        case CheckStatus::warn: return {"warn", Style::yellow};
        case CheckStatus::fail: return {"FAIL", Style::red};
    }
    return "";
}

std::string as_text(const std::string& path, const std::vector<Check>& checks) {
    const Terminal terminal = Terminal::output();
    Table table({{"check"}, {"state"}, {"detail"}});
    for (const Check& check : checks) {
        table.add({check.name, status_cell(check.status), check.detail});
    }
    std::string out = table.render(terminal);
    for (const Check& check : checks) {
        if (check.found == 0) {
            continue;
        }
        out += fmt::format("\n{}\n", terminal.paint(check.name, Style::bold));
        for (const std::string& finding : check.findings) {
            out += "  " + printable(finding) + "\n";
        }
        if (check.found > check.findings.size()) {
            out += fmt::format("  and {} more\n", with_commas(check.found - check.findings.size()));
        }
    }
    const auto failed = std::ranges::count(checks, CheckStatus::fail, &Check::status);
    const std::string verdict =
        failed == 0 ? terminal.paint(fmt::format("{} is sound", path), Style::green)
                    : terminal.paint(fmt::format("{} is NOT sound: {} of {} checks failed", path,
                                                 failed, checks.size()),
                                     Style::red);
    return out + "\n" + verdict + "\n";
}

ExitCode report(const DoctorOptions& options, const std::string& path,
                const std::vector<Check>& checks) {
    print_out(for_programs(options.output) ? document(options.output, checks_json(path, checks))
                                           : as_text(path, checks));
    return all_sound(checks) ? ExitCode::ok : ExitCode::failed;
}

/// Shows on standard error how far the checks are.
CheckProgress show_on(ProgressLine& line) {
    using SteadyClock = std::chrono::steady_clock;
    return [&line, shown_at = SteadyClock::now()](std::string_view what, std::uint64_t done,
                                                  std::uint64_t total) mutable {
        const auto now = SteadyClock::now();
        if (now - shown_at < std::chrono::milliseconds(100)) {
            return;
        }
        shown_at = now;
        std::string text = fmt::format("checking {}", what);
        if (done > 0) {
            text += " " + with_commas(done);
        }
        if (total > 0) {
            text += " of " + with_commas(total);
        }
        line.show(text + " …");
    };
}

ExitCode run_on_postgres(const DoctorOptions& options, const std::string& url) {
    ProgressLine line;
    CheckOptions how;
    how.quick = options.quick;
    how.progress = show_on(line);
    const auto where = store::printable_url(url);
    const auto checks = check_postgres(url, how);
    line.clear();
    return checks ? report(options, *where, *checks) : complain(checks.error());
}

}  // namespace

ExitCode run_doctor(const DoctorOptions& options) {
    const auto location = store::parse_location(options.db);
    if (location && location->form == store::Location::Form::postgres) {
        return run_on_postgres(options, location->target);
    }
    auto file = open_store_file(options.db);
    if (!file) {
        const auto damage = damage_of(file.error());
        const bool broken = file.error().code == ErrorCode::store_corrupt;
        if (damage && (broken || for_programs(options.output))) {
            report(options, damage->path, check_damaged(*damage));
        }
        return damage && broken ? ExitCode::failed : complain(file.error());
    }
    const std::string path = file->path;
    const bool was_immutable = file->immutable;
    const FileStamp stamp = file->stamp;
    ProgressLine line;
    CheckOptions how;
    how.quick = options.quick;
    how.progress = show_on(line);
    std::vector<Check> checks = check_store(std::move(*file), how);
    if (was_immutable && FileStamp::of(path) != stamp) {
        // An engine opened it meanwhile: what was seen may be half old, half new.
        if (auto again = open_store_file(options.db)) {
            checks = check_store(std::move(*again), how);
        }
    }
    line.clear();
    return report(options, path, checks);
}

}  // namespace ff::cli
