// Who may come in: bearer tokens and cross-origin rules (spec 07 sections 1.3 and 1.4). Fixed after
// construction; any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/exchange.h"
#include "http/router.h"

namespace ff::http {

struct GateOptions {
    std::string api_token;        ///< empty: nobody is asked
    std::string admin_token;      ///< empty: admin routes take the ordinary one
    bool allow_insecure = false;  ///< without any token, credentials are given out all the same
    /// Of a server that only this machine reaches: the host it was told to listen on. Without an
    /// API token, requests must then name this machine.
    std::optional<std::string> own_host;
    bool cors_any = false;
    std::vector<std::string> cors_origins;  ///< lower case
};

class Gate {
  public:
    explicit Gate(GateOptions options);

    /// The refusal, if the caller may not use routes of this kind.
    [[nodiscard]] std::optional<wire::Answer> refuse(const RequestHead& head, Access access) const;
    /// The answer to a browser's question whether it may ask, without what mark() adds; nothing
    /// when it is none.
    [[nodiscard]] std::optional<wire::Answer> preflight(const RequestHead& head) const;
    /// Adds what lets a browser see the answer.
    void mark(const RequestHead& head, wire::Answer& answer) const;

    [[nodiscard]] bool asks() const { return token_.has_value() || admin_.has_value(); }

  private:
    using Digest = std::array<unsigned char, 32>;
    static Digest digest_of(std::string_view text);
    static bool same(const Digest& a, const Digest& b);
    /// Without an API token whoever reaches the server may do anything, and the browser of somebody
    /// on this machine does, on behalf of any page: what a page sent is turned away.
    [[nodiscard]] std::optional<wire::Answer> refuse_page(const RequestHead& head) const;
    [[nodiscard]] bool is_own(std::string_view host) const;
    [[nodiscard]] const std::string* allowed_origin(const RequestHead& head) const;

    const GateOptions options_;
    std::optional<Digest> token_;
    std::optional<Digest> admin_;
    const std::string any_ = "*";
};

}  // namespace ff::http
