#include "core/merge_patch.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

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

/// The members of an object by name, while it is changed. One by one below a size; an index above.
class Members {
  public:
    Members(js::Object& members, std::size_t changes)
        : members_(members), indexed_(changes >= 8 && members.size() + changes > 64) {
        if (indexed_) {
            for (std::size_t i = 0; i < members_.size(); ++i) {
                places_.try_emplace(members_[i].first, i);
            }
        }
    }

    /// Null when it is not there.
    js::Member* find(const std::string& name) {
        if (indexed_) {
            const auto it = places_.find(name);
            return it != places_.end() ? &members_[it->second] : nullptr;
        }
        const auto it = std::ranges::find(members_, name, &js::Member::first);
        return it != members_.end() ? &*it : nullptr;
    }
    void add(std::string name, js::Value value) {
        if (indexed_) {
            places_.emplace(name, members_.size());
        }
        members_.emplace_back(std::move(name), std::move(value));
    }
    void remove(js::Member& member) {
        const std::size_t place = static_cast<std::size_t>(&member - members_.data());
        if (indexed_) {
            places_.erase(member.first);
            gone_.push_back(place);
        } else {
            members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(place));
        }
    }
    /// Closes the gaps.
    void finish() {
        std::ranges::sort(gone_);
        auto next_gone = gone_.begin();
        std::size_t kept = 0;
        for (std::size_t i = 0; i < members_.size() && !gone_.empty(); ++i) {
            if (next_gone != gone_.end() && *next_gone == i) {
                ++next_gone;
            } else if (kept++ != i) {
                members_[kept - 1] = std::move(members_[i]);
            }
        }
        members_.resize(gone_.empty() ? members_.size() : kept);
    }

  private:
    js::Object& members_;
    const bool indexed_;
    std::unordered_map<std::string, std::size_t> places_;
    std::vector<std::size_t> gone_;
};

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
    Members members(*target.if_object(), changes->size());
    for (js::Member& change : *changes) {
        js::Member* member = members.find(change.first);
        if (change.second.is_null()) {
            if (member != nullptr) {
                members.remove(*member);
            }
        } else if (member != nullptr) {
            merge_into(member->second, std::move(change.second));
        } else {
            js::Value fresh;
            merge_into(fresh, std::move(change.second));
            members.add(std::move(change.first), std::move(fresh));
        }
    }
    members.finish();
}

expected<js::Value> read_patch(std::string_view text) {
    auto changes = js::parse(text);
    if (!changes) {
        return ff::fail(ErrorCode::invalid_input, "patch payload is not valid JSON");
    }
    if (changes->if_object() == nullptr) {
        return ff::fail(ErrorCode::invalid_input, "patch must be a JSON object");
    }
    if (is_deeper_than(*changes, patch_depth_max)) {
        return ff::fail(ErrorCode::invalid_input, "patch_depth_exceeded");
    }
    return changes;
}

expected<js::Value> read_document(std::string_view text) {
    // Documents grow no deeper than patches, but arrays in them may: the parser's bound holds.
    auto document = js::parse(text);
    if (!document || document->if_object() == nullptr) {
        return ff::fail(ErrorCode::corruption, "the stored summary document is not a JSON object");
    }
    return document;
}

expected<std::string> write_document(js::Value document) {
    put_nulls(document);
    std::string text = js::dump(document);
    if (text.size() > document_bytes_max) {
        return ff::fail(ErrorCode::retention_limit_exceeded,
                        "the summary document would have " + std::to_string(text.size()) +
                            " bytes; " + std::to_string(document_bytes_max) + " are allowed");
    }
    return text;
}

expected<std::string> merge_patch(std::string_view document, std::string_view patch) {
    FF_TRY(js::Value changes, read_patch(patch));
    FF_TRY(js::Value merged, read_document(document));
    merge_into(merged, std::move(changes));
    return write_document(std::move(merged));
}

}  // namespace ff::core
