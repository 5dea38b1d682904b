#include "support/batch.h"

#include <functional>

#include "base/check.h"

namespace ff::testing {

namespace {

template <class T>
std::optional<Error> refusal(const expected<T>& result) {
    return result ? std::nullopt : std::optional(result.error());
}

/// What a batch knows of one command: what it reads, and how it is decided.
struct Command {
    std::function<void(core::ReadSet&)> reads;
    std::function<std::optional<Error>(core::Snapshot&, const core::Context&)> decide;
};

template <class Prepared>
Command command(Prepared prepared) {
    return {[prepared](core::ReadSet& set) { core::reads(prepared, set); },
            [prepared](core::Snapshot& view, const core::Context& ctx) {
                auto decision = core::decide(view, prepared, ctx);
                view.apply(std::move(decision.changes));
                return refusal(decision.answer);
            }};
}

/// Refused before it gets near a row.
Command refused(Error error) {
    return {[](core::ReadSet&) {},
            [error](core::Snapshot&, const core::Context&) { return std::optional(error); }};
}

Command command_of(World& world, const Request& request) {
    return ff::visit(
        [&]<class Op>(Op op) -> Command {
            if constexpr (std::is_same_v<Op, CreateExecution>) {
                auto ctx = world.context();
                auto prepared = core::prepare(std::move(op), world.settings(), ctx.ids, world.now);
                return prepared ? command(std::move(*prepared)) : refused(prepared.error());
            } else if constexpr (requires(core::ReadSet set) { core::reads(op, set); }) {
                auto valid = core::validate(op);
                return valid ? command(std::move(op)) : refused(valid.error());
            } else {
                FF_CHECK(false, "not a command of a batch");
            }
        },
        request);
}

}  // namespace

std::optional<Error> run_one(World& world, const Request& request) {
    return ff::visit(
        [&]<class Op>(const Op& op) -> std::optional<Error> {
            if constexpr (requires { world.run(op); }) {
                return refusal(world.run(op));
            } else {
                FF_CHECK(false, "not an operation of a world");
            }
        },
        request);
}

std::vector<std::optional<Error>> run_batch(World& world, const std::vector<Request>& requests) {
    core::Snapshot view = world.empty_view();
    const auto decide_all = [&](const std::vector<Command>& commands) {
        core::ReadSet set;
        set.limits.places = true;  // what the commands that claim read then
        for (const auto& [name, lane] : world.records.lanes) {
            set.lanes.push_back(name);  // and those that ask for a grant
        }
        for (const Command& each : commands) {
            each.reads(set);
        }
        world.load(set, view);
        std::vector<std::optional<Error>> answers;
        for (const Command& each : commands) {
            answers.push_back(each.decide(view, world.context()));
        }
        return answers;
    };
    std::vector<Command> due;
    for (const auto& [id, e] : world.records.executions) {
        if (e.timer_at && *e.timer_at <= world.now) {
            due.push_back(command(core::HandleDue{id}));
        }
    }
    decide_all(due);
    std::vector<Command> commands;
    for (const Request& request : requests) {
        commands.push_back(command_of(world, request));
    }
    auto answers = decide_all(commands);
    world.commit(view, World::Steps::several);
    return answers;
}

}  // namespace ff::testing
