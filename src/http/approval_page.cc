#include "http/approval_page.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace ff::http {

namespace {

constexpr std::size_t payload_bytes_max = 4'096;

constexpr std::string_view style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}"
    "dt{font-weight:600}dd{margin:0 0 .6rem;overflow-wrap:anywhere}"
    "pre{background:#f4f4f4;padding:.8rem;overflow:auto;white-space:pre-wrap}"
    "button{font:inherit;padding:.5rem 1.2rem;margin:0 .6rem .6rem 0}";

/// Nothing may be loaded, run or framed; forms go back to where the page came from.
wire::Answer page(int status, std::string_view title, std::string_view body) {
    std::string out = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">";
    out += "<meta name=\"viewport\" content=\"width=device-width\">";
    out += "<meta name=\"robots\" content=\"noindex\"><title>";
    out += html_escaped(title);
    out += "</title><style>";
    out += style;
    out += "</style></head><body>\n<h1>";
    out += html_escaped(title);
    out += "</h1>\n";
    out += body;
    out += "</body></html>\n";
    return {status,
            std::move(out),
            "text/html; charset=utf-8",
            {{"Cache-Control", "no-store"},
             {"Content-Security-Policy",
              "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri "
              "'none'; frame-ancestors 'none'"},
             {"Referrer-Policy", "no-referrer"},
             {"X-Content-Type-Options", "nosniff"}}};
}

void add(std::string& out, std::string_view name, std::string_view value) {
    out += "<dt>";
    out += name;
    out += "</dt><dd>";
    out += html_escaped(value);
    out += "</dd>\n";
}

std::string tags_text(const Tags& tags) {
    std::string out;
    for (const auto& [key, value] : tags) {
        out += (out.empty() ? "" : ", ") + key + "=" + value;
    }
    return out;
}

void add_payload(std::string& out, const std::string& payload) {
    if (payload.empty()) {
        return;
    }
    if (!is_valid_utf8(payload)) {
        add(out, "Input", std::to_string(payload.size()) + " bytes that are not text");
        return;
    }
    out += "<dt>Input</dt><dd><pre>";
    out += html_escaped(truncate_utf8(payload, payload_bytes_max));
    out += payload.size() > payload_bytes_max ? "\n… (cut)" : "";
    out += "</pre></dd>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            case '\0': out += "\xEF\xBF\xBD"; break;  // no character of a page
            default: out += c;
        }
    }
    return out;
}

std::string utc_text(TimestampMs time) {
    const std::time_t seconds = time / 1'000;
    std::tm parts{};
    if (gmtime_r(&seconds, &parts) == nullptr) {
        return std::to_string(time);
    }
    std::array<char, 64> text{};
    const std::size_t size =
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
    return {text.data(), size};
}

wire::Answer approval_page(const ApprovalLink& link, const ApprovalSubject& subject) {
    std::string body = "<dl>\n";
    add(body, "Kind", subject.kind);
    add(body, "Namespace", subject.ns);
    add(body, "Lane", subject.lane);
    add(body, "Execution", link.execution_id.to_string());
    if (!subject.tags.empty()) {
        add(body, "Tags", tags_text(subject.tags));
    }
    if (!subject.reason.empty()) {
        add(body, "Waits because", subject.reason);
    }
    if (subject.since) {
        add(body, "Since", utc_text(*subject.since));
    }
    if (subject.until) {
        add(body, "Until", utc_text(*subject.until));
    }
    if (link.note) {
        add(body, "Note", *link.note);
    }
    add_payload(body, subject.payload);
    add(body, "This link is for", link.actor);
    add(body, "It is good until", utc_text(link.expires_at));
    body += "</dl>\n<form method=\"post\">\n";
    for (const std::string& choice : link.choices) {
        const std::string text = html_escaped(choice);
        body += "<button name=\"choice\" value=\"" + text + "\">" + text + "</button>\n";
    }
    body += "</form>\n";
    return page(200, "Your answer is asked for", body);
}

wire::Answer message_page(int status, std::string_view heading, std::string_view text) {
    return page(status, heading, "<p>" + html_escaped(text) + "</p>\n");
}

}  // namespace ff::http
