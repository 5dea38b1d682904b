// Which handler a method and a path lead to. Built once, then only read; any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/exchange.h"

namespace ff::http {

/// Who may call a route.
enum class Access : std::uint8_t {
    open,       ///< anybody
    token,      ///< who has the ordinary token
    admin,      ///< who has the admin token, if there is one
    credential  ///< the same; and nobody when no token is asked for, unless that is allowed
};

/// What a route's body is.
enum class Body : std::uint8_t {
    none,     ///< not looked at
    json,     ///< JSON, an object unless the handler says otherwise
    as_it_is  ///< any bytes
};

struct Route {
    wire::Method method = wire::Method::get;
    std::string path;  ///< the template, `{name}` for parameters
    wire::BodyClass size = wire::BodyClass::control;
    Body body = Body::none;
    Access access = Access::token;
    bool waits = false;      ///< may park: the handler gets a stop token
    std::string waits_with;  ///< of one that does so only when this stands in its query
    std::string operation;   ///< unique, for the description of the interface
    std::string summary;
    std::function<void(Exchange&)> handler;  ///< takes what it needs out of the exchange
    /// Of one with a body: what is wrong with path and query, which goes before what is wrong with
    /// the body.
    std::function<std::optional<wire::RequestFault>(const wire::Routed&)> early_fault;
    std::function<json()> describe;  ///< its OpenAPI operation, without summary and id
    std::size_t index = 0;           ///< its place in the table
};

/// What a path leads to.
struct Found {
    const Route* route = nullptr;  ///< absent: no such path, or not with this method
    std::vector<std::pair<std::string_view, std::string>> parameters;
    std::string allow;  ///< of a known path with another method: those it has
    bool bad_escape = false;
};

class Router {
  public:
    Router();
    ~Router();
    void add(Route route);
    /// `HEAD` finds what `GET` finds.
    [[nodiscard]] Found find(std::string_view method, std::string_view path) const;
    [[nodiscard]] const std::vector<std::unique_ptr<Route>>& routes() const { return routes_; }

  private:
    struct Node;
    std::unique_ptr<Node> root_;
    std::vector<std::unique_ptr<Route>> routes_;
};

}  // namespace ff::http
