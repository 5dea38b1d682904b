// Waiting in tests for what other threads are about to do.
#pragma once

#include <chrono>
#include <thread>

namespace ff::support {

/// Does the condition hold within a limit that only a broken program reaches?
template <class Condition>
bool eventually(Condition holds, std::chrono::seconds limit = std::chrono::seconds(30)) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace ff::support
