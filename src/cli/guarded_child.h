// A program under a guard: a small process of ours between the worker and the program.
//
// The guard leads the program's process group and does two things that nobody else can: when the
// worker dies, however suddenly, it ends the whole group, so that the next attempt does not run
// beside this one; and it tells how the program itself ended, whoever it left behind with its
// outputs open. The program gets no descriptor but its three.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ff/error.h>

namespace ff::cli {

/// A descriptor that is closed with the object.
class Fd {
  public:
    Fd() = default;
    explicit Fd(int fd) : fd_(fd) {}
    Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd& operator=(Fd&& other) noexcept {
        close();
        fd_ = std::exchange(other.fd_, -1);
        return *this;
    }
    ~Fd() { close(); }
    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool open() const { return fd_ >= 0; }
    void close();

  private:
    int fd_ = -1;
};

/// A pipe with one end for us, which does not block, and one for somebody else.
struct Pipe {
    Fd ours;
    Fd theirs;

    /// Errors: `store_io`.
    static expected<Pipe> make(bool we_write);
};

/// What to run, and what its three descriptors are.
struct ChildSetup {
    std::string path;  ///< of the file: PATH is not looked at
    std::vector<std::string> words;
    std::vector<std::string> environment;
    std::string dir;  ///< it runs there; empty: here
    int in = -1;
    int out = -1;
    int err = -1;
};

class GuardedChild {
  public:
    /// Starts it. Must be called, and the end waited for, on a thread that lives on until then: the
    /// end of the thread is the end of the worker to the guard. `store_io` when it cannot be done.
    static expected<GuardedChild> start(ChildSetup setup);

    /// Becomes readable when the program has ended.
    [[nodiscard]] int ended_fd() const { return status_.get(); }
    /// To everybody in the group.
    void send(int signal) const;

    struct End {
        int exec_fault = 0;   ///< errno: it could not be started
        int wait_status = 0;  ///< as of waitpid
    };
    /// Waits for the end. Once.
    End wait();

  private:
    GuardedChild(pid_t guard, Fd status) : guard_(guard), status_(std::move(status)) {}

    pid_t guard_;
    Fd status_;
};

/// The file that a program's name means: the name itself when it has a slash, else found in PATH.
/// `invalid_config` when there is none that may be run.
expected<std::string> find_program(const std::string& name);

}  // namespace ff::cli
