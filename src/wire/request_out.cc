#include "wire/request_out.h"

#include <type_traits>

#include "base/check.h"
#include "core/resume_condition.h"
#include "wire/requests.h"
#include "wire/url.h"

namespace ff::wire {

std::string_view to_string(Method method) {
    switch (method) {
        case Method::get: return "GET";
        case Method::post: return "POST";
        case Method::put: return "PUT";
        case Method::delete_: return "DELETE";
    }
    return "";
}

namespace {

std::string_view backend_word(BackendTag backend) {
    switch (backend) {
        case BackendTag::reserved: return "reserved";
        case BackendTag::postgres: return "postgres";
        case BackendTag::sqlite: return "sqlite";
    }
    return "";
}

}  // namespace

void RequestOut::fill(std::string_view name, std::string_view value) {
    const std::size_t open = at_.path.find('{', written_);
    const std::size_t close = at_.path.find('}', written_);
    FF_CHECK(open != std::string_view::npos && at_.path.substr(open + 1, close - open - 1) == name,
             "parameters are described in the order of the path");
    target_ += at_.path.substr(written_, open - written_);
    append_encoded(target_, value);
    written_ = close + 1;
}

void RequestOut::add_query(std::string_view name, std::string_view value) {
    query_ += query_.empty() ? '?' : '&';
    append_encoded(query_, name);
    query_ += '=';
    append_encoded(query_, value);
}

void RequestOut::id(ExecutionId& id) { fill("id", id.to_string()); }
void RequestOut::flow_id(FlowId& id) { fill("id", id.to_string()); }
void RequestOut::budget_id(BudgetId& id) { fill("id", id.to_string()); }
void RequestOut::quota_id(QuotaPolicyId& id) { fill("id", id.to_string()); }
void RequestOut::path_id(std::string_view name, InPath id) { fill(name, id.texts().front()); }
void RequestOut::path(std::string_view name, std::string& value) { fill(name, value); }
void RequestOut::path_for_people(std::string_view name, std::string& value) { fill(name, value); }
void RequestOut::family(EventFamily& family) { fill("family", event_family_path(family)); }

void RequestOut::add_texts(std::string_view name, AnyValue value) {
    for (const std::string& text : value.texts()) {
        add_query(name, text);
    }
}
void RequestOut::query(std::string_view name, InQuery value) { add_texts(name, value); }
void RequestOut::body_or_query(std::string_view name, InBodyOrQuery value) { query(name, value); }
void RequestOut::query_optional(std::string_view name, InQuery value) { query(name, value); }
void RequestOut::query_defaulted(std::string_view name, InQuery value) { query(name, value); }
void RequestOut::query_each(std::string_view name, ListInQuery values) { add_texts(name, values); }
void RequestOut::query_cursor(CursorInQuery cursor) { add_texts("after", cursor); }
void RequestOut::query_count(std::string_view name, std::uint64_t& value, std::uint64_t /*most*/) {
    query(name, value);
}
void RequestOut::query_flag(std::string_view name, bool& value) {
    if (value) {
        add_query(name, "true");
    }
}
void RequestOut::query_constant(std::string_view name, std::string_view value) {
    add_query(name, value);
}
void RequestOut::query_limit(std::uint32_t& limit, std::uint32_t /*fallback*/,
                             std::uint32_t /*most*/) {
    query("limit", limit);
}
void RequestOut::query_sequence(std::string_view name, std::uint64_t& after) {
    if (after > 0) {
        query(name, after);
    }
}

void RequestOut::query_tags(Tags& tags) {
    for (const auto& [key, value] : tags) {
        add_query("tag." + key, value);
    }
}

void RequestOut::query_order(bool& oldest_first) {
    if (oldest_first) {
        add_query("order", "created_asc");
    }
}

void RequestOut::attempt(ExecutionId& execution, std::optional<std::uint32_t>& index) {
    id(execution);
    fill("idx", index ? std::to_string(*index) : "current");
}

void RequestOut::lease(LeaseRef& lease) {
    attempt(lease.execution_id, lease.attempt_index);
    if (!lease.lease_id && !lease.lease_epoch && !lease.attempt_id && !lease.backend) {
        return;
    }
    body_.key("fence");
    ObjectOut fence(text_);
    fence.field_if("lease_id", lease.lease_id);
    fence.field_if("lease_epoch", lease.lease_epoch);
    fence.field_if("attempt_id", lease.attempt_id);
    if (lease.backend) {
        fence.field("backend", backend_word(*lease.backend));
    }
    if (lease.suspended) {
        fence.field("suspended", true);
    }
    fence.close();
}

void RequestOut::field(std::string_view name, InBody value) {
    body_.key(name);
    value.write(text_);
}

void RequestOut::required(std::string_view name, InBody value) { field(name, value); }
void RequestOut::optional(std::string_view name, OptionalInBody value) { sparse(name, value); }
void RequestOut::defaulted(std::string_view name, InBody value) { field(name, value); }
void RequestOut::or_null(std::string_view name, InBody value) { field(name, value); }
void RequestOut::sparse(std::string_view name, SparseInBody value) {
    if (!value.is_default()) {
        field(name, value);
    }
}
void RequestOut::ranged(std::string_view name, NumberInBody value, std::int64_t /*low*/,
                        std::int64_t /*high*/) {
    field(name, value);
}
void RequestOut::required_ranged(std::string_view name, NumberInBody value, std::int64_t /*low*/,
                                 std::int64_t /*high*/) {
    field(name, value);
}
void RequestOut::optional_ranged(std::string_view name, OptionalNumberInBody value,
                                 std::int64_t /*low*/, std::int64_t /*high*/) {
    sparse(name, value);
}
void RequestOut::required_id(std::string_view name, InBody id) { field(name, id); }
void RequestOut::lane(std::string_view name, std::string& value) { field(name, value); }
void RequestOut::lanes(std::string_view name, std::vector<std::string>& values) {
    field(name, values);
}
void RequestOut::bytes(std::string_view name, std::string& value) { body_.bytes(name, value); }
void RequestOut::optional_bytes(std::string_view name, std::optional<std::string>& value) {
    body_.bytes_if(name, value);
}
void RequestOut::sparse_bytes(std::string_view name, std::string& value) {
    if (!value.empty()) {
        body_.bytes(name, value);
    }
}
void RequestOut::optional_text(std::string_view name, std::optional<std::string>& value,
                               std::size_t /*bytes_max*/) {
    optional(name, value);
}
void RequestOut::document(std::string_view name, std::optional<std::string>& value) {
    if (value && js::parse(*value)) {
        body_.document(name, value);
    } else if (value) {
        field(name, *value);  // as text: the engine says what is wrong with it
    }
}
void RequestOut::source(Source& source) {
    if (source == Source::operator_override) {
        constant("source", "operator_override");
    }
}
void RequestOut::backend(std::optional<BackendTag>& backend) {
    if (backend) {
        constant("backend", backend_word(*backend));
    }
}
void RequestOut::constant(std::string_view name, std::string_view value) {
    body_.field(name, value);
}
void RequestOut::ignored(std::string_view /*name*/) {}

void RequestOut::word(std::string_view name, WordInBody value, ErrorCode /*unknown*/) {
    sparse(name, value);
}
void RequestOut::cancellation_policy(std::string_view name, CancellationPolicy& value) {
    field(name, value);
}
void RequestOut::grace(std::string_view name, DurationMs& value) { field(name, value); }
void RequestOut::unused_grace(std::string_view /*name*/, DurationMs& /*value*/) {}
void RequestOut::reference_text(std::string_view name, std::string& value) { sparse(name, value); }
void RequestOut::required_policy(std::string_view name, GroupPolicy& policy) {
    body_.field(name, policy);
}
void RequestOut::sparse_policy(std::string_view name, GroupPolicy& policy) {
    if (policy != GroupPolicy{}) {
        body_.field(name, policy);
    }
}
void RequestOut::either_word(std::string_view name, WordInBody value) {
    constant(name, core::camel_case(value.texts().front()));
}
void RequestOut::payload(std::optional<std::string>& value) { optional_bytes("payload", value); }
void RequestOut::condition(std::string_view name, ResumeCondition& condition) {
    body_.field(name, condition);
}
void RequestOut::resume_policy(std::string_view name, ResumePolicy& policy) {
    body_.field(name, policy);
}

void RequestOut::nodes(std::string_view name, std::vector<FlowNode>& nodes) {
    body_.key(name);
    text_.push_back('[');
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        RequestOut item(no_route);
        describe_node(item, nodes[i]);
        text_ += (i > 0 ? "," : "") + item.take().body;
    }
    text_.push_back(']');
}

