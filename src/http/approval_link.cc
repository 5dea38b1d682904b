#include "http/approval_link.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>

#include <ff/handle.h>
#include <ff/json.h>

#include "base/check.h"
#include "wire/values.h"

namespace ff::http {

namespace {

/// Keeps what is made here apart from everything else that may ever be made with a token.
constexpr std::string_view purpose = "flowfabric approval link 1\n";

std::string tag_of(std::string_view key, std::string_view said) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    const std::string text = std::string(purpose) + std::string(said);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());  // NOLINT: as bytes
    FF_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(),
                  digest.data(), &size) != nullptr,
             "HMAC-SHA256 is always there");
    return {reinterpret_cast<const char*>(digest.data()), size};  // NOLINT: as bytes
}

/// Reads a member; false when it is missing or of the wrong form.
template <class T>
bool take(const json& object, std::string_view name, T& out) {
    const json* member = object.find(name);
    return member != nullptr && wire::read(*member, out).empty();
}

}  // namespace

std::string link_key(const GateOptions& gate) {
    const std::string& token = gate.admin_token.empty() ? gate.api_token : gate.admin_token;
    if (!token.empty()) {
        return tag_of(token, "key");
    }
    std::array<unsigned char, 32> random{};
    FF_CHECK(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1,
             "the system has no random bytes");
    return {reinterpret_cast<const char*>(random.data()), random.size()};  // NOLINT: as bytes
}

std::string link_text(const ApprovalLink& link, std::string_view key) {
    js::Array choices;
    for (const std::string& choice : link.choices) {
        choices.emplace_back(choice);
    }
    json said{{"e", link.execution_id.to_string()},
              {"w", link.waitpoint_id.to_string()},
              {"l", link.link_id.to_string()},
              {"a", link.actor},
              {"c", std::move(choices)},
              {"x", link.expires_at}};
    if (link.note) {
        said.set("n", *link.note);
    }
    const std::string text = base64url_encode(js::dump(said));
    return text + "." + base64url_encode(tag_of(key, text));
}

std::optional<PresentedLink> parse_link(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) {
        return std::nullopt;
    }
    PresentedLink out;
    out.said = text.substr(0, dot);
    const auto bytes = base64url_decode(out.said);
    const auto tag = base64url_decode(text.substr(dot + 1));
    const auto said = bytes ? js::parse(*bytes) : ff::fail(ErrorCode::invalid_input);
    if (!tag || tag->size() != 32 || !said || said->if_object() == nullptr) {
        return std::nullopt;
    }
    out.tag = *tag;
    ApprovalLink& link = out.link;
    const bool whole = take(*said, "e", link.execution_id) && take(*said, "w", link.waitpoint_id) &&
                       take(*said, "l", link.link_id) && take(*said, "a", link.actor) &&
                       take(*said, "c", link.choices) && take(*said, "x", link.expires_at) &&
                       (said->find("n") == nullptr || take(*said, "n", link.note));
    if (!whole) {
        return std::nullopt;
    }
    return out;
}

bool PresentedLink::is_signed_with(std::string_view key) const {
    const std::string expected_tag = tag_of(key, said);
    return expected_tag.size() == tag.size() &&
           CRYPTO_memcmp(expected_tag.data(), tag.data(), tag.size()) == 0;
}

}  // namespace ff::http
