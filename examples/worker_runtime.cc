// Worker runtime: typed handlers, state they share, and what becomes of failures and panics.
#include <ff/flowfabric.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Order {
    std::string item;
    int amount = 0;
};
FF_JSON(Order, item, amount)

struct Receipt {
    std::string text;
    int total = 0;
};
FF_JSON(Receipt, text, total)

/// Shared by all tasks; handlers ask for it by its type.
struct PriceList {
    int price = 3;
    std::atomic<int> asked{0};
};

void add_handlers(ff::Worker& worker) {
    worker.provide(std::make_shared<PriceList>());
    worker.on<Order>("sell", [](ff::Task& task, const Order& order, PriceList& prices) -> Receipt {
        prices.asked += 1;
        task.progress(50, "priced");
        if (order.amount < 1) {
            throw ff::TaskFailure("permanent", "nothing was ordered");
        }
        return {order.item, order.amount * prices.price};
    });
    worker.on("explode", [] { throw std::runtime_error("boom"); });
    worker.on("panic", [] { throw 42; });
}

void run() {
    const auto engine = ff::Engine::connect("sqlite::memory:");
    ff::Client client(engine, {.ns = "examples"});
    ff::Worker worker(engine, {.worker_id = "clerk",
                               .ns = "examples",
                               .lanes = {"default"},
                               .max_concurrent_tasks = 4,
                               .log = [](ff::Severity, std::string_view) {}});
    add_handlers(worker);
    ff::value_or_throw(worker.start());

    const std::vector<ff::Submit> work{
        ff::Submit("sell", Order{"pens", 4}), ff::Submit("sell", Order{"ink", 0}),
        ff::Submit("sell", "not an order"), ff::Submit("explode"), ff::Submit("panic")};
    for (const ff::Submit& request : work) {
        const auto done = client.wait(client.submit(request).id(), std::chrono::seconds(10));
        if (done.completed()) {
            const auto receipt = done.as<Receipt>();
            std::printf("completed: %s for %d\n", receipt.text.c_str(), receipt.total);
        } else {
            std::printf("%s: %s: %s\n", std::string(ff::to_string(done.state)).c_str(),
                        done.category.c_str(), done.reason.c_str());
        }
    }
    ff::value_or_throw(worker.stop());
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "worker_runtime: %s\n", error.what());
        return 1;
    }
}
