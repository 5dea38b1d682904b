// What an error's words for programs mean to people, and what to do about it. Pure functions.
//
// Some details are words that a program compares (`required:empty_token`), and some errors are
// nothing but their code. Documents and the HTTP interface keep these as they are.
#pragma once

#include <string>

#include <ff/error.h>

namespace ff::cli {

/// A sentence with the words behind it in brackets; empty when the error says it in a sentence of
/// its own.
std::string plain_words(const Error& error);

}  // namespace ff::cli
