// The requests of suspension, described once like those of requests.h: waiting, signals, keys.
//
// `now` is accepted in every body and not looked at: the store's clock decides. Words may be
// spelled as here (`WaitingForApproval`) or as they are stored (`waiting_for_approval`).
#pragma once

#include <string_view>

#include <ff/contracts.h>

#include "wire/binding.h"

namespace ff::wire {

FF_BIND(CreateWaitpoint, post, "/v1/executions/{id}/attempts/{idx}/waitpoints", control,
        "Make a waitpoint ahead of the suspension")
FF_BIND(CloseWaitpoint, post, "/v1/executions/{id}/attempts/{idx}/waitpoints/{waitpoint_id}/close",
        control, "Close a waitpoint that was made ahead and is not needed")
FF_BIND(Suspend, post, "/v1/executions/{id}/attempts/{idx}/suspend", large,
        "Give the lease back until signals come")
FF_BIND(ObserveSignals, get, "/v1/executions/{id}/attempts/{idx}/resume-signals", control,
        "The signals that ended the latest suspension of an attempt")
FF_BIND(DeliverSignal, post, "/v1/executions/{id}/signal", medium, "Deliver a signal")
FF_BIND(DeliverApprovalSignal, post, "/v1/executions/{id}/approval-signal", control,
        "Approve or reject, as an operator")
FF_BIND(ResumeExecution, post, "/v1/executions/{id}/resume", control,
        "End a suspension, as an operator")
FF_BIND(ExpireSuspension, post, "/v1/executions/{id}/expire-suspension", control,
        "Apply the timeout of a suspension that is past due")
FF_BIND(ListPendingWaitpoints, get, "/v1/executions/{id}/pending-waitpoints", control,
        "Its open waitpoints, by id")
FF_BIND(ReadWaitpointToken, get, "/v1/executions/{id}/waitpoints/{waitpoint_id}/token", control,
        "The token of an open waitpoint")
FF_BIND(FindWaitpoint, get, "/v1/waitpoints/{waitpoint_id}", control,
        "A waitpoint by its id, whatever its state")
FF_BIND(ListSuspensions, get, "/v1/executions/{id}/suspensions", control,
        "Every time it has waited, oldest first")
FF_BIND(ListSuspended, get, "/v1/suspended", control,
        "Suspended executions, those whose time runs out first at the head")
FF_BIND(ListSignals, get, "/v1/executions/{id}/signals", control, "Every signal it has accepted")
FF_BIND(SeedWaitpointKey, post, "/v1/admin/seed-waitpoint-secret", control,
        "Install the first key that signs waitpoint tokens")
FF_BIND(RotateWaitpointKey, post, "/v1/admin/rotate-waitpoint-secret", control,
        "Sign waitpoint tokens with a new key")
FF_BIND(ListWaitpointKeys, get, "/v1/admin/waitpoint-kids", control,
        "The names of the keys that sign and verify waitpoint tokens")

}  // namespace ff::wire
