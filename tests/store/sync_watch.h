// Who is told of every fdatasync of the test program; see sqlite_durability_test.cc.
#pragma once

#include <atomic>

namespace ff::store::test {

class SyncWatch {
  public:
    virtual ~SyncWatch() = default;
    /// Before and after it was done, on the thread that does it.
    virtual void syncing(int fd) = 0;
    virtual void synced(int fd) = 0;
};

/// None while it is null.
extern std::atomic<SyncWatch*> sync_watch;

}  // namespace ff::store::test
