// The route table: every path of the server and what it leads to, by topic.
#pragma once

#include "http/router.h"

namespace ff::http {

class Service;

/// All of them. The service outlives the router.
void add_routes(Router& router, Service& service);

void add_execution_routes(Router& router, Service& service);
void add_attempt_routes(Router& router, Service& service);
void add_flow_routes(Router& router, Service& service);
void add_suspension_routes(Router& router, Service& service);
void add_stream_routes(Router& router, Service& service);
void add_limit_routes(Router& router, Service& service);
void add_event_routes(Router& router, Service& service);
void add_callback_routes(Router& router, Service& service);
void add_approval_routes(Router& router, Service& service);
void add_worker_routes(Router& router, Service& service);
void add_admin_routes(Router& router, Service& service);

/// The description of all routes of a table as OpenAPI 3.1.
json openapi_document(const Router& router);

}  // namespace ff::http
