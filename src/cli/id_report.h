// What a command has to say of each execution it was given: told one by one, and summed up in an
// exit code. A fault of one does not stop the others.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ff/json.h>

#include "cli/execution_ids.h"
#include "cli/session.h"

namespace ff::cli {

/// Of one execution: for people and for programs.
struct Said {
    std::string text;
    js::Value json;
    ExitCode code = ExitCode::ok;
    std::string complaint;  ///< a line for standard error; empty: none
};

class IdReport {
  public:
    /// `count` things will be reported. A JSON document of one is its object, of several a list.
    /// `key` is the member that names one of which something went wrong.
    IdReport(Output output, std::size_t count, std::string key = "execution_id")
        : output_(output), count_(count), key_(std::move(key)) {}

    void add(const std::string& name, const expected<Said>& said);
    /// Ends the document.
    ExitCode finish();

  private:
    void put(const js::Value& value);

    Output output_;
    std::size_t count_;
    std::string key_;
    ListWriter list_{output_};
    bool any_text_ = false;
    ExitCode worst_ = ExitCode::ok;
};

/// What went wrong with an execution, for programs.
js::Value fault_json(const std::string& name, const Error& error,
                     const std::string& key = "execution_id");

/// Reads the words, finds the executions and calls `act` for each that was found. Words that cannot
/// be ids are refused before anything is done.
ExitCode for_each_id(const CommonOptions& options, Access access,
                     const std::vector<std::string>& words,
                     const std::function<expected<Said>(const Session&, const ExecutionId&)>& act);

}  // namespace ff::cli
