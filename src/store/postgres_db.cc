#include "store/postgres_db.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "store/placed_file.h"
#include "store/schema.h"

namespace ff::store {

namespace {

// The type numbers are fixed in the protocol.
constexpr Oid int8_array = 1016;
constexpr Oid text_array = 1009;
constexpr Oid bytea_array = 1001;
constexpr Oid int8_type = 20;
constexpr Oid text_type = 25;
constexpr Oid bytea_type = 17;

constexpr int binary = 1;

/// A session remembers so many texts and plans at most.
constexpr std::size_t prepared_max = 500;

template <class T>
void append_number(std::string& out, T value) {
    for (int shift = (static_cast<int>(sizeof(T)) - 1) * 8; shift >= 0; shift -= 8) {
        out += static_cast<char>(static_cast<std::uint64_t>(value) >> shift & 0xffU);
    }
}

/// Messages of the server end in a newline and may have several lines.
std::string first_line(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
        text.remove_prefix(1);
    }
    std::string line(text.substr(0, text.find('\n')));
    std::string out;
    for (char c : line) {  // "FATAL:  password" has two spaces
        if (c != ' ' || !out.ends_with(' ')) {
            out += c;
        }
    }
    return out;
}

struct ResultDeleter {
    void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, ResultDeleter>;

/// What to do about a connection that was not made.
std::string advice(std::string_view message) {
    const auto says = [&](std::string_view words) { return message.contains(words); };
    if (says("password authentication failed") || says("no password supplied")) {
        return "; check user and password in the address, or PGPASSWORD and ~/.pgpass";
    }
    if (says(": database \"") && says("does not exist")) {
        return "; create it first, for example with createdb";
    }
    if (says("role") && says("does not exist")) {
        return "; create the role first, for example with createuser, or name another user";
    }
    if (says("Connection refused") || says("No such file or directory")) {
        return "; is the server running, and are host and port right?";
    }
    if (says("translate host name")) {
        return "; check the host's name";
    }
    if (says("too many clients") || says("remaining connection slots")) {
        return "; raise max_connections, or use fewer engines or a smaller pool_size";
    }
    return "";
}

}  // namespace

// ----------------------------------------------------------------------------------- parameters

void PgArray::null() {
    append_number(elements_, std::int32_t{-1});
    has_null_ = true;
    count_ += 1;
}

void PgArray::integer(std::int64_t value) {
    append_number(elements_, std::int32_t{8});
    append_number(elements_, value);
    count_ += 1;
}

void PgArray::bytes(std::string_view value) {
    append_number(elements_, static_cast<std::int32_t>(value.size()));
    elements_ += value;
    count_ += 1;
}

std::uint32_t PgArray::type_id() const {
    switch (type_) {
        case Type::integers: return int8_array;
        case Type::texts: return text_array;
        case Type::bytes: return bytea_array;
    }
    return 0;
}

std::string PgArray::encoded() const {
    std::string out;
    out.reserve(20 + elements_.size());
    append_number(out, std::int32_t{count_ == 0 ? 0 : 1});  // dimensions
    append_number(out, std::int32_t{has_null_ ? 1 : 0});
    append_number(out, static_cast<std::uint32_t>(type_ == Type::integers ? int8_type
                                                  : type_ == Type::texts  ? text_type
                                                                          : bytea_type));
    if (count_ > 0) {
        append_number(out, count_);
        append_number(out, std::int32_t{1});  // the first index
        out += elements_;
    }
    return out;
}

void PgParams::null() { values_.push_back({0, std::nullopt}); }

void PgParams::integer(std::int64_t value) {
    std::string& bytes = values_.emplace_back(Value{0, std::string()}).bytes.emplace();
    append_number(bytes, value);
}

void PgParams::bytes(std::string_view value) { values_.push_back({0, std::string(value)}); }

void PgParams::array(const PgArray& values) {
    values_.push_back({values.type_id(), values.encoded()});
}

void PgParams::append(PgParams more) {
    std::ranges::move(more.values_, std::back_inserter(values_));
}

// ----------------------------------------------------------------------------------------- rows

void PgRows::free_result(pg_result* result) { PQclear(result); }

bool PgRows::next() {
    column_ = 0;
    corrupt_.clear();
    return result_ != nullptr && ++row_ < PQntuples(result_.get());
}

std::size_t PgRows::size() const {
    return result_ == nullptr ? 0 : static_cast<std::size_t>(PQntuples(result_.get()));
}

std::uint64_t PgRows::affected() const {
    const char* text = result_ == nullptr ? "" : PQcmdTuples(result_.get());
    return *text == '\0' ? 0 : std::stoull(text);
}

bool PgRows::is_null() const { return PQgetisnull(result_.get(), row_, column_) != 0; }

std::int64_t PgRows::integer() {
    const int size = PQgetlength(result_.get(), row_, column_);
    const auto* data =
        reinterpret_cast<const unsigned char*>(PQgetvalue(result_.get(), row_, column_++));
    std::uint64_t value = size > 0 && (data[0] & 0x80U) != 0 ? ~std::uint64_t{0} : 0;
    for (int i = 0; i < size; ++i) {
        value = value << 8U | data[i];
    }
    return static_cast<std::int64_t>(value);
}

std::string_view PgRows::bytes() {
    const int size = PQgetlength(result_.get(), row_, column_);
    return {PQgetvalue(result_.get(), row_, column_++), static_cast<std::size_t>(size)};
}

void PgRows::corrupt(const char* name, const std::string& value) {
    if (corrupt_.empty()) {
        corrupt_ = std::string(name) + ": " + value;
    }
}

expected<void> PgRows::check() const {
    if (!corrupt_.empty()) {
        return ff::fail(ErrorCode::corruption, corrupt_);
    }
    return {};
}

// --------------------------------------------------------------------------------------- errors

ErrorCode code_of_sqlstate(std::string_view state) {
    // A key that another process took first: with what it wrote in view, doing it again may work.
    constexpr std::array<std::string_view, 3> in_the_way{"40001", "40P01", "23505"};
    if (std::ranges::find(in_the_way, state) != in_the_way.end()) {
        return ErrorCode::store_busy;
    }
    // Somebody holds a row for long. Waiting again and again would hold up everybody else.
    if (state == "55P03" || state == "57014") {
        return ErrorCode::timeout;
    }
    if (state == "53100") {
        return ErrorCode::store_full;
    }
    if (state.starts_with("XX001") || state.starts_with("XX002")) {
        return ErrorCode::store_corrupt;
    }
    // 25006: the server has become a standby. 25P03: it gave up on a transaction that rested.
    if (state.empty() || state.starts_with("08") || state.starts_with("57P") ||
        state.starts_with("53") || state.starts_with("58") || state == "25006" ||
        state == "25P03" || state == "42501") {
        return ErrorCode::store_io;
    }
    return ErrorCode::internal;
}

std::string_view sqlstate_of(const Error& error) { return error.field("sqlstate"); }

Error PgConnection::last_error(const std::string& doing) const {
    const std::string said = first_line(PQerrorMessage(connection_));
    return {alive() ? ErrorCode::internal : ErrorCode::store_io,
            doing + ": " + (said.empty() ? "the connection to PostgreSQL is lost" : said),
            {}};
}

namespace {

Error error_of(PGconn* connection, const PGresult* result) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (state == nullptr) {
        const std::string said =
            first_line(PQresultErrorMessage(result)[0] != '\0' ? PQresultErrorMessage(result)
                                                               : PQerrorMessage(connection));
        return {ErrorCode::store_io,
                "PostgreSQL: " + (said.empty() ? std::string("the connection is lost") : said),
                {}};
    }
    const char* primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char* more = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL);
    std::string text = std::string("PostgreSQL: ") + (primary != nullptr ? primary : "failed");
    if (more != nullptr) {
        text += " (" + std::string(more) + ")";
    }
    const ErrorCode code = code_of_sqlstate(state);
    text += std::string(" [") + state + "]";
    if (code == ErrorCode::timeout) {
        text += "; another session holds a row or the server is slow: see pg_stat_activity";
    }
    return {code, std::move(text), {{"sqlstate", state}}};
}

