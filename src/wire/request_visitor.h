// Who is shown the members of a request by describe_request(), one after another: to read them, to
// write them or to describe them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/contracts.h>

#include "wire/any_value.h"
#include "wire/flow_requests.h"

namespace ff::wire {

class RequestVisitor {
  public:
    virtual ~RequestVisitor() = default;

    // ----------------------------------------------------------------------------- path and query

    virtual void id(ExecutionId& id) = 0;
    virtual void flow_id(FlowId& id) = 0;
    /// An id in the path under a name of its own.
    virtual void path_id(std::string_view name, InPath id) = 0;
    virtual void path(std::string_view name, std::string& value) = 0;
    /// One that the server takes from the body.
    virtual void path_for_people(std::string_view name, std::string& value) = 0;
    /// A family of events; words are joined by dashes.
    virtual void family(EventFamily& family) = 0;
    virtual void lease(LeaseRef& lease) = 0;
    /// An execution and one of its attempts, without a fence.
    virtual void attempt(ExecutionId& execution, std::optional<std::uint32_t>& index) = 0;

    virtual void query(std::string_view name, InQuery value) = 0;
    virtual void query_optional(std::string_view name, InQuery value) = 0;
    /// One whose absence is the default; what is there must be right.
    virtual void query_defaulted(std::string_view name, InQuery value) = 0;
    /// How many: at least 1.
    virtual void query_count(std::string_view name, std::uint64_t& value, std::uint64_t most) = 0;
    /// A list, whose name stands in front of each item.
    virtual void query_each(std::string_view name, ListInQuery values) = 0;
    /// `true` and `1`, `false` and `0`.
    virtual void query_flag(std::string_view name, bool& value) = 0;
    virtual void query_constant(std::string_view name, std::string_view value) = 0;
    virtual void query_tags(Tags& tags) = 0;
    virtual void query_order(bool& oldest_first) = 0;
    /// What to go on behind: `after`.
    virtual void query_cursor(CursorInQuery cursor) = 0;
    virtual void query_limit(std::uint32_t& limit, std::uint32_t fallback, std::uint32_t most) = 0;
    /// A number to go on behind; `cursor` is the same.
    virtual void query_sequence(std::string_view name, std::uint64_t& after) = 0;
    /// What may stand in the body or, as it does in our own calls, in the query.
    virtual void body_or_query(std::string_view name, InBodyOrQuery value) = 0;

    // --------------------------------------------------------------------------------- the body

    virtual void required(std::string_view name, InBody value) = 0;
    /// Null or left out when there is none.
    virtual void optional(std::string_view name, OptionalInBody value) = 0;
    /// One whose absence is the default.
    virtual void defaulted(std::string_view name, InBody value) = 0;
    /// The same, and left out when it says nothing.
    virtual void sparse(std::string_view name, SparseInBody value) = 0;
    /// One whose absence is the default, said by leaving it out or by null.
    virtual void or_null(std::string_view name, InBody value) = 0;
    virtual void ranged(std::string_view name, NumberInBody value, std::int64_t low,
                        std::int64_t high) = 0;
    virtual void required_ranged(std::string_view name, NumberInBody value, std::int64_t low,
                                 std::int64_t high) = 0;
    virtual void optional_ranged(std::string_view name, OptionalNumberInBody value,
                                 std::int64_t low, std::int64_t high) = 0;
    virtual void lane(std::string_view name, std::string& value) = 0;
    virtual void lanes(std::string_view name, std::vector<std::string>& values) = 0;
    virtual void bytes(std::string_view name, std::string& value) = 0;
    virtual void optional_bytes(std::string_view name, std::optional<std::string>& value) = 0;
    virtual void sparse_bytes(std::string_view name, std::string& value) = 0;
    virtual void optional_text(std::string_view name, std::optional<std::string>& value,
                               std::size_t bytes_max) = 0;
    /// JSON that is kept as its text.
    virtual void document(std::string_view name, std::optional<std::string>& value) = 0;
    virtual void source(Source& source) = 0;
    virtual void backend(std::optional<BackendTag>& backend) = 0;
    virtual void constant(std::string_view name, std::string_view value) = 0;
    /// One that older clients must send; nobody looks at it.
    virtual void ignored(std::string_view name) = 0;

    // ---------------------------------------------------------------------------------- of flows

    /// A word whose absence is the default, and which is refused with a code of its own.
    virtual void word(std::string_view name, WordInBody value, ErrorCode unknown) = 0;
    virtual void cancellation_policy(std::string_view name, CancellationPolicy& value) = 0;
    virtual void grace(std::string_view name, DurationMs& value) = 0;
    /// One that only has to be right.
    virtual void unused_grace(std::string_view name, DurationMs& value) = 0;
    /// A text, or an object that is kept as its text.
    virtual void reference_text(std::string_view name, std::string& value) = 0;
    virtual void required_policy(std::string_view name, GroupPolicy& policy) = 0;
    virtual void sparse_policy(std::string_view name, GroupPolicy& policy) = 0;
    virtual void nodes(std::string_view name, std::vector<FlowNode>& nodes) = 0;
    virtual void edges(std::string_view name, std::vector<FlowEdge>& edges, Ends ends) = 0;

    // --------------------------------------------------------------- of suspension and of streams

