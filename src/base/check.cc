#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace ff {

void check_failed(std::string_view expression, std::string_view message, std::string_view file,
                  int line) {
    std::fprintf(stderr, "check failed: %.*s (%.*s) at %.*s:%d\n", static_cast<int>(message.size()),
                 message.data(), static_cast<int>(expression.size()), expression.data(),
                 static_cast<int>(file.size()), file.data(), line);
    std::fflush(stderr);
    std::abort();
}

}  // namespace ff