bool is_failure(ExecStatusType status) {
    return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY;
}

}  // namespace

// ----------------------------------------------------------------------------------- connection

expected<std::string> printable_url(const std::string& url) {
    char* fault = nullptr;
    PQconninfoOption* options = PQconninfoParse(url.c_str(), &fault);
    if (options == nullptr) {
        // What libpq says may quote the address, and with it the password.
        PQfreemem(fault);
        return ff::fail(ErrorCode::invalid_config,
                        "the address of the PostgreSQL store cannot be read; write"
                        " postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with special characters"
                        " as %XX");
    }
    const auto value = [&](std::string_view keyword) -> std::string {
        for (const PQconninfoOption* o = options; o->keyword != nullptr; ++o) {
            if (keyword == o->keyword) {
                return o->val != nullptr ? o->val : "";
            }
        }
        return "";
    };
    const std::string user = value("user");
    const std::string host = value("host");
    const std::string port = value("port");
    std::string out = "postgresql://" + user + (user.empty() ? "" : "@");
    const bool socket = host.starts_with('/');
    out += socket ? "" : host;
    out += port.empty() || socket ? "" : ":" + port;
    out += "/" + value("dbname");
    if (socket) {
        out += "?host=" + host + (port.empty() ? "" : "&port=" + port);
    }
    PQconninfoFree(options);
    return out;
}

