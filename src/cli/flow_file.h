// A flow as people write it: named nodes in a TOML or JSON file, see docs/flows.md. Reading is
// pure; every fault names its place in the file, and the first one ends the reading.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ff/flows.h>

#include "cli/flow_doc.h"

namespace ff::cli {

/// The kind of nodes with a command that do not name another.
inline constexpr std::string_view exec_kind = "ff.exec";

using Variables = std::map<std::string, std::string>;

/// What a node runs on this machine.
struct FlowCommand {
    std::vector<std::string> words;
    std::string dir;  ///< whole path
    Variables env;
    bool named_inputs = false;  ///< its standard input is an object of its inputs
};

/// What a file is read with.
struct FlowTerms {
    std::string file;  ///< its path, for messages and for `dir`
    FlowId flow_id;    ///< of the run: only its own worker may run its commands
    Variables given;   ///< by the command line; go before
    Variables kept;    ///< by the run that is continued; go before the defaults of the file
    TimestampMs now = 0;
};

struct FlowFile {
    SubmitFlow submit;
    std::map<std::string, FlowCommand> commands;  ///< by node
    std::map<std::string, Place> places;          ///< of nodes
    Variables variables;                          ///< that were used, with their values
};

/// The name of the flow: `name`, or that of the file without its ending.
expected<std::string> flow_name(const Doc& root, const std::string& file);
expected<FlowFile> read_flow(const Doc& root, const FlowTerms& terms);

/// What a worker must be able to do to run the commands of a flow.
std::string flow_capability(const FlowId& id);

}  // namespace ff::cli
