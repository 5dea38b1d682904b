// The OpenAPI operation of a request, from the same description that reads and writes it.
#pragma once

#include <string>
#include <string_view>

#include <ff/json.h>

#include "wire/binding.h"
#include "wire/request_visitor.h"
#include "wire/requests.h"

namespace ff::wire {

/// The visitor: collects parameters and the members of the body.
class RequestSchema final : public RequestVisitor {
  public:
    explicit RequestSchema(const Binding& at) : at_(at) {}

    /// `parameters` and `requestBody`.
    json take();
    /// The body alone: an object with its members.
    json take_body();

    FF_VISITS_REQUESTS

  private:
    void parameter(std::string_view in, std::string_view name, json schema, bool required);
    void member(std::string_view name, json schema, bool required);

    const Binding& at_;
    js::Array parameters_;
    js::Object members_;
    js::Array required_;
};

template <class Op>
json request_schema() {
    RequestSchema schema(binding<Op>);
    Op op;
    describe_request(schema, op);
    return schema.take();
}

template <class Op>
json body_schema() {
    RequestSchema schema(binding<Op>);
    Op op;
    describe_request(schema, op);
    return schema.take_body();
}

/// A `requestBody` of JSON.
json json_body(json schema, bool required = true);

}  // namespace ff::wire
