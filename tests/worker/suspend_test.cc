// How a task suspends itself (spec 04 section 7.5).
#include <gtest/gtest.h>

#include "worker/rig.h"

namespace ff::worker::test {

class Suspending : public WorkerTest {
  protected:
    /// Answers a waitpoint, as somebody outside does who is faster than the task.
    void answer(const ExecutionId& id, const WaitpointTicket& at) {
        DeliverSignal op;
        op.execution_id = id;
        op.waitpoint_id = at.waitpoint_id;
        op.waitpoint_token = at.waitpoint_token;
        op.signal_name = "approved";
        ASSERT_TRUE(engine->run(op));
    }
};

TEST_F(Suspending, SuspendIsStrictAndTrySuspendGivesBack) {
    Worker worker(engine, options());
    worker.on("strict", [this](Task& task) -> Result {
        const WaitpointTicket ask = task.create_waitpoint("review", 1h);
        answer(task.execution_id(), ask);
        SuspendOptions on;
        on.waitpoints = {WaitpointBinding::pending(ask.waitpoint_id)};
        return task.suspend(any_signal("approved"), on);
    });
    worker.on("lenient", [this](Task& task) -> Result {
        const WaitpointTicket ask = task.create_waitpoint("review", 1h);
        answer(task.execution_id(), ask);
        const auto outcome = task.try_suspend_on(ask, any_signal("approved"));
        if (!outcome || outcome->suspended()) {
            return task.complete("suspended");
        }
        EXPECT_EQ(task.resume_signals().size(), 1U) << "what arrived can be read";
        task.renew();
        return task.complete("went on");
    });
    start(worker);
    const Finished strict = wait(submit(Submit("strict")));
    EXPECT_EQ(strict.state, PublicState::failed);
    EXPECT_NE(strict.reason.find("try_suspend"), std::string::npos) << strict.reason;
    EXPECT_EQ(wait(submit(Submit("lenient"))).as<std::string>(), "went on");
}

}  // namespace ff::worker::test
