#include "core/resume_condition.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

namespace ff::core {

std::string camel_case(std::string_view word) {
    std::string out;
    bool starts = true;
    for (const char c : word) {
        if (c == '_') {
            starts = true;
            continue;
        }
        out += starts && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        starts = false;
    }
    return out;
}

namespace {

constexpr std::int64_t u32_max = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t delay_ms_max = std::int64_t{1} << 53;

FF_WORD_ENUM(Form, single, operator_only, timeout_only, composite, signal_set)
FF_WORD_ENUM(CompositeKind, all_of, count)
FF_WORD_ENUM(MatcherForm, by_name, wildcard)
FF_WORD_ENUM(ResumeTarget, runnable)

std::unexpected<Error> bad(const std::string& place, std::string_view what) {
    return ff::fail(ErrorCode::invalid_input, place + ": " + std::string(what));
}

// ------------------------------------------------------------------------------------- reading

/// One object and its place. A member is read into a variable only when it is there: absent and
/// null leave the default that stands in it.
class Reader {
  public:
    Reader(const js::Value& object, std::string place)
        : object_(object), place_(std::move(place)) {}

    [[nodiscard]] const std::string& place() const { return place_; }
    [[nodiscard]] std::string place_of(std::string_view name) const {
        return place_ + "." + std::string(name);
    }
    [[nodiscard]] const js::Value* find(std::string_view name) const {
        const js::Value* value = object_.find(name);
        return value == nullptr || value->is_null() ? nullptr : value;
    }
    /// Refuses other members than these: one that is misspelt would let anything resume. The first
    /// `required` of them must be there, be it null.
    [[nodiscard]] expected<void> members(std::initializer_list<std::string_view> names,
                                         std::size_t required) const {
        for (const auto& [name, value] : *object_.if_object()) {
            if (std::ranges::find(names, name) == names.end()) {
                std::string known;
                for (const std::string_view one : names) {
                    known += (known.empty() ? "" : ", ") + std::string(one);
                }
                return bad(place_, "unknown member \"" + name + "\", expected " + known);
            }
        }
        for (auto name = names.begin(); required > 0; ++name, --required) {
            if (object_.find(*name) == nullptr) {
                return bad(place_of(*name), "missing");
            }
        }
        return {};
    }

    expected<void> string(std::string_view name, std::string& target) const {
        if (const js::Value* value = find(name)) {
            if (value->if_string() == nullptr) {
                return bad(place_of(name), "expected a string");
            }
            target = *value->if_string();
        }
        return {};
    }
    expected<void> boolean(std::string_view name, bool& target) const {
        if (const js::Value* value = find(name)) {
            if (value->if_bool() == nullptr) {
                return bad(place_of(name), "expected true or false");
            }
            target = *value->if_bool();
        }
        return {};
    }
    /// `Target` is a number type or an optional of one.
    template <class Target>
    expected<void> integer(std::string_view name, Target& target, std::int64_t value_max) const {
        if (const js::Value* value = find(name)) {
            const auto number = value->as_int64();
            if (!number || *number < 0 || *number > value_max) {
                return bad(place_of(name),
                           "expected an integer in 0..=" + std::to_string(value_max));
            }
            if constexpr (requires { typename Target::value_type; }) {
                target = static_cast<typename Target::value_type>(*number);
            } else {
                target = static_cast<Target>(*number);
            }
        }
        return {};
    }
    template <class E>
    expected<void> word(std::string_view name, E& target) const {
        if (const js::Value* value = find(name)) {
            const std::string* text = value->if_string();
            const auto found = text == nullptr ? std::nullopt : parse_either<E>(*text);
            if (!found) {
                return bad(place_of(name), "expected " + choices<E>());
            }
            target = *found;
        }
        return {};
    }
    expected<void> strings(std::string_view name, std::vector<std::string>& target) const {
        FF_TRY(const js::Array* array, this->array(name));
        if (array == nullptr) {
            return {};
        }
        target.clear();
        for (std::size_t i = 0; i < array->size(); ++i) {
            const std::string* text = (*array)[i].if_string();
            if (text == nullptr) {
                return bad(place_of(name) + "[" + std::to_string(i) + "]", "expected a string");
            }
            target.push_back(*text);
        }
        return {};
    }
    /// The elements of an array, or null when it is absent.
    [[nodiscard]] expected<const js::Array*> array(std::string_view name) const {
        const js::Value* value = find(name);
        if (value != nullptr && value->if_array() == nullptr) {
            return bad(place_of(name), "expected an array");
        }
        return value == nullptr ? nullptr : value->if_array();
    }

