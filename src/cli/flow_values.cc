#include "cli/flow_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "cli/suggest.h"
#include "cli/text.h"
#include "cli/times.h"

namespace ff::cli {

bool is_variable_name(std::string_view text) {
    const auto is_fine = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    return !text.empty() && (text[0] < '0' || text[0] > '9') && std::ranges::all_of(text, is_fine);
}

std::unexpected<Error> FlowValues::fault(const Place& at, const std::string& what) const {
    return fault_at(terms_.file, at, what);
}

expected<void> FlowValues::checked(const Place& at, std::string_view name,
                                   const expected<void>& check) const {
    if (check) {
        return {};
    }
    const std::string& detail = check.error().detail;
    return fault(at, detail.starts_with(name) ? detail : fmt::format("{}: {}", name, detail));
}

expected<void> FlowValues::check_names(const Doc& table, const std::string& where,
                                       Names known) const {
    for (const DocMember& member : table.members) {
        if (std::ranges::find(known, member.name) == known.end()) {
            const std::vector<std::string> words(known.begin(), known.end());
            const std::string meant = nearest_word(member.name, words);
            return fault(member.at,
                         fmt::format("{} has no setting \"{}\"; {}", where, printable(member.name),
                                     meant.empty() ? "it may have " + joined(words)
                                                   : fmt::format("did you mean {}?", meant)));
        }
    }
    return {};
}

expected<void> FlowValues::read_variables(const Doc& root) {
    if (const DocMember* vars = root.find("vars")) {
        FF_TRY_VOID(want_table(*vars));
        for (const DocMember& var : vars->value.members) {
            if (!is_variable_name(var.name)) {
                return fault(var.at, "a variable is named with letters, digits and _");
            }
            FF_TRY(values_[var.name], plain_text(var));
        }
    }
    for (const Variables* more : {&terms_.kept, &terms_.given}) {
        for (const auto& [name, value] : *more) {
            values_[name] = value;
        }
    }
    return {};
}

expected<Variables> FlowValues::used_variables() const {
    for (const auto& [name, value] : terms_.given) {
        if (!used_.contains(name)) {
            return fault({}, fmt::format("--var {}: the file does not use ${{{}}}", printable(name),
                                         printable(name)));
        }
    }
    Variables out;
    for (const std::string& name : used_) {
        out[name] = values_.at(name);
    }
    return out;
}

expected<std::string> FlowValues::put_in(const std::string& text, const Place& at, Unset unset) {
    std::string out;
    for (std::size_t i = 0; i < text.size();) {
        if (text.compare(i, 3, "$${") == 0) {
            out += "${";
            i += 3;
            continue;
        }
        const std::size_t end = text.compare(i, 2, "${") == 0 ? text.find('}', i) : i;
        const std::string name =
            end != std::string::npos && end > i ? text.substr(i + 2, end - i - 2) : "";
        const auto value = values_.find(name);
        if (value != values_.end()) {
            used_.insert(name);
            out += value->second;
            i = end + 1;
        } else if (is_variable_name(name) && unset == Unset::refused) {
            return fault(at, fmt::format("${{{0}}} has no value; give one with --var {0}=… or "
                                         "in [vars], or write $${{{0}}} for the text itself",
                                         name));
        } else {
            out.push_back(text[i++]);
        }
    }
    return out;
}

expected<void> FlowValues::want_table(const DocMember& member) const {
    return member.value.kind == Doc::Kind::table
               ? expected<void>()
               : fault(member.value.at,
                       fmt::format("{} is a table, not {}", member.name, member.value.what()));
}

expected<std::string> FlowValues::plain_text(const DocMember& member) const {
    if (member.value.if_text() == nullptr) {
        return fault(member.value.at, fmt::format("{0} is a text, not {1}; write {0} = \"…\"",
                                                  member.name, member.value.what()));
    }
    return *member.value.if_text();
}

expected<std::string> FlowValues::text(const DocMember& member, Unset unset) {
    FF_TRY(const std::string plain, plain_text(member));
    return put_in(plain, member.value.at, unset);
}

expected<std::vector<std::string>> FlowValues::texts(const DocMember& member) {
    std::vector<std::string> out;
    for (const Doc& item : member.value.items) {
        if (item.if_text() == nullptr) {
            return fault(item.at, fmt::format("{} is a list of texts, and this is {}", member.name,
                                              item.what()));
        }
        FF_TRY(out.emplace_back(), put_in(*item.if_text(), item.at, Unset::refused));
    }
    if (member.value.kind != Doc::Kind::list) {
        return fault(member.value.at,
                     fmt::format("{0} is a list of texts, not {1}; write {0} = [\"…\"]",
                                 member.name, member.value.what()));
    }
    return out;
}

expected<bool> FlowValues::truth(const DocMember& member) const {
    const bool* value = member.value.leaf.if_bool();
    if (value == nullptr) {
        return fault(member.value.at,
                     fmt::format("{} is true or false, not {}", member.name, member.value.what()));
    }
    return *value;
}

expected<std::int64_t> FlowValues::whole(const DocMember& member, std::int64_t low,
                                         std::int64_t high) const {
    const auto value = member.value.leaf.as_int64();
    if (!value || *value < low || *value > high) {
        return fault(member.value.at,
                     fmt::format("{} is a whole number from {} to {}", member.name, low, high));
    }
    return *value;
}

expected<DurationMs> FlowValues::span(const DocMember& member) {
    FF_TRY(const std::string word, text(member));
    const auto span = parse_span(word);
    if (!span) {
        return fault(member.value.at, fmt::format("{}: {}", member.name, span.error().detail));
    }
    return *span;
}

expected<DurationMs> FlowValues::some_span(const DocMember& member) {
    FF_TRY(const DurationMs value, span(member));
    if (value == 0) {
        return fault(
            member.value.at,
            fmt::format("{}: nothing is that quick; leave it out for no limit", member.name));
    }
    return value;
}

expected<std::string> FlowValues::one_of(const DocMember& member, Names words) {
    FF_TRY(std::string word, text(member));
    if (std::ranges::find(words, word) == words.end()) {
        const std::vector<std::string> known(words.begin(), words.end());
        return fault(member.value.at, fmt::format("{} is one of {}, not \"{}\"", member.name,
                                                  joined(known), printable(word)));
    }
    return word;
}

expected<js::Value> FlowValues::json(const Doc& doc) {
    if (doc.kind == Doc::Kind::table) {
        js::Object object;
        for (const DocMember& member : doc.members) {
            FF_TRY(js::Value value, json(member.value));
            object.emplace_back(member.name, std::move(value));
        }
        return js::Value(std::move(object));
    }
    if (doc.kind == Doc::Kind::list) {
        js::Array list;
        for (const Doc& item : doc.items) {
            FF_TRY(list.emplace_back(), json(item));
        }
        return js::Value(std::move(list));
    }
    if (doc.if_text() == nullptr) {
        return doc.leaf;
    }
    FF_TRY(std::string text, put_in(*doc.if_text(), doc.at, Unset::refused));
    return js::Value(std::move(text));
}

}  // namespace ff::cli
