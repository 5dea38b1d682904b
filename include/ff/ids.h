// Identifiers: what names a thing, how it is spelled, and how it is parsed.
//
// Value types only; every function here is pure. Parsing is strict (one thing has one spelling):
// see the comments at each parse().
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <ff/error.h>

namespace ff {

/// Milliseconds since the Unix epoch, always read from the store's clock.
using TimestampMs = std::int64_t;
/// A span of time in milliseconds.
using DurationMs = std::int64_t;

/// 128 bits in network order. Any version is accepted, nil included.
struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    auto operator<=>(const Uuid&) const = default;

    /// Lower-case hyphenated text.
    [[nodiscard]] std::string to_string() const;
    /// Accepts exactly the hyphenated 36-character form, hex digits of either case. No braces, no
    /// urn: prefix, no bare 32 digits.
    static std::optional<Uuid> parse(std::string_view text);
    /// The 16 raw bytes as a string, and back (nothing unless exactly 16 bytes).
    [[nodiscard]] std::string raw() const;
    static std::optional<Uuid> from_raw(std::string_view raw);
};

/// A UUID that names one kind of thing; different kinds do not mix.
template <class Tag>
struct UuidId {
    Uuid uuid;

    auto operator<=>(const UuidId&) const = default;
    [[nodiscard]] std::string to_string() const { return uuid.to_string(); }
    static std::optional<UuidId> parse(std::string_view text) {
        auto uuid = Uuid::parse(text);
        if (!uuid) {
            return std::nullopt;
        }
        return UuidId{*uuid};
    }
};

using AttemptId = UuidId<struct AttemptIdTag>;
using LeaseId = UuidId<struct LeaseIdTag>;
using FlowId = UuidId<struct FlowIdTag>;
using EdgeId = UuidId<struct EdgeIdTag>;
using GrantId = UuidId<struct GrantIdTag>;
using BudgetId = UuidId<struct BudgetIdTag>;
using QuotaPolicyId = UuidId<struct QuotaPolicyIdTag>;
using SuspensionId = UuidId<struct SuspensionIdTag>;
using WaitpointId = UuidId<struct WaitpointIdTag>;
using SignalId = UuidId<struct SignalIdTag>;

/// How many partitions each family has; fixed when a store is created.
struct PartitionCounts {
    std::uint16_t flow = 1;
    std::uint16_t budget = 1;
    std::uint16_t quota = 1;

    auto operator<=>(const PartitionCounts&) const = default;
};

/// CRC-16/XMODEM (check value of "123456789" is 0x31C3).
std::uint16_t crc16_xmodem(std::string_view bytes);
/// Partition index of a flow, budget or quota id.
std::uint16_t partition_of(const Uuid& id, std::uint16_t count);
/// Partition index of a lane's executions that belong to no flow.
std::uint16_t partition_of_lane(std::string_view lane, std::uint16_t count);
/// FNV-1a 64, the stable hash for log digests and for spreading work.
std::uint64_t fnv1a64(std::string_view bytes);
/// Eight hex digits that stand for a long text in logs.
std::string log_digest(std::string_view bytes);

/// `{fp:N}:<uuid>`. The index is part of the identity and is never re-hashed.
struct ExecutionId {
    std::uint16_t partition = 0;
    Uuid uuid;

    auto operator<=>(const ExecutionId&) const = default;

    [[nodiscard]] std::string to_string() const;
    /// `invalid_input` with "missing tag", "invalid partition index" or "invalid uuid". Upper-case
    /// hex is lowered; a sign or leading zeros in the index are refused.
    static expected<ExecutionId> parse(std::string_view text);

    /// Two bytes of partition (big-endian), then the UUID: sorts like the pair.
    [[nodiscard]] std::string raw() const;
    static std::optional<ExecutionId> from_raw(std::string_view raw);

