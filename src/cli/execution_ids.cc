#include "cli/execution_ids.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "cli/text.h"

namespace ff::cli {

namespace {

constexpr std::size_t uuid_digits = 32;
constexpr std::size_t candidates_shown = 5;
/// Partitions that are asked for a UUID at once.
constexpr std::uint32_t partitions_at_once = 64;

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

/// The digits of a UUID or of its end, in lower case; empty when it is neither.
std::string digits_of(std::string_view text) {
    std::string digits;
    for (const char c : text) {
        if (is_hex(c)) {
            digits.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
        } else if (c != '-') {
            return "";
        }
    }
    return digits.size() < suffix_digits_min || digits.size() > uuid_digits ? "" : digits;
}

/// The newest executions, read once and only when a word needs them.
class Newest {
  public:
    explicit Newest(const Session& session) : session_(session) {}

    expected<std::vector<ExecutionId>> ending_in(const std::string& digits) {
        FF_TRY_VOID(load());
        std::vector<ExecutionId> found;
        for (const ExecutionId& id : ids_) {
            if (digits_of(id.uuid.to_string()).ends_with(digits)) {
                found.push_back(id);
            }
        }
        return found;
    }

  private:
    expected<void> load() {
        if (std::exchange(loaded_, true)) {
            return {};
        }
        SearchExecutions op;
        do {
            op.limit = static_cast<std::uint32_t>(suffix_searched_max - ids_.size());
            FF_TRY(SearchPage page, session_.ask(op));
            std::ranges::transform(page.items, std::back_inserter(ids_),
                                   &ExecutionInfo::execution_id);
            op.cursor = std::move(page.next_cursor);
        } while (op.cursor && ids_.size() < suffix_searched_max);
        return {};
    }

    const Session& session_;
    bool loaded_ = false;
    std::vector<ExecutionId> ids_;
};

Error ambiguous(const std::string& text, const std::vector<ExecutionId>& found) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(found.size(), candidates_shown); ++i) {
        names.push_back(found[i].to_string());
    }
    const std::string more =
        found.size() > names.size() ? fmt::format(" and {} more", found.size() - names.size()) : "";
    return {ErrorCode::invalid_input,
            fmt::format("{} is the end of {} ids: {}{}; give more digits", text, found.size(),
                        joined(names), more),
            {{std::string(ambiguous_field), text}}};
}

expected<ExecutionId> find_suffix(const IdWord& word, Newest& newest) {
    FF_TRY(const auto found, newest.ending_in(word.digits));
    if (found.empty()) {
        return ff::fail(ErrorCode::execution_not_found,
                        fmt::format("none of the newest {} executions ends in {}; give the whole "
                                    "id",
                                    with_commas(suffix_searched_max), word.text));
    }
    if (found.size() > 1) {
        return std::unexpected(ambiguous(word.text, found));
    }
    return found.front();
}

/// Which partition holds it? There may be hundreds: they are asked in groups.
expected<ExecutionId> find_uuid(const Session& session, const IdWord& word, Newest& newest) {
    FF_TRY(const Capabilities capabilities, session.ask(ReadCapabilities{}));
    const std::uint32_t count = capabilities.partitions.flow;
    if (count <= 1) {
        return ExecutionId{0, *word.uuid};
    }
    FF_TRY(const auto found, newest.ending_in(digits_of(word.text)));
    if (!found.empty()) {
        return found.front();
    }
    for (std::uint32_t first = 0; first < count; first += partitions_at_once) {
        std::vector<ReadExecutionState> group;
        for (std::uint32_t i = first; i < std::min(first + partitions_at_once, count); ++i) {
            group.push_back({ExecutionId{static_cast<std::uint16_t>(i), *word.uuid}});
        }
        const auto answers = session.engine->run_all(group);
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (answers[i]) {
                return group[i].execution_id;
            }
            if (info(answers[i].error().code).kind != ErrorKind::not_found) {
                return std::unexpected(answers[i].error());
            }
        }
    }
    return std::unexpected(no_such_execution(word.text));
}

expected<ExecutionId> find_word(const Session& session, const IdWord& word, Newest& newest) {
    if (word.id) {
        return *word.id;
    }
    return word.uuid ? find_uuid(session, word, newest) : find_suffix(word, newest);
}

}  // namespace

Error no_such_execution(std::string_view text) {
    return {ErrorCode::execution_not_found, fmt::format("there is no execution {}", text), {}};
}

expected<IdWord> parse_id(const std::string& text) {
    IdWord word{text, std::nullopt, Uuid::parse(text), ""};
    if (word.uuid) {
        return word;
    }
    auto id = ExecutionId::parse(text);
    if (id) {
        word.id = *id;
        return word;
    }
    word.digits = digits_of(text);
    if (word.digits.empty()) {
        return ff::fail(
            ErrorCode::invalid_input,
            fmt::format("\"{}\" is not an execution id; one looks like {}, and its last {} "
                        "digits or more will do",
                        printable(text), id_example, suffix_digits_min));
    }
    return word;
}

expected<std::vector<IdWord>> parse_ids(const std::vector<std::string>& texts,
                                        std::string_view undone) {
    std::vector<IdWord> words;
    std::vector<std::string> bad;
    std::string fault;
    for (const std::string& text : texts) {
        if (auto word = parse_id(text)) {
            words.push_back(std::move(*word));
        } else {
            bad.push_back(text);
            fault = word.error().detail;
        }
    }
    if (bad.empty()) {
        return words;
    }
    if (bad.size() > 1) {
        fault = fmt::format("{} are not execution ids; one looks like {}", joined(bad), id_example);
    }
    return ff::fail(ErrorCode::invalid_input,
                    texts.size() > 1 ? fmt::format("{}; {}", fault, undone) : fault);
}

std::vector<expected<ExecutionId>> find_ids(const Session& session,
                                            const std::vector<IdWord>& words) {
    Newest newest(session);
    std::vector<expected<ExecutionId>> out;
    for (const IdWord& word : words) {
        out.push_back(find_word(session, word, newest));
    }
    return out;
}

expected<ExecutionId> find_id(const Session& session, const std::string& text) {
    FF_TRY(const IdWord word, parse_id(text));
    Newest newest(session);
    return find_word(session, word, newest);
}

}  // namespace ff::cli
