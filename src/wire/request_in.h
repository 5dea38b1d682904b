// Reading a request on the server: path, query and body into an operation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/request_visitor.h"
#include "wire/url.h"

namespace ff::wire {

/// A request that found its route: parameters decoded, the body parsed (null when there is none).
struct Routed {
    std::vector<std::pair<std::string_view, std::string>> path;  ///< by the name in the template
    std::vector<QueryPair> query;
    json body;

    [[nodiscard]] std::string_view parameter(std::string_view name) const;
    [[nodiscard]] const std::string* query_value(std::string_view name) const;
};

/// Why a request is not an operation.
struct RequestFault {
    int status = 400;
    std::string error;  ///< the whole text for the caller
    ErrorCode code = ErrorCode::invalid_input;
    std::string member;  ///< of the body, when one of them is at fault
    std::string about;   ///< what is wrong with it, or what to do
};

/// The visitor. The order in which faults are told is that of spec 07 section 1.2. What only some
/// requests have is read in flow_request_in.cc, suspension_request_in.cc and stream_request_in.cc,
/// in limit_values.cc and event_values.cc.
class RequestIn final : public RequestVisitor {
  public:
    /// Where the execution and the attempt are named: in the path, or, of one item among many,
    /// beside everything else.
    enum class Named : std::uint8_t { in_path, in_body };

    explicit RequestIn(const Routed& routed, Named named = Named::in_path)
        : routed_(routed), named_(named) {}

    /// The fault, if there was one.
    [[nodiscard]] std::optional<RequestFault> fault() const;
    /// Of the path or the query, which are judged before the body is looked at.
    [[nodiscard]] std::optional<RequestFault> early_fault() const;

    FF_VISITS_REQUESTS

  private:
    void named_id(std::string_view name, InPath id);
    void in_range(std::string_view name, const json& member, AnyValue value, std::int64_t low,
                  std::int64_t high);
    [[nodiscard]] const json* member_of(std::string_view name) const;
    const json* wanted(std::string_view name);
    void keep(std::string_view name, Fault fault);
    /// Of a value that is there, as `text`.
    void keep_query(std::string_view name, std::string_view text, Fault fault);
    void read_index(std::optional<std::uint32_t>& index);
    void keep_id(std::string_view name, std::string why);
    /// What can be read but is refused with a code of its own.
    void refuse(std::string_view name, ErrorCode code, std::string why);
    void keep_policy(std::string_view name, const json& member, GroupPolicy& policy);
    template <class T, class Describe>
    void items(std::string_view name, std::vector<T>& out, Describe describe);
    void read_fence(const json& fence, LeaseRef& lease);
    void read_handle(const json& handle, LeaseRef& lease);

    const Routed& routed_;
    const Named named_;
    Fault path_fault_;
    Fault query_fault_;
    Fault body_fault_;
    std::string bad_member_;  ///< the one that body_fault_ is about
    Fault id_fault_;
    std::string bad_id_;  ///< the one that id_fault_ is about
    Fault mismatch_;
    std::optional<std::string> bad_cursor_;
    std::optional<std::string> corrupt_handle_;
    std::optional<RequestFault> refusal_;
};

}  // namespace ff::wire
