// A thin wrapper on libpq: connections, statements sent together in pipelines, values in binary.
// One thread at a time, but for cancel().
//
// Statements are queued and sent together by run_queued(): however many there are, they cost one
// round trip. Each text is prepared once a connection, unless a pooler stands in between: what is
// prepared through one may be gone with the next transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <ff/error.h>

#include "store/sql_statement.h"

struct pg_cancel;
struct pg_conn;
struct pg_result;

namespace ff::store {

/// Many values of one column, as one parameter.
class PgArray final : public ValueSink {
  public:
    enum class Type : std::uint8_t { integers, texts, bytes };

    explicit PgArray(Type type) : type_(type) {}
    void null() override;
    void integer(std::int64_t value) override;
    void text(std::string_view value) override { bytes(value); }
    void bytes(std::string_view value) override;
    void text_copy(const std::string& value) override { bytes(value); }
    void bytes_copy(const std::string& value) override { bytes(value); }

    [[nodiscard]] std::uint32_t type_id() const;
    /// In the form the server takes.
    [[nodiscard]] std::string encoded() const;

  private:
    Type type_;
    std::uint32_t count_ = 0;
    bool has_null_ = false;
    std::string elements_;
};

/// The parameters of a statement, in order: values, and arrays.
class PgParams final : public ValueSink {
  public:
    void null() override;
    void integer(std::int64_t value) override;
    void text(std::string_view value) override { bytes(value); }
    void bytes(std::string_view value) override;
    void text_copy(const std::string& value) override { bytes(value); }
    void bytes_copy(const std::string& value) override { bytes(value); }
    void array(const PgArray& values);
    /// Those of another statement, behind these.
    void append(PgParams more);
    [[nodiscard]] std::size_t size() const { return values_.size(); }
    void clear() { values_.clear(); }

  private:
    friend class PgConnection;
    struct Value {
        std::uint32_t type = 0;  ///< 0: the server infers it
        std::optional<std::string> bytes;
    };
    std::vector<Value> values_;
};

/// Rows of an answer, taken in order: next(), then the columns from the first on.
class PgRows final : public ValueSource {
  public:
    PgRows() = default;
    explicit PgRows(pg_result* result) : result_(result, &free_result) {}

    /// Moves to the next row; false when there is none.
    bool next();
    [[nodiscard]] std::size_t size() const;
    /// How many rows a statement inserted, updated or deleted.
    [[nodiscard]] std::uint64_t affected() const;

    [[nodiscard]] bool is_null() const override;
    void skip() override { ++column_; }
    void skip(int columns) { column_ += columns; }
    std::int64_t integer() override;
    std::string_view bytes() override;
    void corrupt(const char* name, const std::string& value) override;
    [[nodiscard]] expected<void> check() const;

  private:
    static void free_result(pg_result* result);
    std::shared_ptr<pg_result> result_;
    int row_ = -1;
    int column_ = 0;
    std::string corrupt_;
};

class PgConnection final : public SqlDb {
  public:
    /// `store_open_failed` in one line that says what to do, without the password.
    static expected<std::unique_ptr<PgConnection>> open(const std::string& url);
    ~PgConnection();
    PgConnection(const PgConnection&) = delete;
    PgConnection& operator=(const PgConnection&) = delete;

    // ------------------------------------------------- one at a time, while nothing is queued

    expected<void> execute(const std::string& text) override;
    expected<std::string> scalar(const std::string& text) override;
    /// `store_open_failed` when a table of another program has a name of ours.
    expected<int> schema_version() override;
    [[nodiscard]] Dialect dialect() const override { return Dialect::postgres; }
    [[nodiscard]] const char* begin_migration() const override;

    // ------------------------------------------------------------------------------- together

    void queue(const std::string& text, PgParams params = {});
    /// Sends what is queued and waits for all answers, in order. When one fails those behind it
    /// have not run; the error is the first one's.
    expected<std::vector<PgRows>> run_queued();
    [[nodiscard]] bool anything_queued() const { return !queued_.empty(); }
    void forget_queued() { queued_.clear(); }
    /// How often run_queued() has brought answers.
    [[nodiscard]] std::uint64_t round_trips() const { return round_trips_; }
    /// How many texts are prepared; beyond a bound they are all forgotten.
    [[nodiscard]] std::size_t prepared() const { return prepared_.size(); }

    /// Breaks off the statement that is under way, if there is one. Any thread.
    void cancel() const;
    /// False once the connection is lost: then nothing works any more.
    [[nodiscard]] bool alive() const;
    /// Does something stand between this program and the server?
    [[nodiscard]] bool pooled() const { return pooled_; }
    [[nodiscard]] int server_version() const;
    /// The address without its password.
    [[nodiscard]] const std::string& where() const { return where_; }
    /// Process id and start of the server's process that serves this connection.
    [[nodiscard]] const std::string& backend() const { return backend_; }

    // ------------------------------------------------------------------------- notifications

    /// The payload of a notification that has arrived, waiting for one up to `timeout_ms` or until
    /// `wake_fd` can be read. Nothing when none came; an error when the connection is lost.
    expected<std::optional<std::string>> next_notification(int timeout_ms, int wake_fd);

