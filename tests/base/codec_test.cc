#include <ff/codec.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

// Types of other people's namespaces: the macro must work wherever it stands.
namespace shop {

struct Item {
    std::string name;
    std::uint8_t amount = 0;
    std::optional<double> price;
};
FF_JSON(Item, name, amount, price)

struct Order {
    std::int64_t number = 0;
    std::vector<Item> items;
    std::map<std::string, std::vector<bool>> flags;
    std::optional<Item> gift;
    ff::json extra;
};
FF_JSON(Order, number, items, flags, gift, extra)

struct Outer {
    struct Inner {
        int depth = 0;
    };
    Inner inner;
};
FF_JSON(Outer::Inner, depth)
FF_JSON(Outer, inner)

struct Tree {
    std::string name;
    std::vector<Tree> children;
};
FF_JSON(Tree, name, children)

struct Empty {};
FF_JSON(Empty)

namespace deep {
struct Point {
    float x = 0;
    float y = 0;
};
FF_JSON(Point, x, y);
}  // namespace deep

struct Wide {
    int a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, a10 = 10, a11 = 11,
        a12 = 12, a13 = 13, a14 = 14, a15 = 15, a16 = 16, a17 = 17, a18 = 18, a19 = 19, a20 = 20,
        a21 = 21, a22 = 22, a23 = 23, a24 = 24, a25 = 25, a26 = 26, a27 = 27, a28 = 28, a29 = 29,
        a30 = 30, a31 = 31, a32 = 32;
};
FF_JSON(Wide, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19,
        a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32)

/// Not a struct of members: brings a codec of its own.
struct Colour {
    int rgb = 0;
};

}  // namespace shop

struct Global {
    int n = 0;
};
FF_JSON(Global, n)

template <>
struct ff::Codec<shop::Colour> {
    static expected<json> encode(const shop::Colour& colour, const Where&) {
        return json("#" + std::to_string(colour.rgb));
    }
    static expected<shop::Colour> decode(const json& value, const Where& where) {
        const std::string* text = value.if_string();
        if (text == nullptr || !text->starts_with('#')) {
            return where.must_be("a colour", value);
        }
        return shop::Colour{std::stoi(text->substr(1))};
    }
};

namespace {

using ff::decode_json;
using ff::encode_json;

template <class T>
std::string fault(std::string_view text) {
    const auto decoded = decode_json<T>(text);
    return decoded ? "decoded" : decoded.error().detail;
}

TEST(Codec, StructsGoThereAndBack) {
    shop::Order order;
    order.number = 7;
    order.items = {{"pen", 3, 1.5}, {"ink", 1, std::nullopt}};
    order.flags["a"] = {true, false};
    order.extra = ff::json{{"any", "thing"}};
    const auto text = encode_json(order);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, R"({"number":7,"items":[{"name":"pen","amount":3,"price":1.5},)"
                     R"({"name":"ink","amount":1}],"flags":{"a":[true,false]},)"
                     R"("extra":{"any":"thing"}})");
    const auto back = decode_json<shop::Order>(*text);
    ASSERT_TRUE(back) << back.error().detail;
    EXPECT_EQ(back->items[0].price, 1.5);
    EXPECT_FALSE(back->items[1].price);
    EXPECT_EQ(back->flags.at("a"), (std::vector<bool>{true, false}));
    EXPECT_FALSE(back->gift);
    EXPECT_EQ(encode_json(*back), text);
}

TEST(Codec, WorksInAnyNamespaceNestedAndRecursive) {
    EXPECT_EQ(encode_json(shop::Outer{{4}}), R"({"inner":{"depth":4}})");
    EXPECT_EQ(encode_json(Global{5}), R"({"n":5})");
    EXPECT_EQ(encode_json(shop::deep::Point{0.5F, 2}), R"({"x":0.5,"y":2})");
    EXPECT_EQ(encode_json(shop::Empty{}), "{}");
    EXPECT_TRUE(decode_json<shop::Empty>("{}"));
    const auto tree =
        decode_json<shop::Tree>(R"({"name":"a","children":[{"name":"b","children":[]}]})");
    ASSERT_TRUE(tree);
    EXPECT_EQ(tree->children.at(0).name, "b");
}

TEST(Codec, ThirtyTwoMembersAreFine) {
    shop::Wide wide;
    wide.a32 = 99;
    const auto text = encode_json(wide);
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->contains(R"("a31":31,"a32":99})")) << *text;
    EXPECT_EQ(decode_json<shop::Wide>(*text)->a32, 99);
    EXPECT_EQ(fault<shop::Wide>("{}"), "a1: is missing");
}

