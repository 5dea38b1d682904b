#include "http/routes.h"

namespace ff::http {

void add_routes(Router& router, Service& service) {
    add_execution_routes(router, service);
    add_attempt_routes(router, service);
    add_flow_routes(router, service);
    add_suspension_routes(router, service);
    add_stream_routes(router, service);
    add_limit_routes(router, service);
    add_event_routes(router, service);
    add_callback_routes(router, service);
    add_approval_routes(router, service);
    add_worker_routes(router, service);
    add_admin_routes(router, service);
}

}  // namespace ff::http
