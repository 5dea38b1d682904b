// What waits for people and programs outside: the inbox, and the answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

struct InboxFilter {
    std::optional<std::string> lane;
    std::optional<std::string> ns;
    std::uint32_t limit = 100;
};
/// Who waits for whom, since when, until when: those whose time runs out first at the head.
expected<std::string> show_inbox(const Session& session, const InboxFilter& filter);
/// The open waitpoints of one execution and its suspensions.
expected<std::string> show_waitpoints(const Session& session, const std::string& word);
/// Every signal an execution was sent.
expected<std::string> show_signals(const Session& session, const std::string& word);

/// `approved` or `rejected`, at the only open waitpoint or at the one that is named.
struct AnswerArgs {
    std::string id;
    std::optional<std::string> waitpoint;
    std::optional<std::string> actor;  ///< the user of this terminal when absent
    std::optional<std::string> note;
};
ExitCode answer_waitpoint(const CommonOptions& options, const AnswerArgs& args,
                          const std::string& signal_name);

struct SignalArgs {
    std::string id;
    std::string name;
    std::optional<std::string> waitpoint;
    std::optional<std::string> token;  ///< read from the engine when absent
    std::optional<std::string> payload;
    std::optional<std::string> payload_file;  ///< `-`: standard input
    std::optional<std::string> source;
    std::optional<std::string> key;
};
ExitCode send_signal(const CommonOptions& options, const SignalArgs& args);

ExitCode resume_executions(const CommonOptions& options, const std::vector<std::string>& ids,
                           const std::optional<std::string>& actor, DurationMs delay_ms);

struct RotateArgs {
    std::optional<std::string> kid;          ///< the next one when absent
    std::optional<std::string> secret_file;  ///< hex; a random secret when absent
    DurationMs grace_ms = 86'400'000;
};
ExitCode rotate_secret(const CommonOptions& options, const RotateArgs& args);
expected<std::string> show_keys(const Session& session);

}  // namespace ff::cli
