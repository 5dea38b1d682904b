#include "cli/row_checks.h"

#include <fmt/core.h>

#include <array>
#include <limits>
#include <set>
#include <utility>

#include "cli/flow_checks.h"
#include "cli/text.h"
#include "core/derive.h"
#include "core/invariants.h"
#include "core/wait_invariants.h"
#include "store/prepare.h"
#include "store/ready_row.h"

namespace ff::cli {

namespace {

using core::Bucket;
using core::Eid;
using core::Execution;
using core::ReadyKey;
using core::TimerKey;
using core::TurnKey;
using store::Reader;

constexpr std::size_t page_rows = 500;

const SideTable ready_table{"ff_ready", {"route", "rank", "place", "eid"}};
const SideTable timer_table{"ff_timer", {"kind", "due_at", "eid"}};
const SideTable turn_table{"ff_turn", {"queue", "eid"}};
const SideTable listed_table{"ff_listed", {"bucket", "eid"}};
const SideTable grant_table{"ff_claim_grant", {"eid"}};
const SideTable tag_table{"ff_exec_tag", {"tag_key", "tag_value", "eid"}, 2};

/// Rows that should be in a table, and what to say of each that is not.
class Wanted {
  public:
    explicit Wanted(const SideTable& table, Check& check) : table_(table), check_(check) {}

    void add(SideKey key, std::string fault) {
        keys_.push_back(std::move(key));
        faults_.push_back(std::move(fault));
    }
    /// Asks for all that was added and begins anew.
    expected<void> look(RowSource& rows) {
        if (!keys_.empty()) {
            FF_TRY(const auto missing, rows.missing(table_, keys_));
            for (const std::size_t place : missing) {
                check_.add(std::move(faults_[place]));
            }
        }
        keys_.clear();
        faults_.clear();
        return {};
    }

  private:
    const SideTable& table_;
    Check& check_;
    std::vector<SideKey> keys_;
    std::vector<std::string> faults_;
};

class RowScan {
  public:
    RowScan(ReadOnlyStore& store, const CheckProgress& progress)
        : store_(store), rows_(store.rows()), progress_(progress) {}

    std::vector<Check> run() {
        guard(readable_, scan_executions());
        guard(ready_, scan_ready());
        guard(timers_, scan_timers());
        guard(turns_, scan_turns());
        guard(listed_, scan_listed());
        guard(waits_, check_keys());
        guard(orphans_, scan_orphans());
        describe();
        std::vector<Check> out;
        for (Check* check : all()) {
            out.push_back(std::move(*check));
        }
        return out;
    }

  private:
    std::array<Check*, 10> all() {
        return {&readable_, &invariants_, &references_, &ready_, &timers_,
                &turns_,    &listed_,     &tags_,       &waits_, &orphans_};
    }

    /// A scan that cannot go on is itself a finding.
    static void guard(Check& check, const expected<void>& outcome) {
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
        said(turns_, fmt::format("{} have the turn of their key, exactly those that should",
                                 with_commas(turn_rows_)));
        said(listed_, fmt::format("{} in lists of rare conditions, exactly those that should be",
                                  with_commas(listed_rows_)));
        said(tags_, "the tag index holds every tag");
        said(waits_,
             fmt::format("{} executions have waited, and their rows agree", with_commas(waited_)));
        said(orphans_, "no row belongs to an execution that is gone");
    }

    // ------------------------------------------------------------------------------ executions

    expected<void> scan_executions() {
        FF_TRY(const std::uint64_t total, rows_.count_executions());
        Eid after = std::numeric_limits<Eid>::min();
        for (;;) {
            std::vector<Eid> page;
            FF_TRY_VOID(store_.read([&](Reader& reader) -> expected<void> {
                FF_TRY(page, rows_.eids_after(after, page_rows));
                return check_page(reader, page);
            }));
            executions_ += page.size();
            progress_("executions", executions_, total);
            if (page.size() < page_rows) {
                return {};
            }
            after = page.back();
        }
    }

    expected<void> check_page(Reader& reader, const std::vector<Eid>& page) {
        FF_TRY(const auto executions, rows_.executions(page));
        FF_TRY(const auto attempts, rows_.attempts(page));
        FF_TRY(const auto inputs, rows_.inputs(page));
        for (const auto& [eid, row] : executions) {
            if (!reads(eid, "its row", row)) {
                continue;
            }
            check_attempts(*row, attempts);
            FF_TRY_VOID(check_references(reader, *row, inputs));
            want_derived(*row);
            if (store::had_waits(*row)) {
                ++waited_;
                FF_TRY_VOID(check_waits(reader, *row));
            }
        }
        for (Wanted* wanted : {&wanted_ready_, &wanted_timers_, &wanted_turns_, &wanted_listed_,
                               &wanted_grants_, &wanted_tags_}) {
            FF_TRY_VOID(wanted->look(rows_));
        }
        return {};
    }

    /// A row that does not read is a finding.
    template <class T>
    bool reads(Eid eid, const char* what, const expected<T>& row) {
        if (!row) {
            readable_.add(
                fmt::format("execution number {}: {}: {}", eid, what, row.error().detail));
        }
        return row.has_value();
    }

