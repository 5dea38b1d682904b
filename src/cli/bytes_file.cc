#include "cli/bytes_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "store/store_file.h"

namespace ff::cli {

namespace {

expected<std::string> read_to_end(int fd, const std::string& name) {
    std::string out;
    std::array<char, 65'536> part{};
    for (;;) {
        const ssize_t size = read(fd, part.data(), part.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return ff::fail(ErrorCode::store_io,
                            fmt::format("cannot read {}: {}", name, std::strerror(errno)));
        }
        if (size == 0) {
            return out;
        }
        out.append(part.data(), static_cast<std::size_t>(size));
        if (out.size() > payload_bytes_max) {
            return ff::fail(ErrorCode::payload_too_large,
                            fmt::format("{} is larger than {} MiB", name, payload_bytes_max >> 20));
        }
    }
}

}  // namespace

expected<std::string> read_bytes(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return std::unexpected(store::missing_file(path));
    }
    if (fd < 0) {
        return ff::fail(ErrorCode::store_io,
                        fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    }
    auto text = read_to_end(fd, path);
    close(fd);
    return text;
}

expected<std::string> read_standard_input() { return read_to_end(STDIN_FILENO, "standard input"); }

}  // namespace ff::cli
