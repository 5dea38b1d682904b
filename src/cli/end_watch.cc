#include "cli/end_watch.h"

#include <poll.h>
#include <unistd.h>

namespace ff::cli {

namespace {

/// How soon Ctrl-C, or a reader who went away, is noticed.
constexpr int look_every_ms = 100;

}  // namespace

EndWatch::EndWatch()
    : thread_([this](const std::stop_token& over) {
          while (!over.stop_requested() && !stop_.stop_requested()) {
              pollfd out{STDOUT_FILENO, 0, 0};
              poll(&out, 1, look_every_ms);
              const bool unread = (out.revents & (POLLERR | POLLNVAL)) != 0;
              if (unread || InterruptGuard::interrupted()) {
                  stop_.request_stop();
              }
          }
      }) {}

}  // namespace ff::cli
