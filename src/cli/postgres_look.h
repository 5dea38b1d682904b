// A store on PostgreSQL opened read-only; see read_only_store.h.
#pragma once

#include <memory>
#include <string>

#include "base/server_clock.h"
#include "cli/read_only_store.h"
#include "store/postgres_reader.h"

namespace ff::cli {

class PostgresLook final : public ReadOnlyStore, private RowSource {
  public:
    static expected<std::unique_ptr<PostgresLook>> open(const std::string& url);

    expected<std::vector<StateCount>> counts() override;
    RowSource& rows() override { return *this; }
    std::string words_of(const Error& error) override { return error.detail; }
    expected<void> read(const std::function<expected<void>(store::Reader&)>& body) override;
    expected<store::StoreSize> size() override;
    [[nodiscard]] std::shared_ptr<ff::Clock> clock() const override { return clock_; }

    /// From here on everything is of one moment, until end_view().
    expected<void> begin_view();
    expected<void> end_view();

  private:
    explicit PostgresLook(std::unique_ptr<store::PgConnection> connection);

    expected<std::uint64_t> count_executions() override;
    expected<std::vector<Eid>> eids_after(Eid after, std::size_t limit) override;
    expected<Found<core::Execution>> executions(std::span<const Eid> eids) override;
    expected<Found<std::vector<core::Attempt>>> attempts(std::span<const Eid> eids) override;
    expected<Found<core::ExecutionInput>> inputs(std::span<const Eid> eids) override;
    expected<std::vector<FlowId>> flow_ids_after(const std::optional<FlowId>& after,
                                                 std::size_t limit) override;
    expected<std::vector<std::size_t>> missing(const SideTable& table,
                                               std::span<const SideKey> keys) override;
    expected<std::vector<Eid>> orphans(const std::string& table) override;
    expected<std::vector<FlowId>> flow_orphans(const std::string& table) override;

    /// Calls `take(eid, row)` for each row of the table that belongs to one of these.
    template <class Row, class Take>
    expected<void> rows_of(std::span<const Eid> eids, Take take);

    std::unique_ptr<store::PgConnection> db_;
    store::PostgresReader reader_;
    store::PgStatements statements_;
    std::shared_ptr<ServerClock> clock_ = std::make_shared<ServerClock>();
    bool in_view_ = false;
};

}  // namespace ff::cli
