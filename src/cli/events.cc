#include "cli/events.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

#include <ff/follow.h>

#include "cli/bytes_file.h"
#include "cli/end_watch.h"
#include "cli/execution_ids.h"
#include "cli/inspect_json.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "wire/event_answers.h"
#include "wire/event_values.h"

namespace ff::cli {

namespace {

constexpr DurationMs follow_wait_ms = 20'000;
/// An engine that only looks does not wait; it is asked at most so often.
constexpr std::chrono::milliseconds follow_pause{250};
/// An engine that cannot be reached is asked again after a pause, which doubles.
constexpr std::chrono::milliseconds away_pause_first{100};
constexpr std::chrono::milliseconds away_pause_max{2'000};

expected<EventFamily> family_of(const std::string& word) {
    if (const auto family = event_family_of(word)) {
        return *family;
    }
    std::string all;
    for (std::size_t i = 0; i < enum_count<EventFamily>; ++i) {
        all += (i > 0 ? ", " : "") + event_family_path(static_cast<EventFamily>(i));
    }
    return ff::fail(ErrorCode::invalid_input,
                    fmt::format("there is no family of events named {}; there are {}", word, all));
}

expected<EventCursor> place_of(const std::string& word) {
    return EventCursor::from_hex(word == "now" ? "" : word);
}

expected<EventFilter> filter_of(const Session& session, const EventFilterArgs& args) {
    EventFilter out;
    out.ns = args.ns;
    if (args.tag && !wire::parse_text(*args.tag, out.tag.emplace()).empty()) {
        return ff::fail(ErrorCode::invalid_input,
                        fmt::format("a tag is KEY=VALUE, not {}", *args.tag));
    }
    if (args.execution) {
        FF_TRY(out.execution_id, find_id(session, *args.execution));
    }
    if (args.flow) {
        out.flow_id = FlowId::parse(*args.flow);
        if (!out.flow_id) {
            return ff::fail(ErrorCode::invalid_input,
                            fmt::format("a flow is named by its UUID, not {}", *args.flow));
        }
    }
    return out;
}

js::Value event_json(const Event& event) {
    std::string text;
    wire::write_event(text, event);
    return js::parse(text).value_or(js::Value());
}

/// `outcome=success lane_id=default`: what the payload says, without what says nothing.
std::string payload_text(const Event& event) {
    const auto payload = js::parse(event.payload);
    std::string out;
    if (payload && payload->if_object() != nullptr) {
        for (const js::Member& member : *payload->if_object()) {
            if (!member.second.is_null()) {
                const std::string* text = member.second.if_string();
                out += (out.empty() ? "" : " ") + member.first + "=" +
                       (text != nullptr ? *text : js::dump(member.second));
            }
        }
    }
    return out;
}

Style style_of(const Event& event) {
    if (event.payload.find("\"outcome\":\"success\"") != std::string::npos) {
        return Style::green;
    }
    const bool bad = event.type == "expired" ||
                     event.payload.find("\"outcome\":\"failed\"") != std::string::npos;
    return bad ? Style::red : Style::plain;
}

std::string events_table(const std::vector<Event>& events, const View& view, Titles titles) {
    const auto title = [&](const char* word) { return titles == Titles::shown ? word : ""; };
    Table table({{title("time")},
                 {title("type")},
                 {title("execution or flow")},
                 {title("what"), Align::left, Give::shrink}});
    for (const Event& event : events) {
        const std::string about = event.execution_id ? event.execution_id->to_string()
                                  : event.flow_id    ? event.flow_id->to_string()
                                                     : event.ns.value_or("");
        table.add(
            {time_text(event.at), Cell(event.type, style_of(event)), about, payload_text(event)});
    }
    return table.render(view.terminal);
}

/// Prints pages as they come.
class EventPrinter {
  public:
    explicit EventPrinter(const Session& session) : session_(session), list_(session.output) {}

    void print(const EventPage& page) {
        if (page.gap) {
            complain(fmt::format("events before {} are no longer kept", page.gap->oldest.hex()));
        }
        if (for_programs(session_.output)) {
            for (const Event& event : page.events) {
                print_out(list_.add(event_json(event)));
            }
        } else if (!page.events.empty()) {
            print_out(
                events_table(page.events, session_.view, std::exchange(titles_, Titles::none)));
        }
        if (page.fault) {
            complain(fmt::format("an event cannot be read: {}", page.fault->message));
        }
    }
    void finish(const EventCursor& next) {
        if (for_programs(session_.output)) {
            print_out(list_.finish(next.hex()));
        } else if (titles_ == Titles::shown) {
            print_out("no events\n");
        }
    }

  private:
    const Session& session_;
    ListWriter list_;
    Titles titles_ = Titles::shown;
};

/// Waits, but not when it is over.
void rest_until(std::chrono::steady_clock::time_point until, const std::stop_token& over) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_until(lock, over, until, [] { return false; });
}

/// Asks again, for as long as `ff tail` would, while the engine cannot be reached.
expected<EventPage> ask_patiently(const Session& session, const ReadEvents& op) {
    const auto until = std::chrono::steady_clock::now() + FollowOptions().patience;
    auto pause = away_pause_first;
    for (;;) {
        auto page = session.ask(op);
        const auto now = std::chrono::steady_clock::now();
        if (page || !info(page.error().code).retryable || op.abandoned.stop_requested() ||
            now + pause > until) {
            return page;
        }
        rest_until(now + pause, op.abandoned);
        pause = std::min(pause * 2, away_pause_max);
    }
}

expected<void> print_events(const CommonOptions& options, const EventArgs& args) {
    FF_TRY(const Target target, choose_target(options.connect));
    FF_TRY(Session session, open_session(options, Access::look));
    ReadEvents op;
    FF_TRY(op.family, family_of(args.family));
    FF_TRY(op.cursor, place_of(args.from));
    FF_TRY(op.filter, filter_of(session, args.filter));
    EndWatch end;
    op.abandoned = end.token();
    EventPrinter printer(session);
    std::uint64_t left = args.limit;
    while (!end.token().stop_requested() && (args.follow || left > 0)) {
        op.limit = std::min(args.follow ? events_per_read_max : left, events_per_read_max);
        op.block_ms = args.follow ? follow_wait_ms : 0;
        const auto asked = std::chrono::steady_clock::now();
        FF_TRY(const EventPage page, args.follow ? ask_patiently(session, op) : session.ask(op));
        printer.print(page);
        if (output_fault() != 0) {
            return {};
        }
        op.cursor = page.next_cursor;
        left -= std::min<std::uint64_t>(left, page.events.size());
        if (!args.follow && page.at_end) {
            break;
        }
        if (args.follow && page.events.empty() && page.at_end) {
            rest_until(asked + follow_pause, end.token());
            if (target.is_file()) {
                // Nothing of a file is held open between two looks: its owner may come and go.
                FF_TRY(session, open_session(options, Access::look));
            }
        }
    }
    printer.finish(op.cursor);
    return {};
}

}  // namespace

ExitCode show_events(const CommonOptions& options, const EventArgs& args) {
    if (args.follow && options.output == Output::json) {
        complain("--follow has no end, and a JSON document needs one: use -o jsonl");
        return ExitCode::usage;
    }
    const auto done = print_events(options, args);
    return done ? ExitCode::ok : complain(done.error());
}

expected<std::string> show_timeline(const Session& session, const std::string& word) {
    FF_TRY(const ExecutionId id, find_id(session, word));
    ReadTimeline op{id};
    op.limit = events_per_read_max;
    std::vector<Event> all;
    for (;;) {
        FF_TRY(EventPage page, session.ask(op));
        std::ranges::move(page.events, std::back_inserter(all));
        if (page.gap) {
            complain(
                fmt::format("some of what happened to it before {} is no longer kept, or too long "
                            "ago to be shown",
                            page.gap->oldest.hex()));
        }
        if (page.at_end) {
            break;
        }
        op.cursor = page.next_cursor;
    }
    if (for_programs(session.output)) {
        js::Array items;
        for (const Event& event : all) {
            items.push_back(event_json(event));
        }
        return list_document(session.output, items, std::nullopt);
    }
    Table table({{"time"}, {"family"}, {"type"}, {"what", Align::left, Give::shrink}});
    for (const Event& event : all) {
        table.add({time_text(event.at), to_string(event.family), Cell(event.type, style_of(event)),
                   payload_text(event)});
    }
    return all.empty() ? "nothing that is still kept has happened to it\n"
                       : table.render(session.view.terminal);
}

// ---------------------------------------------------------------------------------------- webhooks

namespace {

expected<void> check_webhook_word(const std::string& word) {
    if (!WebhookId::parse(word) && word.size() < suffix_digits_min) {
        return ff::fail(ErrorCode::invalid_input,
                        fmt::format("{} names no webhook: give its id, or the last {} digits or "
                                    "more of it",
                                    word, suffix_digits_min));
    }
    return {};
}

/// By its whole id, or by the last six digits of it or more.
expected<WebhookInfo> find_webhook(const Session& session, const std::string& word) {
    FF_TRY_VOID(check_webhook_word(word));
    if (const auto id = WebhookId::parse(word)) {
        FF_TRY(auto found, session.ask(DescribeWebhook{*id}));
        if (found) {
            return std::move(*found);
        }
        return ff::fail(ErrorCode::webhook_not_found, "there is no webhook " + word);
    }
    std::vector<WebhookInfo> found;
    ListWebhooks op;
    op.limit = webhooks_per_page_max;
    do {
        FF_TRY(WebhookPage page, session.ask(op));
        for (WebhookInfo& webhook : page.webhooks) {
            if (webhook.webhook_id.to_string().ends_with(word)) {
                found.push_back(std::move(webhook));
            }
        }
        op.after = page.next;
    } while (op.after);
    if (found.empty()) {
        return ff::fail(ErrorCode::webhook_not_found, "there is no webhook " + word);
    }
    if (found.size() > 1) {
        return std::unexpected(Error{ErrorCode::invalid_input,
                                     fmt::format("{} webhooks end in {}", found.size(), word),
                                     {{std::string(ambiguous_field), word}}});
    }
    return std::move(found.front());
}

Cell webhook_state(const WebhookInfo& webhook) {
    if (webhook.paused) {
        return {"paused", Style::dim};
    }
    return webhook.failures > 0 ? Cell("failing", Style::red) : Cell("active", Style::green);
}

std::string filter_text(const EventFilter& filter) {
    std::string out;
    const auto add = [&](const char* name, const std::string& value) {
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", name, value);
    };
    if (filter.ns) {
        add("namespace", *filter.ns);
    }
    if (filter.tag) {
        add("tag", wire::event_tag_text(*filter.tag));
    }
    if (filter.execution_id) {
        add("execution", filter.execution_id->to_string());
    }
    if (filter.flow_id) {
        add("flow", filter.flow_id->to_string());
    }
    return out.empty() ? "all" : out;
}

ExitCode for_each_webhook(
    const CommonOptions& options, const std::vector<std::string>& ids,
    const std::function<expected<std::string>(const Session&, const WebhookInfo&)>& act) {
    for (const std::string& id : ids) {
        if (auto fine = check_webhook_word(id); !fine) {
            Error error = std::move(fine).error();
            error.detail += ids.size() > 1 ? fmt::format("; {}", not_changed) : "";
            return complain(error);
        }
    }
    return with_session(options, Access::change, [&](const Session& session) {
        ExitCode worst = ExitCode::ok;
        for (const std::string& id : ids) {
            const auto one = [&]() -> expected<std::string> {
                FF_TRY(const WebhookInfo webhook, find_webhook(session, id));
                return act(session, webhook);
            }();
            if (one) {
                fmt::print("{}", *one);
            } else {
                worst = worse(worst, complain(one.error()));
            }
        }
        return worst;
    });
}

}  // namespace

ExitCode create_webhook(const CommonOptions& options, const WebhookArgs& args) {
    return with_session(options, Access::change, [&](const Session& session) -> ExitCode {
        const auto create = [&]() -> expected<CreateWebhookResult> {
            CreateWebhook op;
            op.url = args.url;
            FF_TRY(op.family, family_of(args.family));
            FF_TRY(op.cursor, place_of(args.from));
            FF_TRY(op.filter, filter_of(session, args.filter));
            if (args.secret_file) {
                FF_TRY(op.secret_hex, *args.secret_file == "-" ? read_standard_input()
                                                               : read_bytes(*args.secret_file));
                while (!op.secret_hex.empty() && op.secret_hex.back() == '\n') {
                    op.secret_hex.pop_back();
                }
            }
            return session.ask(std::move(op));
        };
        const auto made = create();
        if (!made) {
            return complain(made.error());
        }
        if (for_programs(session.output)) {
            js::Object object{{"webhook_id", made->webhook_id.to_string()}};
            if (!made->secret_hex.empty()) {
                object.emplace_back("secret_hex", made->secret_hex);
            }
            fmt::print("{}", document(session.output, js::Value(std::move(object))));
            return ExitCode::ok;
        }
        fmt::print("{}\n", made->webhook_id.to_string());
        if (!made->secret_hex.empty()) {
            fmt::print(
                "secret {}\nKeep it: it proves that a delivery is ours, and is not shown "
                "again.\n",
                made->secret_hex);
        }
        if (const auto target = choose_target(options.connect); target && !target->is_server()) {
            fmt::print("It is delivered while a server runs on this store: ff serve\n");
        }
        return ExitCode::ok;
    });
}

expected<std::string> show_webhooks(const Session& session) {
    std::vector<WebhookInfo> all;
    ListWebhooks op;
    op.limit = webhooks_per_page_max;
    do {
        FF_TRY(WebhookPage page, session.ask(op));
        std::ranges::move(page.webhooks, std::back_inserter(all));
        op.after = page.next;
    } while (op.after);
    if (for_programs(session.output)) {
        return list_document(session.output, all_as_json(all), std::nullopt);
    }
    if (all.empty()) {
        return "no webhooks\n";
    }
    Table table({{"webhook"},
                 {"state"},
                 {"family"},
                 {"filter", Align::left, Give::shrink},
                 {"delivered", Align::right},
                 {"url", Align::left, Give::shrink},
                 {"last error", Align::left, Give::shrink}});
    for (const WebhookInfo& webhook : all) {
        table.add({webhook.webhook_id.to_string(), webhook_state(webhook),
                   event_family_path(webhook.family), filter_text(webhook.filter),
                   with_commas(webhook.delivered), webhook.url, webhook.last_error.value_or("")});
    }
    return table.render(session.view.terminal);
}

expected<std::string> show_webhook(const Session& session, const std::string& id) {
    FF_TRY(const WebhookInfo webhook, find_webhook(session, id));
    if (for_programs(session.output)) {
        return document(session.output, as_json(webhook));
    }
    const TimestampMs now = session.view.now;
    Table table({{""}, {""}});
    const auto add_time = [&](const char* name, const std::optional<TimestampMs>& at) {
        if (at) {
            table.add({name, when(*at, now)});
        }
    };
    table.add({"webhook", webhook.webhook_id.to_string()});
    table.add({"state", webhook_state(webhook)});
    table.add({"url", webhook.url});
    table.add({"family", event_family_path(webhook.family)});
    table.add({"filter", filter_text(webhook.filter)});
    table.add({"cursor", webhook.cursor.hex()});
    table.add({"delivered", with_commas(webhook.delivered) + " events"});
    table.add({"failures", with_commas(webhook.failures) + " in a row"});
    table.add({"gaps", with_commas(webhook.missed_gaps)});
    add_time("created", webhook.created_at);
    add_time("last success", webhook.last_success_at);
    add_time("last failure", webhook.last_failure_at);
    if (webhook.last_error) {
        table.add({"last error", *webhook.last_error});
    }
    add_time("next try", webhook.next_try_at);
    return table.render(session.view.terminal);
}

ExitCode pause_webhooks(const CommonOptions& options, const std::vector<std::string>& ids,
                        bool paused) {
    return for_each_webhook(
        options, ids,
        [&](const Session& session, const WebhookInfo& webhook) -> expected<std::string> {
            FF_TRY(const WebhookInfo now, session.ask(PauseWebhook{webhook.webhook_id, paused}));
            return for_programs(session.output) ? document(Output::jsonl, as_json(now))
                                                : fmt::format("{} {}\n", now.webhook_id.to_string(),
                                                              paused ? "paused" : "goes on");
        });
}

ExitCode delete_webhooks(const CommonOptions& options, const std::vector<std::string>& ids) {
    return for_each_webhook(
        options, ids,
        [&](const Session& session, const WebhookInfo& webhook) -> expected<std::string> {
            FF_TRY_VOID(session.ask(DeleteWebhook{webhook.webhook_id}));
            const std::string id = webhook.webhook_id.to_string();
            return for_programs(session.output)
                       ? document(Output::jsonl, js::Object{{"webhook_id", id}})
                       : id + " deleted\n";
        });
}

}  // namespace ff::cli
