// How the texts of settings are read. Each function gives the value, or an error whose `detail`
// says what is wrong with the text in words that follow "invalid value for NAME: ".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ff/error.h>

#include "http/config.h"

namespace ff::http {

/// A whole number within the limits.
expected<std::int64_t> read_number(std::string_view text, std::int64_t low, std::int64_t high);
/// `1`, `true`, `0`, `false`, in any case.
expected<bool> read_boolean(std::string_view text);
/// One of the words of an enum, in any case.
template <class E>
expected<E> read_word(std::string_view text);

std::string lower_case(std::string_view text);
/// The parts between commas without the spaces around them; empty ones are dropped.
std::vector<std::string> read_list(std::string_view text);
std::string join(const std::vector<std::string>& words, std::string_view between);

/// At least one name of a lane, each once.
expected<std::vector<std::string>> read_lanes(std::string_view text);
/// Entries that are no origins are dropped, with a warning; when none is left it is an error.
expected<CorsRule> read_origins(std::string_view text, std::vector<std::string>& warnings);
/// Something a request can carry in its header. The error does not quote it.
expected<std::string> read_token(std::string_view text);

/// An even number of hex digits, or exactly `digits`. The error does not quote it.
expected<std::string> read_hex(std::string_view text, std::size_t digits = 0);

/// Quoted for a message: one line, not too long, whatever it holds.
std::string quoted(std::string_view text);

template <class E>
expected<E> read_word(std::string_view text) {
    if (const auto value = parse_enum<E>(lower_case(text))) {
        return *value;
    }
    std::vector<std::string> words(enum_names<E>.begin(), enum_names<E>.end());
    return ff::fail(ErrorCode::invalid_config, quoted(text) + " is none of " + join(words, ", "));
}

}  // namespace ff::http
