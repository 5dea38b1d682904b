// A terminal without a person: runs `ff` in it, reads what it draws, presses keys.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/program.h"

namespace ff::test {

class FakeScreen {
  public:
    /// Starts `ff` in a window of this size.
    FakeScreen(const std::vector<std::string>& arguments, unsigned short columns,
               unsigned short rows, const Around& around = {});
    /// Kills it, if it still runs.
    ~FakeScreen();
    FakeScreen(const FakeScreen&) = delete;
    FakeScreen& operator=(const FakeScreen&) = delete;

    /// Reads until the text has appeared that many times; false when it has not within a minute or
    /// the program ended.
    bool wait_for(std::string_view text, int times = 1);
    void press(std::string_view keys);
    void signal(int number) const;
    /// Waits for the end; the exit code, or 128 and the signal.
    int finish();

    /// Everything that was drawn so far, with all control sequences.
    [[nodiscard]] const std::string& drawn() const { return drawn_; }
    /// Only what is drawn from now on counts.
    void forget() { drawn_.clear(); }
    /// Whether typed keys are shown again, as before the program began.
    [[nodiscard]] bool echoes() const;

  private:
    /// False at the end.
    bool read_some();

    int terminal_ = -1;
    int window_ = -1;  ///< the program's side, held open to look at its settings afterwards
    pid_t child_ = -1;
    std::string drawn_;
};

}  // namespace ff::test
