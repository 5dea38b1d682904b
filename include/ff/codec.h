// Codec: C++ values as JSON text and back, for payloads and results.
//
//   struct Job { std::string url; std::optional<int> depth; };
//   FF_JSON(Job, url, depth)
//
//   ff::encode_json(Job{"https://x", 2})                        {"url":"https://x","depth":2}
//   ff::decode_json<std::vector<Job>>(R"([{"url":7}])")         [0].url: must be a string, not 7
//
// Integers (range checked), double and float, bool, std::string (UTF-8), std::vector, std::map with
// string keys, std::optional (absent or null), ff::json, and types with FF_JSON. Another type joins
// with a specialisation of ff::Codec. A member that is not std::optional must be there; members
// nobody asked for are ignored, so that a payload may grow. Pure functions; any thread.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ff/error.h>
#include <ff/ids.h>
#include <ff/json.h>

namespace ff {

/// A place in a document, known to the errors that happen there. Lives on the stack: each place
/// points to the one around it, and the text is made only when something is wrong.
class Where {
  public:
    Where() = default;  ///< the document itself
    [[nodiscard]] Where member(std::string_view name) const { return {this, name, 0}; }
    [[nodiscard]] Where item(std::size_t index) const { return {this, {}, index}; }

    /// `jobs[2].url`; empty for the document itself.
    [[nodiscard]] std::string path() const;
    /// `invalid_input` with `<path>: <what>`.
    [[nodiscard]] std::unexpected<Error> fail(std::string_view what) const;
    /// The same, saying what was found: `must be a string, not 7`.
    [[nodiscard]] std::unexpected<Error> must_be(std::string_view what, const json& found) const;

  private:
    Where(const Where* parent, std::string_view name, std::size_t index)
        : parent_(parent), name_(name), index_(index) {}

    const Where* parent_ = nullptr;
    std::string_view name_;  ///< empty: an item of a list
    std::size_t index_ = 0;
};

/// How a type is written and read: `static expected<json> encode(const T&, const Where&)` and
/// `static expected<T> decode(const json&, const Where&)`.
template <class T>
struct Codec;

template <class T>
concept Jsonable = requires(const T& value, const json& document, const Where& where) {
    { Codec<T>::encode(value, where) } -> std::same_as<expected<json>>;
    { Codec<T>::decode(document, where) } -> std::same_as<expected<T>>;
};

template <Jsonable T>
expected<json> to_json(const T& value) {
    return Codec<T>::encode(value, Where{});
}
template <Jsonable T>
expected<T> from_json(const json& document) {
    return Codec<T>::decode(document, Where{});
}
/// As JSON text. Fails for what JSON cannot hold: numbers that are not finite, text that is not
/// UTF-8.
template <Jsonable T>
expected<std::string> encode_json(const T& value) {
    FF_TRY(const json document, to_json(value));
    return js::dump(document);
}
/// From JSON text. Every fault is `invalid_input` and names the place.
template <Jsonable T>
expected<T> decode_json(std::string_view text) {
    FF_TRY(const json document, js::parse(text));
    return from_json<T>(document);
}

// ------------------------------------------------------------------------- types of the language

namespace codec {

/// Integers but not the types of characters and bool.
template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

expected<std::int64_t> decode_signed(const json& value, const Where& where, std::int64_t low,
                                     std::int64_t high);
expected<std::uint64_t> decode_unsigned(const json& value, const Where& where, std::uint64_t high);
expected<double> decode_double(const json& value, const Where& where, double high);
expected<json> encode_double(double value, const Where& where);
expected<json> encode_text(const std::string& text, const Where& where);

}  // namespace codec

template <>
struct Codec<json> {
    static expected<json> encode(const json& value, const Where&) { return value; }
    static expected<json> decode(const json& value, const Where&) { return value; }
};

template <>
struct Codec<bool> {
    static expected<json> encode(const bool& value, const Where&) { return json(value); }
    static expected<bool> decode(const json& value, const Where& where) {
        if (const bool* found = value.if_bool()) {
            return *found;
        }
        return where.must_be("true or false", value);
    }
};

template <codec::Whole T>
struct Codec<T> {
    using Limits = std::numeric_limits<T>;

