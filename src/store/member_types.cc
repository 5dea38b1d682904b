// What is done with each of the types that members of records have. A new type goes to the list at
// the end.
#include <concepts>
#include <utility>

#include <ff/json.h>
#include "store/value_codec.h"

namespace ff::store {

namespace {

/// Appends a member's value as JSON. An optional one is set.
template <class T>
void append_extra(std::string& out, const T& value) {
    if constexpr (is_optional<T>::value) {
        append_extra(out, *value);
    } else if constexpr (std::integral<T>) {
        out += std::to_string(static_cast<std::int64_t>(value));
    } else if constexpr (is_uuid_id<T>::value) {
        js::append_quoted(out, value.to_string());
    } else if constexpr (std::same_as<T, Amounts>) {
        js::append_quoted(out, encode_amounts(value));
    } else {
        js::append_quoted(out, value);
    }
}

/// False when the JSON value is not one of the member's type.
template <class T>
bool take_extra(const js::Value& from, T& value) {
    if constexpr (is_optional<T>::value) {
        return take_extra(from, value.emplace());
    } else if constexpr (std::same_as<T, bool>) {
        const auto number = from.as_int64();
        value = number == 1;
        return number == 0 || number == 1;
    } else if constexpr (std::integral<T>) {
        const auto number = from.as_int64();
        if (!number || !std::in_range<T>(*number)) {
            return false;
        }
        value = static_cast<T>(*number);
        return true;
    } else if constexpr (is_uuid_id<T>::value) {
        const auto id = from.if_string() == nullptr ? std::nullopt : T::parse(*from.if_string());
        value = id.value_or(T{});
        return id.has_value();
    } else if constexpr (std::same_as<T, Amounts>) {
        const auto amounts =
            from.if_string() == nullptr ? std::nullopt : decode_amounts(*from.if_string());
        value = amounts.value_or(Amounts{});
        return amounts.has_value();
    } else {
        if (from.if_string() == nullptr) {
            return false;
        }
        value = *from.if_string();
        return true;
    }
}

template <class T>
constexpr bool is_extra = std::integral<T> || std::same_as<T, std::string> ||
                          std::same_as<T, Amounts> || is_uuid_id<T>::value;
template <class T>
constexpr bool is_extra<std::optional<T>> = is_extra<T>;

template <class T>
constexpr MemberType make_type() {
    MemberType type{
        .optional = is_optional<T>::value,
        .put = [](ValueSink& sink, Kind kind,
                  const void* member) { put_value(sink, kind, *static_cast<const T*>(member)); },
        .take = [](ValueSource& source, const char* column,
                   void* member) { take_value(source, column, *static_cast<T*>(member)); },
        .equal = [](const void* a, const void* b) -> bool {
            return *static_cast<const T*>(a) == *static_cast<const T*>(b);
        },
        .append_json = nullptr,
        .take_json = nullptr};
    if constexpr (is_extra<T>) {
        type.append_json = [](std::string& out, const void* member) {
            append_extra(out, *static_cast<const T*>(member));
        };
        type.take_json = [](const js::Value& from, void* member) {
            return take_extra(from, *static_cast<T*>(member));
        };
    }
    return type;
}

}  // namespace

template <class T>
constinit const MemberType MemberOf<T>::type = make_type<T>();

// Numbers.
template struct MemberOf<bool>;
template struct MemberOf<std::int32_t>;
template struct MemberOf<std::int64_t>;
template struct MemberOf<std::uint16_t>;
template struct MemberOf<std::uint32_t>;
template struct MemberOf<std::uint64_t>;
template struct MemberOf<std::optional<std::int32_t>>;
template struct MemberOf<std::optional<std::int64_t>>;
template struct MemberOf<std::optional<std::uint32_t>>;
template struct MemberOf<std::optional<std::uint64_t>>;

// Texts, and what is kept as one.
template struct MemberOf<std::string>;
template struct MemberOf<std::optional<std::string>>;
template struct MemberOf<std::vector<std::string>>;
template struct MemberOf<Tags>;
template struct MemberOf<Amounts>;
template struct MemberOf<BudgetLimits>;
template struct MemberOf<core::ExecutionExtra>;

// Ids.
template struct MemberOf<ExecutionId>;
template struct MemberOf<AttemptId>;
template struct MemberOf<BudgetId>;
template struct MemberOf<EdgeId>;
template struct MemberOf<FlowId>;
template struct MemberOf<GrantId>;
template struct MemberOf<QuotaPolicyId>;
template struct MemberOf<SignalId>;
template struct MemberOf<SuspensionId>;
template struct MemberOf<WaitpointId>;
template struct MemberOf<WebhookId>;
template struct MemberOf<core::LimitId>;
template struct MemberOf<std::optional<ExecutionId>>;
template struct MemberOf<std::optional<AttemptId>>;
template struct MemberOf<std::optional<FlowId>>;
template struct MemberOf<std::optional<LeaseId>>;
template struct MemberOf<std::optional<QuotaPolicyId>>;
template struct MemberOf<std::optional<SignalId>>;
template struct MemberOf<std::optional<SuspensionId>>;
template struct MemberOf<std::optional<WaitpointId>>;

// Words, kept as their number.
template struct MemberOf<AttemptLifecycle>;
template struct MemberOf<AttemptState>;
template struct MemberOf<AttemptType>;
template struct MemberOf<BlockingReason>;
template struct MemberOf<DependencyKind>;
template struct MemberOf<EdgeState>;
template struct MemberOf<EligibilityState>;
template struct MemberOf<EnforcementMode>;
template struct MemberOf<EventFamily>;
template struct MemberOf<FlowState>;
template struct MemberOf<FrameMode>;
template struct MemberOf<GrantKind>;
template struct MemberOf<GroupPolicyKind>;
template struct MemberOf<GroupState>;
template struct MemberOf<LaneState>;
template struct MemberOf<LifecyclePhase>;
template struct MemberOf<LimitTarget>;
template struct MemberOf<OnHardLimit>;
template struct MemberOf<OnMemberFailure>;
template struct MemberOf<OnSatisfied>;
template struct MemberOf<OnSoftLimit>;
template struct MemberOf<OwnershipState>;
template struct MemberOf<PublicState>;
template struct MemberOf<SignalEffect>;
template struct MemberOf<SignalScope>;
template struct MemberOf<SuspensionRequester>;
template struct MemberOf<TerminalOutcome>;
template struct MemberOf<WaitpointState>;
template struct MemberOf<core::FlowWorkKind>;
template struct MemberOf<core::KeysTask>;
template struct MemberOf<core::LeaseEventType>;
template struct MemberOf<core::LimitKind>;
template struct MemberOf<core::LogFamily>;
template struct MemberOf<std::optional<CancellationPolicy>>;
template struct MemberOf<std::optional<DependencyState>>;
template struct MemberOf<std::optional<ResumeTrigger>>;
template struct MemberOf<std::optional<StreamClosedReason>>;
template struct MemberOf<std::optional<TerminalOutcome>>;
template struct MemberOf<std::optional<TimeoutBehavior>>;

}  // namespace ff::store
