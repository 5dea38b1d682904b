// Writing a request on the client: an operation as method, target and body. Nothing that the server
// would take for granted is sent.
#pragma once

#include <string>
#include <string_view>

#include "wire/binding.h"
#include "wire/message.h"
#include "wire/object.h"
#include "wire/request_visitor.h"

namespace ff::wire {

/// The visitor.
class RequestOut final : public RequestVisitor {
  public:
    explicit RequestOut(const Binding& at) : at_(at), body_(text_) {}

    /// The finished call; the visitor is used up.
    Call take();

    FF_VISITS_REQUESTS

  private:
    void fill(std::string_view name, std::string_view value);
    void field(std::string_view name, InBody value);
    void add_texts(std::string_view name, AnyValue value);
    void add_query(std::string_view name, std::string_view value);

    const Binding& at_;
    std::string target_;       ///< as far as it is known: parameters are filled in the path's order
    std::size_t written_ = 0;  ///< of the template
    std::string query_;
    std::string text_;
    ObjectOut body_;
};

/// The call of any operation.
Call write_request(const Request& request);

}  // namespace ff::wire
