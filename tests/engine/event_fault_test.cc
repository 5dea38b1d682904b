// An event that cannot be read is told of and passed over; those around it are not lost.
#include <gtest/gtest.h>

#include "engine/conformance.h"
#include "store/sqlite_db.h"

namespace ff::engine::test {

TEST(EventFaults, ARowThatCannotBeReadIsToldAndPassedOver) {
    const TempDir folder;
    const std::string path = folder.file("store.db");
    const auto open = [&] {
        auto engine = Engine::open(path);
        EXPECT_TRUE(engine) << engine.error().message();
        return *engine;
    };
    {
        const auto engine = open();
        for (int i = 0; i < 3; ++i) {
            ASSERT_TRUE(engine->run(job()));
            const auto got = engine->run(claim_by("w1"));
            ASSERT_TRUE(got && got->tasks.size() == 1);
            ASSERT_TRUE(engine->run(Complete{got->tasks[0].handle, {}, {}}));
        }
        engine->stop();
    }
    {
        auto db = store::SqliteDb::open(path, store::OpenMode::write, 1'000);
        ASSERT_TRUE(db) << db.error().message();
        ASSERT_TRUE((*db)->execute("UPDATE ff_exec_event SET outcome = 99 WHERE event_id = 4"));
    }
    const auto engine = open();
    ReadEvents op;
    op.cursor = EventCursor::earliest();
    std::vector<std::int64_t> seen;
    std::vector<std::int64_t> faults;
    for (bool more = true; more;) {
        const auto page = engine->run(op);
        ASSERT_TRUE(page) << page.error().message();
        for (const Event& event : page->events) {
            seen.push_back(event.cursor.event_id());
        }
        if (page->fault) {
            faults.push_back(page->fault->cursor.event_id());
            EXPECT_FALSE(page->fault->message.empty());
        }
        more = !page->at_end;
        ASSERT_LT(seen.size() + faults.size(), 20U) << "it does not come to an end";
        op.cursor = page->next_cursor;
    }
    EXPECT_EQ(seen, (std::vector<std::int64_t>{2, 6}));
    EXPECT_EQ(faults, (std::vector<std::int64_t>{4}));
}

}  // namespace ff::engine::test
