#include "http/golden.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace ff::http::test {

namespace {

constexpr std::string_view turn = "---";
constexpr std::string_view opens_exchange = "=== ";
constexpr std::string_view opens_advance = "@advance ";
constexpr std::string_view opens_settings = "@server ";

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string without_indentation(const std::string& line) {
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

/// Lines of one part: up to the first empty one they stand for themselves, then comes a body.
struct Part {
    std::vector<std::string> head;
    std::string body;
};

Part part_of(const std::vector<std::string>& lines) {
    Part part;
    bool in_body = false;
    for (const std::string& line : lines) {
        if (!in_body && line.empty()) {
            in_body = true;
        } else if (in_body) {
            part.body += without_indentation(line);
        } else {
            part.head.push_back(line);
        }
    }
    return part;
}

std::string joined(const Part& part) {
    std::string out;
    for (const std::string& line : part.head) {
        out += line + "\n";
    }
    return out + "\n" + part.body;
}

void read_settings(std::string_view text, std::map<std::string, std::string>& settings) {
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        settings[word.substr(0, equals)] = word.substr(equals + 1);
    }
}

GoldenStep exchange_of(const std::vector<std::string>& lines, std::size_t first) {
    GoldenStep step;
    step.line = first;
    step.title = lines[0].substr(opens_exchange.size());
    const auto middle = std::ranges::find(lines, turn);
    std::vector<std::string> asked;
    for (auto it = lines.begin(); it != middle; ++it) {
        step.before_answer += *it + "\n";
        if (it != lines.begin() && !it->starts_with('#')) {
            asked.push_back(*it);
        }
    }
    const Part request = part_of(asked);
    if (!request.head.empty()) {
        const std::string& line = request.head[0];
        step.method = line.substr(0, line.find(' '));
        step.target = line.substr(std::min(line.find(' ') + 1, line.size()));
        step.fields.assign(request.head.begin() + 1, request.head.end());
    }
    step.body = request.body;
    if (middle != lines.end()) {
        step.answer = joined(part_of({middle + 1, lines.end()}));
    }
    return step;
}

}  // namespace

GoldenFile parse_golden(std::string_view text) {
    GoldenFile file;
    const std::vector<std::string> lines = lines_of(text);
    std::size_t at = 0;
    const auto opens_step = [](const std::string& line) {
        return line.starts_with(opens_exchange) || line.starts_with(opens_advance);
    };
    for (; at < lines.size() && !opens_step(lines[at]); ++at) {
        file.opening += lines[at] + "\n";
        if (lines[at].starts_with(opens_settings)) {
            read_settings(lines[at].substr(opens_settings.size()), file.settings);
        }
    }
    while (at < lines.size()) {
        const std::size_t first = at++;
        while (at < lines.size() && !opens_step(lines[at])) {
            ++at;
        }
        if (lines[first].starts_with(opens_advance)) {
            GoldenStep step;
            step.line = first + 1;
            step.advance = lines[first].substr(opens_advance.size());
            file.steps.push_back(std::move(step));
            continue;
        }
        const auto offset = [](std::size_t n) { return static_cast<std::ptrdiff_t>(n); };
        file.steps.push_back(
            exchange_of({lines.begin() + offset(first), lines.begin() + offset(at)}, first + 1));
    }
    return file;
}

std::string golden_text(const GoldenFile& file) {
    std::string out = file.opening;
    for (const GoldenStep& step : file.steps) {
        if (!step.advance.empty()) {
            out += std::string(opens_advance) + step.advance + "\n\n";
            continue;
        }
        out += step.before_answer + std::string(turn) + "\n" + step.answer + "\n";
    }
    while (out.ends_with("\n\n")) {
        out.pop_back();
    }
    return out;
}

std::string answer_text(const RawAnswer& answer) {
    std::string out = std::to_string(answer.status) + "\n";
    for (const auto& [name, value] : answer.headers) {
        if (name != "Date" && name != "Content-Length") {
            out += name + ": " + value + "\n";
        }
    }
    return out + "\n" + answer.body;
}

// ------------------------------------------------------------------------------------- comparing

std::string filled_in(std::string text, const Names& names) {
    for (const auto& [name, value] : names) {
        const std::string mark = "{{" + name + "}}";
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
            text.replace(at, mark.size(), value);
        }
    }
    return text;
}