expected<std::unique_ptr<PgConnection>> PgConnection::open(const std::string& url) {
    FF_TRY(const std::string where, printable_url(url));
    // Later entries win, and the address comes last but for what must be so.
    // A host that vanishes says nothing: without keepalives a writer would wait for it for hours.
    const std::array<const char*, 9> keywords{"connect_timeout",
                                              "application_name",
                                              "keepalives_idle",
                                              "keepalives_interval",
                                              "keepalives_count",
                                              "tcp_user_timeout",
                                              "dbname",
                                              "client_encoding",
                                              nullptr};
    const std::array<const char*, 9> values{"10",    "flowfabric", "10",   "5",    "3",
                                            "20000", url.c_str(),  "UTF8", nullptr};
    PGconn* raw = PQconnectdbParams(keywords.data(), values.data(), 1);
    std::unique_ptr<PgConnection> connection(new PgConnection(raw));
    connection->where_ = where;
    if (PQstatus(raw) != CONNECTION_OK) {
        const std::string said = first_line(PQerrorMessage(raw));
        Error error{
            ErrorCode::store_open_failed, "cannot open " + where + ": " + said + advice(said), {}};
        if (said.contains(": database \"") && said.contains("does not exist")) {
            error.fields.emplace_back(missing_field, where);
        }
        return std::unexpected(std::move(error));
    }
    connection->cancel_ = PQgetCancel(raw);
    // Notices are for people at a prompt ("relation exists, skipping").
    PQsetNoticeProcessor(raw, [](void*, const char*) {}, nullptr);
    FF_TRY(connection->backend_,
           connection->scalar("SELECT pid || ' ' || backend_start FROM pg_stat_activity"
                              " WHERE pid = pg_backend_pid()"));
    connection->pooled_ =
        !connection->backend_.starts_with(std::to_string(PQbackendPID(raw)) + ' ');
    return connection;
}

PgConnection::~PgConnection() {
    PQfreeCancel(cancel_);
    PQfinish(connection_);
}

void PgConnection::cancel() const {
    std::array<char, 256> why{};
    PQcancel(cancel_, why.data(), static_cast<int>(why.size()));
}

bool PgConnection::alive() const { return !lost_ && PQstatus(connection_) == CONNECTION_OK; }

Error PgConnection::lose(const std::string& doing) {
    lost_ = true;
    return last_error(doing);
}

/// The error of an answer. One without a SQLSTATE is libpq's own: it could not write or read, which
/// its status shows only when reading failed.
Error PgConnection::failure(const pg_result* result) {
    lost_ = lost_ || PQresultErrorField(result, PG_DIAG_SQLSTATE) == nullptr;
    return error_of(connection_, result);
}

