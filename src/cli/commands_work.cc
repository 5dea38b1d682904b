// Commands about executions: hand in, look, wait.
#include <ff/policy.h>

#include "cli/grammar.h"
#include "cli/result.h"
#include "cli/show.h"
#include "cli/submit.h"
#include "cli/tail.h"
#include "cli/wait.h"
#include "cli/watch.h"

namespace ff::cli {

namespace {

constexpr const char* work_group = "Work";

void add_submit(CLI::App& app, Action& action, const Common& common) {
    auto o = std::make_shared<SubmitOptions>();
    CLI::App& c = add_command(
        app, "submit", "Hand in an execution; prints its id",
        "  ff submit email.receipt '{\"order\":17}' --json --lane email\n"
        "  ff submit report.nightly --file input.bin --delay 10m --priority 5\n"
        "  ff submit resize --key photo-17 --retries 5 --backoff 1s..1m,jitter < photo.jpg -\n"
        "  ff submit add '[1,2]' --json --wait        # prints the result; 0 when it completed\n"
        "A store's file that does not exist is made.");
    c.group(work_group);
    c.add_option("kind", o->kind, "What is to be done")->required()->type_name("KIND");
    add_text(c, "payload", o->payload, "PAYLOAD", "Its input; - is standard input (default none)");
    add_text(c, "--file", o->file, "FILE", "Its input is what is in this file");
    c.add_flag("--json", o->json, "The input must be JSON, and is marked so for the worker");
    add_text(c, "--ns", o->ns, "NS", "Namespace (default default)");
    add_text(c, "--lane", o->lane, "LANE", "Lane (default default)");
    add_number(c, "--priority", o->priority, Range{0, priority_max}, "Higher goes first", "0");
    add_texts(c, "--tag", o->tags, "KEY=VALUE", "A tag");
    add_text(c, "--key", o->key, "KEY",
             "Idempotency key: a second submit gives the first one's id");
    add_text(c, "--id", o->id, "ID", "The id it is to have (default a new one)");
    add_text(c, "--creator", o->creator, "NAME", "Who hands it in (default cli)");
    add_text(c, "--delay", o->delay, "SPAN|TIME", "Not before: 10s, 5m, 2026-03-01T12:00:00Z");
    add_text(c, "--deadline", o->deadline, "SPAN|TIME", "Given up then");
    add_number(c, "--retries", o->retries, Range{0U, 10'000U}, "Tries after the first fails", "");
    add_number(c, "--reclaims", o->reclaims, Range{0U, 1'000'000U},
               "Takeovers after a worker was lost", "100");
    add_text(c, "--backoff", o->backoff, "SPEC",
             "Pause before a retry: 5s, or 1s..1m growing, or 1s..1m,x3,jitter");
    add_span(c, "--timeout", o->attempt_timeout_ms, "The longest an attempt may take");
    add_texts(c, "--capability", o->capabilities, "TOKEN", "What its worker must be able to do");
    add_text(c, "--limit-key", o->limit_key, "KEY",
             "Whom it is for: takes turns with the work of other keys");
    add_text(c, "--policy", o->policy, "JSON|@FILE", "The policy; the options above go on top");
    CLI::Option* wait = c.add_flag("--wait", o->wait, "Wait for the end and print the result");
    add_span(c, "--wait-timeout", o->wait_timeout_ms, "Wait no longer than this").needs(wait);
    add_common(c, common);
    on_command(c, action, [common, o] { return run_submit(*common, *o); });
}

// --------------------------------------------------------------------------------------------- ls

struct ListArgs {
    ListFilter filter;
    bool all = false;
    std::optional<DurationMs> every_ms;
};

ExitCode run_list(const CommonOptions& common, const ListArgs& args) {
    const auto search_at = [&](TimestampMs now) { return search_of(args.filter, now); };
    if (const auto search = search_at(SystemClock().now()); !search) {
        return complain(search.error());
    }
    if (args.all) {
        return with_session(common, Access::look, [&](const Session& session) {
            return print_all_executions(session, *search_at(session.engine->now()));
        });
    }
    return print_or_watch(
        common, args.every_ms, "ff ls", [&](const Session& session) -> expected<std::string> {
            FF_TRY(const SearchExecutions search, search_at(session.engine->now()));
            return show_executions(session, search);
        });
}

void add_list(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ListArgs>();
    CLI::App& c = add_command(app, "ls", "List executions, newest first",
                              "  ff ls --state failed --state expired --since 1h   # expired: "
                              "over its deadline\n"
                              "  ff ls --lane email --tag order.id=17 -o json\n"
                              "  ff ls --all -o jsonl | jq -r .execution_id\n"
                              "  ff ls --state active --watch");
    c.group(work_group);
    add_list_filter(c, args->filter);
    c.add_flag("--all", args->all, "All of them, however many")
        ->excludes(c.get_option("--limit"))
        ->excludes(c.get_option("--cursor"));
    add_watch(c, args->every_ms);
    c.get_option("--watch")->excludes(c.get_option("--all"));
    add_common(c, common);
    on_command(c, action, [common, args] { return run_list(*common, *args); });
}

// -------------------------------------------------------------------------------------- get, wait

struct IdsArgs {
    std::vector<std::string> ids;
    std::optional<DurationMs> every_ms;
    std::optional<DurationMs> timeout_ms;
};

/// All of them in one text; what went wrong with one stands in its place.
expected<std::string> executions_frame(const Session& session,
                                       const std::vector<std::string>& ids) {
    std::string out;
    for (const std::string& word : ids) {
        const auto id = find_id(session, word);
        const auto said =
            id ? say_execution(session, *id, Input::left_out) : std::unexpected(id.error());
        if (!said && ids.size() == 1) {
            return std::unexpected(said.error());
        }
        if (for_programs(session.output)) {
            out += document(session.output, said ? said->json : fault_json(word, said.error()));
        } else {
            out += (out.empty() ? "" : "\n") +
                   (said ? said->text : printable(sentence_of(said.error())) + "\n");
        }
    }
    return out;
}

ExitCode run_get(const CommonOptions& common, const IdsArgs& args) {
    if (args.every_ms) {
        if (const auto parsed = parse_ids(args.ids, not_looked); !parsed) {
            return complain(parsed.error());
        }
        return print_or_watch(
            common, args.every_ms, "ff get " + joined(args.ids, " "),
            [&](const Session& session) { return executions_frame(session, args.ids); });
    }
    bool first = true;
    return for_each_id(common, Access::look, args.ids,
                       [&](const Session& session, const ExecutionId& id) -> expected<Said> {
                           FF_TRY(Said said, say_execution(session, id, Input::measured));
                           said.text = (first ? "" : "\n") + said.text;
                           first = false;
                           return said;
                       });
}

void add_get(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<IdsArgs>();
    CLI::App& c = add_command(app, "get", "Everything about an execution",
                              "  ff get '{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071'\n"
                              "  ff get 5f6071                              # its last digits\n"
                              "  ff get 5f6071 -o json | jq -r .public_state\n"
                              "  ff get 5f6071 --watch 0.5");
    c.group(work_group);
    add_ids(c, args->ids);
    add_watch(c, args->every_ms);
    add_common(c, common);
    on_command(c, action, [common, args] { return run_get(*common, *args); });
}

void add_wait(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<IdsArgs>();
    CLI::App& c = add_command(app, "wait", "Wait until executions have ended",
                              "  ff wait 5f6071 --timeout 5m && echo completed\n"
                              "  ff ls --lane import --all -o jsonl | jq -r .execution_id | xargs "
                              "ff wait\n"
                              "Exit code 0: all completed. 1: one did not, or the time was over.");
    c.group(work_group);
    add_ids(c, args->ids);
    add_span(c, "--timeout", args->timeout_ms, "Wait no longer than this");
    add_common(c, common);
    on_command(c, action, [common, args] {
        return wait_for_executions(*common, args->ids, args->timeout_ms);
    });
}

// ------------------------------------------------------------------------------- one thing of one

using ShowOne = expected<std::string> (*)(const Session&, const std::string&);

void add_show(CLI::App& app, Action& action, const Common& common, const std::string& name,
              const std::string& help, ShowOne show) {
    auto id = std::make_shared<std::string>();
    CLI::App& c =
        add_command(app, name, help, fmt::format("  ff {0} 5f6071\n  ff {0} 5f6071 -o json", name));
    c.group(work_group);
    add_id(c, *id);
    add_common(c, common);
    on_command(c, action, [common, id, show] {
        return print_from(*common, [&](const Session& session) { return show(session, *id); });
    });
}

void add_result(CLI::App& app, Action& action, const Common& common) {
    auto options = std::make_shared<ResultOptions>();
    CLI::App& c = add_command(app, "result", "The bytes it gave back, raw",
                              "  ff result 5f6071 > photo.png\n"
                              "  ff result 5f6071 --out photo.png\n"
                              "  ff result 5f6071 -o json | jq -r .result_payload.base64");
    c.group(work_group);
    add_id(c, options->id);
    add_text(c, "--out", options->out, "FILE",
             "Write to a file, which appears whole or not at all");
    c.add_flag("--force", options->force, "Replace the file if it exists");
    add_common(c, common);
    on_command(c, action, [common, options] { return run_result(*common, *options); });
}

void add_why(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<IdsArgs>();
    CLI::App& c = add_command(app, "why", "Why it is not running",
                              "  ff why 5f6071\n"
                              "  ff why 5f6071 -o json | jq -r .missing_capabilities[]");
    c.group(work_group);
    add_ids(c, args->ids);
    add_common(c, common);
    on_command(c, action,
               [common, args] { return for_each_id(*common, Access::look, args->ids, say_why); });
}

void add_tail(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<TailArgs>();
    CLI::App& c = add_command(
        app, "tail", "What it says while it runs, as it says it",
        "  ff tail 5f6071                            # to the end of its last attempt\n"
        "  ff tail 5f6071 -n 20                      # its last words, and what comes\n"
        "  ff tail 5f6071 --type delta --raw         # tokens become the text they make up\n"
        "  ff tail 5f6071 --no-follow -o json | jq -r .fields.payload\n"
        "  ff tail 5f6071 --summary                  # the document it keeps\n"
        "Lines that a program printed stand as they are; anything else has its time (UTC) and "
        "its\n"
        "type before it. Ends when the execution has ended, or with Ctrl-C.");
    c.group(work_group);
    add_id(c, args->id);
    add_number(c, "--attempt", args->attempt, Range{0U, 1'000'000U}, "Only this attempt", "all");
    c.add_flag("--no-follow", args->no_follow, "Show what there is and end");
    CLI::Option& last = add_number(c, "-n,--last", args->last, Range{1U, 999U},
                                   "Begin with the last frames of the latest attempt", "all");
    CLI::Option& since = add_text(c, "--since", args->since, "SPAN|TIME",
                                  "What was said then or later: 10m, 2026-03-01");
    add_text(c, "--from", args->from, "PLACE", "What stands behind a cursor that -o json printed")
        .excludes(&since)
        ->excludes(&last);
    add_texts(c, "--type", args->types, "TYPE", "Only frames of this type");
    c.add_flag("--no-live", args->no_live, "Leave out frames that are only kept for a while");
    c.add_flag("--raw", args->raw, "Payloads as they are, with nothing between them");
    c.add_flag("--summary", args->summary, "The summary document instead of frames");
    add_common(c, common);
    on_command(c, action, [common, args] { return run_tail(*common, *args); });
}

}  // namespace

void add_work_commands(CLI::App& app, Action& action, const Common& common) {
    add_submit(app, action, common);
    add_get(app, action, common);
    add_list(app, action, common);
    add_why(app, action, common);
    add_result(app, action, common);
    add_show(app, action, common, "input", "The bytes it was given, raw", &show_input);
    add_wait(app, action, common);
    add_tail(app, action, common);
    add_show(app, action, common, "attempts", "Its attempts", &show_attempts);
    add_show(app, action, common, "history", "Its lease history", &show_history);
}

}  // namespace ff::cli
