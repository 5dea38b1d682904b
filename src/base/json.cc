#include <ff/json.h>

#include <ff/ids.h>
#include "base/check.h"
#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

namespace ff::js {
namespace {

template <class T>
std::optional<T> parse_whole(std::string_view text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || rest != end) {
        return std::nullopt;
    }
    return value;
}

/// Of a number that no double can hold: is it too small rather than too large?
bool is_tiny(std::string_view text) {
    const std::size_t mark = text.find_first_of("eE");
    const std::string_view mantissa = text.substr(0, mark);
    std::int64_t exponent = 0;
    if (mark != std::string_view::npos) {
        std::string_view digits = text.substr(mark + 1);
        digits.remove_prefix(digits.starts_with('+') ? 1 : 0);
        const auto value = parse_whole<std::int32_t>(digits);
        if (!value) {
            return digits.starts_with('-');
        }
        exponent = *value;
    }
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::size_t lead = mantissa.find_first_of("123456789");
    return exponent + static_cast<std::int64_t>(point) - static_cast<std::int64_t>(lead) < 0;
}

}  // namespace

// --------------------------------------------------------------------------------------- Value

Value::Value(double d) {
    FF_CHECK(std::isfinite(d), "JSON has no infinities and no NaN");
    std::array<char, 32> buffer;
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), d);
    FF_CHECK(error == std::errc{}, "the shortest form of a double has at most 24 characters");
    data_ = Number{std::string(buffer.data(), end)};
}

std::optional<std::int64_t> Value::as_int64() const {
    const Number* number = if_number();
    return number != nullptr ? parse_whole<std::int64_t>(number->text) : std::nullopt;
}

std::optional<std::uint64_t> Value::as_uint64() const {
    const Number* number = if_number();
    if (number == nullptr) {
        return std::nullopt;
    }
    return parse_whole<std::uint64_t>(number->text == "-0" ? "0" : number->text);
}

