// Conversations with the server as text files, tests/http/golden/*.txt: requests and the exact
// answers, readable and writable without C++.
//
//   # What the file shows.
//   @server api_token=secret            settings of the server, if any; first of all
//
//   === create an execution             a title
//   # a remark, if needed
//   POST /v1/executions                 the request: method and target,
//   Content-Type: application/json      fields,
//                                       an empty line and the body
//   {"namespace":"acme"}
//   ---
//   201                                 the answer: status,
//   Content-Type: application/json      every field but Date and Content-Length, in order,
//                                       an empty line and the body
//   {"Created":{"execution_id":"{{id}}"}}
//
//   @advance 5000                       the store's clock moves, which otherwise stands still
//
// `{{name}}` stands for what the server made up: the first time it takes whatever is there, later
// it must be the same, in answers as in requests. A name that ends in `id` is an id. `{{*}}` is any
// one word. Lines of a body are put together without their indentation, so long ones can be broken.
//
// FF_GOLDEN_WRITE=1 makes a run write down what the server says instead of comparing it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/raw_client.h"

namespace ff::http::test {

/// What stands for what, within one file.
using Names = std::map<std::string, std::string>;

struct GoldenStep {
    std::size_t line = 0;       ///< where it begins
    std::string advance;        ///< milliseconds, of a step that moves the clock
    std::string title;          ///< of an exchange
    std::string before_answer;  ///< its text up to the answer, for writing
    std::string method;
    std::string target;
    std::vector<std::string> fields;
    std::string body;
    std::string answer;  ///< see answer_text
};

struct GoldenFile {
    std::string opening;  ///< remarks and settings, as they stand
    std::map<std::string, std::string> settings;
    std::vector<GoldenStep> steps;
};

GoldenFile parse_golden(std::string_view text);
/// The file again, with the answers its steps have now.
std::string golden_text(const GoldenFile& file);

/// An answer as it stands in a file: status, fields, an empty line, the body.
std::string answer_text(const RawAnswer& answer);
/// The same with what the server made up replaced by names, and the body broken into lines.
/// `given` is text whose ids the server did not make up.
std::string answer_to_write(const RawAnswer& answer, std::string_view given, Names& names);
/// Puts what names stand for into a request.
std::string filled_in(std::string text, const Names& names);
/// Is it what the file says? Learns names. Empty when it is, else where it is not.
std::string compare(std::string_view expected, std::string_view actual, Names& names);

}  // namespace ff::http::test
