// Callbacks: how a service that knows nothing of FlowFabric answers a waitpoint.
#pragma once

#include <string>

#include <ff/suspension.h>

namespace ff {

/// The path on a server to which anybody may POST the answer, whatever its form: give it, behind
/// the server's address, to a service that calls back. It holds the token, so it is a credential.
///
/// `/v1/callbacks/<waitpoint id>.<kid>.<64 hex digits>`, percent-encoded where it must be. Query
/// members `signal` and `source` name the signal and its source.
std::string callback_path(const WaitpointTicket& ticket);

}  // namespace ff
