#include "store/member_types.h"

#include <concepts>
#include <utility>

#include <ff/json.h>

#include "store/value_codec.h"

namespace ff::store {

namespace {

/// Appends a member's value as JSON. An optional one is set.
template <class T>
void append_extra(std::string& out, const T& value) {
    if constexpr (is_optional<T>) {
        append_extra(out, *value);
    } else if constexpr (std::integral<T>) {
        out += std::to_string(static_cast<std::int64_t>(value));
    } else if constexpr (is_uuid_id<T>) {
        js::append_quoted(out, value.to_string());
    } else if constexpr (std::same_as<T, Amounts>) {
        js::append_quoted(out, encode_amounts(value));
    } else {
        js::append_quoted(out, value);
    }
}

/// False when the JSON value is not one of the member's type.
template <class T>
bool take_extra(const js::Value& from, T& value) {
    if constexpr (is_optional<T>) {
        return take_extra(from, value.emplace());
    } else if constexpr (std::same_as<T, bool>) {
        const auto number = from.as_int64();
        value = number == 1;
        return number == 0 || number == 1;
    } else if constexpr (std::integral<T>) {
        const auto number = from.as_int64();
        if (!number || !std::in_range<T>(*number)) {
            return false;
        }
        value = static_cast<T>(*number);
        return true;
    } else if constexpr (is_uuid_id<T>) {
        const auto id = from.if_string() == nullptr ? std::nullopt : T::parse(*from.if_string());
        value = id.value_or(T{});
        return id.has_value();
    } else if constexpr (std::same_as<T, Amounts>) {
        const auto amounts =
            from.if_string() == nullptr ? std::nullopt : decode_amounts(*from.if_string());
        value = amounts.value_or(Amounts{});
        return amounts.has_value();
    } else {
        if (from.if_string() == nullptr) {
            return false;
        }
        value = *from.if_string();
        return true;
    }
}

template <class T>
constexpr bool is_extra =
    std::integral<T> || std::same_as<T, std::string> || std::same_as<T, Amounts> || is_uuid_id<T>;
template <class T>
constexpr bool is_extra<std::optional<T>> = is_extra<T>;

template <class T>
constexpr MemberType make_type() {
    MemberType type{
        .optional = is_optional<T>,
        .put = [](ValueSink& sink, Kind kind,
                  const void* member) { put_value(sink, kind, *static_cast<const T*>(member)); },
        .take = [](ValueSource& source, const char* column,
                   void* member) { take_value(source, column, *static_cast<T*>(member)); },
        .equal = [](const void* a, const void* b) -> bool {
            return *static_cast<const T*>(a) == *static_cast<const T*>(b);
        },
        .append_json = nullptr,
        .take_json = nullptr};
    if constexpr (is_extra<T>) {
        type.append_json = [](std::string& out, const void* member) {
            append_extra(out, *static_cast<const T*>(member));
        };
        type.take_json = [](const js::Value& from, void* member) {
            return take_extra(from, *static_cast<T*>(member));
        };
    }
    return type;
}

}  // namespace

template <class T>
constinit const MemberType MemberOf<T>::type = make_type<T>();

#define FF_DEFINE_TYPE(T) template struct MemberOf<T>;
FF_MEMBER_TYPES(FF_DEFINE_TYPE)
#undef FF_DEFINE_TYPE

}  // namespace ff::store
