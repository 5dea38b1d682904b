// `ff serve` in a process of its own, for as long as the object lives.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include <ff/error.h>

namespace ff::cli {

class ServerProcess {
  public:
    /// Starts this very program, or the one at `program`, on a store and waits until it says where
    /// it listens.
    static expected<std::unique_ptr<ServerProcess>> start(
        const std::string& db, const std::map<std::string, std::string>& settings,
        std::string program = {});
    /// Tells it to stop and waits until it has.
    ~ServerProcess();
    ServerProcess(const ServerProcess&) = delete;
    ServerProcess& operator=(const ServerProcess&) = delete;

    [[nodiscard]] const std::string& url() const { return url_; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Resident memory now.
    [[nodiscard]] double resident_mib() const;
    /// Time of the processor so far.
    [[nodiscard]] double cpu_seconds() const;

  private:
    ServerProcess() = default;

    pid_t pid_ = 0;
    int log_ = -1;
    std::string url_;
};

}  // namespace ff::cli
