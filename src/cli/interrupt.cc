#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace ff::cli {

namespace {

// Set on whatever thread gets the signal and read on others: a sig_atomic_t is for one thread.
std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait");

void on_signal(int signal) {
    flag = true;
    std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
    flag = false;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
}

InterruptGuard::~InterruptGuard() {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
}

bool InterruptGuard::interrupted() { return flag; }

}  // namespace ff::cli
