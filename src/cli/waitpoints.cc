#include "cli/waitpoints.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/bytes_file.h"
#include "cli/id_report.h"
#include "cli/inspect_json.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/views.h"

namespace ff::cli {

namespace {

std::string this_user() {
    for (const char* name : {"USER", "LOGNAME"}) {
        if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
            return value;
        }
    }
    // In a container or a job of cron there may be no such variable.
    const passwd* account = getpwuid(geteuid());
    return account != nullptr ? account->pw_name : "operator";
}

std::string names_text(const std::vector<std::string>& names) {
    return names.empty() ? "any signal" : joined(names);
}

js::Value names_json(const std::vector<std::string>& names) {
    return js::Array(names.begin(), names.end());
}

template <class T>
void add_if(js::Object& object, const char* name, const std::optional<T>& value) {
    if (value) {
        object.emplace_back(name, *value);
    }
}

js::Object waitpoint_json(const WaitpointInfo& w) {
    js::Object object{{"waitpoint_id", w.waitpoint_id.to_string()},
                      {"waitpoint_key", w.waitpoint_key},
                      {"state", to_string(w.state)},
                      {"required_signal_names", names_json(w.required_signal_names)},
                      {"created_at", w.created_at}};
    add_if(object, "activated_at", w.activated_at);
    add_if(object, "expires_at", w.expires_at);
    object.emplace_back("execution_id", w.execution_id.to_string());
    object.emplace_back("token_kid", w.token_kid);
    object.emplace_back("token_fingerprint", w.token_fingerprint);
    object.emplace_back("signal_count", w.signal_count);
    object.emplace_back("matched_signal_count", w.matched_signal_count);
    return object;
}

expected<std::vector<WaitpointInfo>> open_waitpoints(const Session& session,
                                                     const ExecutionId& id) {
    std::vector<WaitpointInfo> all;
    ListPendingWaitpoints op;
    op.execution_id = id;
    op.limit = 1'000;
    do {
        FF_TRY(WaitpointPage page, session.ask(op));
        std::ranges::move(page.waitpoints, std::back_inserter(all));
        op.after = page.next_cursor;
    } while (op.after);
    return all;
}

/// The waitpoint a person means: the one named, by its id, the end of it or its key; or the only
/// one there is.
expected<WaitpointInfo> choose(const Session& session, const ExecutionId& id,
                               const std::optional<std::string>& word) {
    FF_TRY(const auto open, open_waitpoints(session, id));
    std::vector<WaitpointInfo> fitting;
    for (const WaitpointInfo& w : open) {
        if (!word || w.waitpoint_key == *word ||
            (word->size() >= 6 && w.waitpoint_id.to_string().ends_with(*word))) {
            fitting.push_back(w);
        }
    }
    if (fitting.size() == 1) {
        return fitting.front();
    }
    if (open.empty()) {
        return ff::fail(ErrorCode::execution_not_suspended,
                        id.to_string() + " waits for no signal; ff why says what it does");
    }
    std::string keys;
    for (const WaitpointInfo& w : fitting.empty() ? open : fitting) {
        keys += fmt::format("{}{} ({})", keys.empty() ? " " : ", ", w.waitpoint_key,
                            w.waitpoint_id.to_string());
    }
    return ff::fail(ErrorCode::invalid_input,
                    (fitting.empty() ? "no open waitpoint is called " + *word + "; there are"
                                     : std::string("several waitpoints are open; choose one with "
                                                   "--waitpoint:")) +
                        keys);
}

Said said_signal(const ExecutionId& id, const WaitpointInfo& at, const std::string& name,
                 const SignalResult& result) {
    const std::string_view effect = to_string(result.effect);
    js::Object object{{"execution_id", id.to_string()},
                      {"waitpoint_id", at.waitpoint_id.to_string()},
                      {"signal_id", result.signal_id.to_string()},
                      {"outcome", result.duplicate ? "duplicate" : "accepted"},
                      {"effect", effect}};
    std::string text;
    if (result.duplicate) {
        text = fmt::format("{} had this {} already\n", id.to_string(), name);
    } else if (result.effect == SignalEffect::resume_condition_satisfied) {
        text = fmt::format("{} {}: it goes on\n", id.to_string(), name);
    } else if (result.effect == SignalEffect::appended_to_waitpoint) {
        text = fmt::format("{} {}: noted, it waits for more\n", id.to_string(), name);
    } else {
        text = fmt::format(
            "{} {}: {}, it waits on{}\n", id.to_string(), name, effect,
            at.required_signal_names.empty() ? "" : " for " + names_text(at.required_signal_names));
    }
    return {std::move(text), js::Value(std::move(object)),
            result.effect == SignalEffect::no_op ? ExitCode::conflict : ExitCode::ok, ""};
}

}  // namespace

