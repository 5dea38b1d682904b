// Handlers: from any callable to the one form a worker calls.
//
// A handler takes up to six parameters, in any order, from: ff::Task&, ff::TaskInfo, the payload
// type named in Worker::on<Payload>, and anything given to Worker::provide (by reference or as
// std::shared_ptr). It returns ff::Result, a value with a Codec, bytes (std::string), or nothing.
// A worker calls one handler from several threads at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include <ff/task.h>

namespace ff::worker {

/// What a handler came back with.
struct Returned {
    bool finished = false;  ///< it finished the task itself and says so with a Result
    std::optional<std::string> payload;
    std::optional<std::string> encoding;
};

/// Why a handler was not called, or what it could not hand back.
struct Refusal {
    std::string category;
    std::string reason;
};

using Verdict = std::expected<Returned, Refusal>;
using HandlerFn = std::function<Verdict(Task&)>;

/// The name under which the handler of all other kinds is kept; no kind is called so.
inline constexpr const char* any_kind = "\n";

struct Handler {
    HandlerFn call;
    std::vector<std::type_index> needs;  ///< states it takes
};

// ----------------------------------------------------------------------------- the callable's form

template <class F>
struct Signature {
    static_assert(
        requires { &F::operator(); },
        "a handler is a function, a lambda or a function object with one operator() that "
        "is not a template");
    using Form = Signature<decltype(&F::operator())>;
    using Return = typename Form::Return;
    using Parameters = typename Form::Parameters;
};

#define FF_HANDLER_FORM(...)                                                                       \
    template <class R, class C, class... A>                                                        \
    struct Signature<R (C::*)(A...) __VA_ARGS__> {                                                 \
        using Return = R;                                                                          \
        using Parameters = std::tuple<A...>;                                                       \
    };
FF_HANDLER_FORM()
FF_HANDLER_FORM(const)
FF_HANDLER_FORM(noexcept)
FF_HANDLER_FORM(const noexcept)
#undef FF_HANDLER_FORM
template <class R, class... A>
struct Signature<R (*)(A...)> {
    using Return = R;
    using Parameters = std::tuple<A...>;
};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> {
    using Return = R;
    using Parameters = std::tuple<A...>;
};

// ------------------------------------------------------------------------------------- parameters

template <class T>
struct SharedState {
    static constexpr bool yes = false;
    using Type = T;
};
template <class T>
struct SharedState<std::shared_ptr<T>> {
    static constexpr bool yes = true;
    using Type = std::remove_const_t<T>;
};

/// What one parameter asks for.
template <class Parameter, class Payload>
struct Wanted {
    using Bare = std::remove_cvref_t<Parameter>;

    static constexpr bool task = std::same_as<Bare, Task>;
    static constexpr bool info = std::same_as<Bare, TaskInfo>;
    static constexpr bool payload = std::same_as<Bare, Payload>;
    static constexpr bool state = !task && !info && !payload;
    using State = typename SharedState<Bare>::Type;

    static_assert(!task || std::same_as<Parameter, Task&>, "a handler takes ff::Task&");
    static_assert(!std::is_rvalue_reference_v<Parameter>, "a handler takes no rvalue references");
    static_assert(!(info || payload) || !std::is_lvalue_reference_v<Parameter> ||
                      std::is_const_v<std::remove_reference_t<Parameter>>,
                  "payload and ff::TaskInfo are taken by value or by const reference");
    static_assert(!state || SharedState<Bare>::yes || std::is_lvalue_reference_v<Parameter>,
                  "what Worker::provide was given is taken by reference or as std::shared_ptr; for "
                  "the payload name its type: on<Payload>(kind, handler)");
};

/// A handler without a payload type.
struct NoPayload {};

template <class Payload>
std::expected<Payload, Refusal> decode_payload(Task& task) {
    if constexpr (std::same_as<Payload, NoPayload>) {
        return NoPayload{};
    } else {
        auto decoded = task.try_input_as<Payload>();
        if (!decoded) {
            return std::unexpected(Refusal{"extractor_payload_decode", decoded.error().detail});
        }
        return std::move(*decoded);
    }
}

template <class Parameter, class Payload>
decltype(auto) argument(Task& task, Payload& payload) {
    using Want = Wanted<Parameter, Payload>;
    if constexpr (Want::task) {
        return static_cast<Task&>(task);
    } else if constexpr (Want::info) {
        return task.info();
    } else if constexpr (Want::payload) {
        return static_cast<Payload&>(payload);
    } else if constexpr (SharedState<typename Want::Bare>::yes) {
        return task.find_state<typename Want::State>();
    } else {
        return task.state<typename Want::State>();
    }
}

// ----------------------------------------------------------------------------------------- results

template <class T>
Verdict returned_value(const T& value) {
    if constexpr (std::same_as<T, Result>) {
        return Returned{true, std::nullopt, std::nullopt};
    } else if constexpr (Bytes<T>) {
        return Returned{false, std::string(std::string_view(value)), std::nullopt};
    } else {
        static_assert(Jsonable<T>,
                      "a handler returns ff::Result, bytes, nothing, or a type with a Codec: say "
                      "FF_JSON(Type, members…) after the type");
        auto text = encode_json(value);
        if (!text) {
            return std::unexpected(
                Refusal{"handler_error", "the result is not JSON: " + text.error().detail});
        }
        return Returned{false, std::move(*text), std::string(json_encoding)};
    }
}

template <class Payload, class F, class... A>
Handler make_handler(F f, std::type_identity<std::tuple<A...>>) {
    static_assert(sizeof...(A) <= 6, "a handler takes at most six parameters");
    static_assert((std::size_t{0} + ... + Wanted<A, Payload>::payload) <= 1,
                  "a handler takes the payload once");
    Handler handler;
    (void)std::initializer_list<int>{[&] {
        if constexpr (Wanted<A, Payload>::state) {
            handler.needs.emplace_back(typeid(typename Wanted<A, Payload>::State));
        }
        return 0;
    }()...};
    handler.call = [f = std::make_shared<F>(std::move(f)),
                    needs = handler.needs](Task& task) -> Verdict {
        auto payload = decode_payload<Payload>(task);
        if (!payload) {
            return std::unexpected(std::move(payload).error());
        }
        for (const std::type_index& type : needs) {
            if (!task.has_state(type)) {
                return std::unexpected(
                    Refusal{"extractor_missing_state", Task::missing_state(type)});
            }
        }
        if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
            (*f)(argument<A, Payload>(task, *payload)...);
            return Returned{};
        } else {
            return returned_value((*f)(argument<A, Payload>(task, *payload)...));
        }
    };
    return handler;
}

template <class Payload, class F>
Handler make_handler(F f) {
    return make_handler<Payload>(std::move(f),
                                 std::type_identity<typename Signature<F>::Parameters>{});
}

}  // namespace ff::worker
