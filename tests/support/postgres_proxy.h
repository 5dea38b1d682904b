// Stands between a store and its server at a Unix socket, and cuts a connection at its COMMIT, so
// that the store does not learn what became of it.
//
// It reads what the client says as far as it must to know a prepared COMMIT. Its own threads carry
// the bytes; the calls here may come from any thread.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/temp_dir.h"

namespace ff::support {

class PostgresProxy {
  public:
    /// What happens at the next COMMIT.
    enum class Cut {
        none,
        before,   ///< the server never sees it, and that the client has gone
        unheard,  ///< the server never sees it, nor that the client has gone
        at_once,  ///< the server gets it; nobody waits for what it does
        after,    ///< the server has done it
    };

    /// Passes connections on to the socket at `server`.
    explicit PostgresProxy(std::string server);
    ~PostgresProxy();
    PostgresProxy(const PostgresProxy&) = delete;
    PostgresProxy& operator=(const PostgresProxy&) = delete;

    /// The folder whose socket leads to the server.
    [[nodiscard]] const std::string& folder() const { return folder_.path(); }
    /// Once: the next COMMIT disarms it.
    void cut_next(Cut cut) { cut_ = cut; }
    /// How often it has cut: counted when all that the server is to see or do is done.
    [[nodiscard]] int cuts() const { return cuts_; }
    /// While held, new connections are neither refused nor served.
    void hold(bool held) { held_ = held; }

  private:
    struct Stream;
    void accept_all();
    void carry(int client);
    bool forward_client(Stream& stream);

    const std::string server_;
    TempDir folder_;
    int listener_ = -1;
    std::atomic<Cut> cut_ = Cut::none;
    std::atomic<int> cuts_ = 0;
    std::atomic<bool> held_ = false;
    std::atomic<bool> stop_ = false;
    std::mutex mutex_;
    std::vector<std::thread> carriers_;  // guarded by mutex_
    std::vector<int> abandoned_;         // guarded by mutex_: server's ends nobody may close yet
    std::thread acceptor_;
};

}  // namespace ff::support
