// JSON merge patches (RFC 7396) on the rolling document of an attempt, with one addition: a string
// that is exactly `__ff_null__` stands for a null that is kept, since a null itself deletes.
#pragma once

#include <string>
#include <string_view>

#include <ff/error.h>
#include <ff/json.h>

namespace ff::core {

inline constexpr std::string_view null_sentinel = "__ff_null__";
inline constexpr std::size_t patch_depth_max =
    16;  ///< objects inside each other, the outermost too
inline constexpr std::size_t document_bytes_max = 1'048'576;

/// `invalid_input` for one that is none or is too deep.
expected<js::Value> read_patch(std::string_view text);
/// `corruption` for one that is no JSON object. The texts of numbers stay as they were written.
expected<js::Value> read_document(std::string_view text);
/// The merge itself, without sentinels and limits. Sentinels may stay until all patches are in.
void merge_into(js::Value& target, js::Value patch);
/// With nulls for sentinels; `retention_limit_exceeded` when it is too large.
expected<std::string> write_document(js::Value document);

/// All of these for one patch.
expected<std::string> merge_patch(std::string_view document, std::string_view patch);

}  // namespace ff::core
