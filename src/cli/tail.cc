#include "cli/tail.h"

#include <fmt/core.h>

#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include <ff/client.h>
#include <ff/clock.h>

#include "cli/end_watch.h"
#include "cli/execution_ids.h"
#include "cli/frame_text.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"

namespace ff::cli {

namespace {

/// Between looks at a file.
constexpr std::chrono::milliseconds file_pause{200};

class Tail {
  public:
    Tail(const CommonOptions& options, const TailArgs& args) : options_(options), args_(args) {}

    expected<void> run() {
        FF_TRY(const Target target, choose_target(options_.connect));
        FF_TRY(Session session, open_session(options_, Access::look));
        terminal_ = session.view.terminal;
        FF_TRY(const ExecutionId id, find_id(session, args_.id));
        FF_TRY(FollowOptions how, prepare(session, id));
        // Nothing of a file is held open between two looks: its owner may come and go.
        how.wait = !args_.no_follow && !target.is_file();
        for (;;) {
            Following following(std::exchange(session.engine, nullptr), id, how);
            FF_TRY_VOID(show(following));
            if (args_.no_follow || following.ended() || end_.token().stop_requested()) {
                return {};
            }
            how.from = following.cursor();
            std::this_thread::sleep_for(file_pause);
            FF_TRY(session, open_session(options_, Access::look));
        }
    }

  private:
    expected<FollowOptions> prepare(const Session& session, const ExecutionId& id) {
        FollowOptions how;
        how.stop = end_.token();
        how.attempt_index = args_.attempt;
        how.frame_types = args_.types;
        how.visibility =
            args_.no_live ? StreamVisibility::exclude_best_effort : StreamVisibility::all;
        FF_TRY(const auto since,
               moment_of("--since", args_.since, session.engine->now(), Towards::past));
        if (since) {
            since_ = *since;
            how.from = {args_.attempt.value_or(0), before(since_)};
        }
        if (args_.from) {
            FF_TRY(how.from, FollowCursor::parse(*args_.from));
        }
        if (args_.last) {
            FF_TRY(how.from, last_frames(session, id, how));
        }
        return how;
    }

    /// Behind everything that is older.
    static FrameId before(TimestampMs at) {
        return at <= 0 ? FrameId{} : FrameId{at - 1, std::numeric_limits<std::int64_t>::max()};
    }

    /// The place before the last frames of the latest attempt.
    expected<FollowCursor> last_frames(const Session& session, const ExecutionId& id,
                                       const FollowOptions& how) const {
        FF_TRY(const auto found, session.ask(DescribeExecution{id}));
        const std::uint32_t latest =
            found && found->total_attempt_count > 0 ? found->total_attempt_count - 1 : 0;
        ReadStream op;
        op.execution_id = id;
        op.attempt_index = args_.attempt.value_or(latest);
        op.visibility = how.visibility;
        op.frame_types = how.frame_types;
        op.order = StreamOrder::desc;
        op.to = FrameCursor::end();
        // A page of large frames is shorter than was asked for: only an empty one is the last.
        for (std::uint64_t left = *args_.last + 1; left > 0;) {
            op.limit = std::min(left + 1, frames_per_read_max);  // the last one comes again
            FF_TRY(StreamPage page, session.ask(op));
            std::erase_if(page.frames,
                          [&](const StreamFrame& frame) { return op.to == FrameCursor(frame.id); });
            if (page.frames.empty()) {
                return FollowCursor{op.attempt_index, FrameId{}};
            }
            const std::uint64_t taken = std::min<std::uint64_t>(left, page.frames.size());
            op.to = page.frames[taken - 1].id;
            left -= taken;
        }
        return FollowCursor{op.attempt_index, op.to.id};
    }

    expected<void> show(Following& following) {
        for (;;) {
            FF_TRY(const auto frame, following.try_next());
            if (!frame) {
                return {};
            }
            if (frame->ts < since_) {
                continue;
            }
            print_out(text_of(*frame));
            if (output_fault() != 0) {
                end_.request_stop();
                return {};
            }
        }
    }

    std::string text_of(const FollowedFrame& frame) {
        if (for_programs(options_.output)) {
            return document(Output::jsonl, frame_json(frame));
        }
        if (args_.raw) {
            return frame_raw(frame, terminal_);
        }
        std::string heading;
        if (terminal_.interactive && frame.attempt_index != shown_attempt_) {
            heading =
                terminal_.paint(fmt::format("attempt {}", frame.attempt_index), Style::bold) + "\n";
        }
        shown_attempt_ = frame.attempt_index;
        return heading + frame_text(frame, terminal_);
    }

    const CommonOptions& options_;
    const TailArgs& args_;
    Terminal terminal_;
    TimestampMs since_ = 0;
    std::uint32_t shown_attempt_ = 0;  ///< the first one needs no heading
    EndWatch end_;
};

expected<std::string> summary_text(const Session& session, const TailArgs& args) {
    FF_TRY(const ExecutionId id, find_id(session, args.id));
    std::uint32_t attempt = args.attempt.value_or(0);
    if (!args.attempt) {
        FF_TRY(const auto found, session.ask(DescribeExecution{id}));
        if (!found) {
            return std::unexpected(no_such_execution(id.to_string()));
        }
        attempt = found->total_attempt_count > 0 ? found->total_attempt_count - 1 : 0;
    }
    FF_TRY(const auto summary, session.ask(ReadStreamSummary{id, attempt}));
    if (!summary) {
        return ff::fail(ErrorCode::stream_not_found,
                        fmt::format("attempt {} of {} has no summary", attempt, id.to_string()));
    }
    FF_TRY(const js::Value content, js::parse(summary->document));
    if (!for_programs(session.output)) {
        return js::dump_pretty(content) + "\n";
    }
    return document(session.output, js::Object{{"attempt_index", attempt},
                                               {"document", content},
                                               {"version", summary->version},
                                               {"patch_kind", summary->patch_kind},
                                               {"last_updated_ms", summary->last_updated_ms},
                                               {"first_applied_ms", summary->first_applied_ms}});
}

}  // namespace

ExitCode run_tail(const CommonOptions& options, const TailArgs& args) {
    if (args.summary) {
        return print_from(options,
                          [&](const Session& session) { return summary_text(session, args); });
    }
    if (const auto parsed = parse_id(args.id); !parsed) {
        return complain(parsed.error());
    }
    const auto shown = Tail(options, args).run();
    return shown ? ExitCode::ok : complain(shown.error());
}

}  // namespace ff::cli
