// Running a command line and reading what it says.
#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace ff::examples::test {

struct Output {
    int status = -1;
    std::string text;  ///< stdout and stderr
};

inline Output run(const std::string& command) {
    Output out;
    FILE* pipe = ::popen(("(" + command + ") 2>&1 < /dev/null").c_str(), "r");
    if (pipe == nullptr) {
        return out;
    }
    std::array<char, 4096> buffer;
    while (const std::size_t bytes = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
        out.text.append(buffer.data(), bytes);
    }
    out.status = ::pclose(pipe);
    return out;
}

}  // namespace ff::examples::test