int PgConnection::server_version() const { return PQserverVersion(connection_); }

expected<void> PgConnection::enter_pipeline() {
    if (!in_pipeline_) {
        if (PQenterPipelineMode(connection_) == 0) {
            return std::unexpected(last_error("talking to PostgreSQL"));
        }
        in_pipeline_ = true;
    }
    return {};
}

expected<void> PgConnection::leave_pipeline() {
    FF_CHECK(queued_.empty(), "statements are queued");
    if (in_pipeline_) {
        if (PQexitPipelineMode(connection_) == 0) {
            return std::unexpected(last_error("talking to PostgreSQL"));
        }
        in_pipeline_ = false;
    }
    return {};
}

expected<void> PgConnection::execute(const std::string& text) {
    FF_TRY_VOID(leave_pipeline());
    const ResultPtr result(PQexec(connection_, text.c_str()));
    if (result == nullptr || is_failure(PQresultStatus(result.get()))) {
        return std::unexpected(failure(result.get()));
    }
    return {};
}

expected<std::string> PgConnection::scalar(const std::string& text) {
    FF_TRY_VOID(leave_pipeline());
    const ResultPtr result(PQexec(connection_, text.c_str()));
    if (result == nullptr || is_failure(PQresultStatus(result.get()))) {
        return std::unexpected(failure(result.get()));
    }
    return PQntuples(result.get()) > 0 ? std::string(PQgetvalue(result.get(), 0, 0))
                                       : std::string();
}

/// The first number is ours and arbitrary: whoever holds this lock migrates what is in the schema.
/// Whatever the role's default is, who had to wait sees what the one before has done.
const char* PgConnection::begin_migration() const {
    return "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(70205846,"
           " (SELECT CAST(oid AS integer) FROM pg_namespace WHERE nspname = current_schema()))";
}

void PgConnection::queue(const std::string& text, PgParams params) {
    queued_.push_back({&*texts_.insert(text).first, std::move(params)});
}

/// Sends one statement; `answers` gets an entry for each answer that will come: the text that is
/// being prepared, or null for one that is run.
bool PgConnection::send(const Queued& item, std::vector<const std::string*>& answers) {
    const auto& params = item.params.values_;
    std::vector<Oid> types(params.size());
    std::vector<const char*> values(params.size());
    std::vector<int> lengths(params.size());
    const std::vector<int> formats(params.size(), binary);
    for (std::size_t i = 0; i < params.size(); ++i) {
        types[i] = params[i].type;
        values[i] = params[i].bytes ? params[i].bytes->data() : nullptr;
        lengths[i] = params[i].bytes ? static_cast<int>(params[i].bytes->size()) : 0;
    }
    const int count = static_cast<int>(params.size());
    if (pooled_) {
        answers.push_back(nullptr);
        return PQsendQueryParams(connection_, item.text->c_str(), count, types.data(),
                                 values.data(), lengths.data(), formats.data(), binary) == 1;
    }
    Prepared& prepared = prepared_[*item.text];
    if (prepared.name.empty()) {
        prepared.name = "ff" + std::to_string(prepared_.size());
    }
    if (!prepared.ready) {
        prepared.ready = true;  // for what is queued behind; taken back when it fails
        answers.push_back(item.text);
        if (PQsendPrepare(connection_, prepared.name.c_str(), item.text->c_str(), count,
                          types.data()) != 1) {
            return false;
        }
    }
    answers.push_back(nullptr);
    return PQsendQueryPrepared(connection_, prepared.name.c_str(), count, values.data(),
                               lengths.data(), formats.data(), binary) == 1;
}

/// Sets are written by one text for each choice of columns, and there may be many choices.
expected<void> PgConnection::forget_prepared() {
    FF_TRY_VOID(execute("DEALLOCATE ALL"));
    prepared_.clear();
    return {};
}

