#include "cli/suggest.h"

#include <algorithm>

namespace ff::cli {

std::size_t letters_apart(std::string_view a, std::string_view b) {
    // Row i, column j: how far the first i letters of `a` are from the first j of `b`.
    const std::size_t width = b.size() + 1;
    std::vector<std::size_t> cells((a.size() + 1) * width);
    const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
        return cells[i * width + j];
    };
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                at(i, j) = i + j;
                continue;
            }
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
            }
        }
    }
    return cells.back();
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
    // One slip in a short word, two in a longer one: beyond that it is another word.
    const std::size_t slips_max = word.size() <= 4 ? 1 : 2;
    std::string nearest;
    std::size_t fewest = slips_max + 1;
    for (const std::string& candidate : known) {
        const std::size_t slips = letters_apart(word, candidate);
        if (slips < fewest) {
            fewest = slips;
            nearest = candidate;
        }
    }
    return nearest;
}

}  // namespace ff::cli
