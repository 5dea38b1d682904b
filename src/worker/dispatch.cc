#include "worker/dispatch.h"

#include <exception>
#include <utility>

#include "worker/faults.h"

namespace ff::worker {

namespace {

constexpr std::size_t reason_bytes_max = 4'096;

/// What an exception says, and what those inside it say.
std::string describe(const std::exception& thrown) {
    std::string text = thrown.what();
    try {
        std::rethrow_if_nested(thrown);
    } catch (const std::exception& inner) {
        text += ": " + describe(inner);
    } catch (...) {
        text += ": something that is not a std::exception";
    }
    return text;
}

Verdict call(const Handler& handler, Task& task) {
    try {
        return handler.call(task);
    } catch (const TaskFailure& failure) {
        return std::unexpected(Refusal{failure.category(), describe(failure)});
    } catch (const std::exception& thrown) {
        return std::unexpected(Refusal{"handler_error", describe(thrown)});
    } catch (...) {
        return std::unexpected(
            Refusal{"handler_panic", "the handler threw something that is not a std::exception"});
    }
}

Verdict run_handler(HeldTask& held) {
    const auto& handlers = held.setup().handlers;
    auto found = handlers.find(held.info().kind);
    found = found != handlers.end() ? found : handlers.find(any_kind);
    if (found == handlers.end()) {
        return std::unexpected(
            Refusal{"runtime_no_handler", "no handler for kind " + held.info().kind});
    }
    Task task(held);
    return call(found->second, task);
}

/// The answer to a finishing operation that went wrong: one line, whichever it was.
void report(const HeldTask& held, std::string_view operation, const Error& error) {
    std::string line = std::string(operation) + " was refused: " + error.message();
    if (may_pass(error)) {
        line = std::string(operation) +
               " did not get through before the lease ended, which is left "
               "to expire: " +
               error.message();
    }
    held.log(Severity::warn, line);
}

void fail(HeldTask& held, Refusal refusal) {
    if (!check_label("category", refusal.category, 1, 256)) {
        refusal.reason = "(category " + refusal.category + ") " + refusal.reason;
        refusal.category = "handler_error";
    }
    const std::string reason = readable_text(std::move(refusal.reason), reason_bytes_max);
    if (const auto failed = held.fail(reason, refusal.category); !failed) {
        report(held, "fail", failed.error());
    }
}

void complete(HeldTask& held, Returned returned) {
    const auto completed = held.complete(std::move(returned.payload), std::move(returned.encoding));
    if (completed) {
        return;
    }
    if (held.finished()) {
        report(held, "complete", completed.error());
        return;
    }
    fail(held, {"handler_error", "the result was refused: " + completed.error().message()});
}

}  // namespace

void dispatch(HeldTask& held) {
    Verdict verdict = run_handler(held);
    if (held.finished()) {
        // The handler has ended it, or learned that it cannot: what it says beyond that is lost.
        if (!verdict) {
            held.log(Severity::warn, "the handler failed after the task was finished: " +
                                         readable_text(verdict.error().reason, reason_bytes_max));
        } else if (verdict->payload) {
            held.log(Severity::warn, "the handler returned a result after the task was finished");
        }
        return;
    }
    if (!verdict) {
        fail(held, std::move(verdict).error());
    } else if (verdict->finished) {
        fail(held, {"handler_error", "the handler returned the Result of another task"});
    } else {
        complete(held, std::move(*verdict));
    }
    if (!held.finished()) {
        // Refused for good: a lease that was renewed for ever would keep the work from everybody.
        held.let_go();
        held.log(Severity::warn, "was not finished; its lease is left to expire");
    }
}

}  // namespace ff::worker
