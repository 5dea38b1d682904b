#include "http/gate.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/check.h"
#include "http/config.h"
#include "wire/errors.h"

namespace ff::http {

Gate::Digest Gate::digest_of(std::string_view text) {
    Digest digest{};
    unsigned int size = 0;
    FF_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
             "SHA-256 is always there");
    return digest;
}

bool Gate::same(const Digest& a, const Digest& b) {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Gate::Gate(GateOptions options) : options_(std::move(options)) {
    if (!options_.api_token.empty()) {
        token_ = digest_of(options_.api_token);
    }
    if (!options_.admin_token.empty()) {
        admin_ = digest_of(options_.admin_token);
    }
}

namespace {

std::string in_lower_case(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return out;
}

/// `localhost:9090` without the port, `[::1]:9090` without brackets too.
std::string_view name_of(std::string_view host) {
    if (host.starts_with('[')) {
        return host.substr(1, host.find(']') - 1);
    }
    return host.substr(0, host.find(':'));
}

wire::Answer turned_away(std::string_view what, std::string_view way_out) {
    return wire::write_fault({403,
                              std::string(what) +
                                  " may not use a server without an API token: set FF_API_TOKEN" +
                                  std::string(way_out),
                              ErrorCode::unauthorized});
}

}  // namespace

bool Gate::is_own(std::string_view host) const {
    const std::string name = in_lower_case(name_of(host));
    return name == in_lower_case(*options_.own_host) || ListenAddress{name, 0}.is_loopback();
}

std::optional<wire::Answer> Gate::refuse_page(const RequestHead& head) const {
    if (token_) {
        return std::nullopt;
    }
    // A page whose name was made to lead here says its own name.
    if (options_.own_host && head.host && !is_own(*head.host)) {
        return turned_away("a request to the host " + *head.host,
                           ", or call 127.0.0.1 or localhost");
    }
    if (!head.origin || allowed_origin(head) != nullptr) {
        return std::nullopt;
    }
    const std::size_t scheme = head.origin->find("://");
    const bool is_same =
        scheme != std::string::npos && head.host &&
        in_lower_case(head.origin->substr(scheme + 3)) == in_lower_case(*head.host);
    if (!is_same) {
        return turned_away("a page of " + *head.origin, ", or list it in FF_CORS_ORIGINS");
    }
    return std::nullopt;
}

std::optional<wire::Answer> Gate::refuse(const RequestHead& head, Access access) const {
    if (access != Access::open) {
        if (auto refusal = refuse_page(head)) {
            return refusal;
        }
    }
    const bool wants_admin = (access == Access::admin || access == Access::credential) && admin_;
    if (access == Access::credential && !asks() && !options_.allow_insecure) {
        return wire::plain_error(403,
                                 "credentials are not given out without authentication: set "
                                 "FF_API_TOKEN or FF_ALLOW_INSECURE=1");
    }
    if (access == Access::open || (!token_ && !wants_admin)) {
        return std::nullopt;
    }
    constexpr std::string_view scheme = "Bearer ";
    const std::string_view given = head.authorization ? *head.authorization : std::string_view();
    if (given.starts_with(scheme)) {
        // Digests are compared, so that neither the text nor its length shows in the time it takes.
        const Digest presented = digest_of(given.substr(scheme.size()));
        const bool is_ordinary = token_ && same(presented, *token_);
        const bool is_admin = admin_ && same(presented, *admin_);
        if (wants_admin ? is_admin : (is_ordinary || is_admin)) {
            return std::nullopt;
        }
        if (wants_admin && is_ordinary) {
            return wire::plain_error(403, "admin token required");
        }
    }
    wire::Answer answer = wire::plain_error(401, "missing or invalid Authorization header");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
}

const std::string* Gate::allowed_origin(const RequestHead& head) const {
    if (!head.origin || head.path() == "/metrics") {  // figures are for no page
        return nullptr;
    }
    if (options_.cors_any) {
        return &any_;
    }
    const bool listed = std::ranges::find(options_.cors_origins, in_lower_case(*head.origin)) !=
                        options_.cors_origins.end();
    return listed ? &*head.origin : nullptr;
}

std::optional<wire::Answer> Gate::preflight(const RequestHead& head) const {
    if (head.method != "OPTIONS" || !head.origin || !head.asked_method) {
        return std::nullopt;
    }
    wire::Answer answer{200, "", "", {}};
    if (allowed_origin(head) != nullptr) {
        const bool any = options_.cors_any;
        answer.headers = {{"Access-Control-Allow-Methods", any ? "*" : "GET, POST, PUT, DELETE"},
                          {"Access-Control-Allow-Headers",
                           any ? head.asked_headers.value_or("*")
                               : (asks() ? "content-type, authorization" : "content-type")},
                          {"Access-Control-Max-Age", "600"}};
    }
    return answer;
}

void Gate::mark(const RequestHead& head, wire::Answer& answer) const {
    if (!options_.cors_any && !options_.cors_origins.empty()) {
        answer.headers.emplace_back("Vary", "Origin");  // for those who keep answers
    }
    if (const std::string* origin = allowed_origin(head)) {
        answer.headers.emplace_back("Access-Control-Allow-Origin", *origin);
        if (options_.cors_any) {
            answer.headers.emplace_back("Access-Control-Expose-Headers", "*");
        }
    }
}

}  // namespace ff::http
