// Lists that an engine gives whole and a server in pages: asked for until there are no more.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "client/remote_engine.h"
#include "wire/answers.h"
#include "wire/request_out.h"
#include "wire/url.h"

namespace ff::client {

namespace {

/// Where the next page begins; nothing when this was the last.
std::string next_cursor_of(std::string_view body) {
    const auto document = js::parse(body);
    const json* cursor = document ? document->find("next_cursor") : nullptr;
    const std::string* text = cursor != nullptr ? cursor->if_string() : nullptr;
    return text != nullptr ? *text : "";
}

template <class Op>
class Paging : public std::enable_shared_from_this<Paging<Op>> {
  public:
    Paging(RemoteEngine& engine, Op op, Engine::DoneFn done)
        : engine_(engine),
          request_(std::in_place_type<Op>, std::move(op)),
          done_(std::move(done)) {}

    void ask() {
        wire::Call call = wire::write_request(request_);
        call.target += (call.target.contains('?') ? "&limit=" : "?limit=") +
                       std::to_string(wire::page_items_max);
        if (!cursor_.empty()) {
            call.target += "&cursor=";
            wire::append_encoded(call.target, cursor_);
        }
        engine_.send_call(std::move(call), {}, true,
                          [self = this->shared_from_this()](expected<wire::Received> received) {
                              self->heard(received);
                          });
    }

  private:
    void heard(const expected<wire::Received>& received) {
        Response response = received ? told_by_server(wire::read_answer(request_, *received))
                                     : Response(std::unexpected(received.error()));
        if (!response) {
            done_(std::move(response));
            return;
        }
        std::ranges::move(ff::get<typename Op::Result>(*response), std::back_inserter(all_));
        cursor_ = next_cursor_of(received->body);
        if (cursor_.empty()) {
            done_(Reply(std::in_place_type<typename Op::Result>, std::move(all_)));
        } else {
            ask();
        }
    }

    RemoteEngine& engine_;
    const Request request_;
    std::string cursor_;
    typename Op::Result all_;
    Engine::DoneFn done_;
};

}  // namespace

bool is_paged(const Request& request) {
    return ff::holds_alternative<ListEdges>(request) ||
           ff::holds_alternative<ListAttempts>(request);
}

void send_pages(RemoteEngine& engine, Request request, Engine::DoneFn done) {
    if (auto* edges = ff::get_if<ListEdges>(&request)) {
        std::make_shared<Paging<ListEdges>>(engine, std::move(*edges), std::move(done))->ask();
    } else {
        std::make_shared<Paging<ListAttempts>>(engine, std::move(ff::get<ListAttempts>(request)),
                                               std::move(done))
            ->ask();
    }
}

}  // namespace ff::client
