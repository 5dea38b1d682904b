// What the tests of transfers share: stores with rows of every table, exports and imports as texts.
#pragma once

#include <string>
#include <vector>

#include "store/contract.h"
#include "store/transfer.h"

namespace ff::store::test {

/// `store` as for Engine::open.
Location location_of(const std::string& store);
expected<std::string> try_export(const std::string& store);
/// An export that must go well; its time is t0.
std::string export_text(const std::string& store);
expected<TransferSummary> import_text(const std::string& store, const std::string& text,
                                      Soundness soundness = Soundness::demanded);

/// The lines of a text, each without its end, and back.
std::vector<std::string> lines_of(const std::string& text);
std::string joined(const std::vector<std::string>& lines);

core::Route route_of(RouteId id, const std::string& lane, const std::string& capabilities = "");

/// Rows of every table, many of them in states that no engine leaves.
void fill_store(Store& store);
/// Texts that are not UTF-8 or hold NUL, which PostgreSQL has no room for.
void add_odd_texts(Store& store);
/// The lines of a small export that is right, of a store made at `path`: 1 header, 2 route, 3 lane,
/// 4-5 executions, 6-7 inputs, 8-9 events, 10 log event, 11 end.
std::vector<std::string> small_export(const std::string& path);
/// The same of a flow: 1 header, 2 route, 3 flow, 4-5 members, 6-7 inputs, 8 edge, 9 group, 10 work
/// 11 end.
std::vector<std::string> flow_export(const std::string& path);

}  // namespace ff::store::test
