#include "cli/output.h"

namespace ff::cli {

namespace {

/// Every line but the first moved to the right.
std::string indented(const std::string& text, std::size_t columns) {
    std::string out;
    for (const char c : text) {
        out.push_back(c);
        if (c == '\n') {
            out.append(columns, ' ');
        }
    }
    return out;
}

}  // namespace

std::string document(Output output, const js::Value& value) {
    return (output == Output::jsonl ? js::dump(value) : js::dump_pretty(value)) + "\n";
}

std::string ListWriter::open() {
    const bool first = empty_;
    empty_ = false;
    return first ? "{\n  \"items\": [\n    " : ",\n    ";
}

std::string ListWriter::add(const js::Value& item) {
    if (output_ == Output::jsonl) {
        return js::dump(item) + "\n";
    }
    return open() + indented(js::dump_pretty(item), 4);
}

std::string ListWriter::finish(const std::optional<std::string>& next_cursor) {
    if (output_ == Output::jsonl) {
        return "";
    }
    const std::string cursor = js::dump(next_cursor ? js::Value(*next_cursor) : js::Value());
    return (empty_ ? "{\n  \"items\": []" : "\n  ]") + (",\n  \"next_cursor\": " + cursor) +
           "\n}\n";
}

std::string list_document(Output output, const js::Array& items,
                          const std::optional<std::string>& next_cursor) {
    ListWriter list(output);
    std::string out;
    for (const js::Value& item : items) {
        out += list.add(item);
    }
    return out + list.finish(next_cursor);
}

}  // namespace ff::cli
