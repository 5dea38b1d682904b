// Resume conditions and resume policies as JSON (spec 04 sections 5.1 and 7.1).
//
// Words of enums are written in CamelCase and read in that or in snake_case. Members nobody knows
// are ignored. What cannot be read is `invalid_input` and begins with its place, such as
// `resume_condition.members[1].matcher: ...`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/json.h>
#include <ff/suspension.h>

namespace ff::core {

js::Value to_value(const ResumeCondition& condition);
expected<ResumeCondition> condition_of(const js::Value& value,
                                       const std::string& place = "resume_condition");

js::Value to_value(const ResumePolicy& policy);
expected<ResumePolicy> resume_policy_of(const js::Value& value,
                                        const std::string& place = "resume_policy");
std::string to_json(const ResumePolicy& policy);
expected<ResumePolicy> parse_resume_policy(std::string_view text);

/// `DistinctSources` of `distinct_sources`.
std::string camel_case(std::string_view word);

/// The enumerator that is spelled so, in either form.
template <class E>
std::optional<E> parse_either(std::string_view word) {
    for (std::size_t i = 0; i < enum_count<E>; ++i) {
        if (enum_names<E>[i] == word || camel_case(enum_names<E>[i]) == word) {
            return static_cast<E>(i);
        }
    }
    return std::nullopt;
}

}  // namespace ff::core