// ------------------------------------------------------------------------------------------ inbox

expected<std::string> show_inbox(const Session& session, const InboxFilter& filter) {
    ListSuspended op;
    op.lane_id = filter.lane;
    op.ns = filter.ns;
    op.limit = std::min<std::uint32_t>(filter.limit, 1'000);
    FF_TRY(const SuspendedPage page, session.ask(op));
    Table table({{"execution"},
                 {"kind", Align::left, Give::shrink},
                 {"waits for", Align::left, Give::shrink},
                 {"key", Align::left, Give::shrink},
                 {"signals", Align::left, Give::shrink},
                 {"came", Align::right},
                 {"since", Align::right},
                 {"until"}});
    js::Array items;
    for (const SuspendedEntry& entry : page.entries) {
        FF_TRY(const auto open, open_waitpoints(session, entry.execution_id));
        const bool has_end = entry.suspended_at_ms < 9'999'999'999'999;
        for (const WaitpointInfo& w : open) {
            if (w.state != WaitpointState::active) {
                continue;
            }
            table.add({entry.execution_id.to_string(), entry.execution_kind, entry.reason,
                       w.waitpoint_key, names_text(w.required_signal_names),
                       fmt::format("{}", w.matched_signal_count),
                       span_text(session.view.now - entry.suspended_since_ms),
                       has_end ? when(entry.suspended_at_ms, session.view.now) : "-"});
            js::Object object = waitpoint_json(w);
            object.emplace_back("reason", entry.reason);
            object.emplace_back("lane_id", entry.lane_id);
            object.emplace_back("namespace", entry.ns);
            object.emplace_back("execution_kind", entry.execution_kind);
            object.emplace_back("suspended_since", entry.suspended_since_ms);
            items.emplace_back(std::move(object));
        }
    }
    if (for_programs(session.output)) {
        return list_document(session.output, items, page.next_cursor);
    }
    if (table.empty()) {
        return std::string("nothing waits for a signal\n");
    }
    return table.render(session.view.terminal) +
           (page.next_cursor ? "more than these wait; see --limit\n" : "");
}

expected<std::string> show_waitpoints(const Session& session, const std::string& word) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    FF_TRY(const auto open, open_waitpoints(session, id));
    FF_TRY(const auto episodes, session.ask(ListSuspensions{id}));
    if (for_programs(session.output)) {
        js::Array items;
        for (const WaitpointInfo& w : open) {
            items.emplace_back(waitpoint_json(w));
        }
        return list_document(session.output, items, std::nullopt);
    }
    Table table({{"waitpoint"},
                 {"key", Align::left, Give::shrink},
                 {"state"},
                 {"signals", Align::left, Give::shrink},
                 {"came", Align::right},
                 {"until"}});
    for (const WaitpointInfo& w : open) {
        table.add({w.waitpoint_id.to_string(), w.waitpoint_key, to_string(w.state),
                   names_text(w.required_signal_names),
                   fmt::format("{}, {} matched", w.signal_count, w.matched_signal_count),
                   w.expires_at ? when(*w.expires_at, session.view.now) : "-"});
    }
    std::string text = table.empty() ? "no open waitpoint\n" : table.render(session.view.terminal);
    Table past({{"suspension"}, {"for", Align::left, Give::shrink}, {"began"}, {"ended"}});
    for (const SuspensionInfo& s : episodes) {
        past.add({s.suspension_id.to_string(), s.reason_code, when(s.created_at, session.view.now),
                  s.closed_at ? s.close_reason.value_or("") : "-"});
    }
    return past.empty() ? text : text + "\n" + past.render(session.view.terminal);
}

expected<std::string> show_signals(const Session& session, const std::string& word) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    Table table({{"#", Align::right},
                 {"signal", Align::left, Give::shrink},
                 {"from", Align::left, Give::shrink},
                 {"effect"},
                 {"accepted"},
                 {"payload", Align::left, Give::shrink}});
    js::Array items;
    ListSignals op;
    op.execution_id = id;
    op.limit = 1'000;
    op.with_payload = true;
    for (bool more = true; more;) {
        FF_TRY(const SignalPage page, session.ask(op));
        for (const SignalInfo& s : page.signals) {
            const std::string from =
                s.source_identity.empty() ? s.source_type : s.source_type + ":" + s.source_identity;
            table.add({std::to_string(s.seq), s.signal_name, from, to_string(s.observed_effect),
                       when(s.accepted_at, session.view.now), s.payload.value_or("-")});
            js::Object object{{"seq", s.seq},
                              {"signal_id", s.signal_id.to_string()},
                              {"waitpoint_id", s.waitpoint_id.to_string()},
                              {"signal_name", s.signal_name},
                              {"signal_category", s.signal_category},
                              {"source_type", s.source_type},
                              {"source_identity", s.source_identity},
                              {"accepted_at", s.accepted_at},
                              {"observed_effect", to_string(s.observed_effect)},
                              {"matched", s.matched}};
            object.emplace_back("payload", s.payload ? bytes_json(*s.payload) : js::Value());
            items.emplace_back(std::move(object));
        }
        more = page.next_after_seq.has_value();
        op.after_seq = page.next_after_seq.value_or(0);
    }
    if (for_programs(session.output)) {
        return list_document(session.output, items, std::nullopt);
    }
    return table.empty() ? std::string("no signal has come\n")
                         : table.render(session.view.terminal);
}

