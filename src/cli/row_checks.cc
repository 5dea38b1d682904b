#include "cli/row_checks.h"

#include <fmt/core.h>

#include <array>
#include <limits>
#include <set>
#include <utility>

#include "cli/text.h"
#include "core/derive.h"
#include "core/invariants.h"
#include "store/catalogue.h"

namespace ff::cli {

namespace {

using core::Bucket;
using core::Eid;
using core::Execution;
using core::ReadyKey;
using core::TimerKey;
using store::Reader;
using store::Statement;

constexpr std::size_t page_rows = 500;

class RowScan {
  public:
    RowScan(ReadOnlyStore& store, const CheckProgress& progress)
        : store_(store), progress_(progress), statements_(store.db()) {}

    std::vector<Check> run() {
        guard(readable_, scan_executions());
        guard(ready_, scan_ready());
        guard(timers_, scan_timers());
        guard(listed_, scan_listed());
        guard(orphans_, scan_orphans());
        describe();
        std::vector<Check> out;
        for (Check* check : all()) {
            out.push_back(std::move(*check));
        }
        return out;
    }

  private:
    std::array<Check*, 8> all() {
        return {&readable_, &invariants_, &references_, &ready_,
                &timers_,   &listed_,     &tags_,       &orphans_};
    }

    /// A scan that cannot go on is itself a finding.
    static void guard(Check& check, const Result<void>& outcome) {
        if (!outcome) {
            check.add("the scan stopped: " + outcome.error().message());
        }
    }

    void describe() {
        const auto said = [](Check& check, const std::string& sound) {
            check.detail = check.found == 0 ? sound
                                            : fmt::format("{} finding{}", with_commas(check.found),
                                                          check.found == 1 ? "" : "s");
        };
        const std::string executions = with_commas(executions_) + " executions";
        said(readable_, executions + " and their attempts read back");
        said(invariants_, "hold for " + executions);
        said(references_, "every execution has its route, lane and input");
        said(ready_, fmt::format("{} ready to claim, exactly those that should be",
                                 with_commas(ready_rows_)));
        said(timers_,
             fmt::format("{} armed, exactly those that should be", with_commas(timer_rows_)));
        said(listed_, fmt::format("{} in lists of rare conditions, exactly those that should be",
                                  with_commas(listed_rows_)));
        said(tags_, "the tag index holds every tag");
        said(orphans_, "no row belongs to an execution that is gone");
    }

    // ------------------------------------------------------------------------------ executions

    Result<void> scan_executions() {
        FF_TRY(const std::string total, store_.db().scalar("SELECT COUNT(*) FROM ff_exec_core"));
        const std::uint64_t expected = std::stoull(total);
        Eid after = std::numeric_limits<Eid>::min();
        for (;;) {
            std::vector<Eid> page;
            FF_TRY_VOID(store_.read([&](Reader& reader) -> Result<void> {
                FF_TRY(page, eids_after(after));
                for (const Eid eid : page) {
                    FF_TRY_VOID(check_execution(reader, eid));
                }
                return {};
            }));
            executions_ += page.size();
            progress_("executions", executions_, expected);
            if (page.size() < page_rows) {
                return {};
            }
            after = page.back();
        }
    }

    Result<std::vector<Eid>> eids_after(Eid after) {
        Statement& s = statements_.get(store::sql::executions_after);
        s.integer(after);
        s.integer(static_cast<std::int64_t>(page_rows));
        std::vector<Eid> out;
        for (;;) {
            FF_TRY(const bool found, s.step());
            if (!found) {
                break;
            }
            out.push_back(s.integer());
        }
        s.reset();
        return out;
    }

    Result<std::optional<Execution>> execution(Eid eid) {
        Statement& s = statements_.get(store::sql::execution_by_eid);
        s.integer(eid);
        return store::select_one<Execution>(s);
    }

    /// A row that does not read is a finding; any other error ends the scan.
    template <class T>
    Result<bool> reads(Eid eid, const char* what, const Result<T>& row) {
        if (row) {
            return true;
        }
        if (row.error().code != ErrorCode::corruption) {
            return std::unexpected(row.error());
        }
        readable_.add(fmt::format("execution number {}: {}: {}", eid, what, row.error().detail));
        return false;
    }

    Result<void> check_execution(Reader& reader, Eid eid) {
        const auto row = execution(eid);
        FF_TRY(const bool row_reads, reads(eid, "its row", row));
        if (!row_reads || !*row) {
            return {};
        }
        const Execution& e = **row;
        const auto attempts = reader.attempts(eid);
        FF_TRY(const bool attempts_read, reads(eid, "its attempts", attempts));
        if (attempts_read) {
            for (const std::string& violation : core::check_invariants(e, *attempts)) {
                invariants_.add(e.id.to_string() + ": " + violation);
            }
        }
        FF_TRY_VOID(check_references(reader, e));
        return check_derived(e);
    }

