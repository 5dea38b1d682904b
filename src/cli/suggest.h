// What somebody who misspelt a word may have meant. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ff::cli {

/// How many letters must be added, left out, changed or swapped with their neighbour.
std::size_t letters_apart(std::string_view a, std::string_view b);

/// The nearest of the known words; empty when none is near. The first of several that are.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace ff::cli
