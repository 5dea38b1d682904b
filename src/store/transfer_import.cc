// Reading a store from JSON lines. Whatever is wrong is found before anything is committed.
#include <algorithm>
#include <istream>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include <ff/json.h>
#include "core/derive.h"
#include "core/invariants.h"
#include "store/row_text.h"
#include "store/schema.h"
#include "store/transfer.h"

namespace ff::store {

namespace {

using core::Eid;

constexpr int format_known = 1;
constexpr std::size_t batch_rows_max = 1'000;
constexpr std::size_t batch_bytes_max = 8U << 20;
constexpr std::size_t line_bytes_max = 64U << 20;
constexpr std::size_t check_rows = 64;  // a result is at most a mebibyte

std::unexpected<Error> at_line(std::uint64_t line, const std::string& what,
                               ErrorCode code = ErrorCode::corruption) {
    return ff::fail(code, "line " + std::to_string(line) + ": " + what);
}

std::unexpected<Error> interrupted() {
    return ff::fail(ErrorCode::shutting_down, "interrupted: nothing was imported");
}

/// Lines with their numbers.
class LineReader {
  public:
    explicit LineReader(std::istream& in) : in_(*in.rdbuf()) {}

    /// False at the end of the text.
    expected<bool> next() {
        constexpr auto end = std::char_traits<char>::eof();
        text_.clear();
        auto c = in_.sbumpc();
        if (c == end) {
            return false;
        }
        number_ += 1;
        for (; c != end && c != '\n'; c = in_.sbumpc()) {
            if (text_.size() == line_bytes_max) {
                return at_line(number_, "the line is longer than any row can be");
            }
            text_.push_back(std::char_traits<char>::to_char_type(c));
        }
        return true;
    }
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::uint64_t number() const { return number_; }

  private:
    std::streambuf& in_;
    std::string text_;
    std::uint64_t number_ = 0;
};

/// The key of a row, as it is stored: rows are read in the order of these.
struct Key {
    struct Part {
        std::int64_t number = 0;
        std::string bytes;
        auto operator<=>(const Part&) const = default;
    };
    std::vector<Part> parts;
    std::string text;  ///< `eid 7, attempt_index 0`, spelled as in the export

    static Key of(const TableInfo& table, const void* row) {
        Key key;
        each_value(table.columns, row, table.key_mask(), key.adder());
        return key;
    }

  private:
    TakeValue adder() {
        return [this](const ColumnInfo& column, const StoredValue& value) {
            parts.push_back({value.number, std::string(value.bytes)});
            text += (text.empty() ? "" : ", ") + std::string(column.name) + " ";
            switch (value.type) {
                case StoredValue::Type::null: text += "null"; break;
                case StoredValue::Type::integer: text += std::to_string(value.number); break;
                case StoredValue::Type::text: js::append_quoted(text, value.bytes); break;
                case StoredValue::Type::bytes: text += encode_hex(value.bytes); break;
            }
        };
    }
};

class Importer {
  public:
    Importer(ImportTarget& target, std::istream& in, const ImportOptions& options)
        : target_(target), lines_(in), options_(options) {}

    expected<TransferSummary> run() {
        FF_TRY_VOID(read_header());
        FF_TRY_VOID(target_.begin(summary_.facts));
        bool ended = false;
        while (!ended) {
            FF_TRY(const bool found, lines_.next());
            if (!found) {
                return at_line(lines_.number() + 1,
                               "the export is cut short: its last line, which counts the rows, is "
                               "missing");
            }
            FF_TRY(const js::Value line, parse_line());
            ended = line.find("flowfabric_export_end") != nullptr;
            FF_TRY_VOID(ended ? read_end(line) : read_row(line));
        }
        FF_TRY_VOID(expect_nothing_more());
        if (options_.soundness == Soundness::demanded) {
            FF_TRY_VOID(check_executions());
        }
        FF_TRY_VOID(target_.commit(summary_.facts));
        summary_.lines = lines_.number();
        return summary_;
    }

  private:
    // ------------------------------------------------------------------------------- the header

    expected<js::Value> parse_line() {
        auto value = js::parse(lines_.text());
        if (!value) {
            return at_line(lines_.number(), "not JSON: " + value.error().detail);
        }
        if (value->if_object() == nullptr) {
            return at_line(lines_.number(), "must be a JSON object");
        }
        return value;
    }

