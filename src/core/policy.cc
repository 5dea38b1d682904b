#include <ff/policy.h>

#include <ff/json.h>
#include <ff/limits.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

namespace ff {
namespace {

/// Above this a number may have lost digits on its way through a double.
constexpr std::int64_t integer_max = std::int64_t{1} << 53;
constexpr std::int64_t u32_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t i32_max = std::numeric_limits<std::int32_t>::max();

constexpr std::uint32_t reclaim_cap_default = 100;
constexpr std::int64_t max_retries_max = 10'000;
constexpr DurationMs backoff_ms_max = DurationMs{30} * 24 * 60 * 60 * 1000;
constexpr DurationMs unknown_backoff_ms = 1000;
constexpr std::size_t budget_ids_max = 16;
constexpr std::size_t limit_key_bytes_max = 256;
constexpr std::size_t fallback_tiers_max = 16;

constexpr std::array<std::string_view, 6> timeout_behaviors = {
    "fail", "cancel", "expire", "auto_resume", "auto_resume_with_timeout_signal", "escalate"};
constexpr std::array<std::string_view, 2> durability_modes = {"buffered", "durable"};

std::unexpected<Error> invalid(std::string_view member, std::string_view reason) {
    std::string detail(member);
    detail.append(":").append(reason);
    return fail(ErrorCode::invalid_policy_json, std::move(detail));
}

// ------------------------------------------------------------------------------------- reading

/// One object of the policy and its dotted path. A member is read into a variable only when it is
/// there: absent and null leave the default that stands in it.
///
/// What nobody asked for is unknown: whole() refuses it, if that is wanted.
class Reader {
  public:
    Reader(const js::Value& object, std::string path, UnknownMembers unknown)
        : object_(object), path_(std::move(path)), unknown_(unknown) {}

    /// A reader of a part of it.
    [[nodiscard]] Reader inside(const js::Value& object, std::string path) const {
        return {object, std::move(path), unknown_};
    }

    [[nodiscard]] bool refuses_unknown() const { return unknown_ == UnknownMembers::refused; }

    /// What `read` makes of this object, when it has asked for all that stands in it.
    template <class Read>
    [[nodiscard]] std::invoke_result_t<Read, const Reader&> whole(Read read) const {
        auto made = read(*this);
        if (made) {
            FF_TRY_VOID(check_all_read());
        }
        return made;
    }

    [[nodiscard]] std::string path_of(std::string_view name) const {
        return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
    }

    [[nodiscard]] const js::Value* find(std::string_view name) const {
        if (refuses_unknown()) {
            asked_.push_back(name);
        }
        const js::Value* value = object_.find(name);
        return value == nullptr || value->is_null() ? nullptr : value;
    }

    /// Integers that may not be negative; `Target` is a number type or an optional of one.
    template <class Target>
    expected<void> integer(std::string_view name, Target& target,
                           std::int64_t value_max = integer_max) const {
        const js::Value* value = find(name);
        if (value == nullptr) {
            return {};
        }
        FF_TRY(const std::int64_t number, to_integer(*value, path_of(name)));
        if (number > value_max) {
            return invalid(path_of(name), "out_of_range");
        }
        if constexpr (requires { typename Target::value_type; }) {
            target = static_cast<typename Target::value_type>(number);
        } else {
            target = static_cast<Target>(number);
        }
        return {};
    }

    expected<void> boolean(std::string_view name, bool& target) const {
        const js::Value* value = find(name);
        if (value == nullptr) {
            return {};
        }
        if (value->if_bool() == nullptr) {
            return invalid(path_of(name), "not_bool");
        }
        target = *value->if_bool();
        return {};
    }