// ---------------------------------------------------------------------------------------- answers

ExitCode answer_waitpoint(const CommonOptions& options, const AnswerArgs& args,
                          const std::string& signal_name) {
    if (args.actor && args.actor->empty()) {
        return complain(Error(ErrorCode::invalid_input,
                              "--as: is empty; give the name of who answers, or leave it out"));
    }
    return for_each_id(options, Access::change, {args.id},
                       [&](const Session& session, const ExecutionId& id) -> expected<Said> {
                           FF_TRY(const WaitpointInfo at, choose(session, id, args.waitpoint));
                           FF_TRY(const ExecutionInfo info, session.ask(ReadExecutionInfo{id}));
                           DeliverApprovalSignal op;
                           op.execution_id = id;
                           op.lane_id = info.lane_id;
                           op.waitpoint_id = at.waitpoint_id;
                           op.signal_name = signal_name;
                           op.actor = args.actor.value_or(this_user());
                           op.note = args.note;
                           // The same person answers once.
                           op.idempotency_suffix = op.actor;
                           FF_TRY(const SignalResult result, session.ask(std::move(op)));
                           return said_signal(id, at, signal_name, result);
                       });
}

namespace {

/// The signal that had this key, of a wait that is over: sending it again is no fault.
expected<std::optional<Said>> sent_before(const Session& session, const ExecutionId& id,
                                          const SignalArgs& args) {
    if (!args.key || args.key->empty()) {
        return std::nullopt;
    }
    ListSignals op;
    op.execution_id = id;
    op.limit = 1'000;
    for (std::optional<std::uint64_t> after = 0; after;) {
        op.after_seq = *after;
        FF_TRY(const SignalPage page, session.ask(op));
        for (const SignalInfo& s : page.signals) {
            if (s.idempotency_key == *args.key && s.signal_name == args.name) {
                WaitpointInfo at;
                at.waitpoint_id = s.waitpoint_id;
                return said_signal(id, at, args.name, {true, s.signal_id, s.observed_effect});
            }
        }
        after = page.next_after_seq;
    }
    return std::nullopt;
}

}  // namespace

ExitCode send_signal(const CommonOptions& options, const SignalArgs& args) {
    std::optional<std::string> payload = args.payload;
    if (args.payload_file) {
        auto bytes =
            *args.payload_file == "-" ? read_standard_input() : read_bytes(*args.payload_file);
        if (!bytes) {
            return complain(bytes.error());
        }
        payload = std::move(*bytes);
    }
    return for_each_id(
        options, Access::change, {args.id},
        [&](const Session& session, const ExecutionId& id) -> expected<Said> {
            const auto chosen = choose(session, id, args.waitpoint);
            if (!chosen) {
                FF_TRY(auto said, sent_before(session, id, args));
                return said ? expected<Said>(std::move(*said)) : std::unexpected(chosen.error());
            }
            const WaitpointInfo& at = *chosen;
            DeliverSignal op;
            op.execution_id = id;
            op.waitpoint_id = at.waitpoint_id;
            op.signal_name = args.name;
            op.source_identity = args.source.value_or(this_user());
            op.payload = payload;
            op.idempotency_key = args.key.value_or("");
            if (args.token) {
                op.waitpoint_token = *args.token;
            } else {
                FF_TRY(auto token, session.ask(ReadWaitpointToken{id, at.waitpoint_id}));
                op.waitpoint_token = token.value_or("");
            }
            FF_TRY(const SignalResult result, session.ask(std::move(op)));
            return said_signal(id, at, args.name, result);
        });
}

ExitCode resume_executions(const CommonOptions& options, const std::vector<std::string>& ids,
                           const std::optional<std::string>& actor, DurationMs delay_ms) {
    return for_each_id(options, Access::change, ids,
                       [&](const Session& session, const ExecutionId& id) -> expected<Said> {
                           ResumeExecution op;
                           op.execution_id = id;
                           op.trigger_type = ResumeTrigger::operator_;
                           op.resume_delay_ms = delay_ms;
                           op.actor = actor.value_or(this_user());
                           FF_TRY(const StateResult result, session.ask(std::move(op)));
                           return Said{fmt::format("{} resumed: it is {}\n", id.to_string(),
                                                   to_string(result.public_state)),
                                       js::Object{{"execution_id", id.to_string()},
                                                  {"outcome", "resumed"},
                                                  {"public_state", to_string(result.public_state)}},
                                       ExitCode::ok, ""};
                       });
}