    template <class E>
    static std::string choices() {
        std::string out;
        for (std::size_t i = 0; i < enum_count<E>; ++i) {
            out += i == 0 ? "" : i + 1 == enum_count<E> ? " or " : ", ";
            out += camel_case(enum_names<E>[i]);
        }
        return out;
    }

  private:
    const js::Value& object_;
    std::string place_;
};

/// `"Word"` or `{"Word": content}`; the content is null for the first.
template <class E>
struct Tagged {
    E tag;
    const js::Value* content = nullptr;
};

template <class E>
expected<Tagged<E>> tagged(const js::Value& value, const std::string& place) {
    if (const std::string* word = value.if_string()) {
        if (const auto tag = parse_either<E>(*word)) {
            return Tagged<E>{*tag, nullptr};
        }
    }
    const js::Object* object = value.if_object();
    if (object != nullptr && object->size() == 1) {
        if (const auto tag = parse_either<E>(object->front().first)) {
            return Tagged<E>{*tag, &object->front().second};
        }
    }
    return bad(place, "expected " + Reader::choices<E>());
}

/// The name it accepts; absent for any, also when there is no matcher at all.
expected<std::optional<std::string>> read_matcher(const Reader& reader) {
    const js::Value* value = reader.find("matcher");
    if (value == nullptr) {
        return std::nullopt;
    }
    const std::string place = reader.place_of("matcher");
    FF_TRY(const auto matcher, tagged<MatcherForm>(*value, place));
    if (matcher.tag == MatcherForm::wildcard) {
        return std::nullopt;
    }
    const std::string* name = matcher.content == nullptr ? nullptr : matcher.content->if_string();
    if (name == nullptr) {
        return bad(place, "ByName: expected a string");
    }
    return *name;
}

expected<ResumeCondition> read_single(const Reader& reader) {
    ResumeCondition condition;
    FF_TRY_VOID(reader.members({"matcher", "waitpoint_key"}, 1));
    FF_TRY_VOID(reader.string("waitpoint_key", condition.waitpoint_key));
    FF_TRY(condition.signal_name, read_matcher(reader));
    return condition;
}

expected<ResumeCondition> read_all_of(const Reader& reader) {
    ResumeCondition condition;
    condition.kind = ResumeCondition::Kind::all_of;
    FF_TRY_VOID(reader.members({"kind", "members"}, 1));
    FF_TRY(const js::Array* members, reader.array("members"));
    for (std::size_t i = 0; members != nullptr && i < members->size(); ++i) {
        const std::string place = reader.place_of("members[" + std::to_string(i) + "]");
        FF_TRY(auto member, condition_of((*members)[i], place));
        condition.members.push_back(std::move(member));
    }
    return condition;
}

expected<ResumeCondition> read_count(const Reader& reader) {
    ResumeCondition condition;
    condition.kind = ResumeCondition::Kind::count;
    condition.waitpoints = {""};
    FF_TRY_VOID(reader.members({"kind", "n", "count_kind", "matcher", "waitpoints"}, 1));
    if (reader.find("n") == nullptr) {
        return bad(reader.place_of("n"), "missing");
    }
    FF_TRY_VOID(reader.integer("n", condition.n, u32_max));
    FF_TRY_VOID(reader.word("count_kind", condition.count_kind));
    FF_TRY(condition.signal_name, read_matcher(reader));
    FF_TRY_VOID(reader.strings("waitpoints", condition.waitpoints));
    return condition;
}

expected<ResumeCondition> read_composite(const Reader& reader) {
    if (reader.find("kind") == nullptr) {
        return bad(reader.place_of("kind"), "missing");
    }
    CompositeKind kind = CompositeKind::all_of;
    FF_TRY_VOID(reader.word("kind", kind));
    return kind == CompositeKind::all_of ? read_all_of(reader) : read_count(reader);
}

expected<ResumeCondition> read_signal_set(const Reader& reader) {
    ResumeCondition condition;
    condition.kind = ResumeCondition::Kind::signal_set;
    FF_TRY_VOID(reader.members(
        {"required_signal_names", "waitpoint_key", "signal_match_mode", "minimum_signal_count"},
        1));
    FF_TRY_VOID(reader.string("waitpoint_key", condition.waitpoint_key));
    FF_TRY_VOID(reader.strings("required_signal_names", condition.required_signal_names));
    FF_TRY_VOID(reader.word("signal_match_mode", condition.signal_match_mode));
    FF_TRY_VOID(reader.integer("minimum_signal_count", condition.minimum_signal_count, u32_max));
    return condition;
}

// ------------------------------------------------------------------------------------- writing

js::Value strings_value(const std::vector<std::string>& words) {
    return js::Array(words.begin(), words.end());
}

js::Value matcher_value(const std::optional<std::string>& name) {
    return name ? js::Value(js::Object{{"ByName", *name}}) : js::Value("Wildcard");
}

/// The key of the only waitpoint is left out.
void add_key(js::Object& object, const std::string& key) {
    if (!key.empty()) {
        object.emplace_back("waitpoint_key", key);
    }
}

js::Value single_value(const ResumeCondition& condition) {
    js::Object object;
    add_key(object, condition.waitpoint_key);
    object.emplace_back("matcher", matcher_value(condition.signal_name));
    return js::Object{{"Single", std::move(object)}};
}

js::Value all_of_value(const ResumeCondition& condition) {
    js::Array members;
    for (const ResumeCondition& member : condition.members) {
        members.push_back(to_value(member));
    }
    return js::Object{
        {"Composite", js::Object{{"kind", "AllOf"}, {"members", std::move(members)}}}};
}

js::Value count_value(const ResumeCondition& condition) {
    js::Object object{{"kind", "Count"},
                      {"n", condition.n},
                      {"count_kind", camel_case(to_string(condition.count_kind))}};
    if (condition.signal_name) {
        object.emplace_back("matcher", matcher_value(condition.signal_name));
    }
    if (condition.waitpoints != std::vector<std::string>{""}) {
        object.emplace_back("waitpoints", strings_value(condition.waitpoints));
    }
    return js::Object{{"Composite", std::move(object)}};
}

js::Value signal_set_value(const ResumeCondition& condition) {
    js::Object object;
    add_key(object, condition.waitpoint_key);
    object.emplace_back("required_signal_names", strings_value(condition.required_signal_names));
    object.emplace_back("signal_match_mode", to_string(condition.signal_match_mode));
    object.emplace_back("minimum_signal_count", condition.minimum_signal_count);
    return js::Object{{"SignalSet", std::move(object)}};
}

}  // namespace

js::Value to_value(const ResumeCondition& condition) {
    switch (condition.kind) {
        case ResumeCondition::Kind::single: return single_value(condition);
        case ResumeCondition::Kind::operator_only: return "OperatorOnly";
        case ResumeCondition::Kind::timeout_only: return "TimeoutOnly";
        case ResumeCondition::Kind::all_of: return all_of_value(condition);
        case ResumeCondition::Kind::count: return count_value(condition);
        case ResumeCondition::Kind::signal_set: return signal_set_value(condition);
    }
    return nullptr;
}

expected<ResumeCondition> condition_of(const js::Value& value, const std::string& place) {
    FF_TRY(const auto form, tagged<Form>(value, place));
    if (form.tag == Form::operator_only) {
        return ResumeCondition::operator_only();
    }
    if (form.tag == Form::timeout_only) {
        return ResumeCondition::timeout_only();
    }
    if (form.content == nullptr || form.content->if_object() == nullptr) {
        return bad(place, camel_case(to_string(form.tag)) + ": expected an object");
    }
    const Reader reader(*form.content, place);
    switch (form.tag) {
        case Form::composite: return read_composite(reader);
        case Form::signal_set: return read_signal_set(reader);
        default: return read_single(reader);
    }
}

js::Value to_value(const ResumePolicy& policy) {
    js::Object object{
        {"resume_target", camel_case(to_string(ResumeTarget::runnable))},
        {"consume_matched_signals", policy.consume_matched_signals},
        {"retain_signal_buffer_until_closed", policy.retain_signal_buffer_until_closed}};
    if (policy.resume_delay_ms) {
        object.emplace_back("resume_delay_ms", *policy.resume_delay_ms);
    }
    object.emplace_back("close_waitpoint_on_resume", policy.close_waitpoint_on_resume);
    return object;
}

expected<ResumePolicy> resume_policy_of(const js::Value& value, const std::string& place) {
    if (value.if_object() == nullptr) {
        return bad(place, "expected an object");
    }
    const Reader reader(value, place);
    ResumePolicy policy;
    ResumeTarget target = ResumeTarget::runnable;
    FF_TRY_VOID(reader.word("resume_target", target));
    FF_TRY_VOID(reader.boolean("consume_matched_signals", policy.consume_matched_signals));
    FF_TRY_VOID(reader.boolean("retain_signal_buffer_until_closed",
                               policy.retain_signal_buffer_until_closed));
    FF_TRY_VOID(reader.integer("resume_delay_ms", policy.resume_delay_ms, delay_ms_max));
    FF_TRY_VOID(reader.boolean("close_waitpoint_on_resume", policy.close_waitpoint_on_resume));
    return policy;
}

namespace {

/// What nearly every suspension has.
const std::string& usual_policy() {
    static const std::string text = js::dump(to_value(ResumePolicy{}));
    return text;
}

}  // namespace

std::string to_json(const ResumePolicy& policy) {
    return policy == ResumePolicy{} ? usual_policy() : js::dump(to_value(policy));
}

expected<ResumePolicy> parse_resume_policy(std::string_view text) {
    if (text == usual_policy()) {
        return ResumePolicy{};
    }
    const auto document = js::parse(text);
    if (!document) {
        return bad("resume_policy", document.error().detail);
    }
    return resume_policy_of(*document);
}

}  // namespace ff::core

