// A budget as a reservation: what each execution spends is written down, sent twice it counts once,
// and released it is taken back exactly, unless a new period has begun meanwhile.
#include <ff/testing.h>
#include <ff/flowfabric.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

namespace {

constexpr ff::BudgetId cents{ff::Uuid{{0xce, 0x27}}};

void run() {
    const auto engine = std::make_shared<ff::testing::Engine>();
    ff::Client client(engine, {.ns = "examples"});
    ff::CreateBudget budget;
    budget.budget_id = cents;
    budget.dimensions = {"cents"};
    budget.hard_limits = {100};
    budget.soft_limits = {0};
    ff::value_or_throw(engine->run(budget));
    const auto used = [&] {
        const auto status = ff::value_or_throw(engine->run(ff::GetBudgetStatus{cents}));
        return status.usage.contains("cents") ? status.usage.at("cents") : 0;
    };
    const auto spend = [&](const ff::ExecutionId& id, std::uint64_t amount, const char* key) {
        const auto told =
            ff::value_or_throw(engine->run(ff::RecordSpend{cents, id, {{"cents", amount}}, key}));
        std::printf("spend %lu: %s, used %lu\n", static_cast<unsigned long>(amount),
                    std::string(ff::to_string(told.outcome)).c_str(),
                    static_cast<unsigned long>(used()));
    };
    const auto release = [&](const ff::ExecutionId& id) {
        const auto told = ff::value_or_throw(engine->run(ff::ReleaseBudget{cents, id}));
        std::printf("release: %s, used %lu\n", told.released ? "released" : "nothing there",
                    static_cast<unsigned long>(used()));
    };
    const auto trip = client.submit(ff::Submit("book-trip")).id();
    const auto dinner = client.submit(ff::Submit("book-dinner")).id();
    spend(trip, 60, "flight");
    spend(trip, 60, "flight");
    spend(dinner, 30, "table");
    spend(dinner, 20, "wine");
    release(trip);
    release(trip);
    spend(dinner, 20, "wine");
    ff::value_or_throw(engine->run(ff::ResetBudget{cents}));
    release(dinner);
}

}  // namespace

int main() {
    try {
        run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "budget_ledger: %s\n", error.what());
        return 1;
    }
}
