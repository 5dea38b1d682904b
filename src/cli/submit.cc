#include "cli/submit.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include <ff/clock.h>
#include <ff/policy.h>

#include "cli/bytes_file.h"
#include "cli/execution_ids.h"
#include "cli/inspect_json.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"
#include "cli/wait.h"
#include "core/decide.h"

namespace ff::cli {

namespace {

std::unexpected<Error> bad_submit(std::string what) {
    return ff::fail(ErrorCode::invalid_input, std::move(what));
}

// ----------------------------------------------------------------------------------------- policy

/// The object that is a member of another, made when it is missing.
js::Value& object_in(js::Value& parent, const std::string& name) {
    if (parent.find(name) == nullptr || parent.find(name)->if_object() == nullptr) {
        parent.set(name, js::Object{});
    }
    return const_cast<js::Value&>(*parent.find(name));  // NOLINT: of a value that is ours
}

expected<js::Value> given_policy(const std::string& word) {
    std::string text = word;
    if (word.starts_with('@')) {
        FF_TRY(text, read_bytes(word.substr(1)));
    }
    auto value = js::parse(text);
    if (!value || value->if_object() == nullptr) {
        return bad_submit(fmt::format("--policy: {}",
                                      value ? "a policy is a JSON object" : value.error().detail));
    }
    return value;
}

/// `x3`, `jitter`.
expected<void> apply_backoff_word(const std::string& text, std::string_view word,
                                  js::Value& backoff) {
    if (word == "jitter") {
        backoff.set("jitter", true);
        return {};
    }
    double factor = 0;
    const char* end = word.data() + word.size();
    if (word.starts_with('x')) {
        const auto [at, fault] = std::from_chars(word.data() + 1, end, factor);
        if (fault == std::errc{} && at == end && std::isfinite(factor) && factor >= 1) {
            backoff.set("multiplier", factor);
            return {};
        }
    }
    return bad_submit(fmt::format("{}: \"{}\" is not known; write x2 or jitter", text, word));
}

}  // namespace

expected<js::Value> parse_backoff(const std::string& text) {
    std::string_view rest = text;
    const std::size_t comma = rest.find(',');
    const std::string_view spans = rest.substr(0, comma);
    const std::size_t dots = spans.find("..");
    FF_TRY(const DurationMs first, parse_span(spans.substr(0, dots)));
    if (dots == std::string_view::npos) {
        if (comma != std::string_view::npos) {
            return bad_submit(text + ": a fixed backoff has no further words; write it as 1s..1m");
        }
        return js::Value(js::Object{{"type", "fixed"}, {"delay_ms", first}});
    }
    FF_TRY(const DurationMs last, parse_span(spans.substr(dots + 2)));
    if (last < first) {
        return bad_submit(text + ": the longest delay is shorter than the first");
    }
    js::Value backoff = js::Object{{"type", "exponential"},
                                   {"initial_delay_ms", first},
                                   {"max_delay_ms", last},
                                   {"multiplier", 2}};
    rest.remove_prefix(std::min(comma, rest.size()));
    while (!rest.empty()) {
        rest.remove_prefix(1);
        const std::size_t end = std::min(rest.find(','), rest.size());
        FF_TRY_VOID(apply_backoff_word(text, rest.substr(0, end), backoff));
        rest.remove_prefix(end);
    }
    return backoff;
}

expected<std::optional<std::string>> policy_of(const SubmitOptions& options) {
    js::Value policy = js::Object{};
    if (options.policy) {
        FF_TRY(policy, given_policy(*options.policy));
    }
    if (options.retries) {
        object_in(policy, "retry_policy").set("max_retries", *options.retries);
    }
    if (options.backoff) {
        auto backoff = parse_backoff(*options.backoff);
        if (!backoff) {
            return bad_submit("--backoff: " + backoff.error().detail);
        }
        object_in(policy, "retry_policy").set("backoff", std::move(*backoff));
    }
    if (options.reclaims) {
        policy.set("max_reclaim_count", *options.reclaims);
    }
    if (options.attempt_timeout_ms) {
        if (*options.attempt_timeout_ms == 0) {
            return bad_submit("--timeout: no attempt is that quick; leave it out for no limit");
        }
        object_in(policy, "timeout_policy").set("attempt_timeout_ms", *options.attempt_timeout_ms);
    }
    if (options.limit_key) {
        policy.set("limit_key", *options.limit_key);
    }
    if (!options.capabilities.empty()) {
        js::Array tokens(options.capabilities.begin(), options.capabilities.end());
        object_in(policy, "routing_requirements").set("required_capabilities", std::move(tokens));
    }
    if (policy.if_object()->empty()) {
        return std::nullopt;
    }
    std::string text = js::dump(policy);
    if (const auto checked = Policy::parse(text, UnknownMembers::refused); !checked) {
        return bad_submit("the policy is not right: " + sentence_of(checked.error()));
    }
    return text;
}

/// What is relative counts from `now`.
expected<void> set_times(const SubmitOptions& options, TimestampMs now, CreateExecution& op) {
    FF_TRY(op.delay_until, moment_of("--delay", options.delay, now, Towards::future));
    FF_TRY(op.execution_deadline_at,
           moment_of("--deadline", options.deadline, now, Towards::future));
    return {};
}

expected<CreateExecution> execution_of(const SubmitOptions& options, TimestampMs now) {
    CreateExecution op;
    op.ns = options.ns;
    op.lane_id = options.lane;
    op.execution_kind = options.kind;
    op.priority = options.priority.value_or(0);
    op.creator_identity = options.creator;
    if (options.key && options.key->empty()) {
        return bad_submit("--key: it is empty, and would make nothing the same as before");
    }
    op.idempotency_key = options.key;
    FF_TRY(op.tags, parse_tags(options.tags));
    FF_TRY(op.policy, policy_of(options));
    if (options.id) {
        const auto id = ExecutionId::parse(*options.id);
        if (!id) {
            return bad_submit(fmt::format("--id: \"{}\" is not an execution id; one looks like {}",
                                          printable(*options.id), id_example));
        }
        op.execution_id = *id;
    }
    FF_TRY_VOID(set_times(options, now, op));
    FF_TRY_VOID(check_namespace("--ns", op.ns));
    FF_TRY_VOID(check_lane("--lane", op.lane_id));
    FF_TRY_VOID(check_label("kind", op.execution_kind, 1, 256));
    return op;
}

// ----------------------------------------------------------------------------------------- submit

namespace {

expected<void> check_deadline(const SubmitOptions& options, const CreateExecution& op,
                              TimestampMs now) {
    if (op.execution_deadline_at && *op.execution_deadline_at <= now) {
        return bad_submit(fmt::format("--deadline: {} is past; it could only fail",
                                      printable(*options.deadline)));
    }
    return {};
}

/// What the engine will check, before a store is opened or made for it.
expected<void> check_execution(const CreateExecution& op, TimestampMs now) {
    core::Settings settings;
    settings.partitions.flow = std::numeric_limits<std::uint16_t>::max();  // the engine knows them
    SystemIdSource ids;
    FF_TRY_VOID(core::prepare(op, settings, ids, now));
    return {};
}

expected<void> add_payload(const SubmitOptions& options, CreateExecution& op) {
    if (options.payload && options.file) {
        return bad_submit("give the payload as an argument or with --file, not both");
    }
    if (options.file) {
        FF_TRY(op.input_payload, read_bytes(*options.file));
    } else if (options.payload == "-") {
        FF_TRY(op.input_payload, read_standard_input());
    } else {
        op.input_payload = options.payload.value_or("");
    }
    if (options.json) {
        if (const auto value = js::parse(op.input_payload); !value) {
            return bad_submit("the payload is not JSON: " + value.error().detail);
        }
        op.payload_encoding = "json";
    }
    return {};
}

std::string created_text(Output output, const CreateResult& created) {
    if (!for_programs(output)) {
        return created.execution_id.to_string() + "\n";
    }
    js::Value value = js::Object{{"execution_id", created.execution_id.to_string()},
                                 {"outcome", created.created ? "created" : "duplicate"}};
    if (created.created) {
        value.set("public_state", to_string(created.public_state));
    }
    return document(output, value);
}

/// How to ask for an execution that a message names.
std::string wait_command(const CommonOptions& common, std::string_view id) {
    std::string where;
    if (common.connect.connect) {
        where = " --connect " + without_password(*common.connect.connect);
    } else if (common.connect.profile) {
        where = " --profile " + *common.connect.profile;
    }
    return fmt::format("ff wait {}{}", id, where);
}

/// What became of it could not be heard: whoever handed it in finds it by this.
ExitCode complain_unheard(const CommonOptions& common, const ExecutionId& id, const Error& error) {
    const ExitCode fault = complain(error);
    if (error.code != ErrorCode::execution_not_found) {  // else it has ended, and is deleted
        complain("it was handed in, and may go on: " + wait_command(common, id.to_string()));
    }
    return fault;
}

/// It may be there all the same, when the answer of a server was lost.
ExitCode complain_refused(const CommonOptions& common, const Error& error) {
    const ExitCode fault = complain(error);
    if (const auto id = error.field("execution_id");
        !id.empty() && error.field("sent") == "maybe") {
        complain("it may have been handed in: " + wait_command(common, id));
    }
    return fault;
}

/// The result for people, everything for programs.
ExitCode print_ending(const CommonOptions& common, const Ending& ending) {
    const std::string id = ending.execution_id.to_string();
    if (!ending.snapshot) {
        return complain_unheard(common, ending.execution_id, ending.snapshot.error());
    }
    const ExecutionSnapshot& snapshot = *ending.snapshot;
    const PublicState state = snapshot.info.public_state;
    std::optional<ExecutionResult> result;
    if (state == PublicState::completed) {
        const auto session = open_session(common, Access::look);
        auto read = session ? session->ask(GetExecutionResult{ending.execution_id})
                            : std::unexpected(session.error());
        if (!read) {
            return complain_unheard(common, ending.execution_id, read.error());
        }
        result = std::move(*read);
    }
    if (for_programs(common.output)) {
        js::Value value = as_json(snapshot);
        value.set("result_payload", result ? bytes_json(result->payload) : js::Value());
        value.set("result_encoding",
                  result && result->encoding ? js::Value(*result->encoding) : js::Value());
        print_out(document(common.output, value));
    } else if (result) {
        print_out(result->payload);
        if (Terminal::output().interactive && !result->payload.ends_with('\n')) {
            print_out("\n");  // the prompt goes below it
        }
    }
    if (ending.over_time) {
        complain(fmt::format("{} has not ended in time: it is {}", id, to_string(state)));
        return ExitCode::failed;
    }
    if (state != PublicState::completed) {
        complain(fmt::format("{} {}", id, ending_text(snapshot)));
    }
    return exit_code_of(state);
}

}  // namespace

namespace {

/// All that can be found out before a store is opened or made for it.
expected<CreateExecution> wanted_execution(const CommonOptions& common,
                                           const SubmitOptions& options) {
    const TimestampMs now = SystemClock().now();
    FF_TRY(CreateExecution op, execution_of(options, now));
    FF_TRY_VOID(add_payload(options, op));
    FF_TRY_VOID(check_execution(op, now));
    FF_TRY(const Target target, choose_target(common.connect));
    if (target.is_file()) {  // its engine goes by the clock of this machine
        FF_TRY_VOID(check_deadline(options, op, now));
    }
    return op;
}

/// The same by the time by which the engine decides, as far as that is known here.
expected<void> set_engine_times(const SubmitOptions& options, TimestampMs now,
                                CreateExecution& op) {
    FF_TRY_VOID(set_times(options, now, op));
    return check_deadline(options, op, now);
}

}  // namespace

ExitCode run_submit(const CommonOptions& common, const SubmitOptions& options) {
    auto op = wanted_execution(common, options);
    if (!op) {
        return complain(op.error());
    }
    auto session = open_session(common, Access::create);
    if (!session) {
        return complain(session.error());
    }
    if (const auto timed = set_engine_times(options, session->engine->now(), *op); !timed) {
        return complain(timed.error());
    }
    const auto created = session->ask(std::move(*op));
    // Closed before the wait: the engine that will run it may want to open the store.
    session->engine.reset();
    if (!created) {
        return complain_refused(common, created.error());
    }
    if (!created->created && !for_programs(common.output)) {
        complain(fmt::format("duplicate: {} was handed in before, and is not handed in again",
                             created->execution_id.to_string()));
    }
    if (!options.wait) {
        print_out(created_text(common.output, *created));
        return ExitCode::ok;
    }
    if (Terminal::errors().interactive) {
        fmt::print(stderr, "{}\n", created->execution_id.to_string());
    }
    ExitCode code = ExitCode::failed;
    const auto waited =
        wait_for(common, {created->execution_id}, options.wait_timeout_ms,
                 [&](const Ending& ending) { code = print_ending(common, ending); });
    if (waited) {
        return code;
    }
    return complain_unheard(common, created->execution_id, waited.error());
}

}  // namespace ff::cli
