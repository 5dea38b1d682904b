#include "core/merge_patch.h"

#include <algorithm>
#include <utility>

namespace ff::core {

namespace {

bool is_deeper_than(const js::Value& value, std::size_t levels) {
    const js::Object* object = value.if_object();
    if (object == nullptr) {
        return false;
    }
    return levels == 0 || std::ranges::any_of(*object, [&](const js::Member& member) {
               return is_deeper_than(member.second, levels - 1);
           });
}

void put_nulls(js::Value& value) {
    if (const std::string* text = value.if_string(); text != nullptr && *text == null_sentinel) {
        value = nullptr;
    } else if (js::Array* array = value.if_array()) {
        std::ranges::for_each(*array, put_nulls);
    } else if (js::Object* object = value.if_object()) {
        for (js::Member& member : *object) {
            put_nulls(member.second);
        }
    }
}

}  // namespace

void merge_into(js::Value& target, js::Value patch) {
    js::Object* changes = patch.if_object();
    if (changes == nullptr) {
        target = std::move(patch);
        return;
    }
    if (target.if_object() == nullptr) {
        target = js::Object();
    }
    js::Object& members = *target.if_object();
    for (js::Member& change : *changes) {
        const auto member = std::ranges::find(members, change.first, &js::Member::first);
        if (change.second.is_null()) {
            if (member != members.end()) {
                members.erase(member);
            }
        } else if (member != members.end()) {
            merge_into(member->second, std::move(change.second));
        } else {
            js::Value fresh;
            merge_into(fresh, std::move(change.second));
            members.emplace_back(std::move(change.first), std::move(fresh));
        }
    }
}

expected<std::string> merge_patch(std::string_view document, std::string_view patch) {
    auto changes = js::parse(patch);
    if (!changes) {
        return ff::fail(ErrorCode::invalid_input, "patch payload is not valid JSON");
    }
    if (changes->if_object() == nullptr) {
        return ff::fail(ErrorCode::invalid_input, "patch must be a JSON object");
    }
    if (is_deeper_than(*changes, patch_depth_max)) {
        return ff::fail(ErrorCode::invalid_input, "patch_depth_exceeded");
    }
    // Documents grow no deeper than patches, but arrays in them may: the parser's bound holds.
    auto merged = js::parse(document);
    if (!merged || merged->if_object() == nullptr) {
        return ff::fail(ErrorCode::corruption, "the stored summary document is not a JSON object");
    }
    merge_into(*merged, std::move(*changes));
    put_nulls(*merged);
    std::string text = js::dump(*merged);
    if (text.size() > document_bytes_max) {
        return ff::fail(ErrorCode::retention_limit_exceeded,
                        "the summary document would have " + std::to_string(text.size()) +
                            " bytes; " + std::to_string(document_bytes_max) + " are allowed");
    }
    return text;
}

}  // namespace ff::core