    Result<void> check_references(Reader& reader, const Execution& e) {
        if (!routes_.contains(e.route)) {
            FF_TRY_VOID(load_routes(reader));
        }
        if (!routes_.contains(e.route)) {
            references_.add(fmt::format("{}: its route {} is missing", e.id.to_string(), e.route));
        } else if (laneless_.contains(e.route)) {
            references_.add(e.id.to_string() + ": its lane is not registered");
        }
        if (e.grant_expires_at) {
            FF_TRY(const bool there, exists("SELECT 1 FROM ff_claim_grant WHERE eid = $1", e.eid));
            if (!there) {
                references_.add(e.id.to_string() + ": it is granted, and the grant is missing");
            }
        }
        const auto input = reader.input(e.eid);
        FF_TRY(const bool input_reads, reads(e.eid, "its input", input));
        if (!input_reads) {
            return {};
        }
        if (!*input) {
            references_.add(e.id.to_string() + ": its input is missing");
            return {};
        }
        if (((*input)->policy && !e.has_policy) || (!(*input)->tags.empty() && !e.has_tags)) {
            references_.add(e.id.to_string() + ": its row does not know of its policy or tags");
        }
        for (const auto& [key, value] : (*input)->tags) {
            FF_TRY(const bool there, tag_exists(key, value, e.eid));
            if (!there) {
                tags_.add(
                    fmt::format("{}: tag {}={} is not indexed", e.id.to_string(), key, value));
            }
        }
        return {};
    }

    Result<void> load_routes(Reader& reader) {
        FF_TRY(const auto routes, reader.routes());
        for (const core::Route& route : routes) {
            if (routes_.insert(route.id).second) {
                FF_TRY(const auto lane, reader.lane(route.key.lane));
                if (!lane) {
                    laneless_.insert(route.id);
                }
            }
        }
        return {};
    }

    /// What should be in the side tables is there.
    Result<void> check_derived(const Execution& e) {
        if (const auto key = core::ready_key(e)) {
            FF_TRY(const bool there,
                   exists("SELECT 1 FROM ff_ready WHERE route = $1 AND rank = $2 AND eid = $3",
                          key->route, key->rank, key->eid));
            if (!there) {
                ready_.add(e.id.to_string() + ": it can be claimed, and no ready row says so");
            }
        }
        if (const auto key = core::timer_key(e)) {
            FF_TRY(const bool there,
                   exists("SELECT 1 FROM ff_timer WHERE kind = $1 AND due_at = $2 AND eid = $3",
                          static_cast<std::int64_t>(key->kind), key->due_at, key->eid));
            if (!there) {
                timers_.add(fmt::format("{}: its {} timer at {} is missing", e.id.to_string(),
                                        to_string(key->kind), time_text(key->due_at)));
            }
        }
        check_armed(e);
        if (const Bucket bucket = core::bucket(e); bucket != Bucket::none) {
            FF_TRY(const bool there,
                   exists("SELECT 1 FROM ff_listed WHERE bucket = $1 AND eid = $2",
                          static_cast<std::int64_t>(bucket), e.eid));
            if (!there) {
                listed_.add(fmt::format("{}: it is not in the list of {}", e.id.to_string(),
                                        to_string(bucket)));
            }
        }
        return {};
    }

    /// The timer fires in time: a renewed lease may keep an earlier one, none may be later. When a
    /// finished execution goes is up to the engine's settings, only that it goes is certain.
    void check_armed(const Execution& e) {
        const auto due = core::next_due(e, 0);
        if (!due) {
            if (e.timer_at) {
                timers_.add(e.id.to_string() + ": a timer is armed, and nothing will be due");
            }
        } else if (!e.timer_at) {
            timers_.add(e.id.to_string() + ": no timer is armed for what will be due at " +
                        time_text(*due));
        } else if (!is_terminal(e.state) && *e.timer_at > *due) {
            timers_.add(fmt::format("{}: its timer fires at {}, too late for {}", e.id.to_string(),
                                    time_text(*e.timer_at), time_text(*due)));
        }
    }

    // --------------------------------------------------- side tables: nothing that should not be

    /// Pages through a side table; `extra` gives what is wrong with a row, or nothing.
    template <class Key, class Next, class Extra>
    Result<void> scan_side(const char* what, Key after, std::uint64_t& rows, Check& check,
                           Next next, Extra extra) {
        for (;;) {
            std::size_t found = 0;
            FF_TRY_VOID(store_.read([&](Reader& reader) -> Result<void> {
                FF_TRY(const auto page, next(reader, after));
                for (const Key& key : page) {
                    FF_TRY(const std::string fault, extra(key));
                    if (!fault.empty()) {
                        check.add(fault);
                    }
                }
                found = page.size();
                if (found > 0) {
                    after = page.back();
                }
                return {};
            }));
            rows += found;
            progress_(what, rows, 0);
            if (found < page_rows) {
                return {};
            }
        }
    }