// --------------------------------------------------------------------------------- for callers

namespace ff {

ResumeCondition ResumeCondition::single(std::string key, std::optional<std::string> signal_name) {
    ResumeCondition condition;
    condition.waitpoint_key = std::move(key);
    condition.signal_name = std::move(signal_name);
    return condition;
}

ResumeCondition ResumeCondition::operator_only() {
    ResumeCondition condition;
    condition.kind = Kind::operator_only;
    return condition;
}

ResumeCondition ResumeCondition::timeout_only() {
    ResumeCondition condition;
    condition.kind = Kind::timeout_only;
    return condition;
}

ResumeCondition ResumeCondition::all_of(std::vector<ResumeCondition> members) {
    ResumeCondition condition;
    condition.kind = Kind::all_of;
    condition.members = std::move(members);
    return condition;
}

ResumeCondition ResumeCondition::count(std::uint32_t n, CountKind kind,
                                       std::vector<std::string> keys,
                                       std::optional<std::string> signal_name) {
    ResumeCondition condition;
    condition.kind = Kind::count;
    condition.n = n;
    condition.count_kind = kind;
    condition.waitpoints = std::move(keys);
    condition.signal_name = std::move(signal_name);
    return condition;
}

ResumeCondition ResumeCondition::signal_set(std::string key, std::vector<std::string> names,
                                            SignalMatchMode mode, std::uint32_t minimum) {
    ResumeCondition condition;
    condition.kind = Kind::signal_set;
    condition.waitpoint_key = std::move(key);
    condition.required_signal_names = std::move(names);
    condition.signal_match_mode = mode;
    condition.minimum_signal_count = minimum;
    return condition;
}

ResumeCondition ResumeCondition::from_distinct_sources(std::uint32_t number) const {
    switch (kind) {
        case Kind::single:
            return count(number, CountKind::distinct_sources, {waitpoint_key}, signal_name);
        case Kind::count:
            return count(number, CountKind::distinct_sources, waitpoints, signal_name);
        default: return *this;
    }
}

ResumeCondition ResumeCondition::times(std::uint32_t number) const {
    switch (kind) {
        case Kind::single:
            return count(number, CountKind::distinct_signals, {waitpoint_key}, signal_name);
        case Kind::count:
            return count(number, CountKind::distinct_signals, waitpoints, signal_name);
        case Kind::signal_set:
            return signal_set(waitpoint_key, required_signal_names, SignalMatchMode::count, number);
        default: return *this;
    }
}

ResumeCondition ResumeCondition::on(std::string key) const {
    ResumeCondition condition = *this;
    switch (kind) {
        case Kind::single:
        case Kind::signal_set: condition.waitpoint_key = std::move(key); break;
        case Kind::count: condition.waitpoints = {std::move(key)}; break;
        case Kind::all_of:
            for (ResumeCondition& member : condition.members) {
                member = member.on(key);
            }
            break;
        case Kind::operator_only:
        case Kind::timeout_only: break;
    }
    return condition;
}

std::string ResumeCondition::to_json() const { return js::dump(core::to_value(*this)); }

expected<ResumeCondition> ResumeCondition::parse(std::string_view text) {
    const auto document = js::parse(text);
    if (!document) {
        return core::bad("resume_condition", document.error().detail);
    }
    return core::condition_of(*document);
}

ResumeCondition any_signal(std::string name) {
    return ResumeCondition::single({}, std::move(name));
}

ResumeCondition any_signal() { return ResumeCondition::single({}); }

}  // namespace ff
