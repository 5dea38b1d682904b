// Which members can be shown where: what does not fit is an error where a request is described, not
// when one comes.
#include <gtest/gtest.h>

#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "wire/any_value.h"

namespace ff::wire::test {

namespace {

struct Other {
    bool operator==(const Other&) const = default;
};

template <class Place, class T>
concept Takes = std::convertible_to<T&, Place>;

using Text = std::string;
using Texts = std::vector<std::string>;
using MaybeText = std::optional<std::string>;

static_assert(Takes<InPath, std::uint32_t> && Takes<InPath, EdgeId>);
static_assert(!Takes<InPath, std::optional<EdgeId>> && !Takes<InPath, Texts>);

static_assert(Takes<InQuery, Text> && Takes<InQuery, MaybeText> && Takes<InQuery, std::int64_t>);
static_assert(!Takes<InQuery, std::int32_t> && !Takes<InQuery, Other> && !Takes<InQuery, Texts>);
static_assert(Takes<ListInQuery, Texts>);
static_assert(!Takes<ListInQuery, Text> && !Takes<ListInQuery, std::vector<Other>>);
static_assert(Takes<CursorInQuery, std::optional<WorkerCursor>> && !Takes<CursorInQuery, Other>);

static_assert(Takes<InBody, Text> && Takes<InBody, bool> && Takes<InBody, std::optional<LeaseId>>);
static_assert(!Takes<InBody, Other> && !Takes<InBody, std::optional<Other>>);
static_assert(!Takes<InBody, double>, "it would be written as true or false");
static_assert(Takes<OptionalInBody, MaybeText>);
static_assert(!Takes<OptionalInBody, Text> && !Takes<OptionalInBody, std::optional<Other>>);
static_assert(Takes<NumberInBody, std::uint32_t> && !Takes<NumberInBody, Text>);
static_assert(Takes<OptionalNumberInBody, std::optional<std::int64_t>>);
static_assert(!Takes<OptionalNumberInBody, std::int64_t>);
static_assert(Takes<WordInBody, EventFamily> && !Takes<WordInBody, Text>);

static_assert(Takes<InBody, OptionalInBody>, "it is one, and no member itself");

}  // namespace

TEST(AnyValue, AnIdIsItsUuid) {
    EdgeId id{new_uuid()};
    std::string written;
    InBody(id).write(written);
    EXPECT_EQ(written, "\"" + id.to_string() + "\"");
    EdgeId again;
    EXPECT_EQ(InPath(again).parse(id.to_string()), "");
    EXPECT_EQ(again, id);
}

}  // namespace ff::wire::test