    expected<void> multiplier(std::string_view name, double& target) const {
        const js::Value* value = find(name);
        if (value == nullptr) {
            return {};
        }
        if (value->if_number() == nullptr) {
            return invalid(path_of(name), "invalid_value");
        }
        const auto number = value->as_double();
        if (!number) {
            return invalid(path_of(name), "not_finite");
        }
        if (*number < 0) {
            return invalid(path_of(name), "negative");
        }
        if (*number < 1.0) {
            return invalid(path_of(name), "out_of_range");
        }
        if (*number > static_cast<double>(integer_max)) {
            return invalid(path_of(name), "too_large");
        }
        target = *number;
        return {};
    }

    template <class Target>
    expected<void> string(std::string_view name, Target& target) const {
        const js::Value* value = find(name);
        if (value == nullptr) {
            return {};
        }
        if (value->if_string() == nullptr) {
            return invalid(path_of(name), "not_string");
        }
        target = *value->if_string();
        return {};
    }

    template <std::size_t N>
    expected<void> word(std::string_view name, const std::array<std::string_view, N>& words,
                        std::string& target) const {
        FF_TRY_VOID(string(name, target));
        if (std::ranges::find(words, target) == words.end()) {
            return invalid(path_of(name), "invalid_value");
        }
        return {};
    }

    /// The elements of an array, or null when it is absent.
    [[nodiscard]] expected<const js::Array*> array(std::string_view name) const {
        const js::Value* value = find(name);
        if (value == nullptr) {
            return nullptr;
        }
        if (value->if_array() == nullptr) {
            return invalid(path_of(name), "not_array");
        }
        return value->if_array();
    }

    /// A reader of a nested object, or nothing when it is absent.
    [[nodiscard]] expected<std::optional<Reader>> object(std::string_view name) const {
        const js::Value* value = find(name);
        if (value == nullptr) {
            return std::nullopt;
        }
        if (value->if_object() == nullptr) {
            return invalid(path_of(name), "not_object");
        }
        return inside(*value, path_of(name));
    }

    static expected<std::int64_t> to_integer(const js::Value& value, const std::string& path) {
        const js::Number* number = value.if_number();
        if (number == nullptr || number->text.find_first_of(".eE") != std::string::npos) {
            return invalid(path, "not_integer");
        }
        const auto integer = value.as_int64();
        if (integer ? *integer < 0 : number->text.starts_with('-')) {
            return invalid(path, "negative");
        }
        if (!integer || *integer > integer_max) {
            return invalid(path, "too_large");
        }
        return *integer;
    }

  private:
    [[nodiscard]] expected<void> check_all_read() const {
        for (const auto& [name, value] : *object_.if_object()) {
            if (refuses_unknown() && std::ranges::find(asked_, name) == asked_.end()) {
                return invalid(path_of(name), "unknown");
            }
        }
        return {};
    }

