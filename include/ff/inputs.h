// Inputs: what the upstreams of an execution hand to it, by name.
//
//   const ff::Inputs inputs = task.inputs();
//   const auto text = inputs.as<std::string>("transcript");
//   const auto parts = inputs.all_as<Part>();
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ff/codec.h>
#include <ff/exception.h>
#include <ff/flows.h>

namespace ff {

class Inputs {
  public:
    Inputs() = default;
    explicit Inputs(std::vector<FlowInput> inputs) : inputs_(std::move(inputs)) {}

    [[nodiscard]] std::size_t size() const { return inputs_.size(); }
    [[nodiscard]] bool empty() const { return inputs_.empty(); }
    [[nodiscard]] auto begin() const { return inputs_.begin(); }
    [[nodiscard]] auto end() const { return inputs_.end(); }

    /// Nothing is null.
    [[nodiscard]] const FlowInput* find(std::string_view name) const {
        for (const FlowInput& input : inputs_) {
            if (input.name == name) {
                return &input;
            }
        }
        return nullptr;
    }
    /// An input decoded from JSON, or as it stands for std::string. `invalid_input` when there is
    /// none of the name.
    template <class T>
    [[nodiscard]] expected<T> try_as(std::string_view name) const {
        const FlowInput* found = find(name);
        if (found == nullptr) {
            return ff::fail(ErrorCode::invalid_input, "there is no input " + std::string(name));
        }
        return decoded<T>(*found);
    }
    template <class T>
    [[nodiscard]] T as(std::string_view name) const {
        return value_or_throw(try_as<T>(name));
    }
    /// All of them, in the order of their names.
    template <class T>
    [[nodiscard]] expected<std::vector<T>> try_all_as() const {
        std::vector<T> out;
        for (const FlowInput& input : inputs_) {
            FF_TRY(T value, decoded<T>(input));
            out.push_back(std::move(value));
        }
        return out;
    }
    template <class T>
    [[nodiscard]] std::vector<T> all_as() const {
        return value_or_throw(try_all_as<T>());
    }

  private:
    template <class T>
    static expected<T> decoded(const FlowInput& input) {
        if constexpr (std::same_as<T, std::string>) {
            return input.value;
        } else {
            if (input.encoding && !input.encoding->empty() && *input.encoding != "json") {
                return ff::fail(
                    ErrorCode::invalid_input,
                    "input " + input.name + " is encoded as " + *input.encoding + ", not as json");
            }
            auto value = decode_json<T>(input.value);
            if (!value) {
                value.error().detail = "input " + input.name + ": " + value.error().detail;
            }
            return value;
        }
    }

    std::vector<FlowInput> inputs_;
};

}  // namespace ff
