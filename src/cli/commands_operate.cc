// Commands of operators: change executions, see to lanes and upkeep, look at the whole.
#include <ff/policy.h>

#include "cli/change.h"
#include "cli/grammar.h"
#include "cli/show.h"
#include "cli/top.h"
#include "cli/watch.h"

namespace ff::cli {

namespace {

constexpr const char* change_group = "Change";
constexpr const char* operate_group = "Operate";

struct ChangeArgs {
    std::vector<std::string> ids;
    std::string id;
    std::string reason;
    std::vector<std::string> words;
    std::optional<std::string> key;
    std::int32_t priority = 0;
};

void add_cancel(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ChangeArgs>();
    args->reason = "cancelled by an operator";
    CLI::App& c = add_command(app, "cancel", "End executions that are not done",
                              "  ff cancel 5f6071 --reason 'wrong customer'\n"
                              "  ff ls --lane import --all -o jsonl | jq -r .execution_id | xargs "
                              "ff cancel");
    c.group(change_group);
    add_ids(c, args->ids);
    add_text(c, "--reason", args->reason, "TEXT", "Why, for those who read it later");
    add_common(c, common);
    on_command(c, action,
               [common, args] { return cancel_executions(*common, args->ids, args->reason); });
}

void add_replay(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ChangeArgs>();
    CLI::App& c = add_command(app, "replay", "Run executions again that have ended",
                              "  ff replay 5f6071\n"
                              "  ff ls --state failed --since 1h --all -o jsonl |\n"
                              "    jq -r .execution_id | xargs ff replay");
    c.group(change_group);
    add_ids(c, args->ids);
    add_common(c, common);
    on_command(c, action, [common, args] { return replay_executions(*common, args->ids); });
}

void add_priority(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ChangeArgs>();
    CLI::App& c = add_command(app, "priority", "Change the priority of one that waits",
                              "  ff priority 5f6071 100            # higher goes first");
    c.group(change_group);
    add_id(c, args->id);
    add_number(c, "priority", args->priority, Range{0, priority_max}, "The new priority", "")
        .required();
    add_common(c, common);
    on_command(c, action,
               [common, args] { return change_priority(*common, args->id, args->priority); });
}

void add_revoke(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ChangeArgs>();
    args->reason = "operator_revoke";
    CLI::App& c = add_command(app, "revoke", "Take executions away from their workers",
                              "  ff revoke 5f6071\n"
                              "The worker's next call is refused, and another can take it over.");
    c.group(change_group);
    add_ids(c, args->ids);
    add_text(c, "--reason", args->reason, "TEXT", "Why (default operator_revoke)");
    add_common(c, common);
    on_command(c, action,
               [common, args] { return revoke_leases(*common, args->ids, args->reason); });
}

void add_tag(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ChangeArgs>();
    CLI::App& tag = add_command(app, "tag", "Read and change the tags of an execution",
                                "  ff tag get 5f6071\n"
                                "  ff tag get 5f6071 order.id\n"
                                "  ff tag set 5f6071 order.id=17 order.state=paid\n"
                                "  ff tag rm 5f6071 order.state");
    tag.group(change_group);
    tag.require_subcommand(1);
    add_common(tag, common);
    CLI::App& get = add_command(tag, "get", "Print its tags, or the value of one",
                                "  ff tag get 5f6071 order.id");
    add_id(get, args->id);
    add_text(get, "key", args->key, "KEY", "Only this one");
    add_common(get, common);
    on_command(get, action, [common, args] {
        return print_from(*common, [&](const Session& session) {
            return show_tags(session, args->id, args->key);
        });
    });
    CLI::App& set = add_command(tag, "set", "Add tags, or give them new values",
                                "  ff tag set 5f6071 order.id=17");
    add_id(set, args->id);
    set.add_option("tag", args->words, "Tags")->required()->type_name("KEY=VALUE");
    add_common(set, common);
    on_command(set, action, [common, args] { return set_tags(*common, args->id, args->words); });
    CLI::App& remove = add_command(tag, "rm", "Remove tags", "  ff tag rm 5f6071 order.id");
    add_id(remove, args->id);
    remove.add_option("key", args->words, "Their keys")->required()->type_name("KEY");
    add_common(remove, common);
    on_command(remove, action,
               [common, args] { return remove_tags(*common, args->id, args->words); });
}

// ------------------------------------------------------------------------------------------ lanes

struct LanesArgs {
    std::vector<std::string> lanes;
    bool make = false;
    std::optional<DurationMs> every_ms;
    std::optional<std::string> ns;
    std::string scanner;
};

void add_lane_state(CLI::App& lanes, Action& action, const Common& common,
                    const std::shared_ptr<LanesArgs>& args, const std::string& name,
                    const std::string& help, LaneState state) {
    CLI::App& c = add_command(lanes, name, help, "  ff lanes " + name + " email");
    c.add_option("lane", args->lanes, "Lanes")->required()->type_name("LANE");
    c.add_flag("--new", args->make, "Also one that nobody has used yet");
    add_common(c, common);
    on_command(c, action, [common, args, state] {
        return set_lane_states(*common, args->lanes, state,
                               args->make ? NewLane::made : NewLane::refused);
    });
}

void add_lanes(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<LanesArgs>();
    CLI::App& lanes = add_command(app, "lanes", "Lanes: list, pause, resume, drain",
                                  "  ff lanes\n"
                                  "  ff lanes pause email\n"
                                  "  ff lanes resume email\n"
                                  "  ff lanes drain import          # runs what is there, takes "
                                  "no more");
    lanes.group(operate_group);
    lanes.require_subcommand(0, 1);
    const auto list = [common, args] {
        return print_or_watch(*common, args->every_ms, "ff lanes", show_lanes);
    };
    add_watch(lanes, args->every_ms);
    add_common(lanes, common);
    lanes.callback([&lanes, &action, list] {
        if (lanes.get_subcommands().empty()) {
            action = list;
        }
    });
    CLI::App& ls = add_command(lanes, "ls", "Lanes and their states", "  ff lanes ls -o json");
    add_watch(ls, args->every_ms);
    add_common(ls, common);
    on_command(ls, action, list);
    add_lane_state(lanes, action, common, args, "pause", "Hand out no more work of it",
                   LaneState::paused);
    add_lane_state(lanes, action, common, args, "resume", "Take and hand out work again",
                   LaneState::active);
    add_lane_state(lanes, action, common, args, "drain", "Take no more work, run what is there",
                   LaneState::draining);
}

void add_workers(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<LanesArgs>();
    CLI::App& c = add_command(app, "workers", "Live registered workers",
                              "  ff workers\n"
                              "  ff workers --ns shop -o json\n"
                              "  ff workers --watch 5");
    c.group(operate_group);
    add_text(c, "--ns", args->ns, "NS", "Of this namespace");
    add_watch(c, args->every_ms);
    add_common(c, common);
    on_command(c, action, [common, args] {
        return print_or_watch(*common, args->every_ms, "ff workers", [&](const Session& session) {
            return show_workers(session, args->ns);
        });
    });
}

void add_scanners(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<LanesArgs>();
    CLI::App& scanners = add_command(app, "scanners", "Background jobs: list, run one now",
                                     "  ff scanners\n"
                                     "  ff scanners run index_reconciler");
    scanners.group(operate_group);
    scanners.require_subcommand(0, 1);
    add_common(scanners, common);
    const auto list = [common] { return list_scanners(*common); };
    scanners.callback([&scanners, &action, list] {
        if (scanners.get_subcommands().empty()) {
            action = list;
        }
    });
    CLI::App& ls = add_command(scanners, "ls", "What they have done since the engine was opened",
                               "  ff scanners ls -o json");
    add_common(ls, common);
    on_command(ls, action, list);
    CLI::App& run = add_command(scanners, "run", "Run one pass now",
                                "  ff scanners run retention_trimmer -o json");
    run.add_option("name", args->scanner, "Its name")->required()->type_name("NAME");
    add_common(run, common);
    on_command(run, action, [common, args] { return run_scanner(*common, args->scanner); });
}

// ------------------------------------------------------------------------------------- the whole

void add_top(CLI::App& app, Action& action, const Common& common) {
    auto options = std::make_shared<TopOptions>();
    CLI::App& c = add_command(app, "top", "A live view: lanes, failures, workers, rates",
                              "  ff top                    # q ends\n"
                              "  ff top --every 5s\n"
                              "  ff top | cat              # one picture");
    c.group(operate_group);
    add_span(c, "--every", options->every_ms, "How often it is renewed (default 1s)");
    add_common(c, common);
    on_command(c, action, [common, options] { return run_top(*common, *options); });
}

using Show = expected<std::string> (*)(const Session&);

void add_report(CLI::App& app, Action& action, const Common& common, const std::string& name,
                const std::string& help, Show show) {
    CLI::App& c = add_command(app, name, help, fmt::format("  ff {0}\n  ff {0} -o json", name));
    c.group(operate_group);
    add_common(c, common);
    on_command(c, action, [common, show] { return print_from(*common, show); });
}

}  // namespace

void add_operator_commands(CLI::App& app, Action& action, const Common& common) {
    add_cancel(app, action, common);
    add_replay(app, action, common);
    add_priority(app, action, common);
    add_revoke(app, action, common);
    add_tag(app, action, common);
    add_top(app, action, common);
    add_workers(app, action, common);
    add_lanes(app, action, common);
    add_scanners(app, action, common);
    add_report(app, action, common, "store", "The store: kind, size, durability", &show_store);
    add_report(app, action, common, "capabilities", "What the engine can do", &show_capabilities);
}

}  // namespace ff::cli
