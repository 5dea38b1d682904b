// Events and webhooks on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace ff::cli {

struct EventFilterArgs {
    std::optional<std::string> ns;
    std::optional<std::string> tag;  ///< KEY=VALUE
    std::optional<std::string> execution;
    std::optional<std::string> flow;
};

struct EventArgs {
    std::string family;
    std::string from = "earliest";  ///< `earliest`, `now`, or a cursor
    EventFilterArgs filter;
    std::uint64_t limit = 100;  ///< without `follow`
    bool follow = false;
};
/// Events of a family: those there are, and with `follow` those that come, until Ctrl-C.
ExitCode show_events(const CommonOptions& options, const EventArgs& args);

/// Everything that happened to an execution.
expected<std::string> show_timeline(const Session& session, const std::string& word);

struct WebhookArgs {
    std::string url;
    std::string family;
    std::string from = "now";
    EventFilterArgs filter;
    std::optional<std::string> secret_file;  ///< hex; a secret is made when absent
};
ExitCode create_webhook(const CommonOptions& options, const WebhookArgs& args);
expected<std::string> show_webhooks(const Session& session);
expected<std::string> show_webhook(const Session& session, const std::string& id);
ExitCode pause_webhooks(const CommonOptions& options, const std::vector<std::string>& ids,
                        bool paused);
ExitCode delete_webhooks(const CommonOptions& options, const std::vector<std::string>& ids);

}  // namespace ff::cli
