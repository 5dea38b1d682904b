#include "cli/result.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "cli/execution_ids.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "store/placed_file.h"

namespace ff::cli {

namespace {

expected<void> write_file(const ResultOptions& options, const std::string& bytes) {
    using store::Existing;
    FF_TRY(
        store::PlacedFile file,
        store::PlacedFile::make(*options.out, options.force ? Existing::replace : Existing::keep));
    std::ofstream out(file.path(), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) {
        return ff::fail(ErrorCode::store_io,
                        fmt::format("cannot write {}: {}", file.target(), std::strerror(errno)));
    }
    return file.place();
}

expected<std::string> result_text(const Session& session, const ResultOptions& options) {
    FF_TRY(const ExecutionId id, find_id(session, options.id));
    FF_TRY(const ExecutionResult result, read_result(session, id));
    if (options.out) {
        FF_TRY_VOID(write_file(options, result.payload));
        return "";
    }
    return for_programs(session.output) ? document(session.output, result_json(id, result))
                                        : result.payload;
}

}  // namespace

ExitCode run_result(const CommonOptions& common, const ResultOptions& options) {
    return print_from(common,
                      [&](const Session& session) { return result_text(session, options); });
}

}  // namespace ff::cli