    /// The execution a side row stands for. One that does not read was reported already.
    Result<std::optional<Execution>> owner(Eid eid, bool& reads_back) {
        auto row = execution(eid);
        reads_back = row.has_value();
        if (!row && row.error().code != ErrorCode::corruption) {
            return row;
        }
        return row ? std::move(*row) : std::nullopt;
    }

    /// `fault` unless the execution is such that `agrees`.
    template <class Agrees>
    Result<std::string> fault_unless(Eid eid, std::string_view row, Agrees agrees) {
        bool reads_back = false;
        FF_TRY(const auto e, owner(eid, reads_back));
        if (!reads_back || (e && agrees(*e))) {
            return std::string();
        }
        return e ? fmt::format("{}: {} that it should not have", e->id.to_string(), row)
                 : fmt::format("{} of execution number {}, which does not exist", row, eid);
    }

    Result<void> scan_ready() {
        const ReadyKey first{std::numeric_limits<core::RouteId>::min(), 0, 0};
        return scan_side(
            "ready rows", first, ready_rows_, ready_,
            [](Reader& reader, const ReadyKey& after) {
                return reader.ready_after(after, page_rows);
            },
            [&](const ReadyKey& key) {
                return fault_unless(key.eid, "a ready row",
                                    [&](const Execution& e) { return core::ready_key(e) == key; });
            });
    }

    Result<void> scan_timers() {
        const TimerKey first{core::TimerKind{}, std::numeric_limits<TimestampMs>::min(), 0};
        return scan_side(
            "timers", first, timer_rows_, timers_,
            [](Reader& reader, const TimerKey& after) {
                return reader.timers_after(after, page_rows);
            },
            [&](const TimerKey& key) {
                return fault_unless(
                    key.eid,
                    fmt::format("a {} timer at {}", to_string(key.kind), time_text(key.due_at)),
                    [&](const Execution& e) { return core::timer_key(e) == key; });
            });
    }

    Result<void> scan_listed() {
        using Listed = std::pair<Bucket, Eid>;
        const Listed first{Bucket::none, std::numeric_limits<Eid>::min()};
        return scan_side(
            "lists", first, listed_rows_, listed_,
            [](Reader& reader, const Listed& after) {
                return reader.listed_after(after.first, after.second, page_rows);
            },
            [&](const Listed& row) {
                return fault_unless(
                    row.second, fmt::format("an entry in the list of {}", to_string(row.first)),
                    [&](const Execution& e) { return core::bucket(e) == row.first; });
            });
    }

    Result<void> scan_orphans() {
        for (const char* table : {"ff_exec_input", "ff_attempt", "ff_exec_tag", "ff_claim_grant"}) {
            progress_(table, 0, 0);
            FF_TRY(Statement s,
                   store_.db().prepare(
                       fmt::format("SELECT DISTINCT t.eid FROM {} t WHERE NOT EXISTS (SELECT 1 FROM"
                                   " ff_exec_core e WHERE e.eid = t.eid) LIMIT 1000",
                                   table)));
            for (;;) {
                FF_TRY(const bool found, s.step());
                if (!found) {
                    break;
                }
                orphans_.add(fmt::format("{} has rows of execution number {}, which does not exist",
                                         table, s.integer()));
            }
        }
        return {};
    }

    // ------------------------------------------------------------------------------- statements

    template <class... Key>
    Result<bool> exists(const std::string& text, Key... key) {
        Statement& s = statements_.get(text);
        (s.integer(key), ...);
        FF_TRY(const bool found, s.step());
        s.reset();
        return found;
    }

    Result<bool> tag_exists(const std::string& key, const std::string& value, Eid eid) {
        Statement& s = statements_.get(
            "SELECT 1 FROM ff_exec_tag WHERE tag_key = $1 AND tag_value = $2 AND eid = $3");
        s.text(key);
        s.text(value);
        s.integer(eid);
        FF_TRY(const bool found, s.step());
        s.reset();
        return found;
    }

    ReadOnlyStore& store_;
    const CheckProgress& progress_;
    store::StatementCache statements_;
    std::set<core::RouteId> routes_;    ///< known to exist
    std::set<core::RouteId> laneless_;  ///< of these, whose lane does not
    std::uint64_t executions_ = 0;
    std::uint64_t ready_rows_ = 0;
    std::uint64_t timer_rows_ = 0;
    std::uint64_t listed_rows_ = 0;
    Check readable_{"readable"};
    Check invariants_{"invariants"};
    Check references_{"references"};
    Check ready_{"ready"};
    Check timers_{"timers"};
    Check listed_{"listed"};
    Check tags_{"tags"};
    Check orphans_{"orphans"};
};

}  // namespace

std::vector<Check> check_rows(ReadOnlyStore& store, const CheckProgress& progress) {
    return RowScan(store, progress).run();
}

}  // namespace ff::cli
