#include "http/config_file.h"

#include <algorithm>

#define TOML_IMPLEMENTATION
#include "http/toml.h"

namespace ff::http {

namespace {

std::string place(const ConfigFile& file, toml::source_index line) {
    return file.name + ":" + std::to_string(line);
}

std::unexpected<Error> refuse(const std::string& where, const std::string& what) {
    return ff::fail(ErrorCode::invalid_config, where + ": " + what);
}

expected<std::string> text_of_array(const toml::array& array, const std::string& where,
                                    const std::string& name) {
    std::string text;
    for (const toml::node& item : array) {
        const auto* word = item.as_string();
        // A comma inside would become two of them.
        if (word == nullptr || word->get().find(',') != std::string::npos) {
            return refuse(where, "the list of " + name + " must hold strings without commas");
        }
        text += (text.empty() ? "" : ",") + word->get();
    }
    return text;
}

expected<std::string> text_of(const toml::node& node, const std::string& where,
                              const std::string& name) {
    if (const auto* text = node.as_string()) {
        return text->get();
    }
    if (const auto* number = node.as_integer()) {
        return std::to_string(number->get());
    }
    if (const auto* truth = node.as_boolean()) {
        return std::string(truth->get() ? "true" : "false");
    }
    if (const auto* array = node.as_array()) {
        return text_of_array(*array, where, name);
    }
    if (node.is_table()) {
        return refuse(where, "[" + name + "] is a table; settings stand at the top level");
    }
    return refuse(where, name + " must be a string, a whole number, true or false");
}

}  // namespace

expected<std::vector<FileSetting>> read_config_file(const ConfigFile& file) {
    const toml::parse_result parsed = toml::parse(file.text, file.name);
    if (!parsed) {
        const toml::parse_error& fault = parsed.error();
        return refuse(place(file, fault.source().begin.line), std::string(fault.description()));
    }
    std::vector<std::pair<toml::source_index, FileSetting>> found;
    for (const auto& [key, node] : parsed.table()) {
        // Where the name stands: a value may begin a line later.
        const toml::source_index line = key.source().begin.line;
        const std::string where = place(file, line);
        const std::string name(key.str());
        FF_TRY(std::string text, text_of(node, where, name));
        found.emplace_back(line, FileSetting{name, std::move(text), where});
    }
    // A table keeps its members by name.
    std::ranges::stable_sort(found, {}, [](const auto& entry) { return entry.first; });
    std::vector<FileSetting> out;
    for (auto& [line, setting] : found) {
        out.push_back(std::move(setting));
    }
    return out;
}

}  // namespace ff::http
