// The rows of streams on every store.
#include "store/contract.h"
#include "store/typed_rows.h"

namespace ff::store::test {
namespace {

using core::StreamKey;

class StreamContract : public StoreContract {
  protected:
    static constexpr StreamKey here{1, 3};

    std::vector<std::int64_t> seqs(const StreamKey& key, Order order = Order::oldest_first,
                                   std::size_t limit = 100) {
        std::vector<std::int64_t> out;
        for (const auto& row : look(store(), [&](Reader& r) {
                 return r.frames(key, {}, {t0 + 1'000, 0}, order, limit);
             })) {
            out.push_back(row.key.id.seq);
        }
        return out;
    }
    using Seqs = std::vector<std::int64_t>;
};
INSTANTIATE_TEST_SUITE_P(Stores, StreamContract, testing::ValuesIn(contract_backends()),
                         [](const auto& test) { return test.param.name; });

TEST_P(StreamContract, rows_come_back_as_they_were_put) {
    const auto meta = full_stream(here);
    EXPECT_EQ(difference(meta, core::StreamMeta{}), all_columns<core::StreamMeta>());
    put(store(), changes(meta, full_frame(here, 1), frame_of(here, 2), full_summary(here)));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.stream_meta(here); }), meta);
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.summary(here); }), full_summary(here));
    const auto frames = look(
        store(), [&](Reader& r) { return r.frames(here, {}, {t0, 5}, Order::oldest_first, 10); });
    EXPECT_EQ(frames, (std::vector{full_frame(here, 1), frame_of(here, 2)}));
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.stream_meta({1, 4}); }));
    const auto first = full_stream({1, 0});
    put(store(), changes(first, full_stream({2, 0})));
    EXPECT_EQ(look(store(), [&](Reader& r) { return r.streams_of(1); }),
              (std::vector{first, meta}));
    EXPECT_FALSE(look(store(), [&](Reader& r) { return r.summary({2, 3}); }));
}

TEST_P(StreamContract, frames_are_read_in_both_orders_and_within_their_stream) {
    put(store(), changes(frame_of(here, 1), frame_of(here, 2), frame_of(here, 3),
                         frame_of({1, 2}, 9), frame_of({2, 0}, 8)));
    EXPECT_EQ(seqs(here), (Seqs{1, 2, 3}));
    EXPECT_EQ(seqs(here, Order::newest_first, 2), (Seqs{3, 2}));
    EXPECT_EQ(seqs(here, Order::oldest_first, 2), (Seqs{1, 2}));
    EXPECT_EQ(seqs({1, 2}), Seqs{9});
}

TEST_P(StreamContract, the_oldest_frames_of_a_mode_go) {
    using M = FrameMode;
    put(store(),
        changes(frame_of(here, 1), frame_of(here, 2, M::summary), frame_of(here, 3),
                frame_of(here, 4, M::best_effort), frame_of(here, 5), frame_of({1, 2}, 1)));
    put(store(), changes(core::FrameTrim{here, M::durable, 2}));
    EXPECT_EQ(seqs(here), (Seqs{2, 4, 5}));
    put(store(),
        changes(core::FrameTrim{here, M::summary, 1}, core::FrameTrim{here, M::best_effort, 1}));
    EXPECT_EQ(seqs(here), Seqs{5});
    EXPECT_EQ(seqs({1, 2}), Seqs{1}) << "another stream";
    // What the same transaction adds counts too.
    put(store(),
        changes(frame_of(here, 6), frame_of(here, 7), core::FrameTrim{here, M::durable, 2}));
    EXPECT_EQ(seqs(here), Seqs{7});
}

TEST_P(StreamContract, streams_to_sweep_come_in_the_order_of_their_time) {
    auto first = stream_of({1, 0});
    auto second = stream_of({1, 1});
    first.sweep_at = t0 + 20;
    second.sweep_at = t0 + 10;
    put(store(), changes(first, second, stream_of({2, 0})));
    const auto due = [&](TimestampMs now, std::size_t limit = 10) {
        Transaction transaction(store());
        return store().scan_streams(now, limit).value();
    };
    EXPECT_EQ(due(t0 + 9), std::vector<StreamKey>());
    EXPECT_EQ(due(t0 + 20), (std::vector<StreamKey>{{1, 1}, {1, 0}}));
    EXPECT_EQ(due(t0 + 20, 1), (std::vector<StreamKey>{{1, 1}}));
}

}  // namespace
}  // namespace ff::store::test