  private:
    struct Queued {
        const std::string* text;
        PgParams params;
    };
    struct Prepared {
        std::string name;
        bool ready = false;
    };

    explicit PgConnection(pg_conn* connection) : connection_(connection) {}
    Error last_error(const std::string& doing) const;
    /// The same, and nothing is to be expected of the connection any more.
    Error lose(const std::string& doing);
    Error failure(const pg_result* result);
    expected<std::vector<PgRows>> answers_of(const std::vector<const std::string*>& answers);
    expected<void> forget_prepared();
    bool send(const Queued& item, std::vector<const std::string*>& answers);
    expected<void> enter_pipeline();
    expected<void> leave_pipeline();

    pg_conn* connection_;
    pg_cancel* cancel_ = nullptr;
    bool pooled_ = false;
    bool lost_ = false;
    std::uint64_t round_trips_ = 0;
    bool in_pipeline_ = false;
    std::string where_;
    std::string backend_;
    std::unordered_map<std::string, Prepared> prepared_;
    std::unordered_set<std::string> texts_;  ///< of what is queued, at addresses that stay
    std::vector<Queued> queued_;
};

/// A statement used one at a time.
class PgStatement final : public SqlStatement {
  public:
    PgStatement(PgConnection& connection, std::string text)
        : connection_(&connection), text_(std::move(text)) {}

    void null() override { params_.null(); }
    void integer(std::int64_t value) override { params_.integer(value); }
    void text(std::string_view value) override { params_.text(value); }
    void bytes(std::string_view value) override { params_.bytes(value); }
    void text_copy(const std::string& value) override { params_.text(value); }
    void bytes_copy(const std::string& value) override { params_.bytes(value); }
    void array(const PgArray& values) { params_.array(values); }

    expected<bool> step() override;
    expected<void> run() override;
    void reset() override;
    [[nodiscard]] std::uint64_t affected() const { return affected_; }

    [[nodiscard]] bool is_null() const override { return rows_.is_null(); }
    void skip() override { rows_.skip(); }
    std::int64_t integer() override { return rows_.integer(); }
    std::string_view bytes() override { return rows_.bytes(); }
    void corrupt(const char* name, const std::string& value) override {
        rows_.corrupt(name, value);
    }
    [[nodiscard]] expected<void> check() const override { return rows_.check(); }

  private:
    PgConnection* connection_;
    std::string text_;
    PgParams params_;
    PgRows rows_;
    bool sent_ = false;
    std::uint64_t affected_ = 0;
};

/// Statements by text.
class PgStatements final : public SqlStatements {
  public:
    explicit PgStatements(PgConnection& connection) : connection_(&connection) {}
    PgStatement& get(const std::string& text) override {
        return statements_.try_emplace(text, *connection_, text).first->second;
    }

  private:
    PgConnection* connection_;
    std::unordered_map<std::string, PgStatement> statements_;
};

/// For migrate.h inside a transaction that somebody else has begun, and ends: all or nothing.
class PgInside final : public SqlDb {
  public:
    explicit PgInside(PgConnection& db) : db_(&db) {}
    [[nodiscard]] Dialect dialect() const override { return Dialect::postgres; }
    [[nodiscard]] const char* begin_migration() const override { return ""; }
    expected<int> schema_version() override { return db_->schema_version(); }
    expected<void> execute(const std::string& text) override {
        return text.empty() || text == "COMMIT" || text == "ROLLBACK" ? expected<void>()
                                                                      : db_->execute(text);
    }
    expected<std::string> scalar(const std::string& text) override { return db_->scalar(text); }

  private:
    PgConnection* db_;
};

/// What a server is.
struct PgServer {
    int version = 0;  ///< 150004 is 15.4
    std::string version_text;
    std::string encoding;  ///< of the database
    bool standby = false;
};
expected<PgServer> server_of(PgConnection& connection);

/// `store_open_failed` when a store cannot be used there, or read.
enum class PgUse : std::uint8_t { read, write };
expected<void> check_server(const PgServer& server, const std::string& where, PgUse use);

/// `store_open_failed` when a store is found along the search path but what is made goes elsewhere:
/// a migration would leave half of it there.
expected<void> check_search_path(PgConnection& db);
/// Before anything is made: are the names of a store free there, or those of one?
expected<void> check_names(PgConnection& db);

/// The version of a store this program knows exactly, for who only reads; otherwise as
/// check_known_version(), and `store_open_failed` for a database that holds no store.
expected<int> known_schema_version(PgConnection& db);

/// The error of a failed statement by its SQLSTATE. `store_busy`: another process was in the way,
/// doing it all again may work. `store_io`: the connection is gone, or the server is going down.
ErrorCode code_of_sqlstate(std::string_view sqlstate);

/// Of the library that talks to the server, like `15.4`.
std::string libpq_version();

/// The SQLSTATE of an error that the server gave.
std::string_view sqlstate_of(const Error& error);

/// The connection string without its password, for people. `invalid_config` when it is none.
expected<std::string> printable_url(const std::string& url);

}  // namespace ff::store