expected<std::vector<PgRows>> PgConnection::run_queued() {
    std::vector<Queued> items = std::exchange(queued_, {});
    if (prepared_.size() > prepared_max && PQtransactionStatus(connection_) == PQTRANS_IDLE) {
        FF_TRY_VOID(forget_prepared());
    }
    FF_TRY_VOID(enter_pipeline());
    std::vector<const std::string*> answers;
    for (const Queued& item : items) {
        if (!send(item, answers)) {
            return std::unexpected(lose("sending to PostgreSQL"));
        }
    }
    if (PQpipelineSync(connection_) != 1) {
        return std::unexpected(lose("sending to PostgreSQL"));
    }
    auto rows = answers_of(answers);
    if (texts_.size() > prepared_max) {
        texts_.clear();
    }
    return rows;
}

expected<std::vector<PgRows>> PgConnection::answers_of(
    const std::vector<const std::string*>& answers) {
    std::vector<PgRows> out;
    std::optional<Error> failed;
    for (const std::string* preparing : answers) {
        PGresult* result = PQgetResult(connection_);
        if (result == nullptr) {
            return std::unexpected(lose("waiting for PostgreSQL"));
        }
        PgRows rows(result);
        const ExecStatusType status = PQresultStatus(result);
        if (is_failure(status)) {
            if (!failed && status != PGRES_PIPELINE_ABORTED) {
                failed = failure(result);
            }
            if (preparing != nullptr) {
                prepared_[*preparing].ready = false;
            }
            if (failed && !alive()) {
                return std::unexpected(std::move(*failed));
            }
        } else if (preparing == nullptr) {
            out.push_back(std::move(rows));
        }
        if (PGresult* more = PQgetResult(connection_); more != nullptr) {
            const PgRows dropped(more);
            lost_ = true;
            return ff::fail(ErrorCode::internal, "PostgreSQL gave an answer nobody asked for");
        }
    }
    PGresult* const sync = PQgetResult(connection_);
    const PgRows dropped(sync);
    if (sync == nullptr || PQresultStatus(sync) != PGRES_PIPELINE_SYNC) {
        const Error lost = lose("waiting for PostgreSQL");
        return std::unexpected(failed.value_or(lost));
    }
    if (failed) {
        return std::unexpected(std::move(*failed));
    }
    round_trips_ += 1;
    return out;
}

