// Commands on events: families, timelines, webhooks.
#include "cli/events.h"
#include "cli/grammar.h"

namespace ff::cli {

namespace {

constexpr const char* event_group = "Events";

void add_filter(CLI::App& c, EventFilterArgs& filter) {
    add_text(c, "--ns", filter.ns, "NS", "Of this namespace");
    add_text(c, "--tag", filter.tag, "KEY=VALUE", "With this tag when it happened");
    add_text(c, "--execution", filter.execution, "ID", "Of this execution");
    add_text(c, "--flow", filter.flow, "ID", "Of this flow");
}

void add_events(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<EventArgs>();
    CLI::App& c = add_command(
        app, "events", "What happened: the events of a family",
        "  ff events completion\n"
        "  ff events lease-history --follow --tag team.name=blue\n"
        "  ff events operator --from 030000000000000fa3 -o jsonl\n"
        "Families: completion, lease-history, signal-delivery, instance-tags, operator, workers, "
        "flows, budgets.");
    c.group(event_group);
    add_text(c, "family", args->family, "FAMILY", "Which").required();
    c.add_flag("-f,--follow", args->follow, "Go on with what happens, until Ctrl-C");
    add_text(c, "--from", args->from, "CURSOR", "Behind this event; or earliest (default), or now");
    add_filter(c, args->filter);
    add_number(c, "--limit", args->limit, Range<std::uint64_t>{1, 1'000'000},
               "Most events shown, unless it follows", "100");
    add_common(c, common);
    on_command(c, action, [common, args] { return show_events(*common, *args); });
}

void add_timeline(CLI::App& app, Action& action, const Common& common) {
    auto id = std::make_shared<std::string>();
    CLI::App& c = add_command(app, "timeline", "Everything that happened to an execution",
                              "  ff timeline 5f6071\n"
                              "  ff timeline 5f6071 -o jsonl");
    c.group(event_group);
    add_id(c, *id);
    add_common(c, common);
    on_command(c, action, [common, id] {
        return print_from(*common,
                          [&](const Session& session) { return show_timeline(session, *id); });
    });
}

void add_webhook(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<WebhookArgs>();
    auto ids = std::make_shared<std::vector<std::string>>();
    CLI::App& webhook =
        add_command(app, "webhook", "Send events to an address as they happen",
                    "  ff webhook create https://example.com/hook completion --ns shop\n"
                    "  ff webhook ls\n"
                    "  ff webhook show 5f6071\n"
                    "  ff webhook pause 5f6071\n"
                    "  ff webhook resume 5f6071\n"
                    "  ff webhook rm 5f6071");
    webhook.group(event_group);
    webhook.require_subcommand(1);
    add_common(webhook, common);

    CLI::App& create =
        add_command(webhook, "create", "Register an address for the events of a family",
                    "  ff webhook create https://example.com/hook completion\n"
                    "  ff webhook create https://example.com/hook operator --from earliest");
    add_text(create, "url", args->url, "URL", "http:// or https://").required();
    add_text(create, "family", args->family, "FAMILY", "Which events").required();
    add_text(create, "--from", args->from, "CURSOR",
             "Behind this event; or now (default), or earliest");
    add_filter(create, args->filter);
    add_text(create, "--secret-file", args->secret_file, "FILE",
             "Sign with this secret, in hex (- is standard input); else one is made and shown");
    add_common(create, common);
    on_command(create, action, [common, args] { return create_webhook(*common, *args); });

    CLI::App& list =
        add_command(webhook, "ls", "All webhooks and how they fare", "  ff webhook ls");
    add_common(list, common);
    on_command(list, action, [common] { return print_from(*common, show_webhooks); });

    const auto of_ids = [&](const char* name, const char* help,
                            std::function<ExitCode(const std::vector<std::string>&)> act) {
        CLI::App& c = add_command(webhook, name, help, fmt::format("  ff webhook {} 5f6071", name));
        c.add_option("id", *ids, "Webhooks: the id, or the last digits of it")
            ->required()
            ->type_name("ID");
        add_common(c, common);
        on_command(c, action, [ids, act = std::move(act)] { return act(*ids); });
    };
    of_ids("show", "One of them", [common](const std::vector<std::string>& words) {
        return print_from(*common, [&](const Session& session) -> expected<std::string> {
            std::string out;
            for (const std::string& word : words) {
                FF_TRY(const std::string one, show_webhook(session, word));
                out += one;
            }
            return out;
        });
    });
    of_ids("pause", "Stop deliveries; the place is kept",
           [common](const auto& words) { return pause_webhooks(*common, words, true); });
    of_ids("resume", "Go on with deliveries, at once",
           [common](const auto& words) { return pause_webhooks(*common, words, false); });
    of_ids("rm", "Forget them",
           [common](const auto& words) { return delete_webhooks(*common, words); });
}

}  // namespace

void add_event_commands(CLI::App& app, Action& action, const Common& common) {
    add_events(app, action, common);
    add_timeline(app, action, common);
    add_webhook(app, action, common);
}

}  // namespace ff::cli
