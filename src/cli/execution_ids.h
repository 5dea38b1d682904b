// Executions as people name them: by the whole id, by its UUID, or by the last digits of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/ids.h>

#include "cli/session.h"

namespace ff::cli {

/// Fewer digits than this name nothing.
inline constexpr std::size_t suffix_digits_min = 6;
/// How many of the newest executions are searched for a suffix.
inline constexpr std::size_t suffix_searched_max = 1'000;

/// A word that may name an execution.
struct IdWord {
    std::string text;               ///< as it was given
    std::optional<ExecutionId> id;  ///< when it is a whole one
    std::optional<Uuid> uuid;       ///< when it is one without the partition
    std::string digits;             ///< otherwise: hex digits at the end of a UUID
};

/// For messages about what is none.
inline constexpr std::string_view id_example = "{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071";

/// What became of the good words among several when one was bad: all are read before anything is
/// done.
inline constexpr std::string_view not_changed = "nothing was changed";
inline constexpr std::string_view not_looked = "nothing was looked up";

/// Only the form is looked at. `invalid_input` that says what an id looks like.
expected<IdWord> parse_id(const std::string& text);
/// All that are no ids are named. Of several words it also says what became of the good ones:
/// `undone`.
expected<std::vector<IdWord>> parse_ids(const std::vector<std::string>& texts,
                                        std::string_view undone);

/// One answer for each word. A whole id is not looked up. Errors: `execution_not_found`; for a
/// suffix of several executions one with ambiguous_field.
std::vector<expected<ExecutionId>> find_ids(const Session& session,
                                            const std::vector<IdWord>& words);
/// Both steps for one word.
expected<ExecutionId> find_id(const Session& session, const std::string& text);

Error no_such_execution(std::string_view text);

}  // namespace ff::cli
