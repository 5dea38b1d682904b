#include "wire/request_in.h"

#include <algorithm>

namespace ff::wire {

std::string_view Routed::parameter(std::string_view name) const {
    for (const auto& [key, value] : path) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

const std::string* Routed::query_value(std::string_view name) const {
    const std::string* found = nullptr;
    for (const auto& [key, value] : query) {
        if (key == name) {
            found = &value;
        }
    }
    return found;
}

// ----------------------------------------------------------------------------------- the visitor

std::optional<RequestFault> RequestIn::early_fault() const {
    if (!path_fault_.empty()) {
        return RequestFault{400, "invalid path: " + path_fault_};
    }
    if (bad_cursor_) {
        return RequestFault{400, "invalid cursor: " + *bad_cursor_};
    }
    if (!query_fault_.empty()) {
        return RequestFault{400, "invalid query: " + query_fault_};
    }
    return std::nullopt;
}

std::optional<RequestFault> RequestIn::fault() const {
    if (auto early = early_fault()) {
        return early;
    }
    if (!body_fault_.empty()) {
        return RequestFault{422, "invalid JSON: Unprocessable Entity: " + body_fault_,
                            ErrorCode::invalid_input, bad_member_, body_fault_};
    }
    if (!id_fault_.empty()) {
        // The chapter gives this one no adjective.
        const std::string_view how = bad_id_ == "waitpoint_id" ? "" : "invalid ";
        return RequestFault{400, std::string(how) + bad_id_ + ": " + id_fault_};
    }
    if (!mismatch_.empty()) {
        return RequestFault{400, mismatch_};
    }
    if (corrupt_handle_) {
        return RequestFault{400, *corrupt_handle_, ErrorCode::corruption};
    }
    if (refusal_) {
        return refusal_;
    }
    return std::nullopt;
}

const json* RequestIn::member_of(std::string_view name) const {
    return body_fault_.empty() ? routed_.body.find(name) : nullptr;
}

const json* RequestIn::wanted(std::string_view name) {
    const json* member = member_of(name);
    if (member == nullptr) {
        keep(name, ": missing");
    }
    return member;
}

void RequestIn::keep(std::string_view name, Fault fault) {
    if (!fault.empty() && body_fault_.empty()) {
        bad_member_ = name;
        body_fault_ = bad_member_ + std::move(fault);
    }
}

void RequestIn::keep_query(std::string_view name, std::string_view text, Fault fault) {
    if (!fault.empty() && query_fault_.empty()) {
        query_fault_ = std::string(name) + std::move(fault);
        if (name == "cursor") {
            bad_cursor_ = text;
        }
    }
}

void RequestIn::keep_id(std::string_view name, std::string why) {
    if (id_fault_.empty()) {
        bad_id_ = name;
        id_fault_ = std::move(why);
    }
}

void RequestIn::refuse(std::string_view name, ErrorCode code, std::string why) {
    if (!refusal_) {
        refusal_ = RequestFault{400, std::string(to_string(code)) + ": " + why, code,
                                std::string(name), why};
    }
}

void RequestIn::id(ExecutionId& id) {
    if (named_ == Named::in_body) {
        required("execution_id", id);
        return;
    }
    const auto parsed = ExecutionId::parse(routed_.parameter("id"));
    if (!parsed) {
        keep_id("execution_id", parsed.error().detail);
    } else {
        id = *parsed;
    }
    const json* member = member_of("execution_id");
    if (member == nullptr) {
        return;
    }
    ExecutionId named;
    Fault fault = read(*member, named);
    if (fault.empty() && parsed && named != *parsed) {
        mismatch_ = "path execution_id does not match body execution_id";
    }
    keep("execution_id", std::move(fault));
}

/// A number, or `current`: then there is none.
void RequestIn::read_index(std::optional<std::uint32_t>& index) {
    constexpr std::string_view current = "current";
    if (named_ == Named::in_body) {
        const json* member = wanted("attempt_index");
        const std::string* word = member != nullptr ? member->if_string() : nullptr;
        if (member != nullptr && (word == nullptr || *word != current)) {
            keep("attempt_index", read(*member, index.emplace()));
        }
        return;
    }
    const std::string_view text = routed_.parameter("idx");
    if (text == current) {
        return;
    }
    if (const Fault fault = parse_text(text, index.emplace()); !fault.empty()) {
        path_fault_ = "attempt index" + fault;
    }
}

void RequestIn::attempt(ExecutionId& execution, std::optional<std::uint32_t>& index) {
    id(execution);
    read_index(index);
}

void RequestIn::lease(LeaseRef& lease) {
    id(lease.execution_id);
    read_index(lease.attempt_index);
    if (const json* handle = member_of("handle"); handle != nullptr && !handle->is_null()) {
        read_handle(*handle, lease);
    } else if (const json* fence = member_of("fence"); fence != nullptr && !fence->is_null()) {
        read_fence(*fence, lease);
    }
}

namespace {

/// A word that no store has gets a tag that none has either.
BackendTag backend_of(std::string_view word) {
    if (word == "postgres") {
        return BackendTag::postgres;
    }
    return word == "sqlite" ? BackendTag::sqlite : BackendTag::reserved;
}

}  // namespace

void RequestIn::read_fence(const json& fence, LeaseRef& lease) {
    if (fence.if_object() == nullptr) {
        keep("fence", ": expected an object");
        return;
    }
    const auto part = [&](std::string_view name, auto& value) {
        if (const json* member = fence.find(name)) {
            keep("fence." + std::string(name), read(*member, value));
        }
    };
    part("lease_id", lease.lease_id);
    part("lease_epoch", lease.lease_epoch);
    part("attempt_id", lease.attempt_id);
    std::optional<std::string> backend_word;
    part("backend", backend_word);
    part("suspended", lease.suspended);
    if (backend_word) {
        lease.backend = backend_of(*backend_word);
    }
}

void RequestIn::read_handle(const json& handle, LeaseRef& lease) {
    const std::string* text = handle.if_string();
    if (text == nullptr) {
        keep("handle", ": expected a string");
        return;
    }
    const auto parsed = Handle::parse_text(*text);
    if (!parsed) {
        corrupt_handle_ = "validation_error: " + parsed.error().detail;
        return;
    }
    const bool same_attempt =
        !lease.attempt_index || *lease.attempt_index == parsed->attempt_index;  // or `current`
    if (parsed->execution_id != lease.execution_id || !same_attempt) {
        mismatch_ = "the handle names another execution or attempt than the path";
        return;
    }
    lease = *parsed;
}

void RequestIn::named_id(std::string_view name, InPath id) {
    if (const Fault fault = id.parse(routed_.parameter("id")); !fault.empty()) {
        keep_id(name, fault.substr(2));
    }
}

void RequestIn::budget_id(BudgetId& id) { named_id("budget_id", id); }
void RequestIn::quota_id(QuotaPolicyId& id) { named_id("quota_policy_id", id); }

void RequestIn::path_id(std::string_view name, InPath id) {
    if (const Fault fault = id.parse(routed_.parameter(name)); !fault.empty()) {
        keep_id(name, fault.substr(2));
    }
}

void RequestIn::path(std::string_view name, std::string& value) { value = routed_.parameter(name); }
void RequestIn::path_for_people(std::string_view /*name*/, std::string& /*value*/) {}

void RequestIn::body_or_query(std::string_view name, InBodyOrQuery value) {
    if (const json* member = member_of(name)) {
        keep(name, value.read(*member));
    } else if (body_fault_.empty()) {
        query(name, value);
    }
}

void RequestIn::query(std::string_view name, InQuery value) {
    const std::string* text = routed_.query_value(name);
    if (text != nullptr) {
        keep_query(name, *text, value.parse(*text));
    } else if (query_fault_.empty()) {
        query_fault_ = std::string(name) + ": missing";
    }
}

void RequestIn::query_optional(std::string_view name, InQuery value) {
    const std::string* text = routed_.query_value(name);
    if (text != nullptr && !text->empty()) {
        keep_query(name, *text, value.parse(*text));
    }
}

void RequestIn::query_defaulted(std::string_view name, InQuery value) {
    if (const std::string* text = routed_.query_value(name)) {
        keep_query(name, *text, value.parse(*text));
    }
}

void RequestIn::query_each(std::string_view name, ListInQuery values) {
    for (const auto& [key, text] : routed_.query) {
        if (key == name) {
            keep_query(name, text, values.parse(text));
        }
    }
}

void RequestIn::query_constant(std::string_view /*name*/, std::string_view /*value*/) {}

void RequestIn::query_cursor(CursorInQuery cursor) {
    const std::string* text = routed_.query_value("after");
    text = text != nullptr ? text : routed_.query_value("cursor");
    if (text != nullptr && !text->empty() && !cursor.parse(*text).empty()) {
        bad_cursor_ = *text;
    }
}

void RequestIn::query_count(std::string_view name, std::uint64_t& value, std::uint64_t most) {
    const std::string* text = routed_.query_value(name);
    if (text == nullptr) {
        return;
    }
    Fault fault = parse_text(*text, value);
    if (fault.empty() && value == 0) {
        fault = " must be >= 1";
    } else if (fault.empty() && value > most) {
        fault = " must be <= " + std::to_string(most);
    }
    keep_query(name, *text, std::move(fault));
}

void RequestIn::query_sequence(std::string_view name, std::uint64_t& after) {
    const std::string* text = routed_.query_value("cursor");
    const std::string_view spelled = text != nullptr && !text->empty() ? "cursor" : name;
    text = routed_.query_value(spelled);
    if (text != nullptr && !text->empty()) {
        keep_query(spelled, *text, parse_text(*text, after));
    }
}

void RequestIn::query_flag(std::string_view name, bool& value) {
    const std::string* text = routed_.query_value(name);
    if (text == nullptr || text->empty()) {
        return;
    }
    value = *text == "true" || *text == "1";
    const bool known = value || *text == "false" || *text == "0";
    keep_query(name, *text, known ? "" : ": expected true or false");
}

void RequestIn::query_tags(Tags& tags) {
    constexpr std::string_view prefix = "tag.";
    for (const auto& [key, value] : routed_.query) {
        if (key.starts_with(prefix)) {
            tags.insert_or_assign(key.substr(prefix.size()), value);
        }
    }
}

void RequestIn::query_order(bool& oldest_first) {
    const std::string* text = routed_.query_value("order");
    if (text == nullptr || *text == "created_desc") {
        return;
    }
    oldest_first = *text == "created_asc";
    keep_query("order", *text, oldest_first ? "" : ": expected created_desc or created_asc");
}

void RequestIn::query_limit(std::uint32_t& limit, std::uint32_t fallback, std::uint32_t most) {
    const std::string* text = routed_.query_value("limit");
    limit = fallback;
    if (text != nullptr) {
        std::uint64_t number = 0;
        Fault fault = parse_text(*text, number);
        limit = static_cast<std::uint32_t>(std::min<std::uint64_t>(number, most));
        keep_query("limit", *text, std::move(fault));
    }
}

void RequestIn::required(std::string_view name, InBody value) {
    if (const json* member = wanted(name)) {
        keep(name, value.read(*member));
    }
}

void RequestIn::required_id(std::string_view name, InBody id) {
    const json* member = wanted(name);
    if (member == nullptr) {
        return;
    }
    Fault fault = id.read(*member);
    if (!fault.empty() && member->if_string() != nullptr) {
        keep_id(name, fault.substr(2));
    } else {
        keep(name, std::move(fault));
    }
}

void RequestIn::optional(std::string_view name, OptionalInBody value) { defaulted(name, value); }
void RequestIn::sparse(std::string_view name, SparseInBody value) { defaulted(name, value); }

void RequestIn::defaulted(std::string_view name, InBody value) {
    if (const json* member = member_of(name)) {
        keep(name, value.read(*member));
    }
}

void RequestIn::or_null(std::string_view name, InBody value) {
    if (const json* member = member_of(name); member != nullptr && !member->is_null()) {
        keep(name, value.read(*member));
    }
}

void RequestIn::in_range(std::string_view name, const json& member, AnyValue value,
                         std::int64_t low, std::int64_t high) {
    std::int64_t number = 0;
    Fault fault = read_signed(member, low, high, number);
    keep(name, fault.empty() ? value.read(member) : std::move(fault));
}

void RequestIn::ranged(std::string_view name, NumberInBody value, std::int64_t low,
                       std::int64_t high) {
    if (const json* member = member_of(name)) {
        in_range(name, *member, value, low, high);
    }
}

void RequestIn::required_ranged(std::string_view name, NumberInBody value, std::int64_t low,
                                std::int64_t high) {
    if (const json* member = wanted(name)) {
        in_range(name, *member, value, low, high);
    }
}

void RequestIn::optional_ranged(std::string_view name, OptionalNumberInBody value, std::int64_t low,
                                std::int64_t high) {
    if (const json* member = member_of(name); member != nullptr && !member->is_null()) {
        in_range(name, *member, value, low, high);
    }
}

void RequestIn::lane(std::string_view name, std::string& value) {
    required(name, value);
    if (body_fault_.empty()) {
        if (const auto ok = check_lane(name, value); !ok) {
            bad_member_ = name;
            body_fault_ = ok.error().detail;
        }
    }
}

void RequestIn::lanes(std::string_view name, std::vector<std::string>& values) {
    required(name, values);
    for (std::size_t i = 0; i < values.size() && body_fault_.empty(); ++i) {
        if (const auto ok = check_lane(name, values[i]); !ok) {
            bad_member_ = name;
            body_fault_ = ok.error().detail;
        }
    }
}

void RequestIn::bytes(std::string_view name, std::string& value) {
    if (const json* member = wanted(name)) {
        keep(name, read_bytes(*member, value));
    }
}

void RequestIn::optional_bytes(std::string_view name, std::optional<std::string>& value) {
    const json* member = member_of(name);
    if (member != nullptr && !member->is_null()) {
        keep(name, read_bytes(*member, value.emplace()));
    }
}

void RequestIn::sparse_bytes(std::string_view name, std::string& value) {
    const json* member = member_of(name);
    if (member != nullptr && !member->is_null()) {
        keep(name, read_bytes(*member, value));
    }
}

void RequestIn::optional_text(std::string_view name, std::optional<std::string>& value,
                              std::size_t bytes_max) {
    optional(name, value);
    if (value && value->size() > bytes_max) {
        keep(name, ": longer than " + std::to_string(bytes_max) + " bytes");
    }
}

void RequestIn::document(std::string_view name, std::optional<std::string>& value) {
    const json* member = member_of(name);
    if (member != nullptr && !member->is_null()) {
        const std::string* text = member->if_string();
        value = text != nullptr ? *text : js::dump(*member);  // the engine reads it
    }
}

void RequestIn::source(Source& source) {
    source = Source::lease_holder;
    std::optional<std::string> word;
    optional("source", word);
    if (word && *word == "operator_override") {
        source = Source::operator_override;
    } else if (word && *word != "lease_holder") {
        keep("source", ": expected lease_holder or operator_override");
    }
}

void RequestIn::backend(std::optional<BackendTag>& backend) {
    std::optional<std::string> word;
    optional("backend", word);
    if (word) {
        backend = backend_of(*word);
    }
}

void RequestIn::constant(std::string_view /*name*/, std::string_view /*value*/) {}
void RequestIn::ignored(std::string_view /*name*/) {}

}  // namespace ff::wire