void RequestOut::edges(std::string_view name, std::vector<FlowEdge>& edges, Ends ends) {
    body_.key(name);
    text_.push_back('[');
    for (std::size_t i = 0; i < edges.size(); ++i) {
        RequestOut item(no_route);
        describe_edge(item, edges[i], ends);
        text_ += (i > 0 ? "," : "") + item.take().body;
    }
    text_.push_back(']');
}

void RequestOut::waitpoints(std::string_view name, std::vector<WaitpointBinding>& bindings) {
    body_.key(name);
    text_.push_back('[');
    for (std::size_t i = 0; i < bindings.size(); ++i) {
        const WaitpointBinding& binding = bindings[i];
        text_ += i > 0 ? "," : "";
        ObjectOut tagged(text_);
        tagged.key(binding.use_pending ? "UsePending" : "Fresh");
        ObjectOut inner(text_);
        inner.field_if("waitpoint_id", binding.waitpoint_id);
        if (!binding.waitpoint_key.empty()) {
            inner.field("waitpoint_key", binding.waitpoint_key);
        }
        inner.close();
        tagged.close();
    }
    text_.push_back(']');
}

Call RequestOut::take() {
    body_.close();
    target_ += at_.path.substr(written_);
    FF_CHECK(target_.find('{') == std::string::npos, "every parameter has a value");
    const bool has_body = at_.method == Method::post || at_.method == Method::put;
    return {at_.method, target_ + query_, has_body ? std::move(text_) : std::string()};
}

Call write_request(const Request& request) {
    const Binding* at = ff::by_type(
        []<class Op>(std::type_identity<Op>) { return is_local<Op> ? nullptr : &binding<Op>; },
        request);
    FF_CHECK(at != nullptr, "an operation that is not for servers");
    RequestOut out(*at);
    ff::visit(
        [&out]<class Op>(const Op& op) {
            describe_request(out, const_cast<Op&>(op));  // NOLINT: a writer changes nothing
        },
        request);
    return out.take();
}

}  // namespace ff::wire
