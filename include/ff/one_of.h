// One value of a long list of types: std::variant for lists of a hundred.
//
// A variant's moves, copies and destructor visit every alternative, and each unit that touches one
// compiles all of that. Here each alternative brings its own, where it is made, and moving is a
// pointer. Used as the standard's: get, get_if, holds_alternative, visit.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace ff {

namespace detail {

template <class T>
void* copy_one(const void* value) {
    if constexpr (std::is_copy_constructible_v<T>) {
        return new T(*static_cast<const T*>(value));
    } else {
        return nullptr;  // its list is not copied: see OneOf's copy constructor
    }
}
template <class T>
void delete_one(void* value) noexcept {
    delete static_cast<T*>(value);
}
[[noreturn]] void holds_something_else();

}  // namespace detail

template <class... Ts>
class OneOf {
  public:
    template <class T>
    static constexpr bool can_hold = (std::is_same_v<T, Ts> || ...);

    template <class T, class... Args>
        requires can_hold<T>
    explicit OneOf(std::in_place_type_t<T> /*type*/, Args&&... args)
        : index_(index_of<T>()),
          value_(new T(std::forward<Args>(args)...)),
          copy_(&detail::copy_one<T>),
          delete_(&detail::delete_one<T>) {}
    template <class T>
        requires can_hold<T>
    OneOf(T value)  // NOLINT(google-explicit-constructor): as a variant's
        : OneOf(std::in_place_type<T>, std::move(value)) {}

    OneOf(OneOf&& other) noexcept { swap(other); }
    OneOf(const OneOf& other)
        requires(std::is_copy_constructible_v<Ts> && ...)
        : index_(other.index_),
          value_(other.value_ != nullptr ? other.copy_(other.value_) : nullptr),
          copy_(other.copy_),
          delete_(other.delete_) {}
    OneOf& operator=(OneOf other) noexcept {
        swap(other);
        return *this;
    }
    ~OneOf() {
        if (value_ != nullptr) {
            delete_(value_);
        }
    }

    /// What another list holds, which must be a T: the same object with a new owner.
    template <class T, class... Us>
        requires can_hold<T>
    static OneOf adopt(OneOf<Us...>&& other) {  // NOLINT: what it holds is taken
        if (other.template get_if<T>() == nullptr) {
            detail::holds_something_else();
        }
        OneOf one;
        one.index_ = index_of<T>();
        one.value_ = std::exchange(other.value_, nullptr);
        one.copy_ = other.copy_;
        one.delete_ = other.delete_;
        return one;
    }

    /// Null when it holds something else, or was moved from.
    template <class T>
    [[nodiscard]] T* get_if() noexcept {
        return value_ != nullptr && index_ == index_of<T>() ? static_cast<T*>(value_) : nullptr;
    }
    template <class T>
    [[nodiscard]] const T* get_if() const noexcept {
        return const_cast<OneOf*>(this)->get_if<T>();  // NOLINT: nothing is changed
    }

    [[nodiscard]] std::size_t index() const noexcept { return index_; }

    /// Calls `fn` with what it holds. Throws std::bad_variant_access when it was moved from.
    template <class Self, class Fn>
    static decltype(auto) visit(Self&& self, Fn&& fn) {
        using First = std::tuple_element_t<0, std::tuple<Ts...>>;
        using Out = std::invoke_result_t<Fn, decltype(pass<Self, First>(nullptr))>;
        using Call = Out (*)(Fn&, void*);
        static constexpr std::array<Call, sizeof...(Ts)> calls{
            [](Fn& f, void* value) -> Out { return f(pass<Self, Ts>(value)); }...};
        if (self.value_ == nullptr) {
            detail::holds_something_else();
        }
        return calls[self.index_](fn, self.value_);
    }

