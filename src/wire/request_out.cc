#include "wire/request_out.h"

#include <type_traits>
#include <variant>

#include "base/check.h"

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

void RequestOut::query_tags(const Tags& tags) {
    for (const auto& [key, value] : tags) {
        add_query("tag." + key, value);
    }
}

void RequestOut::query_order(bool oldest_first) {
    if (oldest_first) {
        add_query("order", "created_asc");
    }
}

void RequestOut::attempt(const ExecutionId& execution, const std::optional<std::uint32_t>& index) {
    id(execution);
    fill("idx", index ? std::to_string(*index) : "current");
}

void RequestOut::lease(const LeaseRef& lease) {
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

void RequestOut::waitpoints(std::string_view name, const std::vector<WaitpointBinding>& bindings) {
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
    return ff::visit(
        []<class Op>(const Op& op) {
            FF_CHECK(!is_local<Op>, "an operation that is not for servers");
            RequestOut out(binding<Op>);
            describe_request(out, const_cast<Op&>(op));  // NOLINT: a writer changes nothing
            return out.take();
        },
        request);
}

}  // namespace ff::wire
