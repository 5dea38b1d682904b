// A route that gives a list in pages: the engine answers with all of it, and the page that a cursor
// and a limit name is cut out of that.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "http/operation_route.h"
#include "http/schemas.h"

namespace ff::http {

/// `page` makes the answer of the whole list, the cursor and the limit.
template <class Op, class Cursor, class Page>
void add_list(Router& router, Service& service, Page page) {
    Route route = route_of<Op>();
    route.describe = [] {
        return with_query(wire::request_schema<Op>(), {{"cursor", wire::schemas::of(Cursor{})},
                                                       {"limit", wire::schemas::integer(0, 1000)}});
    };
    route.handler = [&service, page](Exchange& exchange) {
        wire::RequestIn in(exchange.request);
        Op op;
        std::optional<Cursor> cursor;
        std::uint32_t limit = 0;
        wire::describe_request(in, op);
        in.query_optional("cursor", cursor);
        in.query_limit(limit, 100, wire::page_items_max);
        if (const auto fault = in.fault()) {
            exchange.answer(wire::write_fault(*fault));
            return;
        }
        service.engine().async(op, [page, cursor, limit, respond = std::move(exchange.respond)](
                                       expected<typename Op::Result> found) mutable {
            respond([page, cursor, limit, found = std::move(found)](Client) mutable {
                return found ? page(std::move(*found), cursor, limit)
                             : wire::write_error(found.error(), Op::name);
            });
        });
    };
    router.add(std::move(route));
}

}  // namespace ff::http
