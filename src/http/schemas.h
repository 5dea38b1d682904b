// What the bodies of routes look like that are not one operation: for the description of the
// interface. The parts come from the operations they are made of.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include <ff/json.h>

namespace ff::http {

/// The description of an operation whose route takes more of the query than the operation does.
json with_query(json operation, std::initializer_list<std::pair<std::string_view, json>> more);

/// `GET /v1/executions`: the ids of a partition, or a search when there is a filter instead.
json describe_list();
/// `POST /v1/executions/batch`.
json describe_create_batch();
/// `POST /v1/attempts/complete-batch`.
json describe_outcome_batch();
/// `POST …/attempts/{idx}/cancel`.
json describe_cancel_attempt();
/// `PUT …/tags/{key}`.
json describe_set_tag();
/// `POST /v1/workers/{worker_id}/heartbeat`, with leases.
json describe_heartbeat();
/// `POST /v1/echo`.
json describe_echo();

}  // namespace ff::http
