// Who acts in the demo: submitters, an operator and workers. Each function is the body of a thread
// and returns when the board is stopped or its part is played.
#pragma once

#include <ff/engine.h>

#include "cli/demo_board.h"
#include "cli/demo_story.h"

namespace ff::cli {

/// Hands in the story's jobs over `seconds`, and calls one off in between.
void submit_jobs(Engine& engine, DemoStory& story, DemoBoard& board, double seconds);

/// A worker that runs one job at a time. When it is killed, in the middle of a job and without a
/// word to the engine, it comes back as a new instance a while later.
void run_worker(Engine& engine, DemoStory& story, DemoBoard& board, std::size_t number);

}  // namespace ff::cli