    /// What `Of` says of the type it holds, when called with a std::type_identity of it. A table
    /// that the compiler fills: no code for each type, as visit has.
    template <class Of>
    static auto by_type(const OneOf& self) {
        using First = std::tuple_element_t<0, std::tuple<Ts...>>;
        using Out = std::invoke_result_t<Of, std::type_identity<First>>;
        static constexpr std::array<Out, sizeof...(Ts)> table{Of{}(std::type_identity<Ts>{})...};
        if (self.value_ == nullptr) {
            detail::holds_something_else();
        }
        return table[self.index_];
    }

    /// Calls `fn` with a std::type_identity of every type it can hold.
    template <class Fn>
    static void for_each_type(Fn&& fn) {
        (fn(std::type_identity<Ts>()), ...);
    }

  private:
    template <class... Us>
    friend class OneOf;

    OneOf() = default;  // holds nothing yet

    template <class T>
    static consteval std::size_t index_of() {
        std::size_t index = 0;
        const bool found = ((std::is_same_v<T, Ts> || (++index, false)) || ...);
        return found ? index : throw "not one of the types";  // NOLINT: never at run time
    }
    /// The value as its holder was given: const, to be moved from, or neither.
    template <class Self, class T>
    static decltype(auto) pass(void* value) {
        if constexpr (std::is_const_v<std::remove_reference_t<Self>>) {
            return static_cast<const T&>(*static_cast<const T*>(value));
        } else if constexpr (std::is_lvalue_reference_v<Self>) {
            return static_cast<T&>(*static_cast<T*>(value));
        } else {
            return static_cast<T&&>(*static_cast<T*>(value));
        }
    }
    void swap(OneOf& other) noexcept {
        std::swap(index_, other.index_);
        std::swap(value_, other.value_);
        std::swap(copy_, other.copy_);
        std::swap(delete_, other.delete_);
    }

    std::size_t index_ = 0;
    void* value_ = nullptr;
    void* (*copy_)(const void*) = nullptr;
    void (*delete_)(void*) noexcept = nullptr;
};

template <class T, class... Ts>
T* get_if(OneOf<Ts...>* one) noexcept {
    return one != nullptr ? one->template get_if<T>() : nullptr;
}
template <class T, class... Ts>
const T* get_if(const OneOf<Ts...>* one) noexcept {
    return one != nullptr ? one->template get_if<T>() : nullptr;
}
template <class T, class... Ts>
[[nodiscard]] bool holds_alternative(const OneOf<Ts...>& one) noexcept {
    return one.template get_if<T>() != nullptr;
}

/// Throws std::bad_variant_access when it holds something else.
template <class T, class... Ts>
T& get(OneOf<Ts...>& one) {
    T* value = one.template get_if<T>();
    if (value == nullptr) {
        detail::holds_something_else();
    }
    return *value;
}
template <class T, class... Ts>
const T& get(const OneOf<Ts...>& one) {
    return ff::get<T>(const_cast<OneOf<Ts...>&>(one));  // NOLINT: nothing is changed
}
template <class T, class... Ts>
T&& get(OneOf<Ts...>&& one) {  // NOLINT: what it holds is moved, by the caller
    return std::move(ff::get<T>(one));
}

/// `of` is a lambda that captures nothing.
template <class Of, class... Ts>
auto by_type(Of /*of*/, const OneOf<Ts...>& one) {
    return OneOf<Ts...>::template by_type<Of>(one);
}

template <class Fn, class... Ts>
decltype(auto) visit(Fn&& fn, const OneOf<Ts...>& one) {
    return OneOf<Ts...>::visit(one, fn);
}
template <class Fn, class... Ts>
decltype(auto) visit(Fn&& fn, OneOf<Ts...>& one) {
    return OneOf<Ts...>::visit(one, fn);
}
template <class Fn, class... Ts>
decltype(auto) visit(Fn&& fn, OneOf<Ts...>&& one) {
    return OneOf<Ts...>::visit(std::move(one), fn);
}

}  // namespace ff
