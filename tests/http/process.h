// Programs that a test starts: `ff serve`, curl, openssl, python3. Their outputs go to files.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace ff::http::test {

using Variables = std::map<std::string, std::string>;

class Process {
  public:
    /// Starts a program; one without a slash is looked for in PATH. Variables of ours (FF_…) are
    /// unset unless they are given.
    explicit Process(std::vector<std::string> words, const Variables& variables = {});
    /// Kills it if it still runs.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    void send_signal(int signal) const;
    /// Waits for its end: the exit code, or 128 and the signal. The test fails if it does not come.
    int wait();
    [[nodiscard]] bool runs();
    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;
    /// Waits until its standard error has this in it, and gives what follows up to a space or the
    /// end of the line; fails the test when it does not come.
    std::string wait_for_text(const std::string& text);

  private:
    bool reap(bool block);

    support::TempDir folder_;
    pid_t pid_ = -1;
    int code_ = -1;
};

struct Ran {
    int code = -1;
    std::string out;
    std::string err;
};

/// Runs a program to its end.
Ran run(std::vector<std::string> words, const Variables& variables = {});

/// `ff serve` on a port of its own.
class ServeProcess {
  public:
    explicit ServeProcess(const std::string& db, const std::vector<std::string>& more = {},
                          Variables variables = {});
    [[nodiscard]] const std::string& url() const { return url_; }
    [[nodiscard]] std::uint16_t port() const;
    [[nodiscard]] Process& process() { return process_; }
    /// Ends it with SIGTERM; gives its exit code.
    int stop();

  private:
    Process process_;
    std::string url_;
};

}  // namespace ff::http::test
