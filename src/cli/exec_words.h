// Words for the kernel: the form in which exec and posix_spawn take arguments and environments.
#pragma once

#include <string>
#include <vector>

namespace ff::cli {

/// Pointers to the texts and the null that ends them, good while the texts stay as they are.
inline std::vector<char*> exec_words(std::vector<std::string>& texts) {
    std::vector<char*> out;
    out.reserve(texts.size() + 1);
    for (std::string& text : texts) {
        out.push_back(text.data());
    }
    out.push_back(nullptr);
    return out;
}

}  // namespace ff::cli
