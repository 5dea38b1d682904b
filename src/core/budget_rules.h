// What a budget does with a report, a release and a reset; when it lets nothing start. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/error.h>

#include "core/limit_records.h"

namespace ff::core {

/// Shape of a definition. Modes that are unknown are the strict ones.
expected<void> check_budget(const CreateBudget& args);
expected<void> check_amounts(std::string_view field, const Amounts& amounts);
expected<void> check_limits(const BudgetLimits& limits);
/// The row of a definition that passed the check.
Budget new_budget(const CreateBudget& args, TimestampMs now);
/// Is this what created the row?
bool is_same_definition(const Budget& budget, const CreateBudget& args);

struct Breach {
    std::string dimension;
    std::uint64_t used = 0;
    std::uint64_t limit = 0;
    std::uint64_t wanted = 0;  ///< to be reserved

    bool operator==(const Breach&) const = default;
};
/// Why nothing may start that a budget covers: a hard limit is used up or reserved, or a soft one
/// is past and nobody has approved.
std::optional<Breach> blocking(const Budget& budget);
/// Past a soft limit that needs an approval, and there is none. An advisory budget needs none.
std::optional<Breach> unapproved(const Budget& budget);

/// Reserves what the limits of the budget count of it, and answers that; or the dimension that has
/// no room. An advisory budget reserves nothing.
struct Reserved {
    Amounts taken;
    std::optional<Breach> no_room;
};
Reserved reserve(Budget& budget, const Amounts& wanted);
/// May one who waits and wants so much go on? Then it is reserved, in a copy that says what those
/// who go will take.
bool lets_go(Budget& offered, const Amounts& wanted);
/// Less is reserved by an execution: what it draws, or all of it.
void draw(Budget& budget, LedgerRow& ledger, const Amounts& amounts);
void unreserve(Budget& budget, LedgerRow& ledger);

/// Adds a report, all of it or nothing; counts a breach. The budget is what it has become.
UsageResult add_usage(Budget& budget, const Amounts& deltas, TimestampMs now);
/// May the report be added to the row? Bounds what a row can grow to.
expected<void> check_room(const Budget& budget, const Amounts& deltas);
/// Takes back what the ledger row says, unless it is of an earlier period.
void release_spend(Budget& budget, const LedgerRow& ledger, TimestampMs now);
/// `scheduled`: the next time keeps to the schedule; else it is an interval from now.
enum class ResetBy : std::uint8_t { hand, schedule };
void reset(Budget& budget, ResetBy by, TimestampMs now);

std::uint64_t add_amounts(std::uint64_t a, std::uint64_t b);

/// Sets `wake_at` when somebody waits and nothing keeps them any more.
void wake_if_clear(Budget& budget, TimestampMs now);
/// Sets `timer_at`.
void arm(Budget& budget);

std::string gate_of(const BudgetId& id);
/// `budget <id>: <dimension> <used>/<limit>`, and what else must be known.
std::string refusal_text(const Budget& budget, const Breach& breach);

}  // namespace ff::core