    expected<std::int64_t> header_number(const js::Value& object, const char* name,
                                         std::int64_t low, std::int64_t high) {
        const js::Value* member = object.find(name);
        const auto number = member == nullptr ? std::nullopt : member->as_int64();
        if (!number || *number < low || *number > high) {
            return at_line(lines_.number(),
                           std::string("the header: ") + name +
                               (member == nullptr ? ": is missing" : ": is not a possible number"));
        }
        return *number;
    }

    expected<void> read_header() {
        constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
        constexpr std::int64_t partitions_max = std::numeric_limits<std::uint16_t>::max();
        FF_TRY(const bool found, lines_.next());
        auto line = found ? parse_line() : js::Value();
        if (!line || line->find("flowfabric_export") == nullptr) {
            return at_line(1, "this is not an export of ff: it does not begin with a header");
        }
        FF_TRY(const auto format, header_number(*line, "flowfabric_export", 1, any));
        if (format > format_known) {
            return at_line(1, "the export has format " + std::to_string(format) +
                                  ", this program reads " + std::to_string(format_known) +
                                  "; use a newer ff");
        }
        FF_TRY(const auto schema, header_number(*line, "schema", 1, any));
        const int known = migrations().back().version;
        if (schema > known) {
            return at_line(1,
                           "the export has schema version " + std::to_string(schema) +
                               ", this program knows up to " + std::to_string(known) +
                               "; use a newer ff",
                           ErrorCode::schema_too_new);
        }
        const js::Value* counts = line->find("partitions");
        if (counts == nullptr) {
            return at_line(1, "the header: partitions: is missing");
        }
        StoreFacts& facts = summary_.facts;
        facts.schema = static_cast<int>(schema);
        for (auto [name, count] : {std::pair{"flow", &facts.partitions.flow},
                                   {"budget", &facts.partitions.budget},
                                   {"quota", &facts.partitions.quota}}) {
            FF_TRY(const auto number, header_number(*counts, name, 1, partitions_max));
            *count = static_cast<std::uint16_t>(number);
        }
        FF_TRY(summary_.exported_at, header_number(*line, "exported_at_ms", 0, any));
        FF_TRY(facts.eid_high, header_number(*line, "eid_high", 0, any - 1));
        FF_TRY(facts.event_high, header_number(*line, "event_high", 0, any - 1));
        return {};
    }

    // --------------------------------------------------------------------------------- the rows

    expected<void> read_row(const js::Value& line) {
        const js::Value* table = line.find("table");
        const js::Value* row = line.find("row");
        if (table == nullptr || table->if_string() == nullptr || row == nullptr ||
            row->if_object() == nullptr || line.if_object()->size() != 2) {
            return at_line(lines_.number(), "must be {\"table\":…,\"row\":{…}}");
        }
        FF_TRY_VOID(turn_to(*table->if_string()));
        if (auto taken = take_row(*row); !taken) {
            return at_line(lines_.number(), *table->if_string() + ": " + taken.error().detail);
        }
        summary_.rows[batch_.index()] += 1;
        batch_bytes_ += lines_.text().size();
        const bool full = row_count(batch_) >= batch_rows_max || batch_bytes_ >= batch_bytes_max;
        return full ? flush() : expected<void>();
    }

    /// Makes the batch one of this table. Tables come in their order.
    expected<void> turn_to(const std::string& name) {
        if (table_name(batch_) == name) {
            return {};
        }
        std::size_t table = 0;
        while (table < transfer_tables && table_name(empty_batch(table)) != name) {
            ++table;
        }
        if (table == transfer_tables) {
            return at_line(lines_.number(), "there is no table \"" + name + "\"");
        }
        if (table < batch_.index()) {
            return at_line(lines_.number(), name + ": stands after rows of " +
                                                std::string(table_name(batch_)) +
                                                "; tables must keep the order of an export");
        }
        FF_TRY_VOID(flush());
        batch_ = empty_batch(table);
        last_key_.reset();
        return {};
    }

    /// A fault ends the import, so it does not matter what becomes of its row.
    expected<void> take_row(const js::Value& object) {
        RowList rows = list_of(batch_);
        if (rows.view().empty()) {
            batch_line_ = lines_.number();
        }
        void* row = rows.add();
        if (const std::string fault = take_row_text(object, rows.table(), row); !fault.empty()) {
            return ff::fail(ErrorCode::corruption, fault);
        }
        FF_TRY_VOID(check_order(Key::of(rows.table(), row)));
        const std::string fault =
            std::visit([&](const auto& list) { return check(list.back()); }, batch_);
        return fault.empty() ? expected<void>() : ff::fail(ErrorCode::corruption, fault);
    }