    const js::Value& object_;
    std::string path_;
    UnknownMembers unknown_;
    mutable std::vector<std::string_view> asked_;  ///< kept only for check_all_read()
};

/// Reads a nested object with `read` into `target`, unless it is absent.
template <class Target, class Read>
expected<void> read_nested(const Reader& reader, std::string_view name, Target& target, Read read) {
    FF_TRY(const auto nested, reader.object(name));
    if (nested) {
        FF_TRY(target, nested->whole(read));
    }
    return {};
}

expected<Backoff> read_backoff(const Reader& reader) {
    std::string type;
    FF_TRY_VOID(reader.string("type", type));
    Backoff backoff;
    if (type == "exponential") {
        FF_TRY_VOID(reader.integer("initial_delay_ms", backoff.initial_delay_ms));
        FF_TRY_VOID(reader.integer("max_delay_ms", backoff.max_delay_ms, backoff_ms_max));
        FF_TRY_VOID(reader.multiplier("multiplier", backoff.multiplier));
        FF_TRY_VOID(reader.boolean("jitter", backoff.jitter));
        if (backoff.initial_delay_ms > backoff.max_delay_ms) {
            return invalid(reader.path_of("initial_delay_ms"), "out_of_range");
        }
        return backoff;
    }
    backoff.type = Backoff::Type::fixed;
    backoff.delay_ms = unknown_backoff_ms;
    if (type == "fixed") {
        FF_TRY_VOID(reader.integer("delay_ms", backoff.delay_ms, backoff_ms_max));
    } else if (reader.refuses_unknown()) {
        return invalid(reader.path_of("type"), "invalid_value");
    }
    return backoff;
}

expected<RetryPolicy> read_retry(const Reader& reader) {
    RetryPolicy retry;
    FF_TRY_VOID(reader.integer("max_retries", retry.max_retries, max_retries_max));
    FF_TRY_VOID(read_nested(reader, "backoff", retry.backoff, read_backoff));
    FF_TRY(const js::Array* categories, reader.array("retryable_categories"));
    for (std::size_t i = 0; categories != nullptr && i < categories->size(); ++i) {
        const std::string* category = (*categories)[i].if_string();
        if (category == nullptr) {
            return invalid(reader.path_of("retryable_categories." + std::to_string(i)),
                           "not_string");
        }
        retry.retryable_categories.push_back(*category);
    }
    return retry;
}

expected<TimeoutPolicy> read_timeout(const Reader& reader) {
    TimeoutPolicy timeout;
    FF_TRY_VOID(reader.integer("attempt_timeout_ms", timeout.attempt_timeout_ms));
    FF_TRY_VOID(reader.integer("execution_deadline_ms", timeout.execution_deadline_ms));
    FF_TRY_VOID(reader.integer("max_reclaim_count", timeout.max_reclaim_count, u32_max));
    return timeout;
}

expected<SuspensionPolicy> read_suspension(const Reader& reader) {
    SuspensionPolicy suspension;
    FF_TRY_VOID(reader.integer("default_timeout_ms", suspension.default_timeout_ms));
    FF_TRY_VOID(reader.word("timeout_behavior", timeout_behaviors, suspension.timeout_behavior));
    return suspension;
}

expected<FallbackTier> read_tier(const Reader& reader) {
    for (const std::string_view required : {"provider", "model"}) {
        if (reader.find(required) == nullptr) {
            return invalid(reader.path_of(required), "not_string");
        }
    }
    FallbackTier tier;
    FF_TRY_VOID(reader.string("provider", tier.provider));
    FF_TRY_VOID(reader.string("model", tier.model));
    FF_TRY_VOID(reader.integer("timeout_ms", tier.timeout_ms));
    return tier;
}

expected<std::vector<FallbackTier>> read_fallback(const Reader& reader) {
    std::vector<FallbackTier> tiers;
    FF_TRY(const js::Array* array, reader.array("tiers"));
    if (array == nullptr) {
        return tiers;
    }
    if (array->size() > fallback_tiers_max) {
        return invalid(reader.path_of("tiers"), "too_many");
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
        const js::Value& element = (*array)[i];
        const std::string path = reader.path_of("tiers." + std::to_string(i));
        if (element.if_object() == nullptr) {
            return invalid(path, "not_object");
        }
        FF_TRY(FallbackTier tier, reader.inside(element, path).whole(read_tier));
        tiers.push_back(std::move(tier));
    }
    return tiers;
}

expected<std::vector<std::string>> read_capabilities(const Reader& reader) {
    const js::Value* value = reader.find("required_capabilities");
    if (value == nullptr) {
        return std::vector<std::string>{};
    }
    const js::Array* array = value->if_array();
    if (array == nullptr) {
        return fail(ErrorCode::invalid_capabilities, "required:not_array");
    }
    std::vector<std::string> tokens;
    for (const js::Value& element : *array) {
        if (element.if_string() == nullptr) {
            return fail(ErrorCode::invalid_capabilities, "required:non_string_token");
        }
        tokens.push_back(*element.if_string());
    }
    return normalise_capabilities(std::move(tokens), CapabilitySide::required);
}

expected<RoutingRequirements> read_routing(const Reader& reader) {
    RoutingRequirements routing;
    FF_TRY(routing.required_capabilities, read_capabilities(reader));
    FF_TRY_VOID(reader.string("preferred_locality", routing.preferred_locality));
    FF_TRY_VOID(reader.string("isolation_level", routing.isolation_level));
    // In optional texts empty and absent are the same thing.
    for (auto* text : {&routing.preferred_locality, &routing.isolation_level}) {
        if (*text == "") {
            text->reset();
        }
    }
    return routing;
}

expected<StreamPolicy> read_stream(const Reader& reader) {
    StreamPolicy stream;
    FF_TRY_VOID(reader.word("durability_mode", durability_modes, stream.durability_mode));
    FF_TRY_VOID(reader.integer("retention_maxlen", stream.retention_maxlen));
    FF_TRY_VOID(reader.integer("retention_ttl_ms", stream.retention_ttl_ms));
    return stream;
}

template <class Id>
expected<Id> to_id(const js::Value& value, std::string_view path) {
    if (value.if_string() == nullptr) {
        return invalid(path, "not_string");
    }
    const auto id = Id::parse(*value.if_string());
    if (!id) {
        return invalid(path, "invalid_uuid");
    }
    return *id;
}

expected<std::vector<BudgetId>> read_budget_ids(const Reader& reader) {
    std::vector<BudgetId> ids;
    FF_TRY(const js::Array* array, reader.array("budget_ids"));
    if (array == nullptr) {
        return ids;
    }
    if (array->size() > budget_ids_max) {
        return invalid("budget_ids", "too_many");
    }
    for (std::size_t i = 0; i < array->size(); ++i) {
        FF_TRY(const auto id,
               to_id<BudgetId>((*array)[i], reader.path_of("budget_ids." + std::to_string(i))));
        // A budget named twice is still charged once.
        if (std::ranges::find(ids, id) == ids.end()) {
            ids.push_back(id);
        }
    }
    return ids;
}

expected<std::optional<std::string>> read_limit_key(const Reader& reader) {
    const js::Value* found = reader.find("limit_key");
    if (found == nullptr) {
        return std::nullopt;
    }
    const std::string* key = found->if_string();
    if (key == nullptr) {
        return invalid("limit_key", "not_string");
    }
    if (key->empty() || key->size() > limit_key_bytes_max) {
        return invalid("limit_key", key->empty() ? "empty" : "too_long");
    }
    if (std::ranges::any_of(*key, [](unsigned char c) { return c < 0x20 || c == 0x7F; })) {
        return invalid("limit_key", "control_character");
    }
    return *key;
}

expected<Amounts> read_reserve(const Reader& reader) {
    Amounts amounts;
    const js::Value* found = reader.find("budget_reserve");
    if (found == nullptr) {
        return amounts;
    }
    const js::Object* object = found->if_object();
    if (object == nullptr) {
        return invalid("budget_reserve", "not_object");
    }
    if (object->size() > dimensions_max) {
        return invalid("budget_reserve", "too_many");
    }
    for (const auto& [dimension, value] : *object) {
        if (dimension.empty() || dimension.size() > dimension_bytes_max) {
            return invalid("budget_reserve", "invalid_dimension");
        }
        FF_TRY(const std::int64_t amount, Reader::to_integer(value, "budget_reserve." + dimension));
        if (amount > 0) {
            amounts[dimension] = static_cast<std::uint64_t>(amount);
        }
    }
    return amounts;
}

expected<Policy> read_policy(const Reader& reader) {
    Policy policy;
    FF_TRY_VOID(reader.integer("priority", policy.priority, i32_max));
    FF_TRY_VOID(reader.integer("delay_until", policy.delay_until));
    FF_TRY_VOID(read_nested(reader, "retry_policy", policy.retry_policy, read_retry));
    FF_TRY_VOID(read_nested(reader, "timeout_policy", policy.timeout_policy, read_timeout));
    FF_TRY_VOID(reader.integer("max_reclaim_count", policy.max_reclaim_count, u32_max));
    FF_TRY_VOID(
        read_nested(reader, "suspension_policy", policy.suspension_policy, read_suspension));
    FF_TRY_VOID(read_nested(reader, "fallback_policy", policy.fallback_tiers, read_fallback));
    FF_TRY_VOID(reader.integer("max_replay_count", policy.max_replay_count, u32_max));
    FF_TRY(policy.budget_ids, read_budget_ids(reader));
    FF_TRY(policy.budget_reserve, read_reserve(reader));
    if (const js::Value* id = reader.find("quota_policy_id")) {
        FF_TRY(policy.quota_policy_id, to_id<QuotaPolicyId>(*id, "quota_policy_id"));
    }
    FF_TRY(policy.limit_key, read_limit_key(reader));
    FF_TRY_VOID(
        read_nested(reader, "routing_requirements", policy.routing_requirements, read_routing));
    FF_TRY_VOID(reader.integer("dedup_window_ms", policy.dedup_window_ms));
    FF_TRY_VOID(read_nested(reader, "stream_policy", policy.stream_policy, read_stream));
    FF_TRY_VOID(
        reader.integer("max_signals_per_execution", policy.max_signals_per_execution, u32_max));
    return policy;
}

}  // namespace

expected<Policy> Policy::parse(std::string_view text, UnknownMembers unknown) {
    const auto document = js::parse(text);
    if (!document || document->if_object() == nullptr) {
        return fail(ErrorCode::invalid_policy_json, "malformed");
    }
    return Reader(*document, "", unknown).whole(read_policy);
}

// ------------------------------------------------------------------------------------- writing

namespace {

template <class T>
void add_if(js::Object& object, std::string_view name, const std::optional<T>& value) {
    if (value) {
        object.emplace_back(name, *value);
    }
}

/// What is no number becomes one that no double holds: whoever reads the policy refuses it.
js::Value multiplier_of(const Backoff& backoff) {
    return std::isfinite(backoff.multiplier) ? js::Value(backoff.multiplier)
                                             : js::Value(js::Number{"1e999"});
}

js::Value to_value(const Backoff& backoff) {
    switch (backoff.type) {
        case Backoff::Type::exponential:
            return js::Object{{"type", "exponential"},
                              {"initial_delay_ms", backoff.initial_delay_ms},
                              {"max_delay_ms", backoff.max_delay_ms},
                              {"multiplier", multiplier_of(backoff)},
                              {"jitter", backoff.jitter}};
        case Backoff::Type::fixed:
            return js::Object{{"type", "fixed"}, {"delay_ms", backoff.delay_ms}};
        case Backoff::Type::unknown: break;
    }
    return js::Object{{"type", "fixed"}, {"delay_ms", unknown_backoff_ms}};
}

js::Value to_value(const std::vector<std::string>& texts) {
    return js::Array(texts.begin(), texts.end());
}

js::Value to_value(const RetryPolicy& retry) {
    return js::Object{{"max_retries", retry.max_retries},
                      {"backoff", to_value(retry.backoff)},
                      {"retryable_categories", to_value(retry.retryable_categories)}};
}

js::Value to_value(const TimeoutPolicy& timeout) {
    js::Object object;
    add_if(object, "attempt_timeout_ms", timeout.attempt_timeout_ms);
    add_if(object, "execution_deadline_ms", timeout.execution_deadline_ms);
    add_if(object, "max_reclaim_count", timeout.max_reclaim_count);
    return object;
}

js::Value to_value(const SuspensionPolicy& suspension) {
    js::Object object;
    add_if(object, "default_timeout_ms", suspension.default_timeout_ms);
    object.emplace_back("timeout_behavior", suspension.timeout_behavior);
    return object;
}

js::Value to_value(const std::vector<FallbackTier>& tiers) {
    js::Array array;
    for (const FallbackTier& tier : tiers) {
        js::Object object{{"provider", tier.provider}, {"model", tier.model}};
        add_if(object, "timeout_ms", tier.timeout_ms);
        array.emplace_back(std::move(object));
    }
    return js::Object{{"tiers", std::move(array)}};
}

js::Value to_value(const std::vector<BudgetId>& ids) {
    js::Array array;
    for (const BudgetId& id : ids) {
        array.emplace_back(id.to_string());
    }
    return array;
}

js::Value to_value(const RoutingRequirements& routing) {
    js::Object object{{"required_capabilities", to_value(routing.required_capabilities)}};
    add_if(object, "preferred_locality", routing.preferred_locality);
    add_if(object, "isolation_level", routing.isolation_level);
    return object;
}

js::Value to_value(const StreamPolicy& stream) {
    js::Object object{{"durability_mode", stream.durability_mode},
                      {"retention_maxlen", stream.retention_maxlen}};
    add_if(object, "retention_ttl_ms", stream.retention_ttl_ms);
    return object;
}

template <class T>
void add_nested_if(js::Object& object, std::string_view name, const std::optional<T>& value) {
    if (value) {
        object.emplace_back(name, to_value(*value));
    }
}

}  // namespace

std::string Policy::to_json() const {
    js::Object object;
    if (priority != 0) {
        object.emplace_back("priority", priority);
    }
    add_if(object, "delay_until", delay_until);
    add_nested_if(object, "retry_policy", retry_policy);
    add_nested_if(object, "timeout_policy", timeout_policy);
    add_if(object, "max_reclaim_count", max_reclaim_count);
    add_nested_if(object, "suspension_policy", suspension_policy);
    if (!fallback_tiers.empty()) {
        object.emplace_back("fallback_policy", to_value(fallback_tiers));
    }
    add_if(object, "max_replay_count", max_replay_count);
    if (!budget_ids.empty()) {
        object.emplace_back("budget_ids", to_value(budget_ids));
    }
    if (!budget_reserve.empty()) {
        js::Object amounts;
        for (const auto& [dimension, amount] : budget_reserve) {
            amounts.emplace_back(dimension, amount);
        }
        object.emplace_back("budget_reserve", std::move(amounts));
    }
    if (quota_policy_id) {
        object.emplace_back("quota_policy_id", quota_policy_id->to_string());
    }
    if (limit_key) {
        object.emplace_back("limit_key", *limit_key);
    }
    add_nested_if(object, "routing_requirements", routing_requirements);
    add_if(object, "dedup_window_ms", dedup_window_ms);
    add_nested_if(object, "stream_policy", stream_policy);
    add_if(object, "max_signals_per_execution", max_signals_per_execution);
    return js::dump(object);
}

std::uint32_t Policy::reclaim_cap() const {
    if (max_reclaim_count) {
        return *max_reclaim_count;
    }
    if (timeout_policy && timeout_policy->max_reclaim_count) {
        return *timeout_policy->max_reclaim_count;
    }
    return reclaim_cap_default;
}

// ------------------------------------------------------------------------------------- backoff

DurationMs backoff_delay(const Backoff& backoff, std::uint32_t n) {
    switch (backoff.type) {
        case Backoff::Type::fixed: return backoff.delay_ms;
        case Backoff::Type::exponential: break;
        case Backoff::Type::unknown: return unknown_backoff_ms;
    }
    if (backoff.initial_delay_ms == 0) {
        return 0;  // nothing grows from nothing, even by an infinite factor
    }
    const double delay =
        static_cast<double>(backoff.initial_delay_ms) * std::pow(backoff.multiplier, n);
    // Written so that infinity and NaN take the maximum too.
    if (!(delay < static_cast<double>(backoff.max_delay_ms))) {
        return backoff.max_delay_ms;
    }
    return static_cast<DurationMs>(std::floor(delay));
}

}  // namespace ff
