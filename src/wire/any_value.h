// A value of any type that a member of a request may have, for those who handle members one like
// the other. What differs between types is a table of functions, made once a type; so neither the
// descriptions of requests nor those who are shown them are templates.
//
// A member is shown as one of the types below, which say where it stands. None of them is made of a
// value that lacks what is needed there: that is an error where the request is described.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ff/contracts.h>
#include <ff/json.h>

#include "wire/query_text.h"
#include "wire/schemas.h"
#include "wire/values.h"

namespace ff::wire {

/// What can be done with values of a type. Null is what no request needs of it.
struct ValueKind {
    void (*write)(std::string& out, const void* value) = nullptr;
    Fault (*read)(const json& value, void* out) = nullptr;
    /// Of a path or a query. An optional gets a value, a list one more.
    Fault (*parse)(std::string_view text, void* out) = nullptr;
    /// For a path or a query: none of an empty optional, many of a list.
    std::vector<std::string> (*texts)(const void* value) = nullptr;
    bool (*is_default)(const void* value) = nullptr;
    json (*schema)() = nullptr;   ///< of an optional: of what it may hold
    std::string_view words = {};  ///< that it may be, if it is one, as enum_text() gives them
};

namespace detail {

template <class T>
void write_any(std::string& out, const void* value) {
    write(out, *static_cast<const T*>(value));
}
template <class T>
Fault read_any(const json& value, void* out) {
    return read(value, *static_cast<T*>(out));
}
template <class T>
bool is_default_any(const void* value) {
    return *static_cast<const T*>(value) == T{};
}

/// How a value, a value that may be absent and a list of values stand in a query.
template <class T>
struct Spelled {
    static constexpr bool is_optional = false;
    static constexpr bool is_list = false;
    using Item = T;
    static Fault parse(std::string_view text, void* out) {
        return parse_text(text, *static_cast<T*>(out));
    }
    static std::vector<std::string> texts(const void* value) {
        return {text_of(*static_cast<const T*>(value))};
    }
};
template <class T>
struct Spelled<std::optional<T>> {
    static constexpr bool is_optional = true;
    static constexpr bool is_list = false;
    using Item = T;
    static Fault parse(std::string_view text, void* out) {
        T parsed{};
        Fault fault = parse_text(text, parsed);
        if (fault.empty()) {
            *static_cast<std::optional<T>*>(out) = std::move(parsed);
        }
        return fault;
    }
    static std::vector<std::string> texts(const void* value) {
        const auto& held = *static_cast<const std::optional<T>*>(value);
        return held ? std::vector{text_of(*held)} : std::vector<std::string>();
    }
};
template <class T>
struct Spelled<std::vector<T>> {
    static constexpr bool is_optional = false;
    static constexpr bool is_list = true;
    using Item = T;
    static Fault parse(std::string_view text, void* out) {
        return parse_text(text, static_cast<std::vector<T>*>(out)->emplace_back());
    }
    static std::vector<std::string> texts(const void* value) {
        std::vector<std::string> out;
        for (const T& item : *static_cast<const std::vector<T>*>(value)) {
            out.push_back(text_of(item));
        }
        return out;
    }
};

template <class T>
struct SchemaOf {
    static json make() { return schemas::of(T{}); }
};
template <class T>
struct SchemaOf<std::optional<T>> : SchemaOf<T> {};

template <class T>
using ItemOf = typename Spelled<T>::Item;

// What there is for a type. Asked of the type and not of its table of functions: with sanitizers
// the address of a function is no constant to compare.
template <class T>
concept HasDefault = std::equality_comparable<ItemOf<T>>;
template <class T>
concept HasWrite = requires(std::string& out, const ItemOf<T>& value) { write(out, value); };
template <class T>
concept HasRead = requires(const json& value, ItemOf<T>& out) { read(value, out); };
template <class T>
concept HasText = requires(std::string_view text, ItemOf<T>& out) { parse_text(text, out); };
template <class T>
concept HasSchema = requires(const ItemOf<T>& item) { schemas::of(item); };

template <class T>
consteval ValueKind kind_of() {
    ValueKind kind;
    if constexpr (HasDefault<T>) {
        kind.is_default = &is_default_any<T>;
    }
    if constexpr (HasWrite<T>) {
        kind.write = &write_any<T>;
    }
    if constexpr (HasRead<T>) {
        kind.read = &read_any<T>;
    }
    if constexpr (HasText<T>) {
        kind.parse = &Spelled<T>::parse;
        kind.texts = &Spelled<T>::texts;
    }
    if constexpr (HasSchema<T>) {
        kind.schema = &SchemaOf<T>::make;
    }
    if constexpr (WordEnum<T>) {
        kind.words = enum_text(T{});
    }
    return kind;
}

}  // namespace detail

template <class T>
inline constexpr ValueKind value_kind = detail::kind_of<T>();

class AnyValue {
  public:
    void write(std::string& out) const { kind_->write(out, at_); }
    Fault read(const json& value) const { return kind_->read(value, at_); }
    Fault parse(std::string_view text) const { return kind_->parse(text, at_); }
    [[nodiscard]] std::vector<std::string> texts() const { return kind_->texts(at_); }
    [[nodiscard]] bool is_default() const { return kind_->is_default(at_); }
    [[nodiscard]] json schema() const { return kind_->schema(); }
    [[nodiscard]] std::string_view words() const { return kind_->words; }

