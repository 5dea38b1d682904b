// Tenant audit: who held the work of one tenant, and how that ended, from the lease history. The
// auditor keeps its place: what happens while it is away it finds when it comes back.
#include <ff/flowfabric.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

namespace {

/// What a line of the audit says of a lease.
std::string line_of(const ff::Event& event) {
    const ff::js::Value payload = ff::value_or_throw(ff::js::parse(event.payload));
    const auto word = [&](const char* name) {
        const ff::js::Value* member = payload.find(name);
        return member != nullptr && member->if_string() != nullptr ? *member->if_string()
                                                                   : std::string("-");
    };
    if (event.type == "acquired") {
        return "acquired by " + word("worker_instance_id");
    }
    return event.type + " by " + word("revoked_by") + ": " + word("reason");
}

/// Reads all that is there behind a place; answers with the place to go on from.
ff::EventCursor audit(ff::Client& client, const std::string& tenant, ff::EventCursor kept) {
    ff::EventFilter filter;
    filter.tag = {"tenant.id", tenant};
    const auto history = client.subscribe(ff::EventFamily::lease_history, kept, filter);
    for (;;) {
        const ff::SubscriptionItem item = history->next(std::chrono::milliseconds(200));
        if (const auto* event = std::get_if<ff::Event>(&item)) {
            std::printf("  %s\n", line_of(*event).c_str());
            kept = event->cursor;  // kept with what was handled, in a real one
        } else if (const auto* idle = std::get_if<ff::SubscriptionIdle>(&item)) {
            return idle->cursor;
        } else if (const auto* gap = std::get_if<ff::EventGap>(&item)) {
            std::printf("  (nothing is known before %s)\n", gap->oldest.hex().c_str());
        } else if (std::holds_alternative<ff::SubscriptionEnd>(item)) {
            return kept;
        }
    }
}

void work(ff::Client& client, const std::string& tenant, bool fails) {
    const auto id = client
                        .submit(ff::Submit(fails ? "import" : "report", tenant)
                                    .lane("audit")
                                    .tag("tenant.id", tenant))
                        .id();
    client.wait(id, std::chrono::seconds(30));
}

void run() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Worker worker(engine, {.worker_id = "clerk",
                               .worker_instance_id = "clerk-1",
                               .ns = "examples",
                               .lanes = {"audit"},
                               .log = [](ff::Severity, std::string_view) {}});
    worker.on("report", [](ff::Task&) { return std::string("fine"); });
    worker.on("import", [](ff::Task&) -> std::string {
        throw ff::TaskFailure("permanent", "the file is empty");
    });
    ff::value_or_throw(worker.start());
    ff::Client client(engine, {.ns = "examples"});

    work(client, "acme", false);
    work(client, "umbrella", false);
    std::printf("acme, so far:\n");
    const ff::EventCursor kept = audit(client, "acme", ff::EventCursor::earliest());
    work(client, "acme", true);
    std::printf("acme, since then:\n");
    audit(client, "acme", kept);
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tenant_audit: %s\n", error.what());
        return 1;
    }
}
