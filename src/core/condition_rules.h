// Resume conditions: which are well formed, and what a signal does to one. Pure.
//
// The nodes of a condition are numbered in the order of the tree, the root is 0. How many distinct
// satisfiers each node has is kept as numbers in that order; the satisfiers themselves are rows
// that are looked up one by one, so a signal costs the same however many came before it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/suspension.h>

namespace ff::core {

inline constexpr std::size_t waitpoints_max = 64;      ///< of a suspension
inline constexpr std::size_t waitpoint_key_max = 256;  ///< bytes
inline constexpr std::size_t signal_name_bytes_max = 1'024;
inline constexpr std::size_t condition_nodes_max = 256;
inline constexpr std::size_t condition_words_max = 256;  ///< names and keys of all nodes
inline constexpr std::uint32_t condition_depth_max = 4;  ///< composites inside composites

// What listings say of a suspension that no signal can end. No signal may have such a name.
inline constexpr std::string_view operator_only_name = "__operator_only__";
inline constexpr std::string_view timeout_only_name = "__timeout_only__";
inline bool is_reserved_signal(std::string_view name) {
    return name == operator_only_name || name == timeout_only_name;
}

/// How many satisfiers each node has.
using NodeCounts = std::vector<std::uint32_t>;
std::string counts_text(const NodeCounts& counts);
/// As many numbers as the condition has nodes; zeros for what the text lacks.
NodeCounts counts_of(const ResumeCondition& condition, std::string_view text);
/// No signal has satisfied any part of the condition yet: then there are no satisfiers.
bool is_untouched(std::string_view counts_text);

/// Fills in what a caller may leave out: ids of new waitpoints (by `mint`), the key of the first
/// one, and the waitpoint of a condition that names none. A waitpoint that was made before keeps
/// its key for itself: name_only_waitpoint() is called when it is known.
void complete_bindings(Suspend& args, const std::function<WaitpointId()>& mint);
/// Nodes that name no waitpoint wait at this one.
void name_only_waitpoint(ResumeCondition& condition, const std::string& key);

/// `invalid_waitpoint_key`: empty, longer than 256 bytes, or not text. `place` begins the detail.
expected<void> check_waitpoint_key(std::string_view place, std::string_view key);
/// The checks of spec 04 section 5.2 on bindings that are complete and their condition: first the
/// bindings, then the tree, then how they refer to each other. Deadlines are checked by the
/// decision. The key of a waitpoint that was made before is unknown here: it is given to
/// check_references() later.
expected<void> check_condition(const Suspend& args);
/// Every key the condition names has a binding and every binding is named. What waits for nobody's
/// signal names none and may have one.
expected<void> check_references(const ResumeCondition& condition,
                                const std::vector<std::string>& bound_keys);

/// Names that nodes listening on this waitpoint wait for, for listings: in the order of the tree,
/// none twice, empty when any signal will do.
std::vector<std::string> required_names(const ResumeCondition& condition, std::string_view key);

/// A signal as a condition sees it.
struct SignalFacts {
    std::string waitpoint_key;
    std::string name;
    SignalId id;
    std::string source_type;
    std::string source_identity;
};

/// What a signal could satisfy at one node: the first of these tokens nobody has satisfied yet.
struct Candidate {
    std::uint32_t node = 0;
    std::vector<std::string> tokens;
};
/// In the order of the tree; only nodes that accept the signal.
std::vector<Candidate> candidates(const ResumeCondition& condition, const SignalFacts& signal);

struct Gain {
    std::uint32_t node = 0;
    std::string token;
    bool operator==(const Gain&) const = default;
};
struct Evaluation {
    SignalEffect effect = SignalEffect::no_op;
    bool matched = false;
    bool satisfied = false;   ///< the whole condition, by this signal
    std::vector<Gain> gains;  ///< new satisfiers
};
using IsTaken = std::function<bool(std::uint32_t node, const std::string& token)>;
/// `counts` is moved on by the gains. `is_taken` says whether a satisfier exists already.
Evaluation evaluate(const ResumeCondition& condition, NodeCounts& counts, const SignalFacts& signal,
                    const IsTaken& is_taken);
/// Do these many satisfiers suffice?
bool is_met(const ResumeCondition& condition, const NodeCounts& counts);

}  // namespace ff::core
