// Commands for those an execution waits for: the inbox, answers, signals, keys.
#include "cli/grammar.h"
#include "cli/waitpoints.h"
#include "cli/watch.h"

namespace ff::cli {

namespace {

constexpr const char* wait_group = "Answer";

struct InboxArgs {
    std::optional<std::string> id;
    InboxFilter filter;
    std::optional<DurationMs> every_ms;
};

void add_inbox(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<InboxArgs>();
    CLI::App& c = add_command(app, "waitpoints", "The inbox: what waits for whom, since when",
                              "  ff waitpoints\n"
                              "  ff waitpoints --lane deploy --watch\n"
                              "  ff waitpoints 5f6071              # of one execution");
    c.group(wait_group);
    add_text(c, "id", args->id, "ID", "One execution: its id, or the last digits of it");
    add_text(c, "--lane", args->filter.lane, "LANE", "Of this lane");
    add_text(c, "--ns", args->filter.ns, "NS", "Of this namespace");
    add_number(c, "--limit", args->filter.limit, Range<std::uint32_t>{1, 1'000},
               "Most executions shown", "100");
    add_watch(c, args->every_ms);
    add_common(c, common);
    on_command(c, action, [common, args] {
        return print_or_watch(*common, args->every_ms, "ff waitpoints",
                              [&](const Session& session) {
                                  return args->id ? show_waitpoints(session, *args->id)
                                                  : show_inbox(session, args->filter);
                              });
    });
}

void add_answer(CLI::App& app, Action& action, const Common& common, const std::string& verb,
                const std::string& signal_name, const std::string& help) {
    auto args = std::make_shared<AnswerArgs>();
    CLI::App& c = add_command(app, verb, help,
                              fmt::format("  ff {0} 5f6071\n"
                                          "  ff {0} 5f6071 --as ann --note 'seen with the team'",
                                          verb));
    c.group(wait_group);
    add_id(c, args->id);
    add_text(c, "--waitpoint", args->waitpoint, "KEY",
             "Which, when several are open: its key, or the last 6 digits or more of its id");
    add_text(c, "--as", args->actor, "NAME", "Who answers (default: the user of this terminal)");
    add_text(c, "--note", args->note, "TEXT", "A word with it, for whoever goes on");
    add_common(c, common);
    on_command(c, action, [common, args, signal_name] {
        return answer_waitpoint(*common, *args, signal_name);
    });
}

void add_signal(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<SignalArgs>();
    CLI::App& c = add_command(app, "signal", "Send a signal to an execution that waits",
                              "  ff signal 5f6071 paid --payload '{\"amount\":12}'\n"
                              "  curl -s https://example.org/report | ff signal 5f6071 report "
                              "--payload-file -");
    c.group(wait_group);
    add_id(c, args->id);
    add_text(c, "name", args->name, "NAME", "What the signal is called").required();
    add_text(c, "--waitpoint", args->waitpoint, "KEY",
             "Which, when several are open: its key, or the last 6 digits or more of its id");
    add_text(c, "--token", args->token, "TOKEN",
             "The waitpoint's token (default: asked from the engine, with an admin's rights)");
    CLI::Option& payload =
        add_text(c, "--payload", args->payload, "TEXT", "What it carries, as it stands");
    add_text(c, "--payload-file", args->payload_file, "FILE",
             "The same from a file; - is standard input")
        .excludes(&payload);
    add_text(c, "--source", args->source, "NAME",
             "Who sends it (default: the user of this terminal)");
    add_text(c, "--key", args->key, "KEY", "Repeated with the same key it counts once");
    add_common(c, common);
    on_command(c, action, [common, args] { return send_signal(*common, *args); });
}

void add_signals(CLI::App& app, Action& action, const Common& common) {
    auto id = std::make_shared<std::string>();
    CLI::App& c = add_command(app, "signals", "Every signal an execution was sent",
                              "  ff signals 5f6071\n"
                              "  ff signals 5f6071 -o jsonl");
    c.group(wait_group);
    add_id(c, *id);
    add_common(c, common);
    on_command(c, action, [common, id] {
        return print_from(*common,
                          [&](const Session& session) { return show_signals(session, *id); });
    });
}

struct ResumeArgs {
    std::vector<std::string> ids;
    std::optional<std::string> actor;
    std::optional<DurationMs> delay_ms;
};

void add_resume(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<ResumeArgs>();
    CLI::App& c = add_command(app, "resume", "Let suspended executions go on at once",
                              "  ff resume 5f6071                  # whatever it waits for\n"
                              "  ff resume 5f6071 --delay 10m");
    c.group(wait_group);
    add_ids(c, args->ids);
    add_text(c, "--as", args->actor, "NAME", "Who says so (default: the user of this terminal)");
    add_span(c, "--delay", args->delay_ms, "Not before so long from now");
    add_common(c, common);
    on_command(c, action, [common, args] {
        return resume_executions(*common, args->ids, args->actor,
                                 args->delay_ms.value_or(DurationMs{0}));
    });
}

struct AdminArgs {
    RotateArgs rotate;
    std::optional<DurationMs> grace_ms;
};

void add_admin(CLI::App& app, Action& action, const Common& common) {
    auto args = std::make_shared<AdminArgs>();
    CLI::App& admin = add_command(app, "admin", "Keys that sign waitpoint tokens",
                                  "  ff admin keys\n"
                                  "  ff admin rotate-secret --grace 48h");
    admin.group("Operate");
    admin.require_subcommand(1);
    CLI::App& keys = add_command(admin, "keys", "Which keys sign and verify", "  ff admin keys");
    add_common(keys, common);
    on_command(keys, action, [common] { return print_from(*common, &show_keys); });
    CLI::App& rotate =
        add_command(admin, "rotate-secret", "Sign with a new key from now on",
                    "  ff admin rotate-secret            # a random secret, kept in the store\n"
                    "  ff admin rotate-secret --kid k7 --secret-file secret.hex --grace 1h");
    add_text(rotate, "--kid", args->rotate.kid, "KID", "Its name (default: the next number)");
    add_text(rotate, "--secret-file", args->rotate.secret_file, "FILE",
             "The secret in hex, 64 digits at best; - is standard input (default: a random one)");
    add_span(rotate, "--grace", args->grace_ms,
             "How long tokens of the old key stay good (default 24h)");
    add_common(rotate, common);
    on_command(rotate, action, [common, args] {
        args->rotate.grace_ms = args->grace_ms.value_or(args->rotate.grace_ms);
        return rotate_secret(*common, args->rotate);
    });
}

}  // namespace

void add_wait_commands(CLI::App& app, Action& action, const Common& common) {
    add_inbox(app, action, common);
    add_answer(app, action, common, "approve", "approved", "Say yes to an execution that asks");
    add_answer(app, action, common, "reject", "rejected", "Say no to an execution that asks");
    add_signal(app, action, common);
    add_signals(app, action, common);
    add_resume(app, action, common);
    add_admin(app, action, common);
}

}  // namespace ff::cli
