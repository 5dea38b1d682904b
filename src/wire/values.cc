#include "wire/values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "wire/base64.h"

namespace ff::wire {

void write(std::string& out, std::string_view text) { js::append_quoted(out, text); }

namespace {

template <class N>
void append_number(std::string& out, N value) {
    std::array<char, 24> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    out.append(buffer.data(), end);
}

}  // namespace

void write_number(std::string& out, std::int64_t value) { append_number(out, value); }
void write_number(std::string& out, std::uint64_t value) { append_number(out, value); }

void write(std::string& out, const Uuid& id) {
    out.push_back('"');
    out += id.to_string();
    out.push_back('"');
}

void write(std::string& out, const ExecutionId& id) {
    out.push_back('"');
    out += id.to_string();
    out.push_back('"');
}

void write(std::string& out, const Tags& tags) {
    out.push_back('{');
    bool first = true;
    for (const auto& [key, value] : tags) {
        if (!std::exchange(first, false)) {
            out.push_back(',');
        }
        write(out, key);
        out.push_back(':');
        write(out, value);
    }
    out.push_back('}');
}

void write_bytes(std::string& out, std::string_view bytes) {
    out += R"({"base64":")";
    append_base64(out, bytes);
    out += "\"}";
}

// --------------------------------------------------------------------------------------- reading

Fault read(const json& value, std::string& out) {
    const std::string* text = value.if_string();
    if (text == nullptr) {
        return ": expected a string";
    }
    out = *text;
    return {};
}

Fault read(const json& value, bool& out) {
    const bool* flag = value.if_bool();
    if (flag == nullptr) {
        return ": expected true or false";
    }
    out = *flag;
    return {};
}

std::optional<Uuid> parse_any_uuid(std::string_view text) {
    constexpr std::string_view urn = "urn:uuid:";
    const auto same_letter = [](char a, char b) { return (a | 0x20) == (b | 0x20); };
    if (text.size() > urn.size() &&
        std::ranges::equal(text.substr(0, urn.size()), urn, same_letter)) {
        text.remove_prefix(urn.size());
    } else if (text.size() == 38 && text.starts_with('{') && text.ends_with('}')) {
        text = text.substr(1, 36);
    } else if (text.size() == 32) {
        std::string hyphenated(text);
        for (const std::size_t at : {8U, 13U, 18U, 23U}) {
            hyphenated.insert(at, 1, '-');
        }
        return Uuid::parse(hyphenated);
    }
    return Uuid::parse(text);
}

Fault read(const json& value, Uuid& out) {
    const std::string* text = value.if_string();
    const auto id = text != nullptr ? parse_any_uuid(*text) : std::nullopt;
    if (!id) {
        return ": expected a UUID";
    }
    out = *id;
    return {};
}

Fault read(const json& value, ExecutionId& out) {
    const std::string* text = value.if_string();
    if (text == nullptr) {
        return ": expected an execution id";
    }
    const auto id = ExecutionId::parse(*text);
    if (!id) {
        return ": invalid execution id: " + id.error().detail;
    }
    out = *id;
    return {};
}

Fault read(const json& value, Tags& out) {
    const js::Object* members = value.if_object();
    if (members == nullptr) {
        return ": expected an object of strings";
    }
    Tags tags;
    for (const auto& [key, member] : *members) {
        const std::string* text = member.if_string();
        if (text == nullptr) {
            return "." + key + ": expected a string";
        }
        tags.insert_or_assign(key, *text);
    }
    out = std::move(tags);
    return {};
}

namespace {

Fault read_byte_array(const js::Array& items, std::string& out) {
    std::string bytes(items.size(), '\0');
    for (std::size_t i = 0; i < items.size(); ++i) {
        std::uint8_t byte = 0;
        if (Fault fault = read(items[i], byte); !fault.empty()) {
            return "[" + std::to_string(i) + "]" + fault;
        }
        bytes[i] = static_cast<char>(byte);
    }
    out = std::move(bytes);
    return {};
}

}  // namespace

Fault read_bytes(const json& value, std::string& out) {
    if (const js::Array* items = value.if_array()) {
        return read_byte_array(*items, out);
    }
    constexpr std::array forms{"json", "text", "base64"};
    if (std::ranges::count_if(forms, [&](auto name) { return value.find(name) != nullptr; }) > 1) {
        return R"(: expected one of "json", "text" and "base64", not several)";
    }
    if (const json* inner = value.find("json")) {
        out = js::dump(*inner);
        return {};
    }
    if (const json* text = value.find("text")) {
        return text->if_string() != nullptr ? read(*text, out) : Fault(".text: expected a string");
    }
    if (const json* base64 = value.find("base64")) {
        const std::string* text = base64->if_string();
        auto bytes = text != nullptr ? base64_decode(*text) : std::nullopt;
        if (!bytes) {
            return ".base64: expected base64 with padding";
        }
        out = std::move(*bytes);
        return {};
    }
    return R"(: expected bytes: an array of 0..255, {"base64":…}, {"text":…} or {"json":…})";
}

Fault read_signed(const json& value, std::int64_t low, std::int64_t high, std::int64_t& out) {
    const auto number = value.as_int64();
    if (!number || *number < low || *number > high) {
        return ": expected an integer between " + std::to_string(low) + " and " +
               std::to_string(high);
    }
    out = *number;
    return {};
}

Fault read_unsigned(const json& value, std::uint64_t high, std::uint64_t& out) {
    const auto number = value.as_uint64();
    if (!number || *number > high) {
        return ": expected an integer between 0 and " + std::to_string(high);
    }
    out = *number;
    return {};
}

std::vector<std::string_view> words_of(std::string_view names) {
    std::vector<std::string_view> words;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(','), names.size());
        std::string_view word = names.substr(0, end);
        names.remove_prefix(std::min(end + 1, names.size()));
        while (word.starts_with(' ')) {
            word.remove_prefix(1);
        }
        if (word.ends_with('_')) {
            word.remove_suffix(1);
        }
        words.push_back(word);
    }
    return words;
}

Fault unknown_word(const json& value, std::string_view known) {
    if (value.if_string() == nullptr) {
        return ": expected one of " + std::string(known);
    }
    return ": unknown word \"" + truncate_utf8(*value.if_string(), 64) + "\", expected one of " +
           std::string(known);
}

Fault unknown_word(const json& value, const std::vector<std::string_view>& words) {
    std::string known;
    for (const std::string_view word : words) {
        known.append(known.empty() ? "" : ", ").append(word);
    }
    return unknown_word(value, known);
}

}  // namespace ff::wire