    /// A word in CamelCase or as it is stored. One that is neither is `invalid_input`.
    virtual void either_word(std::string_view name, WordInBody value) = 0;
    /// `payload` as bytes in any form, or `payload_base64`.
    virtual void payload(std::optional<std::string>& value) = 0;
    virtual void waitpoints(std::string_view name, std::vector<WaitpointBinding>& bindings) = 0;
    virtual void condition(std::string_view name, ResumeCondition& condition) = 0;
    virtual void resume_policy(std::string_view name, ResumePolicy& policy) = 0;
    virtual void frames(std::string_view name, std::vector<Frame>& frames) = 0;

    // --------------------------------------------------------------------------------- of limits

    virtual void budget_id(BudgetId& id) = 0;
    virtual void quota_id(QuotaPolicyId& id) = 0;
    /// An id that a text in the body is; another text is told like one in the path.
    virtual void required_id(std::string_view name, InBody id) = 0;
    virtual void given_limits(std::optional<QuotaLimits>& limits) = 0;
};

/// What a visitor declares: every member above, once more as its own.
#define FF_VISITS_REQUESTS                                                                         \
    void id(ExecutionId& id) override;                                                             \
    void flow_id(FlowId& id) override;                                                             \
    void path_id(std::string_view name, InPath id) override;                                       \
    void path(std::string_view name, std::string& value) override;                                 \
    void path_for_people(std::string_view name, std::string& value) override;                      \
    void family(EventFamily& family) override;                                                     \
    void lease(LeaseRef& lease) override;                                                          \
    void attempt(ExecutionId& execution, std::optional<std::uint32_t>& index) override;            \
    void query(std::string_view name, InQuery value) override;                                     \
    void query_optional(std::string_view name, InQuery value) override;                            \
    void query_defaulted(std::string_view name, InQuery value) override;                           \
    void query_count(std::string_view name, std::uint64_t& value, std::uint64_t most) override;    \
    void query_each(std::string_view name, ListInQuery values) override;                           \
    void query_flag(std::string_view name, bool& value) override;                                  \
    void query_constant(std::string_view name, std::string_view value) override;                   \
    void query_tags(Tags& tags) override;                                                          \
    void query_order(bool& oldest_first) override;                                                 \
    void query_cursor(CursorInQuery cursor) override;                                              \
    void query_limit(std::uint32_t& limit, std::uint32_t fallback, std::uint32_t most) override;   \
    void query_sequence(std::string_view name, std::uint64_t& after) override;                     \
    void body_or_query(std::string_view name, InBodyOrQuery value) override;                       \
    void required(std::string_view name, InBody value) override;                                   \
    void optional(std::string_view name, OptionalInBody value) override;                           \
    void defaulted(std::string_view name, InBody value) override;                                  \
    void sparse(std::string_view name, SparseInBody value) override;                               \
    void or_null(std::string_view name, InBody value) override;                                    \
    void ranged(std::string_view name, NumberInBody value, std::int64_t low, std::int64_t high)    \
        override;                                                                                  \
    void required_ranged(std::string_view name, NumberInBody value, std::int64_t low,              \
                         std::int64_t high) override;                                              \
    void optional_ranged(std::string_view name, OptionalNumberInBody value, std::int64_t low,      \
                         std::int64_t high) override;                                              \
    void lane(std::string_view name, std::string& value) override;                                 \
    void lanes(std::string_view name, std::vector<std::string>& values) override;                  \
    void bytes(std::string_view name, std::string& value) override;                                \
    void optional_bytes(std::string_view name, std::optional<std::string>& value) override;        \
    void sparse_bytes(std::string_view name, std::string& value) override;                         \
    void optional_text(std::string_view name, std::optional<std::string>& value,                   \
                       std::size_t bytes_max) override;                                            \
    void document(std::string_view name, std::optional<std::string>& value) override;              \
    void source(Source& source) override;                                                          \
    void backend(std::optional<BackendTag>& backend) override;                                     \
    void constant(std::string_view name, std::string_view value) override;                         \
    void ignored(std::string_view name) override;                                                  \
    void word(std::string_view name, WordInBody value, ErrorCode unknown) override;                \
    void cancellation_policy(std::string_view name, CancellationPolicy& value) override;           \
    void grace(std::string_view name, DurationMs& value) override;                                 \
    void unused_grace(std::string_view name, DurationMs& value) override;                          \
    void reference_text(std::string_view name, std::string& value) override;                       \
    void required_policy(std::string_view name, GroupPolicy& policy) override;                     \
    void sparse_policy(std::string_view name, GroupPolicy& policy) override;                       \
    void nodes(std::string_view name, std::vector<FlowNode>& nodes) override;                      \
    void edges(std::string_view name, std::vector<FlowEdge>& edges, Ends ends) override;           \
    void either_word(std::string_view name, WordInBody value) override;                            \
    void payload(std::optional<std::string>& value) override;                                      \
    void waitpoints(std::string_view name, std::vector<WaitpointBinding>& bindings) override;      \
    void condition(std::string_view name, ResumeCondition& condition) override;                    \
    void resume_policy(std::string_view name, ResumePolicy& policy) override;                      \
    void frames(std::string_view name, std::vector<Frame>& frames) override;                       \
    void budget_id(BudgetId& id) override;                                                         \
    void quota_id(QuotaPolicyId& id) override;                                                     \
    void required_id(std::string_view name, InBody id) override;                                   \
    void given_limits(std::optional<QuotaLimits>& limits) override;

}  // namespace ff::wire
