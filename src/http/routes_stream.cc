// Attempt streams: appending under a lease, pages, and tails that may wait.
#include "http/operation_route.h"
#include "http/routes.h"

namespace ff::http {

namespace {

/// One of the places for reads of streams, given back when it goes.
class StreamPermit {
  public:
    static std::shared_ptr<StreamPermit> take(Service& service) {
        const std::size_t most = service.options().stream_ops_max;
        if (service.stream_ops().fetch_add(1) >= most) {
            service.stream_ops().fetch_sub(1);
            return nullptr;
        }
        return std::shared_ptr<StreamPermit>(new StreamPermit(service));
    }
    ~StreamPermit() { service_.stream_ops().fetch_sub(1); }
    StreamPermit(const StreamPermit&) = delete;
    StreamPermit& operator=(const StreamPermit&) = delete;

  private:
    explicit StreamPermit(Service& service) : service_(service) {}
    Service& service_;
};

wire::Answer streams_full(std::size_t most) {
    return wire::write_error({ErrorCode::too_many_waiters,
                              "too many concurrent stream_ops calls (server max: " +
                                  std::to_string(most) + "); retry with backoff",
                              {}});
}

template <class Op>
void read_stream(Service& service, Exchange exchange) {
    auto op = read_operation<Op>(exchange);
    if (!op) {
        return;
    }
    auto permit = StreamPermit::take(service);
    if (!permit) {
        exchange.answer(streams_full(service.options().stream_ops_max));
        return;
    }
    if constexpr (requires { op->abandoned; }) {
        op->abandoned = exchange.gone;
    }
    service.engine().async(std::move(*op),
                           [permit = std::move(permit), respond = std::move(exchange.respond)](
                               expected<typename Op::Result> result) mutable {
                               respond_with<Op>(std::move(respond), std::move(result));
                           });
}

template <class Op>
void add_read(Router& router, Service& service, bool waits) {
    Route route = route_of<Op>();
    route.waits = waits;
    route.handler = [&service](Exchange exchange) {
        read_stream<Op>(service, std::move(exchange));
    };
    router.add(std::move(route));
}

}  // namespace

void add_stream_routes(Router& router, Service& service) {
    add_operation<AppendFrames>(router, service);
    add_read<ReadStream>(router, service, false);
    add_read<TailStream>(router, service, true);
    add_read<ReadStreamSummary>(router, service, false);
}

}  // namespace ff::http
