// Errors on the wire (spec 07 section 1.7): status and body from an Error, and back.
#pragma once

#include <string>
#include <string_view>

#include <ff/error.h>

#include "wire/message.h"
#include "wire/request_in.h"

namespace ff::wire {

/// What the engine refused. Of one that stops, `operation` says what is not to be had any more.
Answer write_error(const Error& error, std::string_view operation = {});
/// What was no operation to begin with.
Answer write_fault(const RequestFault& fault);
/// `{"error":text}` and nothing more.
Answer plain_error(int status, std::string_view text);

/// Whose words are believed. Gateways answer in JSON too, some of it with a member `error` like our
/// plainest answers; one with a `code` of ours is our server's.
enum class Believed : std::uint8_t { any_error, only_codes };

/// The error that an answer tells of. Of one that is not ours, what its status says.
Error read_error(int status, std::string_view body, Believed believed = Believed::any_error);
/// Does an error's body ask to come again?
bool says_retryable(std::string_view body);

/// `execution_not_active` as `ExecutionNotActive`.
std::string camel_name(std::string_view code);
/// The code of a word.
std::optional<ErrorCode> parse_error_code(std::string_view word);

}  // namespace ff::wire