expected<std::optional<std::string>> PgConnection::next_notification(int timeout_ms, int wake_fd) {
    using std::chrono::milliseconds;
    FF_TRY_VOID(leave_pipeline());
    const auto deadline = std::chrono::steady_clock::now() + milliseconds(timeout_ms);
    for (;;) {
        if (PGnotify* note = PQnotifies(connection_)) {
            std::string payload = note->extra;
            PQfreemem(note);
            return payload;
        }
        const auto left =
            std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
        if (left.count() <= 0) {
            return std::nullopt;
        }
        std::array<pollfd, 2> waits{{{PQsocket(connection_), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
        const int ready = poll(waits.data(), waits.size(), static_cast<int>(left.count()));
        if (ready < 0 && errno != EINTR) {
            return ff::fail(ErrorCode::store_io,
                            std::string("waiting for PostgreSQL: ") + std::strerror(errno));
        }
        if (ready > 0 && waits[1].revents != 0) {
            return std::nullopt;
        }
        if (ready > 0 && PQconsumeInput(connection_) != 1) {
            return std::unexpected(last_error("waiting for PostgreSQL"));
        }
    }
}

// ------------------------------------------------------------------------------------ statement

expected<bool> PgStatement::step() {
    if (!sent_) {
        connection_->queue(text_, std::exchange(params_, {}));
        FF_TRY(auto answers, connection_->run_queued());
        rows_ = std::move(answers.back());
        affected_ = rows_.affected();
        sent_ = true;
    }
    return rows_.next();
}

expected<void> PgStatement::run() {
    FF_TRY_VOID(step());
    reset();
    return {};
}

void PgStatement::reset() {
    params_.clear();
    rows_ = {};
    sent_ = false;
}

namespace {

std::unexpected<Error> names_taken(const PgConnection& db, const std::string& what) {
    return ff::fail(ErrorCode::store_open_failed,
                    db.where() + " holds " + what +
                        " of another program; use another database, or a schema of its own: "
                        "options=-csearch_path%3DNAME in the address");
}

}  // namespace

expected<int> PgConnection::schema_version() {
    FF_TRY(const std::string ours,
           scalar("SELECT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND"
                  " a.attname = 'checksum') FROM pg_class c"
                  " WHERE c.oid = to_regclass('ff_schema_migration')"));
    if (ours.empty()) {
        return 0;
    }
    if (ours == "f") {
        return names_taken(*this, "a table ff_schema_migration");
    }
    FF_TRY(const std::string version,
           scalar("SELECT COALESCE(MAX(version), 0) FROM ff_schema_migration"));
    return stored_version(version);
}

expected<void> check_search_path(PgConnection& db) {
    FF_TRY(const std::string elsewhere,
           db.scalar("SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid ="
                     " c.relnamespace WHERE c.oid = to_regclass('ff_schema_migration')"
                     " AND n.nspname IS DISTINCT FROM current_schema()"));
    if (elsewhere.empty()) {
        return {};
    }
    FF_TRY(const std::string here, db.scalar("SELECT COALESCE(current_schema(), 'none')"));
    return ff::fail(ErrorCode::store_open_failed,
                    db.where() + " has a store in the schema " + elsewhere +
                        ", but what is made there goes into " + here +
                        "; set search_path so that " + elsewhere +
                        " comes first, for the role or with options=-csearch_path%3D" + elsewhere +
                        " in the address");
}

expected<void> check_names(PgConnection& db) {
    FF_TRY(const int version, db.schema_version());
    if (version > 0) {
        return {};
    }
    FF_TRY(const std::string name,
           db.scalar("SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid ="
                     " c.relnamespace WHERE n.nspname = current_schema() AND"
                     " c.relname LIKE 'ff\\_%' AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND"
                     " c.relname <> 'ff_schema_migration' ORDER BY 1 LIMIT 1"));
    if (name.empty()) {
        return {};
    }
    FF_TRY(const int made, db.schema_version());  // by another opener, meanwhile
    return made > 0 ? expected<void>() : names_taken(db, name);
}

expected<int> known_schema_version(PgConnection& db) {
    FF_TRY(const int version, db.schema_version());
    if (version == 0) {
        return ff::fail(ErrorCode::store_open_failed,
                        db.where() + " is not a FlowFabric store: it has no schema table");
    }
    FF_TRY_VOID(check_known_version(version));
    return version;
}

// --------------------------------------------------------------------------------------- server

std::string libpq_version() {
    const int version = PQlibVersion();
    return std::to_string(version / 10'000) + "." + std::to_string(version % 10'000);
}

expected<PgServer> server_of(PgConnection& connection) {
    PgServer server;
    server.version = connection.server_version();
    FF_TRY(server.version_text, connection.scalar("SHOW server_version"));
    FF_TRY(server.encoding, connection.scalar("SHOW server_encoding"));
    FF_TRY(const std::string standby, connection.scalar("SELECT pg_is_in_recovery()"));
    server.standby = standby == "t";
    return server;
}

expected<void> check_server(const PgServer& server, const std::string& where, PgUse use) {
    constexpr int version_min = 130'000;
    if (server.version < version_min) {
        return ff::fail(
            ErrorCode::store_open_failed,
            where + " is PostgreSQL " + server.version_text + "; version 13 or later is needed");
    }
    if (server.encoding != "UTF8") {
        return ff::fail(ErrorCode::store_open_failed,
                        where + " has the encoding " + server.encoding +
                            "; create the database with ENCODING 'UTF8' TEMPLATE template0");
    }
    if (server.standby && use == PgUse::write) {
        return ff::fail(ErrorCode::store_open_failed,
                        where +
                            " is a standby, which cannot be written to; name the primary, or"
                            " several hosts with target_session_attrs=read-write");
    }
    return {};
}

}  // namespace ff::store