    static expected<json> encode(const T& value, const Where&) {
        if constexpr (std::signed_integral<T>) {
            return json(static_cast<std::int64_t>(value));
        } else {
            return json(static_cast<std::uint64_t>(value));
        }
    }
    static expected<T> decode(const json& value, const Where& where) {
        if constexpr (std::signed_integral<T>) {
            FF_TRY(const std::int64_t found,
                   codec::decode_signed(value, where, Limits::min(), Limits::max()));
            return static_cast<T>(found);
        } else {
            FF_TRY(const std::uint64_t found, codec::decode_unsigned(value, where, Limits::max()));
            return static_cast<T>(found);
        }
    }
};

template <class T>
    requires(std::same_as<T, double> || std::same_as<T, float>)
struct Codec<T> {
    static expected<json> encode(const T& value, const Where& where) {
        return codec::encode_double(static_cast<double>(value), where);
    }
    static expected<T> decode(const json& value, const Where& where) {
        FF_TRY(
            const double found,
            codec::decode_double(value, where, static_cast<double>(std::numeric_limits<T>::max())));
        return static_cast<T>(found);
    }
};

template <>
struct Codec<std::string> {
    static expected<json> encode(const std::string& value, const Where& where) {
        return codec::encode_text(value, where);
    }
    static expected<std::string> decode(const json& value, const Where& where) {
        if (const std::string* found = value.if_string()) {
            return *found;
        }
        return where.must_be("a string", value);
    }
};

// --------------------------------------------------------------------------------------- holders

template <Jsonable T>
struct Codec<std::vector<T>> {
    static expected<json> encode(const std::vector<T>& value, const Where& where) {
        js::Array out;
        out.reserve(value.size());
        std::size_t index = 0;
        for (const auto& item : value) {  // not T: a vector of bool gives no references
            FF_TRY(json written, Codec<T>::encode(item, where.item(index)));
            out.push_back(std::move(written));
            ++index;
        }
        return json(std::move(out));
    }
    static expected<std::vector<T>> decode(const json& value, const Where& where) {
        const js::Array* found = value.if_array();
        if (found == nullptr) {
            return where.must_be("a list", value);
        }
        std::vector<T> out;
        out.reserve(found->size());
        for (std::size_t index = 0; index < found->size(); ++index) {
            FF_TRY(T item, Codec<T>::decode((*found)[index], where.item(index)));
            out.push_back(std::move(item));
        }
        return out;
    }
};

template <Jsonable T>
struct Codec<std::map<std::string, T>> {
    static expected<json> encode(const std::map<std::string, T>& value, const Where& where) {
        js::Object out;
        out.reserve(value.size());
        for (const auto& [name, item] : value) {
            FF_TRY_VOID(codec::encode_text(name, where));
            FF_TRY(json written, Codec<T>::encode(item, where.member(name)));
            out.emplace_back(name, std::move(written));
        }
        return json(std::move(out));
    }
    static expected<std::map<std::string, T>> decode(const json& value, const Where& where) {
        const js::Object* found = value.if_object();
        if (found == nullptr) {
            return where.must_be("an object", value);
        }
        std::map<std::string, T> out;
        for (const auto& [name, item] : *found) {
            FF_TRY(T decoded, Codec<T>::decode(item, where.member(name)));
            out.insert_or_assign(name, std::move(decoded));
        }
        return out;
    }
};

template <Jsonable T>
struct Codec<std::optional<T>> {
    static expected<json> encode(const std::optional<T>& value, const Where& where) {
        return value ? Codec<T>::encode(*value, where) : expected<json>(json(nullptr));
    }
    static expected<std::optional<T>> decode(const json& value, const Where& where) {
        if (value.is_null()) {
            return std::optional<T>();
        }
        FF_TRY(T found, Codec<T>::decode(value, where));
        return std::optional<T>(std::move(found));
    }
};

// ------------------------------------------------------------------------------ types with FF_JSON

namespace codec {

template <class Owner, class T>
struct Member {
    std::string_view name;
    T Owner::* place;
};

template <class T>
concept Described = requires { ff_json_members(std::type_identity<T>{}); };

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class Owner, class T>
expected<void> encode_member(const Owner& owner, const Member<Owner, T>& member, const Where& where,
                             js::Object& out) {
    const T& value = owner.*member.place;
    if constexpr (is_optional<T>) {
        if (!value) {
            return {};  // absent, as decode takes it
        }
    }
    FF_TRY(json written, Codec<T>::encode(value, where.member(member.name)));
    out.emplace_back(std::string(member.name), std::move(written));
    return {};
}

template <class Owner, class T>
expected<void> decode_member(const json& object, const Member<Owner, T>& member, const Where& where,
                             Owner& out) {
    const Where place = where.member(member.name);
    const json* found = object.find(member.name);
    if (found == nullptr) {
        return is_optional<T> ? expected<void>() : place.fail("is missing");
    }
    FF_TRY(out.*member.place, Codec<T>::decode(*found, place));
    return {};
}

}  // namespace codec

template <codec::Described T>
struct Codec<T> {
    static expected<json> encode(const T& value, const Where& where) {
        js::Object out;
        expected<void> written;
        std::apply(
            [&](const auto&... member) {
                (void)((written = codec::encode_member(value, member, where, out)) && ...);
            },
            ff_json_members(std::type_identity<T>{}));
        if (!written) {
            return std::unexpected(std::move(written).error());
        }
        return json(std::move(out));
    }
    static expected<T> decode(const json& value, const Where& where) {
        if (value.if_object() == nullptr) {
            return where.must_be("an object", value);
        }
        T out{};
        expected<void> read;
        std::apply(
            [&](const auto&... member) {
                (void)((read = codec::decode_member(value, member, where, out)) && ...);
            },
            ff_json_members(std::type_identity<T>{}));
        if (!read) {
            return std::unexpected(std::move(read).error());
        }
        return out;
    }
};

}  // namespace ff

