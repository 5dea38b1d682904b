#include "wire/stream_answers.h"

#include "wire/answer_in.h"
#include "wire/answer_out.h"
#include "wire/base64.h"
#include "wire/request_in.h"

namespace ff::wire {

namespace {

/// Text that JSON and people can hold.
bool is_text(std::string_view payload) {
    return payload.find('\0') == std::string_view::npos && is_valid_utf8(payload);
}

Fault read_id(const std::string& text, FrameId& out) {
    const auto cursor = FrameCursor::parse(text);
    if (!cursor || cursor->at != FrameCursor::At::frame) {
        return ": expected <ms>-<seq>";
    }
    out = cursor->id;
    return {};
}

}  // namespace

void write_frame(std::string& out, const StreamFrame& frame) {
    ObjectOut object(out);
    object.field("id", frame.id.to_string());
    object.key("fields");
    ObjectOut fields(out);
    if (frame.correlation_id) {
        fields.field("correlation_id", *frame.correlation_id);
    }
    const bool text = is_text(frame.payload);
    fields.field("encoding", std::string_view(text ? "utf8" : "base64"));
    fields.field("frame_type", frame.frame_type);
    fields.field("mode", frame.mode);
    std::string encoded;
    if (!text) {
        append_base64(encoded, frame.payload);
    }
    fields.field("payload", text ? frame.payload : encoded);
    fields.field("source", frame.source);
    if (frame.summary_version) {
        fields.field("summary_version", std::to_string(*frame.summary_version));
    }
    fields.field("ts", std::to_string(frame.ts));
    if (frame.ttl_ms) {
        fields.field("ttl_ms", std::to_string(*frame.ttl_ms));
    }
    fields.close();
    object.close();
}

Fault read_frame(const json& value, StreamFrame& out) {
    const json* id = value.find("id");
    const json* fields = value.find("fields");
    if (id == nullptr || id->if_string() == nullptr || fields == nullptr) {
        return ": expected a frame";
    }
    if (Fault fault = read_id(*id->if_string(), out.id); !fault.empty()) {
        return ".id" + fault;
    }
    const auto text = [&](std::string_view name) -> const std::string* {
        const json* member = fields->find(name);
        return member != nullptr ? member->if_string() : nullptr;
    };
    const auto take = [&](std::string_view name, auto& into) -> Fault {
        const std::string* found = text(name);
        return found != nullptr ? parse_text(*found, into) : Fault(": missing");
    };
    if (Fault fault = take("frame_type", out.frame_type); !fault.empty()) {
        return ".frame_type" + fault;
    }
    if (Fault fault = take("mode", out.mode); !fault.empty()) {
        return ".mode" + fault;
    }
    if (Fault fault = take("ts", out.ts); !fault.empty()) {
        return ".ts" + fault;
    }
    if (Fault fault = take("payload", out.payload); !fault.empty()) {
        return ".payload" + fault;
    }
    if (const std::string* encoding = text("encoding");
        encoding != nullptr && *encoding == "base64") {
        auto bytes = base64_decode(out.payload);
        if (!bytes) {
            return ".payload: expected base64";
        }
        out.payload = std::move(*bytes);
    }
    if (const std::string* source = text("source")) {
        out.source = *source;
    }
    if (const std::string* correlation = text("correlation_id")) {
        out.correlation_id = *correlation;
    }
    if (text("summary_version") != nullptr) {
        if (Fault fault = take("summary_version", out.summary_version.emplace()); !fault.empty()) {
            return ".summary_version" + fault;
        }
    }
    if (text("ttl_ms") != nullptr) {
        if (Fault fault = take("ttl_ms", out.ttl_ms.emplace()); !fault.empty()) {
            return ".ttl_ms" + fault;
        }
    }
    return {};
}

// ------------------------------------------------------------------------------------ writing

template <>
Answer write_answer<AppendFrames>(const AppendResult& result) {
    std::string out = "{\"appended\":[";
    for (const AppendedFrame& frame : result.appended) {
        out += &frame == result.appended.data() ? "" : ",";
        ObjectOut object(out);
        object.field("stream_id", frame.id.to_string());
        object.field("frame_count", frame.frame_count);
        object.field_if("summary_version", frame.summary_version);
        if (frame.duplicate) {
            object.field("duplicate", true);
        }
        object.close();
    }
    return ok(out + "]}");
}

namespace {

Answer write_page(const StreamPage& page) {
    std::string out = "{\"frames\":[";
    for (const StreamFrame& frame : page.frames) {
        out += &frame == page.frames.data() ? "" : ",";
        write_frame(out, frame);
    }
    out += "],\"count\":" + std::to_string(page.frames.size());
    if (page.closed_at) {
        out += ",\"closed_at\":" + std::to_string(*page.closed_at);
    }
    if (page.closed_reason) {
        out += ",\"closed_reason\":\"" + std::string(to_string(*page.closed_reason)) + "\"";
    }
    return ok(out + "}");
}

}  // namespace

template <>
Answer write_answer<ReadStream>(const StreamPage& page) {
    return write_page(page);
}

template <>
Answer write_answer<TailStream>(const StreamPage& page) {
    return write_page(page);
}

template <>
Answer write_answer<ReadStreamSummary>(const std::optional<StreamSummary>& summary) {
    if (!summary) {
        return {404, R"({"error":"no summary frame was ever applied"})", "application/json", {}};
    }
    std::string out;
    ObjectOut object(out);
    object.document("document", std::optional(summary->document));
    object.field("version", summary->version);
    object.field("patch_kind", summary->patch_kind);
    object.field("last_updated_ms", summary->last_updated_ms);
    object.field("first_applied_ms", summary->first_applied_ms);
    object.close();
    return ok(std::move(out));
}

// ------------------------------------------------------------------------------------ reading

expected<AppendResult> result_of(const AppendFrames&, const json& body) {
    const json* list = body.find("appended");
    if (list == nullptr || list->if_array() == nullptr) {
        return std::unexpected(strange(": no appended"));
    }
    AppendResult out;
    for (const json& item : *list->if_array()) {
        AppendedFrame& frame = out.appended.emplace_back();
        FF_TRY(const auto id, field_of<std::string>(&item, "stream_id"));
        if (const Fault fault = read_id(id, frame.id); !fault.empty()) {
            return std::unexpected(strange(": stream_id" + fault));
        }
        FF_TRY(frame.frame_count, field_of<std::uint64_t>(&item, "frame_count"));
        if (item.find("summary_version") != nullptr) {
            FF_TRY(frame.summary_version, field_of<std::uint64_t>(&item, "summary_version"));
        }
        frame.duplicate = item.find("duplicate") != nullptr;
    }
    return out;
}

namespace {

expected<StreamPage> page_of(const json& body) {
    const json* list = body.find("frames");
    if (list == nullptr || list->if_array() == nullptr) {
        return std::unexpected(strange(": no frames"));
    }
    StreamPage out;
    for (const json& item : *list->if_array()) {
        if (const Fault fault = read_frame(item, out.frames.emplace_back()); !fault.empty()) {
            return std::unexpected(strange(": frame" + fault));
        }
    }
    if (body.find("closed_at") != nullptr) {
        FF_TRY(out.closed_at, field_of<TimestampMs>(&body, "closed_at"));
        FF_TRY(out.closed_reason, field_of<StreamClosedReason>(&body, "closed_reason"));
    }
    return out;
}

}  // namespace

expected<StreamPage> result_of(const ReadStream&, const json& body) { return page_of(body); }
expected<StreamPage> result_of(const TailStream&, const json& body) { return page_of(body); }

expected<std::optional<StreamSummary>> result_of(const ReadStreamSummary&, const json& body) {
    StreamSummary out;
    const json* document = body.find("document");
    if (document == nullptr) {
        return std::unexpected(strange(": no document"));
    }
    out.document = js::dump(*document);
    FF_TRY(out.version, field_of<std::uint64_t>(&body, "version"));
    FF_TRY(out.patch_kind, field_of<std::string>(&body, "patch_kind"));
    FF_TRY(out.last_updated_ms, field_of<TimestampMs>(&body, "last_updated_ms"));
    FF_TRY(out.first_applied_ms, field_of<TimestampMs>(&body, "first_applied_ms"));
    return std::optional(std::move(out));
}

}  // namespace ff::wire
