// A PostgreSQL server that one test has for itself and may kill.
//
// The server of scripts/postgres.sh is shared by all test programs that run side by side; from it
// only the programs are taken (FF_TEST_POSTGRES_BIN). One thread, which must outlive the object:
// the server dies with the thread that started it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/temp_dir.h"

namespace ff::support {

class PrivatePostgres {
  public:
    /// Makes a database and starts; fails the test when that does not work.
    PrivatePostgres();
    ~PrivatePostgres();
    PrivatePostgres(const PrivatePostgres&) = delete;
    PrivatePostgres& operator=(const PrivatePostgres&) = delete;

    [[nodiscard]] std::string address() const { return address_at(folder_.path()); }
    /// The same database where somebody passes connections on at a socket in another folder.
    [[nodiscard]] static std::string address_at(const std::string& folder) {
        return "postgresql:///postgres?host=" + folder + "&port=5432&user=ff";
    }
    [[nodiscard]] std::string socket() const { return folder_.file(".s.PGSQL.5432"); }

    /// The main process is gone at once; the others notice in their own time.
    void kill();
    /// All processes end where they are, as in a power cut: nothing more is written.
    void crash();
    /// After either: recovers, and returns when connections are taken.
    void start();

  private:
    /// Runs a program of the server, as the account that it may run as.
    pid_t spawn(const std::string& program, const std::vector<std::string>& arguments);
    void end(int signal);
    [[nodiscard]] bool ready() const;

    TempDir folder_;
    pid_t server_ = -1;
};

}  // namespace ff::support
