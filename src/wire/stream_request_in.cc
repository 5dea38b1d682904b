// Frames in requests: read, written, and what they look like to those who read the description.
#include <limits>

#include "wire/request_in.h"
#include "wire/request_out.h"
#include "wire/request_schema.h"
#include "wire/requests.h"

namespace ff::wire {

namespace {

Fault read_number(const json& mode, std::string_view name, std::int64_t& out) {
    const json* member = mode.find(name);
    if (member == nullptr || member->is_null()) {
        return {};
    }
    Fault fault = read(*member, out);
    return fault.empty() ? fault : "." + std::string(name) + fault;
}

/// `{"type":"durable"}` and so on, with what belongs to the type.
Fault read_mode(const json& mode, Frame& frame) {
    const json* type = mode.find("type");
    if (type == nullptr) {
        return ".type: missing";
    }
    if (Fault fault = read(*type, frame.mode); !fault.empty()) {
        return ".type" + fault;
    }
    if (const json* kind = mode.find("patch_kind");
        kind != nullptr && frame.mode == FrameMode::summary) {
        if (Fault fault = read(*kind, frame.patch_kind); !fault.empty()) {
            return ".patch_kind" + fault;
        }
    }
    if (frame.mode != FrameMode::best_effort) {
        return {};
    }
    const json* ttl = mode.find("ttl_ms");
    if (ttl == nullptr) {
        return ".ttl_ms: missing";
    }
    if (Fault fault = read(*ttl, frame.best_effort.ttl_ms); !fault.empty()) {
        return ".ttl_ms" + fault;
    }
    if (Fault fault = read_number(mode, "maxlen_floor", frame.best_effort.maxlen_floor);
        !fault.empty()) {
        return fault;
    }
    if (Fault fault = read_number(mode, "maxlen_ceiling", frame.best_effort.maxlen_ceiling);
        !fault.empty()) {
        return fault;
    }
    if (const json* alpha = mode.find("ema_alpha"); alpha != nullptr && !alpha->is_null()) {
        const auto number = alpha->as_double();
        if (!number) {
            return ".ema_alpha: expected a number";
        }
        frame.best_effort.ema_alpha = *number;
    }
    return {};
}

void write_mode(std::string& out, const Frame& frame) {
    ObjectOut mode(out);
    mode.field("type", frame.mode);
    if (frame.mode == FrameMode::summary) {
        mode.field("patch_kind", frame.patch_kind);
    } else if (frame.mode == FrameMode::best_effort) {
        mode.field("ttl_ms", frame.best_effort.ttl_ms);
        mode.field("maxlen_floor", frame.best_effort.maxlen_floor);
        mode.field("maxlen_ceiling", frame.best_effort.maxlen_ceiling);
        mode.field("ema_alpha", json(frame.best_effort.ema_alpha));
    }
    mode.close();
}

}  // namespace

void RequestIn::frames(std::string_view name, std::vector<Frame>& frames) {
    const json* member = wanted(name);
    if (member == nullptr) {
        return;
    }
    const js::Array* list = member->if_array();
    if (list == nullptr || list->empty() || list->size() > frames_per_append_max) {
        keep(name, list == nullptr ? ": expected an array"
                                   : ": expected 1 to " + std::to_string(frames_per_append_max) +
                                         " frames, not " + std::to_string(list->size()));
        return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string place = std::string(name) + "[" + std::to_string(i) + "]";
        Frame& frame = frames.emplace_back();
        Routed one;
        one.body = (*list)[i];
        if (one.body.if_object() == nullptr) {
            keep(place, ": expected an object");
            return;
        }
        RequestIn reader(one, Named::in_body);
        describe_frame(reader, frame);
        if (!reader.body_fault_.empty()) {
            keep(place, "." + reader.body_fault_);
        }
        if (const json* mode = one.body.find("mode"); mode != nullptr && !mode->is_null()) {
            keep(place + ".mode",
                 mode->if_object() == nullptr ? ": expected an object" : read_mode(*mode, frame));
        }
    }
}

void RequestOut::frames(std::string_view name, std::vector<Frame>& frames) {
    body_.key(name);
    text_.push_back('[');
    for (Frame& frame : frames) {
        text_ += &frame == frames.data() ? "" : ",";
        RequestOut one(at_);
        describe_frame(one, frame);
        one.body_.key("mode");
        write_mode(one.text_, frame);
        one.body_.close();
        text_ += one.text_;
    }
    text_.push_back(']');
}

void RequestSchema::frames(std::string_view name, std::vector<Frame>& /*frames*/) {
    RequestSchema one(at_);
    Frame frame;
    describe_frame(one, frame);
    json mode =
        json{{"type", "object"},
             {"properties",
              json{{"type", schemas::of(FrameMode{})},
                   {"patch_kind", json{{"const", json_merge_patch}}},
                   {"ttl_ms", schemas::integer(0, std::numeric_limits<std::uint32_t>::max())},
                   {"maxlen_floor", schemas::of(std::int64_t{})},
                   {"maxlen_ceiling", schemas::of(std::int64_t{})},
                   {"ema_alpha", json{{"type", "number"}}}}},
             {"required", js::Array{json("type")}}};
    one.member("mode", std::move(mode), false);
    member(name,
           json{{"type", "array"},
                {"items", one.take_body()},
                {"minItems", 1},
                {"maxItems", static_cast<std::uint64_t>(frames_per_append_max)}},
           true);
}

}  // namespace ff::wire