std::optional<double> Value::as_double() const {
    const Number* number = if_number();
    if (number == nullptr) {
        return std::nullopt;
    }
    double value = 0;
    const char* end = number->text.data() + number->text.size();
    const auto [rest, error] = std::from_chars(number->text.data(), end, value);
    if (rest != end) {
        return std::nullopt;
    }
    if (error == std::errc::result_out_of_range && is_tiny(number->text)) {
        return number->text.starts_with('-') ? -0.0 : 0.0;
    }
    if (error != std::errc{} || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

const Value* Value::find(std::string_view name) const {
    const Object* object = if_object();
    if (object == nullptr) {
        return nullptr;
    }
    const auto found = std::find_if(object->rbegin(), object->rend(),
                                    [name](const Member& member) { return member.first == name; });
    return found == object->rend() ? nullptr : &found->second;
}

void Value::set(std::string name, Value value) {
    Object* object = if_object();
    FF_CHECK(object != nullptr, "members belong to objects");
    const auto found = std::find_if(object->rbegin(), object->rend(),
                                    [&name](const Member& member) { return member.first == name; });
    if (found != object->rend()) {
        found->second = std::move(value);
    } else {
        object->emplace_back(std::move(name), std::move(value));
    }
}

// ------------------------------------------------------------------------------------- reading

namespace {

/// Up to this size a repeated member is looked for one by one; beyond, all at once at the end.
constexpr std::size_t small_object_max = 16;

/// Leaves of each name the last value at the first place. Sorting keeps it n log n, so that an
/// object of very many members cannot be used to stall the reader.
void merge_repeats(Object& object) {
    std::vector<std::size_t> order(object.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(
        order, {}, [&object](std::size_t i) -> const std::string& { return object[i].first; });
    std::vector<bool> dropped(object.size());
    std::size_t first = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (object[order[i]].first != object[order[first]].first) {
            first = i;
            continue;
        }
        object[order[first]].second = std::move(object[order[i]].second);
        dropped[order[i]] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < object.size(); ++i) {
        if (!dropped[i]) {
            if (kept != i) {
                object[kept] = std::move(object[i]);
            }
            ++kept;
        }
    }
    object.erase(object.begin() + static_cast<std::ptrdiff_t>(kept), object.end());
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
  public:
    Parser(std::string_view text, ParseLimits limits) : text_(text), limits_(limits) {}

    expected<Value> document() {
        FF_TRY(Value value, element());
        if (at_ < text_.size()) {
            return fault("text after the value");
        }
        return value;
    }

  private:
    /// A value and the blanks around it.
    expected<Value> element() {
        skip_blanks();
        FF_TRY(Value parsed, value());
        skip_blanks();
        return parsed;
    }

    expected<Value> value() {
        switch (peek()) {
            case '{': return nested(&Parser::object);
            case '[': return nested(&Parser::array);
            case '"': {
                FF_TRY(std::string text, string());
                return Value(std::move(text));
            }
            case 't': return literal("true", Value(true));
            case 'f': return literal("false", Value(false));
            case 'n': return literal("null", Value(nullptr));
            default:
                if (peek() == '-' || is_digit(peek())) {
                    return number();
                }
                return fault(at_ < text_.size() ? "unexpected character"
                                                : "unexpected end of text");
        }
    }

    expected<Value> nested(expected<Value> (Parser::*read)()) {
        if (depth_ == limits_.depth_max) {
            return fault("nested too deeply");
        }
        ++depth_;
        expected<Value> parsed = (this->*read)();
        --depth_;
        return parsed;
    }

    expected<Value> object() {
        Object members;
        ++at_;
        skip_blanks();
        if (take('}')) {
            return Value(std::move(members));
        }
        do {
            skip_blanks();
            if (peek() != '"') {
                return fault("expected a member name");
            }
            FF_TRY(std::string name, string());
            skip_blanks();
            if (!take(':')) {
                return fault("expected ':'");
            }
            FF_TRY(Value parsed, element());
            add_member(members, std::move(name), std::move(parsed));
        } while (take(','));
        if (!take('}')) {
            return fault("expected ',' or '}'");
        }
        if (members.size() > small_object_max) {
            merge_repeats(members);
        }
        return Value(std::move(members));
    }

    static void add_member(Object& members, std::string name, Value value) {
        if (members.size() < small_object_max) {
            const auto same = std::ranges::find(members, name, &Member::first);
            if (same != members.end()) {
                same->second = std::move(value);
                return;
            }
        }
        members.emplace_back(std::move(name), std::move(value));
    }

    expected<Value> array() {
        Array elements;
        ++at_;
        skip_blanks();
        if (take(']')) {
            return Value(std::move(elements));
        }
        do {
            FF_TRY(Value parsed, element());
            elements.push_back(std::move(parsed));
        } while (take(','));
        if (!take(']')) {
            return fault("expected ',' or ']'");
        }
        return Value(std::move(elements));
    }

    expected<Value> literal(std::string_view word, Value meaning) {
        if (!text_.substr(at_).starts_with(word)) {
            return fault("unknown word");
        }
        at_ += word.size();
        return meaning;
    }

    expected<Value> number() {
        const std::size_t begin = at_;
        take('-');
        // A zero stands alone: "01" is a zero with text after it.
        if (!take('0') && !skip_digits()) {
            return fault("expected a digit");
        }
        if (take('.') && !skip_digits()) {
            return fault("expected a digit");
        }
        if (take('e') || take('E')) {
            if (!take('+')) {
                take('-');
            }
            if (!skip_digits()) {
                return fault("expected a digit");
            }
        }
        return Value(Number{std::string(text_.substr(begin, at_ - begin))});
    }

    expected<std::string> string() {
        std::string out;
        ++at_;
        while (true) {
            FF_TRY(const std::string_view run, plain_run());
            out.append(run);
            if (take('"')) {
                return out;
            }
            if (at_ == text_.size()) {
                return fault("unexpected end of text");
            }
            if (peek() != '\\') {
                return fault("control character in a string");
            }
            FF_TRY_VOID(escape(out));
        }
    }

    /// What stands for itself, up to a quote, a backslash, a control character or the end.
    expected<std::string_view> plain_run() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
               static_cast<unsigned char>(text_[at_]) >= 0x20) {
            ++at_;
        }
        const std::string_view run = text_.substr(begin, at_ - begin);
        if (!is_valid_utf8(run)) {
            at_ = begin;
            while (const std::size_t bytes = decode_utf8(run, at_ - begin).bytes) {
                at_ += bytes;
            }
            return fault("invalid UTF-8");
        }
        return run;
    }

    expected<void> escape(std::string& out) {
        constexpr std::string_view letters = "\"\\/bfnrt";
        constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
        const std::size_t begin = at_;
        ++at_;
        if (take('u')) {
            FF_TRY(const char32_t character, unicode_escape(begin));
            append_utf8(out, character);
            return {};
        }
        const std::size_t which = letters.find(peek());
        if (at_ == text_.size() || which == std::string_view::npos) {
            return fault_at(begin, "unknown escape");
        }
        out.push_back(meanings[which]);
        ++at_;
        return {};
    }

    /// The rest of `\uXXXX`, with its second half when it is the first of a surrogate pair.
    expected<char32_t> unicode_escape(std::size_t begin) {
        FF_TRY(const char32_t first, hex_unit(begin));
        if (first < 0xD800 || first > 0xDFFF) {
            return first;
        }
        if (first > 0xDBFF || !(take('\\') && take('u'))) {
            return fault_at(begin, "lone surrogate");
        }
        FF_TRY(const char32_t second, hex_unit(begin));
        if (second < 0xDC00 || second > 0xDFFF) {
            return fault_at(begin, "lone surrogate");
        }
        return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
    }

    expected<char32_t> hex_unit(std::size_t begin) {
        std::uint16_t unit = 0;
        const std::string_view digits = text_.substr(at_, 4);
        const char* end = digits.data() + digits.size();
        const auto [rest, error] = std::from_chars(digits.data(), end, unit, 16);
        if (digits.size() != 4 || error != std::errc{} || rest != end) {
            return fault_at(begin, "expected four hex digits");
        }
        at_ += 4;
        return unit;
    }

    // NUL is never a legal character here, so it can stand for the end.
    [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

    bool take(char c) {
        if (at_ < text_.size() && text_[at_] == c) {
            ++at_;
            return true;
        }
        return false;
    }

    bool skip_digits() {
        const std::size_t begin = at_;
        while (is_digit(peek())) {
            ++at_;
        }
        return at_ > begin;
    }

    void skip_blanks() {
        while (take(' ') || take('\n') || take('\r') || take('\t')) {
        }
    }

    [[nodiscard]] std::unexpected<Error> fault(std::string_view what) const {
        return fault_at(at_, what);
    }

    /// Lines and columns count from one; a column is a character, not a byte.
    [[nodiscard]] std::unexpected<Error> fault_at(std::size_t at, std::string_view what) const {
        const std::string_view before = text_.substr(0, at);
        const auto line = 1 + std::ranges::count(before, '\n');
        const std::string_view on_line = before.substr(before.rfind('\n') + 1);
        const auto column = 1 + std::ranges::count_if(on_line, [](char c) {
                                return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                            });
        return fail(ErrorCode::invalid_input, std::string(what) + " at line " +
                                                  std::to_string(line) + " column " +
                                                  std::to_string(column));
    }

    std::string_view text_;
    ParseLimits limits_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
};

}  // namespace

expected<Value> parse(std::string_view text, ParseLimits limits) {
    return Parser(text, limits).document();
}

// ------------------------------------------------------------------------------------- writing

namespace {

enum class Layout { compact, pretty };

class Writer {
  public:
    Writer(std::string& out, Layout layout) : out_(out), layout_(layout) {}

    void write(const Value& value) {
        if (const bool* b = value.if_bool()) {
            out_.append(*b ? "true" : "false");
        } else if (const Number* number = value.if_number()) {
            out_.append(number->text);
        } else if (const std::string* text = value.if_string()) {
            append_quoted(out_, *text);
        } else if (const Array* array = value.if_array()) {
            write_all('[', *array, ']', [this](const Value& element) { write(element); });
        } else if (const Object* object = value.if_object()) {
            write_all('{', *object, '}', [this](const Member& member) { write_member(member); });
        } else {
            out_.append("null");
        }
    }

  private:
    void write_member(const Member& member) {
        append_quoted(out_, member.first);
        out_.append(layout_ == Layout::pretty ? ": " : ":");
        write(member.second);
    }

    template <class Items, class WriteItem>
    void write_all(char open, const Items& items, char close, WriteItem write_item) {
        out_.push_back(open);
        ++depth_;
        bool first = true;
        for (const auto& item : items) {
            if (!first) {
                out_.push_back(',');
            }
            first = false;
            break_line();
            write_item(item);
        }
        --depth_;
        if (!items.empty()) {
            break_line();
        }
        out_.push_back(close);
    }

    void break_line() {
        if (layout_ == Layout::pretty) {
            out_.push_back('\n');
            out_.append(2 * depth_, ' ');
        }
    }

    std::string& out_;
    Layout layout_;
    std::size_t depth_ = 0;
};

void append_escape(std::string& out, char c) {
    constexpr std::string_view hex = "0123456789abcdef";
    switch (c) {
        case '"': out.append("\\\""); return;
        case '\\': out.append("\\\\"); return;
        case '\b': out.append("\\b"); return;
        case '\f': out.append("\\f"); return;
        case '\n': out.append("\\n"); return;
        case '\r': out.append("\\r"); return;
        case '\t': out.append("\\t"); return;
        default: break;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\u00");
    out.push_back(hex[byte >> 4]);
    out.push_back(hex[byte & 0x0F]);
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
    const auto stands_for_itself = [](char c) {
        return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
    };
    out.push_back('"');
    std::size_t run = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!stands_for_itself(text[i])) {
            out.append(text, run, i - run);
            append_escape(out, text[i]);
            run = i + 1;
        }
    }
    out.append(text, run);
    out.push_back('"');
}

std::string dump(const Value& value) {
    std::string out;
    Writer(out, Layout::compact).write(value);
    return out;
}

std::string dump_pretty(const Value& value) {
    std::string out;
    Writer(out, Layout::pretty).write(value);
    return out;
}

}  // namespace ff::js
