#include "cli/id_report.h"

#include <fmt/core.h>

#include "cli/inspect_json.h"
#include "cli/terminal.h"

namespace ff::cli {

js::Value fault_json(const std::string& name, const Error& error, const std::string& key) {
    js::Value value = js::Object{{key, name}};
    const js::Value body = as_json(error);
    for (const js::Member& member : *body.if_object()) {
        value.set(member.first, member.second);
    }
    return value;
}

void IdReport::put(const js::Value& value) {
    const bool listed = output_ == Output::jsonl || count_ != 1;
    print_out(listed ? list_.add(value) : document(output_, value));
}

void IdReport::add(const std::string& name, const expected<Said>& said) {
    if (!said) {
        const Error& error = said.error();
        const std::string sentence = sentence_of(error);
        complain(sentence.contains(name) ? sentence : fmt::format("{}: {}", name, sentence));
        worst_ = worse(worst_, exit_code_of(error));
        if (for_programs(output_)) {
            put(fault_json(name, error, key_));
        }
        return;
    }
    worst_ = worse(worst_, said->code);
    if (for_programs(output_)) {
        put(said->json);
    } else {
        // Of several, what takes more than a line stands apart.
        const bool is_block = said->text.find('\n') + 1 < said->text.size();
        print_out(std::exchange(any_text_, true) && is_block ? "\n" + said->text : said->text);
    }
    if (!said->complaint.empty()) {
        complain(said->complaint);
    }
}

ExitCode IdReport::finish() {
    if (output_ == Output::json && count_ != 1) {
        print_out(list_.finish(std::nullopt));
    }
    return worst_;
}

ExitCode for_each_id(const CommonOptions& options, Access access,
                     const std::vector<std::string>& words,
                     const std::function<expected<Said>(const Session&, const ExecutionId&)>& act) {
    const auto parsed = parse_ids(words, access == Access::look ? not_looked : not_changed);
    if (!parsed) {
        return complain(parsed.error());
    }
    return with_session(options, access, [&](const Session& session) {
        const auto found = find_ids(session, *parsed);
        IdReport report(options.output, found.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (found[i]) {
                report.add(found[i]->to_string(), act(session, *found[i]));
            } else {
                report.add((*parsed)[i].text, std::unexpected(found[i].error()));
            }
        }
        return report.finish();
    });
}

}  // namespace ff::cli