TEST(Codec, ErrorsNameTheMember) {
    EXPECT_EQ(fault<shop::Item>(R"({"amount":1})"), "name: is missing");
    EXPECT_EQ(fault<shop::Item>(R"({"name":7,"amount":1})"), "name: must be a string, not 7");
    EXPECT_EQ(fault<shop::Order>(R"({"number":1,"items":[{"name":"a","amount":1},{"name":"b",)"
                                 R"("amount":300}],"flags":{},"extra":null})"),
              "items[1].amount: must be a whole number from 0 to 255, not 300");
    EXPECT_EQ(fault<shop::Order>(R"({"number":1,"items":[],"flags":{"a":[true,1]},"extra":null})"),
              "flags.a[1]: must be true or false, not 1");
    EXPECT_EQ(fault<shop::Order>("[]"), "must be an object, not a list");
    EXPECT_EQ(fault<std::vector<int>>("{}"), "must be a list, not an object");
    EXPECT_EQ(fault<shop::Item>(R"({"name":"a","amount":1,"price":"x"})"),
              "price: must be a number that fits, not \"x\"");
    EXPECT_EQ(fault<int>("nonsense").substr(0, 1), "u") << "the parser's own words";
    EXPECT_EQ(decode_json<int>("\"x\"").error().code, ff::ErrorCode::invalid_input);
}

TEST(Codec, LongValuesAreCutInErrors) {
    const std::string text = "\"" + std::string(200, 'x') + "\"";
    EXPECT_LT(fault<int>(text).size(), 130U);
}

TEST(Codec, IntegersAreRangeChecked) {
    EXPECT_EQ(decode_json<std::int8_t>("-128"), -128);
    EXPECT_EQ(decode_json<std::int8_t>("127"), 127);
    EXPECT_FALSE(decode_json<std::int8_t>("128"));
    EXPECT_FALSE(decode_json<std::int8_t>("-129"));
    EXPECT_FALSE(decode_json<std::uint16_t>("-1"));
    EXPECT_FALSE(decode_json<std::uint16_t>("65536"));
    EXPECT_FALSE(decode_json<int>("1.5"));
    EXPECT_FALSE(decode_json<int>("1e2"));
    EXPECT_FALSE(decode_json<int>("true"));
    EXPECT_EQ(decode_json<std::uint64_t>("18446744073709551615"),
              std::numeric_limits<std::uint64_t>::max());
    EXPECT_FALSE(decode_json<std::uint64_t>("18446744073709551616"));
    EXPECT_EQ(decode_json<std::int64_t>("-9223372036854775808"),
              std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(encode_json(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(Codec, NumbersThatAreNotFiniteAreRefused) {
    EXPECT_FALSE(encode_json(std::nan("")));
    EXPECT_EQ(encode_json(shop::Item{"a", 1, INFINITY}).error().detail,
              "price: must be a finite number; JSON has no other");
    EXPECT_FALSE(decode_json<double>("1e999"));
    EXPECT_FALSE(decode_json<float>("1e300"));
    EXPECT_EQ(decode_json<double>("1e300"), 1e300);
}

TEST(Codec, TextMustBeUtf8) {
    EXPECT_EQ(encode_json(std::string("\xFF")).error().detail,
              "must be UTF-8; give bytes as a payload of their own");
    EXPECT_FALSE(encode_json(std::map<std::string, int>{{"\xFF", 1}}));
    EXPECT_EQ(encode_json(std::string("a\"b\n…")), R"("a\"b\n…")");
}

TEST(Codec, AbsentAndNullAreTheSameForOptionals) {
    EXPECT_FALSE(decode_json<shop::Item>(R"({"name":"a","amount":1,"price":null})")->price);
    EXPECT_EQ(encode_json(std::optional<int>()), "null");
    EXPECT_EQ(decode_json<std::optional<int>>("3").value(), std::optional<int>(3));
    EXPECT_EQ(fault<shop::Item>(R"({"name":null,"amount":1})"), "name: must be a string, not null");
}

TEST(Codec, MembersNobodyAskedForAreIgnored) {
    EXPECT_EQ(decode_json<Global>(R"({"n":1,"later":{"x":[]}})")->n, 1);
}

TEST(Codec, ATypeMayBringItsOwnCodec) {
    EXPECT_EQ(encode_json(std::vector<shop::Colour>{{1}, {2}}), R"(["#1","#2"])");
    EXPECT_EQ(decode_json<shop::Colour>(R"("#255")")->rgb, 255);
    EXPECT_EQ(fault<std::vector<shop::Colour>>(R"(["#1",2])"), "[1]: must be a colour, not 2");
}

}  // namespace
