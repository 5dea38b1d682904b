#include "http/router.h"

#include "base/check.h"
#include "wire/url.h"

namespace ff::http {

/// A place in the tree of segments. A literal segment is preferred to a parameter.
struct Router::Node {
    std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
    std::unique_ptr<Node> parameter;
    std::vector<const Route*> routes;  ///< one for each method
};

namespace {

bool is_parameter(std::string_view segment) {
    return segment.starts_with('{') && segment.ends_with('}');
}

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;

void Router::add(Route route) {
    route.index = routes_.size();
    const Route& kept = *routes_.emplace_back(std::make_unique<Route>(std::move(route)));
    Node* node = root_.get();
    for (const std::string_view segment : wire::segments_of(kept.path)) {
        auto& next = is_parameter(segment) ? node->parameter : node->literals[std::string(segment)];
        if (!next) {
            next = std::make_unique<Node>();
        }
        node = next.get();
    }
    for (const Route* other : node->routes) {
        FF_CHECK(other->method != kept.method, "a path has one route for each method");
    }
    node->routes.push_back(&kept);
}

namespace {

/// Fills in the parameters by the names that this route's template gives them.
void name_parameters(Found& found, std::vector<std::string> values) {
    std::size_t next = 0;
    for (const std::string_view segment : wire::segments_of(found.route->path)) {
        if (is_parameter(segment)) {
            found.parameters.emplace_back(segment.substr(1, segment.size() - 2),
                                          std::move(values[next++]));
        }
    }
}

}  // namespace

Found Router::find(std::string_view method, std::string_view path) const {
    Found found;
    const Node* node = root_.get();
    std::vector<std::string> values;
    for (const std::string_view raw : wire::segments_of(path)) {
        auto segment = wire::decoded(raw);
        if (!segment) {
            found.bad_escape = true;
            segment = std::string(raw);
        }
        if (const auto literal = node->literals.find(*segment); literal != node->literals.end()) {
            node = literal->second.get();
        } else if (node->parameter && !segment->empty()) {
            values.push_back(std::move(*segment));
            node = node->parameter.get();
        } else {
            return found;
        }
    }
    const std::string_view wanted = method == "HEAD" ? "GET" : method;
    for (const Route* route : node->routes) {
        const std::string_view name = to_string(route->method);
        found.allow += (found.allow.empty() ? "" : ", ") + std::string(name);
        if (name == "GET") {
            found.allow += ", HEAD";
        }
        if (name == wanted) {
            found.route = route;
        }
    }
    if (found.route != nullptr) {
        name_parameters(found, std::move(values));
    }
    return found;
}

}  // namespace ff::http
