#include <ff/json.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace ff::js {
namespace {

Value parsed(std::string_view text) {
    auto value = parse(text);
    EXPECT_TRUE(value) << text << ": " << value.error().detail;
    return value ? *value : Value();
}

std::string fault_of(std::string_view text, ParseLimits limits = {}) {
    const auto value = parse(text, limits);
    if (value) {
        return "accepted";
    }
    EXPECT_EQ(value.error().code, ErrorCode::invalid_input);
    return value.error().detail;
}

std::string nested_arrays(std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

// -------------------------------------------------------------------------------------- values

TEST(JsonParse, literals_have_their_types) {
    EXPECT_TRUE(parsed("null").is_null());
    EXPECT_EQ(*parsed("true").if_bool(), true);
    EXPECT_EQ(*parsed("false").if_bool(), false);
    EXPECT_EQ(*parsed("\"x\"").if_string(), "x");
    EXPECT_TRUE(parsed("[]").if_array()->empty());
    EXPECT_TRUE(parsed("{}").if_object()->empty());
}

TEST(JsonParse, blanks_may_stand_around_everything) {
    EXPECT_EQ(parsed(" \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : null } \n"),
              parsed(R"({"a":[1,2],"b":null})"));
}

TEST(JsonParse, only_the_four_blanks_are_blank) {
    for (const char* text : {"\f1", "\v1", "\u00A01", "\uFEFF1", "1\f"}) {
        EXPECT_NE(fault_of(text), "accepted") << text;
    }
}

TEST(JsonParse, members_keep_the_order_they_were_written_in) {
    EXPECT_EQ(dump(parsed(R"({"z":1,"a":2,"m":3})")), R"({"z":1,"a":2,"m":3})");
}

TEST(JsonParse, of_repeated_members_the_last_value_wins_at_the_place_of_the_first) {
    EXPECT_EQ(dump(parsed(R"({"a":1,"b":2,"a":3})")), R"({"a":3,"b":2})");
    EXPECT_EQ(dump(parsed(R"({"a":1,"\u0061":3})")), R"({"a":3})");
}

TEST(JsonParse, repeated_members_are_merged_alike_in_objects_of_any_size) {
    for (int size = 1; size < 80; ++size) {
        std::string text = "{";
        std::string expected = "{";
        for (int round = 0; round < 3; ++round) {
            for (int i = 0; i < size; ++i) {
                text += "\"k" + std::to_string(i) + "\":" + std::to_string(round) + ",";
                if (round == 2) {
                    expected += "\"k" + std::to_string(i) + "\":2,";
                }
            }
        }
        text.back() = '}';
        expected.back() = '}';
        EXPECT_EQ(dump(parsed(text)), expected) << size;
    }
}

TEST(JsonParse, an_object_of_very_many_members_is_read_in_reasonable_time) {
    std::string text = "{";
    for (int i = 0; i < 50'000; ++i) {
        text += "\"" + std::to_string(i) + "\":0,";
    }
    text += "\"0\":1}";
    const Value value = parsed(text);
    EXPECT_EQ(value.if_object()->size(), 50'000U);
    EXPECT_EQ(value.if_object()->front().second, Value(1));
}

// -------------------------------------------------------------------------------------- numbers

TEST(JsonNumber, text_is_preserved_as_spelled) {
    for (const char* text : {"0", "-0", "1", "-1", "10", "1.0", "1.50", "1e5", "1E+5", "1e-05",
                             "0.1", "-0.0e0", "123456789012345678901234567890", "1e999"}) {
        EXPECT_EQ(parsed(text).if_number()->text, text);
        EXPECT_EQ(dump(parsed(text)), text);
    }
}

TEST(JsonNumber, forms_outside_the_grammar_are_refused) {
    for (const char* text : {"01", "-01", "+1", "1.", ".1", "-", "-.1", "1e", "1e+", "1.e1", "0x1",
                             "NaN", "nan", "Infinity", "-Infinity", "1_000", "--1", "1a", "00"}) {
        EXPECT_NE(fault_of(text), "accepted") << text;
    }
}

TEST(JsonNumber, integers_are_numbers_without_fraction_or_exponent_that_fit) {
    EXPECT_EQ(parsed("5").as_int64(), 5);
    EXPECT_EQ(parsed("-5").as_int64(), -5);
    EXPECT_EQ(parsed("-0").as_int64(), 0);
    EXPECT_EQ(parsed("9223372036854775807").as_int64(), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(parsed("-9223372036854775808").as_int64(), std::numeric_limits<std::int64_t>::min());
    for (const char* text : {"5.0", "5e0", "9223372036854775808", "-9223372036854775809", "\"5\"",
                             "true", "null", "[5]"}) {
        EXPECT_FALSE(parsed(text).as_int64()) << text;
    }
}

TEST(JsonNumber, unsigned_integers_reach_further_up_and_not_below_zero) {
    EXPECT_EQ(parsed("18446744073709551615").as_uint64(), ~std::uint64_t{0});
    EXPECT_EQ(parsed("-0").as_uint64(), 0U);
    for (const char* text : {"18446744073709551616", "-1", "1.0", "\"1\"", "null"}) {
        EXPECT_FALSE(parsed(text).as_uint64()) << text;
    }
}

TEST(JsonNumber, doubles_are_any_number_that_is_finite) {
    EXPECT_EQ(parsed("1.5").as_double(), 1.5);
    EXPECT_EQ(parsed("1e3").as_double(), 1000.0);
    EXPECT_EQ(parsed("-2").as_double(), -2.0);
    for (const char* text :
         {"1e999", "-1e999", "1e99999999999999999999", "\"1\"", "true", "null"}) {
        EXPECT_FALSE(parsed(text).as_double()) << text;
    }
    EXPECT_FALSE(parsed("1" + std::string(400, '0')).as_double());
}

TEST(JsonNumber, doubles_too_small_to_hold_are_zero) {
    const std::string zeros(500, '0');
    for (const std::string& text :
         {std::string("1e-999"), "0." + zeros + "1", std::string("1e-99999999999999999999"),
          "0." + zeros + zeros + "1e400"}) {
        EXPECT_EQ(parsed(text).as_double(), 0.0) << text;
        EXPECT_TRUE(std::signbit(parsed("-" + text).as_double().value())) << text;
    }
}

TEST(JsonNumber, hand_made_text_that_is_no_number_reads_as_none) {
    for (const char* text : {"", "abc", "inf", "nan", "1 "}) {
        EXPECT_FALSE(Value(Number{text}).as_int64()) << text;
        EXPECT_FALSE(Value(Number{text}).as_double()) << text;
    }
}

TEST(JsonNumber, a_double_is_written_so_that_it_reads_back_exactly) {
    EXPECT_EQ(dump(Value(2.0)), "2");
    EXPECT_EQ(dump(Value(0.1)), "0.1");
    EXPECT_TRUE(rc::check([](double d) {
        RC_PRE(std::isfinite(d));
        RC_ASSERT(parse(dump(Value(d))).value().as_double() == d);
    }));
}

TEST(JsonNumberDeathTest, a_double_that_is_not_finite_is_a_bug) {
    EXPECT_DEATH(Value(std::numeric_limits<double>::infinity()), "no infinities");
}

// -------------------------------------------------------------------------------------- strings

TEST(JsonString, every_escape_means_what_the_rfc_says) {
    EXPECT_EQ(*parsed(R"("\"\\\/\b\f\n\r\t")").if_string(), "\"\\/\b\f\n\r\t");
    EXPECT_EQ(*parsed(R"("\u0041\u00e9\u00E9\u6771")").if_string(), "Aéé東");
    EXPECT_EQ(*parsed(R"("\u0000")").if_string(), std::string(1, '\0'));
    EXPECT_EQ(*parsed(R"("\uFFFF")").if_string(), "\uFFFF");
}

TEST(JsonString, surrogate_pairs_are_joined) {
    EXPECT_EQ(*parsed(R"("\uD83D\uDE00")").if_string(), "😀");
    EXPECT_EQ(*parsed(R"("\ud800\udc00")").if_string(), "\U00010000");
    EXPECT_EQ(*parsed(R"("\uDBFF\uDFFF")").if_string(), "\U0010FFFF");
}

TEST(JsonString, lone_surrogates_are_refused_where_they_start) {
    for (const char* text : {R"("\uD800")", R"("\uDC00")", R"("\uD800x")", R"("\uD800\n")",
                             R"("\uD800\uD800")", R"("\uD800\u0041")", R"("\uDE00\uD83D")"}) {
        EXPECT_EQ(fault_of(text), "lone surrogate at line 1 column 2") << text;
    }
}

TEST(JsonString, faulty_escapes_are_refused) {
    for (const char* text : {R"("\x41")", R"("\U0041")", R"("\'")", R"("\0")", R"("\ ")"}) {
        EXPECT_EQ(fault_of(text), "unknown escape at line 1 column 2") << text;
    }
    for (const char* text : {R"("\u")", R"("\u12")", R"("\u12G4")", R"("\u-123")", R"("\u+123")",
                             R"("\u 123")", R"("\u0x1F")", "\"\\u12"}) {
        EXPECT_EQ(fault_of(text), "expected four hex digits at line 1 column 2") << text;
    }
}

TEST(JsonString, raw_control_characters_are_refused_and_delete_is_not_one) {
    for (int c = 0; c < 0x20; ++c) {
        const std::string text = {'"', static_cast<char>(c), '"'};
        EXPECT_EQ(fault_of(text), "control character in a string at line 1 column 2") << c;
    }
    EXPECT_EQ(*parsed("\"\x7f\"").if_string(), "\x7f");
}

TEST(JsonString, text_that_is_not_utf8_is_refused_at_the_faulty_byte) {
    EXPECT_EQ(fault_of("\"\xff\""), "invalid UTF-8 at line 1 column 2");
    EXPECT_EQ(fault_of("\"é\xC0\x80\""), "invalid UTF-8 at line 1 column 3");
    EXPECT_EQ(fault_of("\"ab\xED\xA0\x80\""), "invalid UTF-8 at line 1 column 4");
    EXPECT_EQ(fault_of("\"x\xF0\x9F\x98"), "invalid UTF-8 at line 1 column 3");
}

TEST(JsonString, an_unfinished_string_ends_at_the_end) {
    EXPECT_EQ(fault_of("\"abc"), "unexpected end of text at line 1 column 5");
    EXPECT_EQ(fault_of("\""), "unexpected end of text at line 1 column 2");
    EXPECT_EQ(fault_of("\"\\"), "unknown escape at line 1 column 2");
}

// ------------------------------------------------------------------------------------- refusals

TEST(JsonParse, malformed_documents_are_refused) {
    for (const char* text :
         {"",           " ",          "[",           "]",         "{",          "}",
          "[1",         "[1,",        "[1,]",        "[,1]",      "[1 2]",      "{\"a\"}",
          "{\"a\":}",   "{\"a\":1,}", "{,}",         "{a:1}",     "{'a':1}",    "{\"a\":1 \"b\":2}",
          "{1:2}",      "tru",        "True",        "TRUE",      "nul",        "truex",
          "true false", "1 1",        "[]]",         "'a'",       "// c\n1",    "/* c */1",
          "[1]//",      "undefined",  "\"a\" \"b\"", "{\"a\" 1}", "{\"a\"::1}", "[1:2]",
          ",",          ":",          "\\u0031"}) {
        EXPECT_NE(fault_of(text), "accepted") << text;
    }
    EXPECT_NE(fault_of(std::string_view("\0", 1)), "accepted");
    EXPECT_NE(fault_of(std::string_view("1\0", 2)), "accepted");
    EXPECT_NE(fault_of(std::string_view("[1\0]", 4)), "accepted");
}

TEST(JsonParse, a_fault_names_what_line_and_column_counting_characters_from_one) {
    EXPECT_EQ(fault_of(""), "unexpected end of text at line 1 column 1");
    EXPECT_EQ(fault_of("[1,]"), "unexpected character at line 1 column 4");
    EXPECT_EQ(fault_of("[1 2]"), "expected ',' or ']' at line 1 column 4");
    EXPECT_EQ(fault_of("{\n  \"a\": 1\n  \"b\": 2}"), "expected ',' or '}' at line 3 column 3");
    EXPECT_EQ(fault_of("{\"a\" 1}"), "expected ':' at line 1 column 6");
    EXPECT_EQ(fault_of("{\"a\":1,}"), "expected a member name at line 1 column 8");
    EXPECT_EQ(fault_of("[\n\"東京\", x]"), "unexpected character at line 2 column 7");
    EXPECT_EQ(fault_of("[\r\nnope]"), "unknown word at line 2 column 1");
    EXPECT_EQ(fault_of("1.x"), "expected a digit at line 1 column 3");
    EXPECT_EQ(fault_of("{} x"), "text after the value at line 1 column 4");
    EXPECT_EQ(fault_of("01"), "text after the value at line 1 column 2");
}

TEST(JsonParse, depth_is_bounded_and_the_bound_is_inclusive) {
    EXPECT_EQ(fault_of(nested_arrays(64)), "accepted");
    EXPECT_EQ(fault_of(nested_arrays(65)), "nested too deeply at line 1 column 65");
    EXPECT_EQ(fault_of("{\"a\":{}}", {.depth_max = 2}), "accepted");
    EXPECT_EQ(fault_of("{\"a\":{}}", {.depth_max = 1}), "nested too deeply at line 1 column 6");
    EXPECT_EQ(fault_of("1", {.depth_max = 0}), "accepted");
    EXPECT_EQ(fault_of("[]", {.depth_max = 0}), "nested too deeply at line 1 column 1");
    EXPECT_EQ(fault_of("[[],[],[]]", {.depth_max = 2}), "accepted");
    EXPECT_NE(fault_of(std::string(1'000'000, '[')), "accepted");
}

TEST(JsonParse, every_truncation_of_a_document_is_refused) {
    const std::string text = R"({"a":[1.5e3,true,null,"x\u00e9\uD83D\uDE00"],"b":{"c":false}})";
    for (std::size_t size = 0; size < text.size(); ++size) {
        EXPECT_NE(fault_of(std::string(text, 0, size)), "accepted") << size;
    }
}

TEST(JsonParse, every_changed_byte_is_accepted_or_refused_but_never_crashes) {
    const std::string text = R"({"a":[1.5e3,true,null,"x\u00e9\uD83D\uDE00é"],"b":{"c":false}})";
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (int value = 0; value < 256; ++value) {
            std::string changed = text;
            changed[at] = static_cast<char>(value);
            if (const auto read = parse(changed)) {
                EXPECT_EQ(parse(dump(*read)).value(), *read);
            }
        }
    }
}

// -------------------------------------------------------------------------------------- members

TEST(JsonValue, find_gives_the_last_member_of_a_name_or_nothing) {
    const Value value(Object{{"a", 1}, {"b", nullptr}, {"a", 2}});
    EXPECT_EQ(*value.find("a"), Value(2));
    EXPECT_TRUE(value.find("b")->is_null());
    EXPECT_EQ(value.find("c"), nullptr);
    EXPECT_EQ(Value(1).find("a"), nullptr);
    EXPECT_EQ(Value(Array{}).find("a"), nullptr);
}

TEST(JsonValue, set_replaces_in_place_or_appends) {
    Value value(Object{{"a", 1}, {"b", 2}});
    value.set("a", "x");
    value.set("c", true);
    EXPECT_EQ(dump(value), R"({"a":"x","b":2,"c":true})");
}

TEST(JsonValueDeathTest, set_on_anything_but_an_object_is_a_bug) {
    Value value(1);
    EXPECT_DEATH(value.set("a", 1), "members belong to objects");
}

// -------------------------------------------------------------------------------------- writing

TEST(JsonDump, strings_are_escaped_minimally) {
    EXPECT_EQ(dump(Value("a\"b\\c/d")), R"("a\"b\\c/d")");
    EXPECT_EQ(dump(Value("\b\f\n\r\t")), R"("\b\f\n\r\t")");
    EXPECT_EQ(dump(Value(std::string("\0\x1f\x7f", 3))), "\"\\u0000\\u001f\x7f\"");
    EXPECT_EQ(dump(Value("東京 😀")), "\"東京 😀\"");
    EXPECT_EQ(dump(Value("")), "\"\"");
}

TEST(JsonDump, quoting_appends_to_what_is_there) {
    std::string out = "x=";
    append_quoted(out, "a\nb");
    EXPECT_EQ(out, "x=\"a\\nb\"");
}

TEST(JsonDump, compact_text_has_no_blanks) {
    EXPECT_EQ(dump(parsed(R"( { "a" : [ 1 , { } , [ ] ] , "b" : null } )")),
              R"({"a":[1,{},[]],"b":null})");
}

TEST(JsonDump, pretty_text_has_a_line_a_member_and_two_spaces_a_level) {
    EXPECT_EQ(dump_pretty(parsed(R"({"a":[1,{"b":true}],"c":{},"d":[]})")),
              "{\n"
              "  \"a\": [\n"
              "    1,\n"
              "    {\n"
              "      \"b\": true\n"
              "    }\n"
              "  ],\n"
              "  \"c\": {},\n"
              "  \"d\": []\n"
              "}");
    EXPECT_EQ(dump_pretty(Value(7)), "7");
}

// ----------------------------------------------------------------------------------- properties

std::string any_text() {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", "Z", " ", "\"", "\\", "/", "\n", "\t", "\x01", "\x7f", "é", "東", "😀", "\u2028"));
    std::string text;
    for (const std::string& piece : pieces) {
        text += piece;
    }
    return text;
}

Value any_value(int depth) {
    switch (*rc::gen::inRange(0, depth > 0 ? 8 : 6)) {
        case 0: return nullptr;
        case 1: return *rc::gen::arbitrary<bool>();
        case 2: return *rc::gen::arbitrary<std::int64_t>();
        case 3: return *rc::gen::arbitrary<std::uint64_t>();
        case 4: {
            const double d = *rc::gen::arbitrary<double>();
            return std::isfinite(d) ? d : 0.5;
        }
        case 5: return any_text();
        case 6: {
            Array array;
            const int size = *rc::gen::inRange(0, 5);
            for (int i = 0; i < size; ++i) {
                array.push_back(any_value(depth - 1));
            }
            return array;
        }
        default: {
            Value object{Object{}};
            const int size = *rc::gen::inRange(0, 5);
            for (int i = 0; i < size; ++i) {
                object.set(any_text(), any_value(depth - 1));
            }
            return object;
        }
    }
}

TEST(JsonRoundTrip, any_value_reads_back_as_itself_from_both_layouts) {
    EXPECT_TRUE(rc::check([] {
        const Value value = any_value(4);
        RC_ASSERT(parse(dump(value)).value() == value);
        RC_ASSERT(parse(dump_pretty(value)).value() == value);
    }));
}

TEST(JsonRoundTrip, arbitrary_bytes_are_refused_or_read_but_never_crash) {
    EXPECT_TRUE(rc::check([](const std::string& bytes) {
        for (const std::string& text : {bytes, "\"" + bytes + "\"", "[" + bytes + "]"}) {
            if (const auto value = parse(text)) {
                RC_ASSERT(parse(dump(*value)).value() == *value);
            }
        }
    }));
}

}  // namespace
}  // namespace ff::js
