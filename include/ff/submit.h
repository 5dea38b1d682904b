// Submit: what a client asks to have done, put together call by call.
//
//   client.submit(ff::Submit("fetch", Job{"https://x"}).lane("web").tag("tenant",
//   "acme").retries(3))
//
// A plain value; nothing happens before Client::submit, which also reports what was wrong with it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ff/clock.h>
#include <ff/codec.h>
#include <ff/contracts.h>
#include <ff/policy.h>

namespace ff {

/// The encoding of payloads and results that Codec wrote.
inline constexpr std::string_view json_encoding = "json";

/// What is handed over as it stands, byte for byte.
template <class T>
concept Bytes = std::convertible_to<const T&, std::string_view>;

class Submit {
  public:
    /// No payload.
    explicit Submit(std::string kind) { op_.execution_kind = std::move(kind); }
    /// The bytes themselves; say with encoding() what they are, if it matters.
    Submit(std::string kind, std::string_view bytes) : Submit(std::move(kind)) {
        op_.input_payload = bytes;
    }
    /// A value as JSON.
    template <Jsonable T>
        requires(!Bytes<T>)
    Submit(std::string kind, const T& payload) : Submit(std::move(kind)) {
        auto text = encode_json(payload);
        if (text) {
            op_.input_payload = std::move(*text);
            op_.payload_encoding = json_encoding;
        } else {
            refuse("payload", std::move(text).error());
        }
    }

    Submit& lane(std::string name);  ///< `default` when not called
    Submit& tag(std::string key, std::string value);
    /// A second submit with the same key gives the first one's execution, whatever else it asks.
    Submit& idempotency_key(std::string key);
    Submit& priority(std::int32_t value);  ///< 0..9000, higher first
    Submit& encoding(std::string name);
    Submit& creator(std::string identity);
    /// The id's UUID, so that a producer can derive the same id again.
    Submit& deterministic(const Uuid& uuid);

    /// Not before this time of the store's clock, or for so long from now.
    Submit& delay_until(TimestampMs at);
    Submit& delay(std::chrono::milliseconds by);
    /// Given up at this time of the store's clock, or so long after its creation.
    Submit& deadline_at(TimestampMs at);
    Submit& deadline(std::chrono::milliseconds after_creation);

    /// The whole policy, replacing what the calls below have said so far.
    Submit& policy(Policy policy);
    /// The same as JSON (see Policy::parse). Members that no policy has are refused.
    Submit& policy(std::string_view text);
    Submit& retries(std::uint32_t most);
    Submit& backoff(Backoff backoff);
    Submit& capabilities(std::vector<std::string> required);
    /// Whom it is done for: takes turns with the work of other keys (Policy::limit_key).
    Submit& limit_key(std::string key);
    Submit& attempt_timeout(std::chrono::milliseconds most);
    Submit& reclaims(std::uint32_t most);

    /// The operation this comes to, without namespace and id; or the first fault of the calls
    /// above.
    [[nodiscard]] expected<CreateExecution> build(Clock& clock) const;
    [[nodiscard]] const std::optional<Uuid>& uuid() const { return uuid_; }

  private:
    Policy& own_policy();
    RetryPolicy& own_retries();
    TimeoutPolicy& own_timeouts();
    void refuse(std::string_view member, Error error);
    void refuse(std::string_view member, std::string why);

    CreateExecution op_;
    std::optional<Policy> policy_;
    std::optional<std::chrono::milliseconds> delay_;
    std::optional<Uuid> uuid_;
    std::optional<Error> fault_;  ///< the first
};

}  // namespace ff
