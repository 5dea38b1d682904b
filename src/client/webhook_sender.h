// Delivers webhooks: events of a family, posted to an address in order, until it has taken them.
//
// Runs beside an embedded engine, in a server. Several processes on one database share the work:
// each webhook is delivered by who has claimed it, and its place is kept in the store after every
// delivery. An address gets each event at least once; the event's cursor says which it is.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <ff/engine.h>

#include "net/address_rules.h"

namespace ff::client {

struct WebhookSenderOptions {
    net::AddressRules addresses;
    std::string holder;  ///< this process, among all on the database
    std::string ca_file;
    std::chrono::milliseconds look_every{1'000};  ///< for new webhooks, and those whose time is due
    std::chrono::milliseconds timeout{10'000};    ///< of one delivery
    std::chrono::milliseconds client_idle{5'000};  ///< how long a connection is kept for the next
    DurationMs hold_ms = 60'000;
    DurationMs wait_ms = 15'000;  ///< for events; the place is kept at least as often
    std::function<void(std::string_view)> warn;
};

/// `v1=` and the HMAC-SHA256 of `<timestamp>.<body>` in hex: what the header FF-Webhook-Signature
/// says of a delivery.
std::string webhook_signature(std::string_view secret, std::int64_t timestamp_s,
                              std::string_view body);

class WebhookSender {
  public:
    WebhookSender(std::shared_ptr<Engine> engine, WebhookSenderOptions options);
    /// Gives everything back and waits for what is under way.
    ~WebhookSender();
    WebhookSender(const WebhookSender&) = delete;
    WebhookSender& operator=(const WebhookSender&) = delete;

  private:
    class Parts;
    std::shared_ptr<Parts> parts_;
};

}  // namespace ff::client
