// Checks of argument values that several operations share. Texts are part of the contract.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ff/contracts.h>

#include "core/context.h"

namespace ff::core {

expected<void> check_lease_ttl(DurationMs ttl_ms);
expected<void> check_grant_ttl(DurationMs ttl_ms);
expected<void> check_worker(std::string_view worker_id, std::string_view worker_instance_id);
expected<void> check_reason(std::string_view field, std::string_view text, std::size_t bytes_max);
/// What every store can keep and compare as text: UTF-8 without NUL. Of any length: what reads look
/// for, and what is cut to size.
expected<void> check_text(std::string_view field, std::string_view text);
/// 0 to what every JSON number can hold.
expected<void> check_resume_delay(DurationMs delay_ms);
/// The texts a grant keeps for audit.
expected<void> check_audit(std::string_view field, const std::optional<std::string>& text);
/// Ids that are compared as text must be written in one way. False: it is none.
template <class Id>
bool rewrite_id(std::string& text) {
    const auto id = Id::parse(text);
    if (id) {
        text = id->to_string();
    }
    return id.has_value();
}
expected<void> check_tag(std::string_view key, std::string_view value);

}  // namespace ff::core