    expected<void> check_order(Key key) {
        if (last_key_ && key.parts <= last_key_->parts) {
            return ff::fail(
                ErrorCode::corruption,
                key.text + (key.parts == last_key_->parts ? ": there are two such rows"
                                                          : ": stands after " + last_key_->text +
                                                                "; rows must be in key order"));
        }
        last_key_ = std::move(key);
        return {};
    }

    expected<void> flush() {
        if (row_count(batch_) > 0) {
            if (auto written = target_.write(batch_); !written) {
                return std::unexpected(blame_line(std::move(written).error()));
            }
            if (!options_.progress(table_name(batch_), summary_.rows[batch_.index()])) {
                return interrupted();
            }
        }
        list_of(batch_).clear();
        batch_bytes_ = 0;
        return {};
    }

    /// A refused row gets the number of its line; any other fault is none of the text.
    Error blame_line(Error error) {
        if (const auto index = refused_row_of(error)) {
            error.detail = "line " + std::to_string(batch_line_ + *index) + ": " +
                           std::string(table_name(batch_)) + ": " + error.detail;
        }
        return error;
    }

    // -------------------------------------------------------------------- what rows say of others

    std::string check(const core::Route& row) {
        routes_.insert(row.id);
        return row.id < 1 ? "route: numbers start at 1" : "";
    }
    std::string check(const core::Flow& row) {
        flows_.push_back(row.id);
        return options_.soundness == Soundness::demanded ? check_sound(row) : "";
    }
    std::string check(const core::Edge& row) { return check_flow(row.key.flow); }
    std::string check(const core::EdgeGroup& row) { return check_flow(row.flow); }
    std::string check(const core::FlowWork& row) { return check_flow(row.key.flow); }
    std::string check(const core::Execution& row) {
        if (summary_.rows[batch_.index()] == 0) {
            first_execution_line_ = lines_.number();
        }
        if (row.eid < 1 || row.eid > summary_.facts.eid_high) {
            return "eid: " + std::to_string(row.eid) + " is not in 1 to " +
                   std::to_string(summary_.facts.eid_high) + ", the eid_high of the header";
        }
        if (!routes_.contains(row.route)) {
            return "route: there is no route " + std::to_string(row.route);
        }
        if (row.last_event_id && *row.last_event_id > summary_.facts.event_high) {
            return "last_event_id: is above the event_high of the header";
        }
        eids_.push_back(row.eid);
        return row.flow_id ? check_flow(*row.flow_id) : "";
    }
    std::string check(const core::ExecutionInput& row) { return check_owner(row.eid); }
    std::string check(const core::Attempt& row) { return check_owner(row.eid); }
    std::string check(const core::GrantRow& row) { return check_owner(row.eid); }
    std::string check(const core::Suspension& row) { return check_owner(row.key.eid); }
    std::string check(const core::Waitpoint& row) { return check_owner(row.eid); }
    std::string check(const core::Signal& row) { return check_owner(row.key.eid); }
    std::string check(const core::Satisfier& row) { return check_owner(row.key.suspension.eid); }
    std::string check(const core::StreamMeta& row) { return check_owner(row.key.eid); }
    std::string check(const core::FrameRow& row) { return check_owner(row.key.stream.eid); }
    std::string check(const core::SummaryRow& row) { return check_owner(row.key.eid); }
    std::string check(const core::ExecutionEvent& row) { return check_event(row.event_id); }
    std::string check(const core::LogEvent& row) { return check_event(row.event_id); }
    std::string check(const core::EventTrim& row) { return check_event(row.through); }
    std::string check(const core::Webhook& row) {
        return row.position == 0 ? "" : check_event(row.position);
    }
    template <class Row>
    std::string check(const Row&) {  // the other tables refer to nothing
        return "";
    }

    [[nodiscard]] std::string check_owner(Eid eid) const {
        return std::ranges::binary_search(eids_, eid)
                   ? ""
                   : "eid: there is no execution " + std::to_string(eid);
    }
    [[nodiscard]] std::string check_flow(const FlowId& id) const {
        return std::ranges::binary_search(flows_, id)
                   ? ""
                   : "flow_id: there is no flow " + id.to_string();
    }
    [[nodiscard]] std::string check_event(std::int64_t id) const {
        return id >= 1 && id <= summary_.facts.event_high
                   ? ""
                   : "event_id: " + std::to_string(id) + " is not in 1 to " +
                         std::to_string(summary_.facts.event_high) +
                         ", the event_high of the header";
    }

    // ---------------------------------------------------------------------------------- the end