    void check_attempts(const Execution& e,
                        const RowSource::Found<std::vector<core::Attempt>>& found) {
        const auto it = found.find(e.eid);
        if (it != found.end() && !reads(e.eid, "its attempts", it->second)) {
            return;
        }
        const std::vector<core::Attempt> none;
        for (const std::string& violation :
             core::check_invariants(e, it == found.end() ? none : *it->second)) {
            invariants_.add(e.id.to_string() + ": " + violation);
        }
    }

    expected<void> check_references(Reader& reader, const Execution& e,
                                    const RowSource::Found<core::ExecutionInput>& inputs) {
        if (!routes_.contains(e.route)) {
            FF_TRY_VOID(load_routes(reader));
        }
        if (!routes_.contains(e.route)) {
            references_.add(fmt::format("{}: its route {} is missing", e.id.to_string(), e.route));
        } else if (laneless_.contains(e.route)) {
            references_.add(e.id.to_string() + ": its lane is not registered");
        }
        if (e.grant_expires_at) {
            wanted_grants_.add({{}, {e.eid}},
                               e.id.to_string() + ": it is granted, and the grant is missing");
        }
        const auto it = inputs.find(e.eid);
        if (it == inputs.end()) {
            references_.add(e.id.to_string() + ": its input is missing");
            return {};
        }
        if (!reads(e.eid, "its input", it->second)) {
            return {};
        }
        const core::ExecutionInput& input = *it->second;
        if ((input.policy && !e.has_policy) || (!input.tags.empty() && !e.has_tags)) {
            references_.add(e.id.to_string() + ": its row does not know of its policy or tags");
        }
        for (const auto& [key, value] : input.tags) {
            wanted_tags_.add({{key, value}, {e.eid}}, fmt::format("{}: tag {}={} is not indexed",
                                                                  e.id.to_string(), key, value));
        }
        return {};
    }

