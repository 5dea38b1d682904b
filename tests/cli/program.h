// Runs the `ff` program as its users do, and makes stores for it to look at.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ff/engine.h>

#include <ff/json.h>

namespace ff::test {

/// What a run of the program left behind.
struct Ran {
    int code = -1;  ///< exit code; 128 and the signal when it was killed
    std::string out;
    std::string err;

    /// Standard output as one JSON document; null and a test failure when it is not.
    [[nodiscard]] js::Value json() const;
    /// The same for output of one document a line.
    [[nodiscard]] std::vector<js::Value> json_lines() const;
};

/// What a program finds when it starts. Variables that choose a server or a store are unset, and no
/// profiles file is found, unless they are given here.
struct Around {
    std::map<std::string, std::string> variables;
    std::string input;  ///< standard input
};

/// Runs `ff` with these arguments; neither output is a terminal.
Ran run_ff(const std::vector<std::string>& arguments, const Around& around = {});

/// Runs a line of shell in which `$0` is `ff` and `$1`, `$2` … are the arguments.
Ran run_shell(const std::string& line, const std::vector<std::string>& arguments = {},
              const Around& around = {});
/// The variables of a program, as execve takes them.
std::vector<std::string> environment(const Around& around);

/// A folder that goes when the object does.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / name).string();
    }
    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

/// Runs SQL on a store's file behind everybody's back.
void tamper(const std::string& path, const std::string& sql);

/// The member of an object as text: strings as they are, anything else as JSON.
std::string member(const js::Value& object, std::string_view name);

}  // namespace ff::test
