// `ff export`, `ff import` and `ff backup`: a store taken elsewhere.
#pragma once

#include <string>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace ff::cli {

struct ExportOptions {
    std::string db;
    std::string out = "-";  ///< a file, or `-` for standard output
    bool force = false;     ///< replace the file
    Output output = Output::text;
};

struct ImportOptions {
    std::string db;
    std::string file;      ///< or `-` for standard input
    bool unsound = false;  ///< take executions that break an invariant as they are
    Output output = Output::text;
};

struct BackupOptions {
    std::string db;
    std::string to;
    bool force = false;
    bool quick = false;
    Output output = Output::text;
};

/// A summary goes to standard output, or to standard error when the export itself goes there.
ExitCode run_export(const ExportOptions& options);
/// `conflict` when the store is not empty or in use, `failed` for a file that is not right.
ExitCode run_import(const ImportOptions& options);
/// `conflict` when the copy would replace something, `usage` for a store that is no file.
ExitCode run_backup(const BackupOptions& options);

}  // namespace ff::cli