namespace {

/// Takes what a new name stands for from the front of a text; empty when nothing there may be it.
std::string take_value(std::string_view name, std::string_view text) {
    static const std::regex id(R"((\{fp:\d+\}:)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})");
    static const std::regex word(R"((\w+:\{fp:\d+\}:)?[A-Za-z0-9_.~:-]+)");
    std::match_results<std::string_view::const_iterator> match;
    const bool found =
        std::regex_search(text.begin(), text.end(), match, name.ends_with("id") ? id : word,
                          std::regex_constants::match_continuous);
    return found ? match.str() : "";
}

std::string difference(std::string_view expected, std::string_view actual) {
    return "expected from here: " + std::string(expected.substr(0, 160)) +
           "\nbut there was:      " + std::string(actual.substr(0, 160));
}

}  // namespace

std::string compare(std::string_view expected, std::string_view actual, Names& names) {
    while (!expected.empty()) {
        if (!expected.starts_with("{{")) {
            if (actual.empty() || expected[0] != actual[0]) {
                return difference(expected, actual);
            }
            expected.remove_prefix(1);
            actual.remove_prefix(1);
            continue;
        }
        const std::size_t end = expected.find("}}");
        const std::string name(expected.substr(2, end - 2));
        const auto known = names.find(name);
        const std::string value = known != names.end() ? known->second : take_value(name, actual);
        if (value.empty() || !actual.starts_with(value)) {
            return difference(expected, actual);
        }
        if (name != "*") {
            names.emplace(name, value);
        }
        expected.remove_prefix(end + 2);
        actual.remove_prefix(value.size());
    }
    return actual.empty() ? "" : difference("(the end)", actual);
}

// --------------------------------------------------------------------------------------- writing

namespace {

/// Breaks a body where a new member or element begins, so that it can be read.
std::string broken(const std::string& body) {
    constexpr std::size_t columns = 96;
    std::string out;
    std::size_t begin = 0;
    while (body.size() - begin > columns) {
        std::size_t at = columns;
        while (at > 1 && !(body[begin + at - 1] == ',' &&
                           (body[begin + at] == '"' || body[begin + at] == '{'))) {
            --at;
        }
        at = at > 1 ? at : columns;
        while (body[begin + at] == ' ' || body[begin + at - 1] == ' ') {
            --at;  // spaces at either end of a line are no part of it, or are not seen
        }
        out += body.substr(begin, at) + "\n ";
        begin += at;
    }
    return out + body.substr(begin);
}

/// Gives names to what the server made up, by the members it stands in.
void learn(const std::string& text, std::string_view given, Names& names) {
    static const std::regex made_up(
        R"re("(\w+)":\[?"((?:\w+:)?(?:\{fp:\d+\}:)?)re"
        R"re([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?::[0-9a-f-]{36})?|ff1\.[\w.-]+)")re");
    for (std::sregex_iterator it(text.begin(), text.end(), made_up), end; it != end; ++it) {
        const std::string value = (*it)[2];
        const bool known =
            std::ranges::any_of(names, [&](const auto& entry) { return entry.second == value; });
        if (known || given.contains(value)) {
            continue;
        }
        std::string base = (*it)[1];
        base = base == "execution_id" || base == "executions" ? "id" : base;
        std::string name = base;
        for (int n = 2; names.contains(name); ++n) {
            name = base.ends_with("id")
                       ? base.substr(0, base.size() - 2) + std::to_string(n) + "_id"
                       : base + std::to_string(n);
        }
        names.emplace(name, value);
    }
}

}  // namespace

std::string answer_to_write(const RawAnswer& answer, std::string_view given, Names& names) {
    std::string text = answer_text(answer);
    learn(text, given, names);
    std::vector<std::pair<std::string, std::string>> longest_first(names.begin(), names.end());
    std::ranges::sort(longest_first, std::greater<>(),
                      [](const auto& entry) { return entry.second.size(); });
    for (const auto& [name, value] : longest_first) {
        for (std::size_t at = text.find(value); at != std::string::npos;
             at = text.find(value, at + name.size())) {
            text.replace(at, value.size(), "{{" + name + "}}");
        }
    }
    static const std::regex varies(R"re("(bytes|log_bytes|\w+_us)":[1-9]\d*)re");
    text = std::regex_replace(text, varies, "\"$1\":{{*}}");
    static const std::regex version(R"re("(version|store_version)":"[\d.]+")re");
    text = std::regex_replace(text, version, "\"$1\":\"{{*}}\"");
    const std::size_t split = text.find("\n\n");
    return text.substr(0, split + 1) +
           (answer.body.empty() ? "" : "\n" + broken(text.substr(split + 2)) + "\n");
}

}  // namespace ff::http::test
