// Ctrl-C as a question instead of an end.
#pragma once

namespace ff::cli {

/// While one exists, SIGINT and SIGTERM only set a flag. A second one ends the program.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

    [[nodiscard]] static bool interrupted();
};

}  // namespace ff::cli
