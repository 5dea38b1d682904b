// Merge patches: the examples of RFC 7396, the additions of spec 05 section 4.2, and a model.
#include "core/merge_patch.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>

namespace ff::core {
namespace {

std::string merged(const std::string& target, const std::string& patch) {
    js::Value value = *js::parse(target);
    merge_into(value, *js::parse(patch));
    return js::dump(value);
}

TEST(MergePatch, TheExamplesOfTheStandard) {
    const std::vector<std::array<std::string, 3>> rows{
        {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
        {R"({"a":"b"})", R"({"a":null})", R"({})"},
        {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
        {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
        {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
        {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
        {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
        {R"({"a":"foo"})", R"(null)", R"(null)"},
        {R"({"a":"foo"})", R"("bar")", R"("bar")"},
        {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
        {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
        {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
    };
    for (const auto& [target, patch, result] : rows) {
        EXPECT_EQ(merged(target, patch), result) << target << " + " << patch;
    }
}

TEST(MergePatch, AnEmptyObjectKeepsAnObjectAndReplacesAnythingElse) {
    EXPECT_EQ(merged(R"({"a":{"b":1}})", R"({"a":{}})"), R"({"a":{"b":1}})");
    EXPECT_EQ(merged(R"({"a":[1]})", R"({"a":{}})"), R"({"a":{}})");
    EXPECT_EQ(merged(R"({})", R"({"a":{},"b":[]})"), R"({"a":{},"b":[]})");
}

TEST(MergePatch, NumbersStayAsTheyWereWritten) {
    EXPECT_EQ(*merge_patch(R"({"a":1.10,"b":1e3})", R"({"c":-0.0,"d":12345678901234567890})"),
              R"({"a":1.10,"b":1e3,"c":-0.0,"d":12345678901234567890})");
}

TEST(MergePatch, ADocumentThatIsNoneIsToldAndNotReplaced) {
    for (const char* document : {"", "{", "[]", "null"}) {
        EXPECT_EQ(merge_patch(document, "{}").error().code, ErrorCode::corruption) << document;
    }
}

TEST(MergePatch, ADocumentHasAtMostOneMebibyte) {
    const std::string half(document_bytes_max / 2, 'x');
    auto document = merge_patch("{}", R"({"a":")" + half + "\"}");
    ASSERT_TRUE(document);
    EXPECT_EQ(merge_patch(*document, R"({"b":")" + half + "\"}").error().code,
              ErrorCode::retention_limit_exceeded);
    const std::string room(document_bytes_max - document->size() - std::string(R"(,"b":"")").size(),
                           'y');
    auto full = merge_patch(*document, R"({"b":")" + room + "\"}");
    ASSERT_TRUE(full);
    EXPECT_EQ(full->size(), document_bytes_max);
}

// A second opinion: trees of maps, merged as the standard's own words say.
struct Tree {
    bool is_object = false;
    std::map<std::string, std::shared_ptr<Tree>> members;
    std::string other;  ///< the text of anything else

    explicit Tree(const js::Value& value) {
        if (const js::Object* object = value.if_object()) {
            is_object = true;
            for (const auto& [name, member] : *object) {
                members[name] = std::make_shared<Tree>(member);
            }
        } else {
            other = js::dump(value);
        }
    }
    void patch(const Tree& with) {
        if (!with.is_object) {
            *this = with;
            return;
        }
        if (!is_object) {
            *this = Tree(js::Value(js::Object()));
        }
        for (const auto& [name, change] : with.members) {
            if (!change->is_object && change->other == "null") {
                members.erase(name);
            } else {
                auto copy = members.contains(name) ? std::make_shared<Tree>(*members[name])
                                                   : std::make_shared<Tree>(js::Value());
                copy->patch(*change);
                members[name] = std::move(copy);
            }
        }
    }
    [[nodiscard]] std::string text() const {
        if (!is_object) {
            return other;
        }
        std::string out;
        for (const auto& [name, member] : members) {
            out += (out.empty() ? "" : ",") + name + ":" + member->text();
        }
        return "{" + out + "}";
    }
};

js::Value any_value(int depth) {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 6 : 4);
    switch (kind) {
        case 0: return nullptr;
        case 1: return *rc::gen::inRange(0, 9);
        case 2: return "text";
        case 3: return js::Array{js::Value(1), js::Value(nullptr)};
        default: break;
    }
    js::Object object;
    for (int n = *rc::gen::inRange(0, 4); n > 0; --n) {
        const std::string name(1, static_cast<char>('a' + *rc::gen::inRange(0, 4)));
        if (std::ranges::find(object, name, &js::Member::first) == object.end()) {
            object.emplace_back(name, any_value(depth - 1));
        }
    }
    return object;
}

TEST(MergePatch, AgreesWithASecondOpinion) {
    EXPECT_TRUE(rc::check("on random documents and patches", [] {
        js::Value document = any_value(4);
        Tree model(document);
        for (int n = *rc::gen::inRange(1, 5); n > 0; --n) {
            const js::Value patch = any_value(4);
            model.patch(Tree(patch));
            merge_into(document, patch);
        }
        RC_ASSERT(Tree(document).text() == model.text());
    }));
}

TEST(MergePatch, LargeObjectsAreMergedLikeSmallOnes) {
    js::Object before;
    js::Object patch;
    std::map<std::string, int> expected;
    for (int i = 0; i < 300; ++i) {
        before.emplace_back("m" + std::to_string(i), i);
        expected["m" + std::to_string(i)] = i;
    }
    for (int i = 0; i < 400; i += 3) {
        const std::string name = "m" + std::to_string(i);
        const bool removed = i % 2 == 0;
        patch.emplace_back(name, removed ? js::Value(nullptr) : js::Value(-i));
        removed ? static_cast<void>(expected.erase(name)) : static_cast<void>(expected[name] = -i);
    }
    patch.emplace_back("m0", 7);  // gone above, here again
    expected["m0"] = 7;
    js::Value document(std::move(before));
    merge_into(document, patch);
    std::map<std::string, int> found;
    for (const js::Member& member : *document.if_object()) {
        EXPECT_TRUE(found.emplace(member.first, std::stoi(js::dump(member.second))).second);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(document.if_object()->back().first, "m0") << "what is new stands last";
    EXPECT_EQ(document.if_object()->front().first, "m1") << "the others keep their order";
}

TEST(MergePatch, ALargePatchTakesTimeInProportion) {
    const auto members = [](int from, int count) {
        js::Object out;
        for (int i = from; i < from + count; ++i) {
            out.emplace_back("member" + std::to_string(i), i);
        }
        return out;
    };
    // One by one this is a billion comparisons.
    js::Value document(members(0, 40'000));
    const auto begin = std::chrono::steady_clock::now();
    merge_into(document, members(20'000, 40'000));
    EXPECT_EQ(document.if_object()->size(), 60'000U);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace ff::core
