#include "http/event_stream.h"

namespace ff::http {

void add_event(std::string& out, std::string_view id, std::string_view type,
               std::string_view data) {
    if (!id.empty()) {
        out += "id: ";
        out += id;
        out += '\n';
    }
    out += "event: ";
    out += type;
    out += "\ndata: ";
    out += data;
    out += "\n\n";
}

wire::Answer begin_stream(std::string text, std::shared_ptr<wire::BodyParts> parts) {
    wire::Answer answer{200, std::move(text), "text/event-stream", {}};
    // Proxies must hand on what they get, and keep none of it.
    answer.headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
    answer.parts = std::move(parts);
    return answer;
}

}  // namespace ff::http
