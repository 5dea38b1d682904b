#include "cli/flow_doc.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <sstream>
#include <utility>

#include "cli/text.h"
#include "http/toml.h"

namespace ff::cli {

namespace {

// ------------------------------------------------------------------------------------------ TOML

Place place_of(const toml::source_region& source) {
    return {static_cast<std::uint32_t>(source.begin.line),
            static_cast<std::uint32_t>(source.begin.column)};
}

/// Dates have no other form in JSON than their text.
template <class T>
js::Value spelled(const T& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

class TomlDoc {
  public:
    explicit TomlDoc(const std::string& file) : file_(file) {}

    expected<Doc> of(const toml::node& node) const {
        Doc doc;
        doc.at = place_of(node.source());
        if (const toml::table* table = node.as_table()) {
            doc.kind = Doc::Kind::table;
            for (const auto& [key, value] : *table) {
                FF_TRY(Doc member, of(value));
                doc.members.push_back(
                    {std::string(key.str()), place_of(key.source()), std::move(member)});
            }
            // The library sorts by name.
            std::ranges::stable_sort(doc.members, [](const DocMember& a, const DocMember& b) {
                return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
            });
        } else if (const toml::array* list = node.as_array()) {
            doc.kind = Doc::Kind::list;
            for (const toml::node& item : *list) {
                FF_TRY(doc.items.emplace_back(), of(item));
            }
        } else {
            FF_TRY(doc.leaf, leaf_of(node, doc.at));
        }
        return doc;
    }

  private:
    expected<js::Value> leaf_of(const toml::node& node, const Place& at) const {
        if (const auto* text = node.as_string()) {
            return js::Value(text->get());
        }
        if (const auto* whole = node.as_integer()) {
            return js::Value(whole->get());
        }
        if (const auto* truth = node.as_boolean()) {
            return js::Value(truth->get());
        }
        if (const auto* real = node.as_floating_point()) {
            if (!std::isfinite(real->get())) {
                return fault_at(file_, at, "inf and nan cannot be used here");
            }
            return js::Value(real->get());
        }
        if (const auto* date = node.as_date()) {
            return spelled(date->get());
        }
        if (const auto* time = node.as_time()) {
            return spelled(time->get());
        }
        return spelled(node.as_date_time()->get());
    }

    const std::string& file_;
};

expected<Doc> parse_toml(const std::string& text, const std::string& file) {
    const toml::parse_result parsed = toml::parse(text, file);
    if (!parsed) {
        const toml::parse_error& fault = parsed.error();
        return fault_at(file, place_of(fault.source()), printable(fault.description()));
    }
    return TomlDoc(file).of(parsed.table());
}

// ------------------------------------------------------------------------------------------ JSON

/// Walks over a text that is known to be JSON, to learn where its values stand.
class JsonDoc {
  public:
    JsonDoc(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    expected<Doc> value() {
        Doc doc;
        skip_blanks();
        doc.at = place_;
        if (text_[at_] == '{') {
            doc.kind = Doc::Kind::table;
            FF_TRY_VOID(table(doc));
        } else if (text_[at_] == '[') {
            doc.kind = Doc::Kind::list;
            FF_TRY_VOID(list(doc));
        } else {
            doc.leaf = leaf();
        }
        return doc;
    }

  private:
    expected<void> table(Doc& doc) {
        std::set<std::string> names;
        step();
        for (skip_blanks(); text_[at_] != '}'; skip_blanks()) {
            if (text_[at_] == ',') {
                step();
                continue;
            }
            const Place at = place_;
            const js::Value key = leaf();
            const std::string& name = *key.if_string();
            if (!names.insert(name).second) {
                return fault_at(file_, at,
                                fmt::format("\"{}\" is there twice; rename one", printable(name)));
            }
            skip_blanks();
            step();  // the colon
            FF_TRY(Doc member, value());
            doc.members.push_back({name, at, std::move(member)});
        }
        step();
        return {};
    }

    expected<void> list(Doc& doc) {
        step();
        for (skip_blanks(); text_[at_] != ']'; skip_blanks()) {
            if (text_[at_] == ',') {
                step();
                continue;
            }
            FF_TRY(doc.items.emplace_back(), value());
        }
        step();
        return {};
    }

    js::Value leaf() {
        const std::size_t begin = at_;
        if (text_[at_] == '"') {
            step();
            while (text_[at_] != '"') {
                if (text_[at_] == '\\') {
                    step();
                }
                step();
            }
            step();
        } else {
            while (at_ < text_.size() && !std::string_view(",]} \t\r\n").contains(text_[at_])) {
                step();
            }
        }
        return js::parse(text_.substr(begin, at_ - begin)).value_or(js::Value());
    }

    void skip_blanks() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) {
            step();
        }
    }

    void step() {
        const char c = text_[at_++];
        if (c == '\n') {
            place_ = {place_.line + 1, 1};
        } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
            place_.column += 1;
        }
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    Place place_;
};

/// `expected a value at line 3 column 7` in two parts.
std::unexpected<Error> syntax_fault(const std::string& file, std::string detail) {
    Place place;
    const std::size_t at = detail.rfind(" at line ");
    if (at != std::string::npos) {
        // NOLINTNEXTLINE(cert-err34-c): our own numbers
        std::sscanf(detail.c_str() + at, " at line %u column %u", &place.line, &place.column);
        detail.resize(at);
    }
    return fault_at(file, place, "this is not JSON: " + detail);
}

expected<Doc> parse_json(const std::string& text, const std::string& file) {
    const auto checked = js::parse(text);
    if (!checked) {
        return syntax_fault(file, checked.error().detail);
    }
    if (checked->if_object() == nullptr) {
        return fault_at(file, {}, "the file is one JSON object");
    }
    return JsonDoc(text, file).value();
}

}  // namespace

const DocMember* Doc::find(std::string_view name) const {
    const auto found = std::ranges::find(members, name, &DocMember::name);
    return found == members.end() ? nullptr : &*found;
}

std::string Doc::what() const {
    switch (kind) {
        case Kind::list: return "a list";
        case Kind::table: return "a table";
        case Kind::leaf: break;
    }
    if (leaf.if_string() != nullptr) {
        return "a text";
    }
    if (leaf.if_number() != nullptr) {
        return "a number";
    }
    return leaf.if_bool() != nullptr ? "true or false" : "null";
}

std::unexpected<Error> fault_at(const std::string& file, const Place& place,
                                const std::string& what) {
    return ff::fail(ErrorCode::invalid_config,
                    fmt::format("{}:{}:{}: {}", file, place.line, place.column, what));
}

expected<Doc> parse_doc(const std::string& text, const std::string& file) {
    return file.ends_with(".json") ? parse_json(text, file) : parse_toml(text, file);
}

}  // namespace ff::cli
