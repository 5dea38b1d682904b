#include "cli/frame_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "cli/text.h"
#include "wire/stream_answers.h"

namespace ff::cli {

namespace {

/// Printable, but tabs stay: they steer nothing, and programs like them.
std::string line_text(std::string_view line) {
    std::string out;
    for (;;) {
        const std::size_t tab = line.find('\t');
        out += printable(line.substr(0, tab));
        if (tab == std::string_view::npos) {
            return out;
        }
        out += '\t';
        line.remove_prefix(tab + 1);
    }
}

/// Each line of a text in a style; the last one has a line break too.
std::string lines_text(std::string_view text, const Terminal& terminal, Style style) {
    std::string out;
    do {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out += terminal.paint(line_text(text.substr(0, end)), style) + "\n";
        text.remove_prefix(std::min(end + 1, text.size()));
    } while (!text.empty());
    return out;
}

bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::none_of(text, [](unsigned char c) {
        return c <= ' ' || c == '"' || c == '=' || c == 0x7F;
    });
}

std::string value_text(const js::Value& value) {
    const std::string* text = value.if_string();
    return text != nullptr && is_plain(*text) ? *text : js::dump(value);
}

/// `name=think number=3`; nothing when it is no object.
std::string members_text(std::string_view payload, const Terminal& terminal) {
    if (!payload.starts_with('{')) {
        return "";
    }
    const auto parsed = js::parse(payload);
    const js::Object* object = parsed ? parsed->if_object() : nullptr;
    if (object == nullptr) {
        return "";
    }
    std::string out;
    for (const auto& [name, value] : *object) {
        out += (out.empty() ? "" : " ") + terminal.paint(printable(name) + "=", Style::dim) +
               printable(value_text(value));
    }
    return out.empty() ? "{}" : out;
}

bool is_text(std::string_view payload) {
    return payload.find('\0') == std::string_view::npos && is_valid_utf8(payload);
}

Style style_of(const FollowedFrame& frame) {
    switch (frame.mode) {
        case FrameMode::summary: return Style::green;
        case FrameMode::best_effort: return Style::dim;
        case FrameMode::durable: break;
    }
    return Style::cyan;
}

std::string payload_text(const FollowedFrame& frame, const Terminal& terminal) {
    if (!is_text(frame.payload)) {
        return terminal.paint(
            fmt::format("({} that are no text)", bytes_text(frame.payload.size())), Style::dim);
    }
    const std::string members = members_text(frame.payload, terminal);
    return members.empty() ? line_text(frame.payload) : members;
}

}  // namespace

std::string frame_text(const FollowedFrame& frame, const Terminal& terminal) {
    if (frame.frame_type == "stdout" || frame.frame_type == "stderr") {
        const bool error = frame.frame_type == "stderr";
        return lines_text(frame.payload, terminal, error ? Style::red : Style::plain);
    }
    std::string type = printable(frame.frame_type);
    if (frame.summary_version) {
        type += fmt::format(" v{}", *frame.summary_version);
    }
    return fmt::format("{} {}  {}\n",
                       terminal.paint(time_text(frame.ts).substr(11, 12), Style::dim),
                       terminal.paint(type, style_of(frame)), payload_text(frame, terminal));
}

std::string frame_raw(const FollowedFrame& frame, const Terminal& terminal) {
    if (!terminal.interactive) {
        return frame.payload;
    }
    std::string out;
    std::string_view rest = frame.payload;
    for (;;) {
        const std::size_t end = rest.find('\n');
        out += line_text(rest.substr(0, end));
        if (end == std::string_view::npos) {
            return out;
        }
        out += '\n';
        rest.remove_prefix(end + 1);
    }
}

js::Value frame_json(const FollowedFrame& frame) {
    std::string text;
    wire::write_frame(text, frame);
    js::Value out = js::parse(text).value_or(js::Value());
    js::Object object{{"attempt_index", frame.attempt_index},
                      {"cursor", frame.cursor().to_string()}};
    if (js::Object* fields = out.if_object()) {
        std::ranges::move(*fields, std::back_inserter(object));
    }
    return object;
}

}  // namespace ff::cli
