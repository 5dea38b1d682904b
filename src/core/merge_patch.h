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

/// The document with the patch applied. `invalid_input` for a patch that is none or is too deep,
/// `corruption` for a document that is no JSON, `retention_limit_exceeded` for a result that is too
/// large. The texts of numbers stay as they were written.
expected<std::string> merge_patch(std::string_view document, std::string_view patch);

/// The merge itself, without sentinels and limits.
void merge_into(js::Value& target, js::Value patch);

}  // namespace ff::core
