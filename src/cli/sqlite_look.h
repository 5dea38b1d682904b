// A SQLite store's file opened read-only; see read_only_store.h.
#pragma once

#include <memory>

#include "cli/read_only_store.h"
#include "store/sqlite_reader.h"
#include "store/store_file.h"

namespace ff::cli {

class SqliteLook final : public ReadOnlyStore, private RowSource {
  public:
    static expected<std::unique_ptr<SqliteLook>> open(store::StoreFile file);

    [[nodiscard]] store::SqliteDb& db() const { return *file_.db; }
    expected<std::vector<StateCount>> counts() override;
    RowSource& rows() override { return *this; }
    std::string words_of(const Error& error) override;
    expected<void> read(const std::function<expected<void>(store::Reader&)>& body) override;
    expected<store::StoreSize> size() override;

  private:
    explicit SqliteLook(store::StoreFile file);

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

    store::StoreFile file_;
    store::SqliteReader reader_;
    store::StatementCache statements_;
};

}  // namespace ff::cli
