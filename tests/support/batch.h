// Operations as Requests: one alone, and several in one transaction as the engine's writer runs
// them (what is due first; everything is loaded before the first is decided; each sees what those
// before it decided; all of it is committed together).
#pragma once

#include <optional>
#include <vector>

#include "support/world.h"

namespace ff::testing {

/// The error, if it was refused. Reads are not operations of a World and abort.
std::optional<Error> run_one(World& world, const Request& request);

/// One answer for each request. Claims are not part of a batch's first pass and abort.
std::vector<std::optional<Error>> run_batch(World& world, const std::vector<Request>& requests);

}  // namespace ff::testing