    expected<void> load_routes(Reader& reader) {
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

    expected<void> check_waits(Reader& reader, const Execution& e) {
        const auto say = [&](const std::string& what) {
            waits_.add(e.id.to_string() + ": " + what);
        };
        const auto suspensions = reader.suspensions(e.eid);
        const auto waitpoints =
            reader.open_waitpoints(e.eid, {}, std::numeric_limits<std::int32_t>::max());
        if (!reads(e.eid, "its suspensions", suspensions) ||
            !reads(e.eid, "its waitpoints", waitpoints)) {
            return {};
        }
        if (!e.has_waits) {
            say("its row does not know that it has waitpoints");
        }
        for (const std::string& violation : core::check_waits(e, *suspensions, *waitpoints)) {
            say(violation);
        }
        return {};
    }

    expected<void> check_keys() {
        std::vector<core::HmacKey> keys;
        FF_TRY_VOID(store_.read([&](Reader& reader) -> expected<void> {
            FF_TRY(keys, reader.hmac_keys());
            return {};
        }));
        std::size_t current = 0;
        for (const core::HmacKey& key : keys) {
            current += key.is_current ? 1 : 0;
            if (key.is_current == key.expires_at.has_value()) {
                waits_.add(fmt::format("key {}: {}", key.kid,
                                       key.is_current ? "it is current, and expires"
                                                      : "it is retired, and never expires"));
            }
        }
        if (!keys.empty() && current != 1) {
            waits_.add(fmt::format("{} keys sign tokens, and one should", current));
        }
        return {};
    }

    /// What should be in the side tables.
    void want_derived(const Execution& e) {
        if (const auto key = core::ready_key(e)) {
            wanted_ready_.add({{}, {key->route, key->rank, key->place, store::stored_eid(*key)}},
                              e.id.to_string() + ": it can be claimed, and no ready row says so");
        }
        if (const auto key = core::timer_key(e)) {
            wanted_timers_.add({{}, {static_cast<std::int64_t>(key->kind), key->due_at, key->eid}},
                               fmt::format("{}: its {} timer at {} is missing", e.id.to_string(),
                                           to_string(key->kind), time_text(key->due_at)));
        }
        if (const auto key = core::turn_key(e)) {
            wanted_turns_.add(
                {{}, {key->queue, key->eid}},
                e.id.to_string() + ": it has the turn of its key, and no row says so");
        }
        check_armed(e);
        if (const Bucket bucket = core::bucket(e); bucket != Bucket::none) {
            wanted_listed_.add({{}, {static_cast<std::int64_t>(bucket), e.eid}},
                               fmt::format("{}: it is not in the list of {}", e.id.to_string(),
                                           to_string(bucket)));
        }
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

    /// Pages through a side table. `eid_of` gives the execution of a row, `agrees` whether the
    /// execution should have it, `name` what it is.
    template <class Key, class Next, class EidOf, class Agrees, class Name>
    expected<void> scan_side(const char* what, Key after, std::uint64_t& rows, Check& check,
                             Next next, EidOf eid_of, Agrees agrees, Name name) {
        for (;;) {
            std::size_t found = 0;
            FF_TRY_VOID(store_.read([&](Reader& reader) -> expected<void> {
                FF_TRY(const auto page, next(reader, after));
                std::vector<Eid> eids;
                for (const Key& key : page) {
                    eids.push_back(eid_of(key));
                }
                FF_TRY(const auto owners, rows_.executions(eids));
                for (const Key& key : page) {
                    const auto it = owners.find(eid_of(key));
                    if (it == owners.end()) {
                        check.add(fmt::format("{} of execution number {}, which does not exist",
                                              name(key), eid_of(key)));
                    } else if (it->second && !agrees(*it->second, key)) {
                        // One that does not read was reported already.
                        check.add(fmt::format("{}: {} that it should not have",
                                              it->second->id.to_string(), name(key)));
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

    expected<void> scan_ready() {
        const ReadyKey first{std::numeric_limits<core::RouteId>::min(), 0, 0};
        return scan_side(
            "ready rows", first, ready_rows_, ready_,
            [](Reader& reader, const ReadyKey& after) {
                return reader.ready_after(after, page_rows);
            },
            [](const ReadyKey& key) { return key.eid; },
            [](const Execution& e, const ReadyKey& key) { return core::ready_key(e) == key; },
            [](const ReadyKey&) { return "a ready row"; });
    }

    expected<void> scan_timers() {
        const TimerKey first{core::TimerKind{}, std::numeric_limits<TimestampMs>::min(), 0};
        return scan_side(
            "timers", first, timer_rows_, timers_,
            [](Reader& reader, const TimerKey& after) {
                return reader.timers_after(after, page_rows);
            },
            [](const TimerKey& key) { return key.eid; },
            [](const Execution& e, const TimerKey& key) { return core::timer_key(e) == key; },
            [](const TimerKey& key) {
                return fmt::format("a {} timer at {}", to_string(key.kind), time_text(key.due_at));
            });
    }

    expected<void> scan_turns() {
        const TurnKey first{std::numeric_limits<core::RouteId>::min(), 0};
        return scan_side(
            "turns", first, turn_rows_, turns_,
            [](Reader& reader, const TurnKey& after) {
                return reader.turns_after(after, page_rows);
            },
            [](const TurnKey& key) { return key.eid; },
            [](const Execution& e, const TurnKey& key) { return core::turn_key(e) == key; },
            [](const TurnKey&) { return "the turn of a key"; });
    }

    expected<void> scan_listed() {
        using Listed = std::pair<Bucket, Eid>;
        const Listed first{Bucket::none, std::numeric_limits<Eid>::min()};
        return scan_side(
            "lists", first, listed_rows_, listed_,
            [](Reader& reader, const Listed& after) {
                return reader.listed_after(after.first, after.second, page_rows);
            },
            [](const Listed& row) { return row.second; },
            [](const Execution& e, const Listed& row) { return core::bucket(e) == row.first; },
            [](const Listed& row) {
                return fmt::format("an entry in the list of {}", to_string(row.first));
            });
    }

    expected<void> scan_orphans() {
        for (const char* table : {"ff_exec_input", "ff_attempt", "ff_exec_tag", "ff_claim_grant",
                                  "ff_suspension", "ff_waitpoint", "ff_signal", "ff_satisfier"}) {
            progress_(table, 0, 0);
            FF_TRY(const auto found, rows_.orphans(table));
            for (const Eid eid : found) {
                orphans_.add(fmt::format("{} has rows of execution number {}, which does not exist",
                                         table, eid));
            }
        }
        return {};
    }

    ReadOnlyStore& store_;
    RowSource& rows_;
    const CheckProgress& progress_;
    std::set<core::RouteId> routes_;    ///< known to exist
    std::set<core::RouteId> laneless_;  ///< of these, whose lane does not
    std::uint64_t executions_ = 0;
    std::uint64_t ready_rows_ = 0;
    std::uint64_t timer_rows_ = 0;
    std::uint64_t turn_rows_ = 0;
    std::uint64_t listed_rows_ = 0;
    std::uint64_t waited_ = 0;
    Check readable_{"readable"};
    Check invariants_{"invariants"};
    Check references_{"references"};
    Check ready_{"ready"};
    Check timers_{"timers"};
    Check turns_{"turns"};
    Check listed_{"listed"};
    Check tags_{"tags"};
    Check waits_{"waits"};
    Check orphans_{"orphans"};
    Wanted wanted_ready_{ready_table, ready_};
    Wanted wanted_timers_{timer_table, timers_};
    Wanted wanted_turns_{turn_table, turns_};
    Wanted wanted_listed_{listed_table, listed_};
    Wanted wanted_grants_{grant_table, references_};
    Wanted wanted_tags_{tag_table, tags_};
};

}  // namespace

std::vector<Check> check_rows(ReadOnlyStore& store, const CheckProgress& progress) {
    std::vector<Check> checks = RowScan(store, progress).run();
    checks.push_back(check_flows(store, progress));
    return checks;
}

}  // namespace ff::cli