// ------------------------------------------------------------------------------------------- keys

namespace {

expected<std::string> random_hex() {
    std::string bytes(32, '\0');
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return ff::fail(ErrorCode::internal, "the system gave no random bytes");
    }
    std::string hex;
    for (const char byte : bytes) {
        hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return hex;
}

/// `k3` after `k2`; otherwise the old name with a number.
std::string next_kid(const KeyList& keys) {
    const std::string current = keys.current_kid.value_or("k0");
    const std::size_t digits = current.find_last_not_of("0123456789") + 1;
    const std::string number = current.substr(digits);
    const bool counts = !number.empty() && number.size() < 9;
    return counts ? current.substr(0, digits) + std::to_string(std::stoul(number) + 1)
                  : current + "-2";
}

}  // namespace

ExitCode rotate_secret(const CommonOptions& options, const RotateArgs& args) {
    return with_session(options, Access::change, [&](const Session& session) -> ExitCode {
        const auto rotate = [&]() -> expected<RotateKeyResult> {
            RotateWaitpointKey op;
            op.grace_ms = args.grace_ms;
            if (args.kid) {
                op.new_kid = *args.kid;
            } else {
                FF_TRY(const KeyList keys, session.ask(ListWaitpointKeys{}));
                op.new_kid = next_kid(keys);
            }
            if (args.secret_file) {
                FF_TRY(op.new_secret_hex, *args.secret_file == "-" ? read_standard_input()
                                                                   : read_bytes(*args.secret_file));
                while (!op.new_secret_hex.empty() && op.new_secret_hex.back() == '\n') {
                    op.new_secret_hex.pop_back();
                }
            } else {
                FF_TRY(op.new_secret_hex, random_hex());
            }
            return session.ask(std::move(op));
        };
        const auto done = rotate();
        if (!done && done.error().code == ErrorCode::rotation_conflict) {
            return complain(Error{ErrorCode::rotation_conflict,
                                  done.error().detail +
                                      " is the name of a key with another secret; leave --kid "
                                      "out to have one chosen",
                                  {}});
        }
        if (!done) {
            return complain(done.error());
        }
        if (for_programs(session.output)) {
            js::Object object{{"outcome", done->rotated ? "rotated" : "noop"},
                              {"new_kid", done->new_kid}};
            add_if(object, "previous_kid", done->previous_kid);
            object.emplace_back("gc_count", done->gc_count);
            object.emplace_back("waitpoints_outliving_grace", done->waitpoints_outliving_grace);
            fmt::print("{}", document(session.output, js::Value(std::move(object))));
            return ExitCode::ok;
        }
        if (!done->rotated) {
            fmt::print("{} signs already\n", done->new_kid);
            return ExitCode::ok;
        }
        fmt::print("{} signs now{}\n", done->new_kid,
                   done->previous_kid ? fmt::format("; {} verifies for {} more",
                                                    *done->previous_kid, span_text(args.grace_ms))
                                      : "");
        if (done->waitpoints_outliving_grace > 0) {
            fmt::print(
                "{} open waitpoints may outlive the old key: ff approve and ff resume still "
                "work on them\n",
                done->waitpoints_outliving_grace);
        }
        return ExitCode::ok;
    });
}

expected<std::string> show_keys(const Session& session) {
    FF_TRY(const KeyList keys, session.ask(ListWaitpointKeys{}));
    if (for_programs(session.output)) {
        js::Array verifying;
        for (const KeyList::Retired& key : keys.verifying) {
            verifying.emplace_back(
                js::Object{{"kid", key.kid}, {"expires_at_ms", key.expires_at_ms}});
        }
        return document(session.output,
                        js::Object{{"current_kid",
                                    keys.current_kid ? js::Value(*keys.current_kid) : js::Value()},
                                   {"verifying", std::move(verifying)}});
    }
    Table table({{"key"}, {"use"}, {"until"}});
    if (keys.current_kid) {
        table.add({*keys.current_kid, "signs and verifies", "-"});
    }
    for (const KeyList::Retired& key : keys.verifying) {
        table.add({key.kid, "verifies", when(key.expires_at_ms, session.view.now)});
    }
    return table.empty() ? std::string("no key yet: the first waitpoint makes one\n")
                         : table.render(session.view.terminal);
}

}  // namespace ff::cli
