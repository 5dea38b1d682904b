// A value of one of many types: made, moved, copied, visited, and let go exactly once.
#include <ff/one_of.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

namespace ff {
namespace {

using Word = OneOf<int, std::string, std::shared_ptr<int>>;
using Owner = OneOf<std::unique_ptr<int>, std::string>;
static_assert(std::is_copy_constructible_v<Word>);
static_assert(!std::is_copy_constructible_v<Owner>);
static_assert(!std::is_constructible_v<Word, double>);

std::string kind_of(const Word& word) {
    return ff::visit(
        []<class T>(const T&) -> std::string {
            return std::is_same_v<T, int> ? "int" : std::is_same_v<T, std::string> ? "text" : "ptr";
        },
        word);
}

TEST(OneOf, HoldsWhatItWasGiven) {
    const Word word(std::string("abc"));
    EXPECT_TRUE(ff::holds_alternative<std::string>(word));
    EXPECT_EQ(ff::get_if<int>(&word), nullptr);
    EXPECT_EQ(ff::get<std::string>(word), "abc");
    EXPECT_THROW(ff::get<int>(word), std::bad_variant_access);
    EXPECT_EQ(word.index(), 1U);
    EXPECT_EQ(kind_of(word), "text");
    EXPECT_EQ(kind_of(Word(std::in_place_type<int>, 7)), "int");
}

TEST(OneOf, ACopyIsItsOwn) {
    Word one(std::string("abc"));
    Word two = one;
    ff::get<std::string>(two) += "d";
    EXPECT_EQ(ff::get<std::string>(one), "abc");
    one = two;
    EXPECT_EQ(ff::get<std::string>(one), "abcd");
}

TEST(OneOf, LetsGoOfEverythingOnce) {
    const auto shared = std::make_shared<int>(1);
    {
        Word one(shared);
        Word two(std::move(one));
        Word three = two;
        EXPECT_EQ(shared.use_count(), 3);
        two = Word(5);
        EXPECT_EQ(shared.use_count(), 2);
        EXPECT_EQ(ff::get_if<std::shared_ptr<int>>(&one), nullptr);  // NOLINT: moved from
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(OneOf, GivesItsValueAway) {
    Owner owner(std::make_unique<int>(3));
    const std::unique_ptr<int> taken = ff::get<std::unique_ptr<int>>(std::move(owner));
    EXPECT_EQ(*taken, 3);
    Owner other(std::make_unique<int>(4));
    const int seen = ff::visit(
        []<class T>(T&& value) {
            if constexpr (std::is_same_v<T, std::unique_ptr<int>>) {
                const auto mine = std::forward<T>(value);
                return *mine;
            } else {
                return 0;
            }
        },
        std::move(other));
    EXPECT_EQ(seen, 4);
}

TEST(OneOf, ChangesListsWithoutBeingMoved) {
    const auto shared = std::make_shared<int>(1);
    {
        Word word(shared);
        const void* place = ff::get_if<std::shared_ptr<int>>(&word);
        using Other = OneOf<std::string, std::shared_ptr<int>>;
        EXPECT_THROW(Other::adopt<std::string>(std::move(word)), std::bad_variant_access);
        Other other = Other::adopt<std::shared_ptr<int>>(std::move(word));
        EXPECT_EQ(ff::get_if<std::shared_ptr<int>>(&other), place);
        EXPECT_EQ(other.index(), 1U);
        EXPECT_EQ(ff::get_if<std::shared_ptr<int>>(&word), nullptr);  // NOLINT: moved from
        const Other copy = other;
        EXPECT_EQ(shared.use_count(), 3);
    }
    EXPECT_EQ(shared.use_count(), 1);
}

TEST(OneOf, TellsWhatFollowsFromItsType) {
    const auto size = [](const Word& word) {
        return ff::by_type([]<class T>(std::type_identity<T>) { return sizeof(T); }, word);
    };
    Word word(std::string("abc"));
    EXPECT_EQ(size(word), sizeof(std::string));
    EXPECT_EQ(size(Word(7)), sizeof(int));
    const Word taken(std::move(word));
    EXPECT_THROW(size(word), std::bad_variant_access);  // NOLINT: moved from
}

}  // namespace
}  // namespace ff