    expected<void> read_end(const js::Value& line) {
        FF_TRY_VOID(flush());
        const js::Value* counts = line.find("rows");
        if (counts == nullptr || counts->if_object() == nullptr) {
            return at_line(lines_.number(), "the last line does not count the rows");
        }
        for (std::size_t table = 0; table < transfer_tables; ++table) {
            const RowBatch batch = empty_batch(table);
            const std::string name(table_name(batch));
            const js::Value* count = counts->find(name);
            if (count == nullptr && summary_.rows[table] == 0 &&
                summary_.facts.schema < schema_of(batch)) {
                continue;  // there was no such table yet
            }
            const auto expected = count == nullptr ? std::nullopt : count->as_uint64();
            if (!expected || *expected != summary_.rows[table]) {
                return at_line(lines_.number(),
                               name + ": there are " + std::to_string(summary_.rows[table]) +
                                   " rows and should be " +
                                   (expected ? std::to_string(*expected) : "counted here"));
            }
        }
        return {};
    }

    expected<void> expect_nothing_more() {
        FF_TRY(const bool more, lines_.next());
        if (more) {
            return at_line(lines_.number(), "something follows the last line of the export");
        }
        return {};
    }

    // ------------------------------------------------------------------------------- invariants

    /// What follows from the row of a flow is kept in it. Where it is wrong the flow would never be
    /// looked at again. When an empty one goes is up to the engine's settings.
    [[nodiscard]] std::string check_sound(const core::Flow& row) const {
        if (row.partition >= summary_.facts.partitions.flow) {
            return "partition: " + std::to_string(row.partition) +
                   " lies beyond the flow partitions";
        }
        core::Flow again = row;
        core::arm_flow(again, 0);
        if (again.held != row.held) {
            return std::string("held: should be ") + (again.held ? "1" : "0");
        }
        if (again.timer_at.has_value() != row.timer_at.has_value()) {
            return std::string("timer_at: should ") + (again.timer_at ? "be set" : "not be set");
        }
        return row.graph_revision == row.node_count + row.edge_count
                   ? ""
                   : "graph_revision: is not the number of nodes and edges";
    }

    /// Reads back what was written: the attempts of an execution come long after it.
    expected<void> check_executions() {
        RowBatch executions = std::vector<core::Execution>();
        RowBatch attempts = std::vector<core::Attempt>();
        auto& page = std::get<std::vector<core::Execution>>(executions);
        auto& rows = std::get<std::vector<core::Attempt>>(attempts);
        std::vector<core::Attempt> own;
        std::size_t at = 0;
        std::uint64_t line = first_execution_line_;
        FF_TRY_VOID(target_.next_page(attempts, check_rows));
        do {
            FF_TRY_VOID(target_.next_page(executions, check_rows));
            for (const core::Execution& execution : page) {
                own.clear();
                while (at < rows.size() && rows[at].eid == execution.eid) {
                    own.push_back(std::move(rows[at]));  // its key stays, for the next page
                    if (++at == check_rows) {
                        FF_TRY_VOID(target_.next_page(attempts, check_rows));
                        at = 0;
                    }
                }
                FF_TRY_VOID(check_execution(line++, execution, own));
            }
            if (!options_.progress("invariants", line - first_execution_line_)) {
                return interrupted();
            }
        } while (page.size() == check_rows);
        return {};
    }

    [[nodiscard]] expected<void> check_execution(std::uint64_t line,
                                                 const core::Execution& execution,
                                                 std::span<const core::Attempt> attempts) const {
        std::string fault;
        if (execution.id.partition >= summary_.facts.partitions.flow) {
            fault = "partition: " + execution.id.to_string() + " lies beyond the flow partitions";
        }
        const auto broken = core::check_invariants(execution, attempts);
        if (fault.empty() && !broken.empty()) {
            fault = broken.front();
        }
        if (fault.empty()) {
            return {};
        }
        return at_line(line, std::string(Table<core::Execution>::name) + ": eid " +
                                 std::to_string(execution.eid) + ": " + fault);
    }

    ImportTarget& target_;
    LineReader lines_;
    const ImportOptions& options_;
    TransferSummary summary_;

    RowBatch batch_;               // not written yet
    std::optional<Key> last_key_;  // of the row before in its table
    std::uint64_t batch_line_ = 0;
    std::size_t batch_bytes_ = 0;

    std::set<core::RouteId> routes_;
    std::vector<FlowId> flows_;  // ascending
    std::vector<Eid> eids_;      // ascending
    std::uint64_t first_execution_line_ = 0;
};

}  // namespace

expected<TransferSummary> import_store(ImportTarget& target, std::istream& in,
                                       const ImportOptions& options) {
    return Importer(target, in, options).run();
}

}  // namespace ff::store