  protected:
    AnyValue(const ValueKind& kind, void* at) : kind_(&kind), at_(at) {}

  private:
    const ValueKind* kind_;
    void* at_;
};

namespace detail {

/// Ids differ in their type only.
template <class T>
T& bare(T& value) {
    return value;
}
template <class Tag>
Uuid& bare(UuidId<Tag>& id) {
    return id.uuid;
}
template <class T>
using Bare = std::remove_reference_t<decltype(bare(std::declval<T&>()))>;

template <class T>
inline constexpr const ValueKind& kind_of_member = value_kind<Bare<T>>;

template <class T>
concept Parsed = !std::derived_from<T, AnyValue> && HasText<Bare<T>>;
template <class T>
concept Described = HasSchema<Bare<T>>;
template <class T>
concept Read =
    !std::derived_from<T, AnyValue> && HasRead<Bare<T>> && HasWrite<Bare<T>> && Described<T>;
template <class T>
concept MayBeDefault = HasDefault<Bare<T>>;
template <class T>
concept Optional = Spelled<T>::is_optional;
template <class T>
concept List = Spelled<T>::is_list;

}  // namespace detail

// NOLINTBEGIN(google-explicit-constructor): every member that fits is one

/// What to go on behind. The others do not look into it.
struct CursorInQuery : AnyValue {
    template <detail::Parsed T>
        requires(!detail::List<T>)
    CursorInQuery(T& value) : AnyValue(detail::kind_of_member<T>, &detail::bare(value)) {}
};
struct InQuery : CursorInQuery {
    template <detail::Parsed T>
        requires(detail::Described<T> && !detail::List<T>)
    InQuery(T& value) : CursorInQuery(value) {}
};
/// One that is always there.
struct InPath : InQuery {
    template <detail::Parsed T>
        requires(detail::Described<T> && !detail::List<T> && !detail::Optional<T>)
    InPath(T& value) : InQuery(value) {}
};
struct ListInQuery : AnyValue {
    template <detail::Parsed T>
        requires(detail::Described<T> && detail::List<T>)
    ListInQuery(T& value) : AnyValue(detail::kind_of_member<T>, &value) {}
};
struct InBodyOrQuery : InQuery {
    template <detail::Parsed T>
        requires(detail::Read<T> && !detail::List<T>)
    InBodyOrQuery(T& value) : InQuery(value) {}
};

struct InBody : AnyValue {
    template <detail::Read T>
    InBody(T& value) : AnyValue(detail::kind_of_member<T>, &detail::bare(value)) {}
};
/// One that is left out when it says nothing.
struct SparseInBody : InBody {
    template <detail::Read T>
        requires detail::MayBeDefault<T>
    SparseInBody(T& value) : InBody(value) {}
};
struct OptionalInBody : SparseInBody {
    template <detail::Read T>
        requires(detail::MayBeDefault<T> && detail::Optional<T>)
    OptionalInBody(T& value) : SparseInBody(value) {}
};
struct NumberInBody : InBody {
    template <Integer T>
    NumberInBody(T& value) : InBody(value) {}
};
struct OptionalNumberInBody : OptionalInBody {
    template <Integer T>
    OptionalNumberInBody(std::optional<T>& value) : OptionalInBody(value) {}
};
/// One of the words of a type.
struct WordInBody : SparseInBody {
    template <WordEnum T>
    WordInBody(T& value) : SparseInBody(value) {}
};

// NOLINTEND(google-explicit-constructor)

}  // namespace ff::wire