    /// For a member of a flow: the flow's partition. Give `uuid` to make the id re-derivable.
    static ExecutionId for_flow(const FlowId& flow, const PartitionCounts& counts,
                                const Uuid& uuid);
    /// For an execution that belongs to no flow: the lane's partition.
    static ExecutionId solo(std::string_view lane, const PartitionCounts& counts, const Uuid& uuid);
};

/// The partition tag passed on the wire as an opaque string: `{fp:7}`, `{b:0}`, `{q:3}`.
struct PartitionKey {
    enum class Family { flow, budget, quota };
    Family family = Family::flow;
    std::uint16_t index = 0;

    auto operator<=>(const PartitionKey&) const = default;
    [[nodiscard]] std::string to_string() const;
    static expected<PartitionKey> parse(std::string_view text);
};

/// Checks of names that come from outside. Each gives `invalid_input` naming `field`.
expected<void> check_lane(std::string_view field, std::string_view lane);
expected<void> check_namespace(std::string_view field, std::string_view text);
expected<void> check_worker_name(std::string_view field, std::string_view text);
expected<void> check_label(std::string_view field, std::string_view text, std::size_t bytes_min,
                           std::size_t bytes_max);
/// The namespaced form point writes of tags demand: `^[a-z][a-z0-9_]*\.[a-z0-9_][a-z0-9_.]*$`.
bool is_namespaced_tag_key(std::string_view key);

/// Cuts at a UTF-8 boundary so that at most `bytes_max` bytes remain.
std::string truncate_utf8(std::string text, std::size_t bytes_max);
/// What can be kept of any bytes as text: NUL, and what is no UTF-8, become question marks.
std::string readable_text(std::string text, std::size_t bytes_max);
bool is_valid_utf8(std::string_view text);

/// Makes identifiers and random numbers. Not thread-safe; each user has its own.
class IdSource {
  public:
    virtual ~IdSource() = default;
    /// A version 7 UUID stamped with `now`.
    virtual Uuid uuid(TimestampMs now) = 0;
    /// Uniform in 0..bound (both ends).
    virtual std::uint64_t uniform(std::uint64_t bound) = 0;
};

/// From the system's random source, buffered.
class SystemIdSource final : public IdSource {
  public:
    Uuid uuid(TimestampMs now) override;
    std::uint64_t uniform(std::uint64_t bound) override;

  private:
    void fill(std::span<std::uint8_t> out);
    std::array<std::uint8_t, 4096> pool_{};
    std::size_t used_ = 4096;
};

/// Repeatable ids for tests and simulation.
class SeededIdSource final : public IdSource {
  public:
    explicit SeededIdSource(std::uint64_t seed) : state_(seed) {}
    Uuid uuid(TimestampMs now) override;
    std::uint64_t uniform(std::uint64_t bound) override;

  private:
    std::uint64_t next();
    std::uint64_t state_;
};

/// A fresh version 7 UUID from this thread's SystemIdSource and the system clock.
Uuid new_uuid();

}  // namespace ff

template <>
struct std::hash<ff::Uuid> {
    std::size_t operator()(const ff::Uuid& id) const noexcept {
        std::array<std::uint64_t, 2> words;
        std::memcpy(words.data(), id.bytes.data(), sizeof words);
        const std::uint64_t mixed =
            (words[0] ^ (words[1] * 0x9e3779b97f4a7c15)) * 0xbf58476d1ce4e5b9;
        return mixed ^ (mixed >> 32);
    }
};
template <class Tag>
struct std::hash<ff::UuidId<Tag>> {
    std::size_t operator()(const ff::UuidId<Tag>& id) const noexcept {
        return std::hash<ff::Uuid>{}(id.uuid);
    }
};
template <>
struct std::hash<ff::ExecutionId> {
    std::size_t operator()(const ff::ExecutionId& id) const noexcept {
        return std::hash<ff::Uuid>{}(id.uuid) + id.partition * 0x9e3779b97f4a7c15;
    }
};