/// Says which members of a struct are written and read. Stands right after the struct, in its
/// namespace (any namespace); up to 32 members and more.
#define FF_JSON(Type, ...)                                                                         \
    [[maybe_unused]] constexpr auto ff_json_members(::std::type_identity<Type>) {                  \
        return ::std::make_tuple(__VA_OPT__(FF_JSON_ALL(FF_JSON_ONE(Type, __VA_ARGS__))));         \
    }

// One member, and then the name of this very macro with its arguments after it: it is expanded
// again each time the text is scanned, and FF_JSON_ALL makes that happen often enough.
#define FF_JSON_ONE(Type, member, ...)                                                             \
    ::ff::codec::Member{::std::string_view(#member), &Type::member} __VA_OPT__(                    \
        , FF_JSON_AGAIN FF_JSON_PARENS(Type, __VA_ARGS__))
#define FF_JSON_AGAIN() FF_JSON_ONE
#define FF_JSON_PARENS ()
#define FF_JSON_ALL(...) FF_JSON_SCAN4(FF_JSON_SCAN4(FF_JSON_SCAN4(FF_JSON_SCAN4(__VA_ARGS__))))
#define FF_JSON_SCAN4(...) FF_JSON_SCAN3(FF_JSON_SCAN3(FF_JSON_SCAN3(FF_JSON_SCAN3(__VA_ARGS__))))
#define FF_JSON_SCAN3(...) FF_JSON_SCAN2(FF_JSON_SCAN2(FF_JSON_SCAN2(FF_JSON_SCAN2(__VA_ARGS__))))
#define FF_JSON_SCAN2(...) __VA_ARGS__
