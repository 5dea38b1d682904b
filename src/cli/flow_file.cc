#include "cli/flow_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include "cli/flow_values.h"
#include "cli/plain_words.h"
#include "cli/submit.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "core/decide.h"
#include "core/flow_checks.h"
#include "core/json_path.h"

namespace ff::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t name_bytes_max = 128;
/// A person who resumes a run again and again is not to be stopped by a count.
constexpr const char* command_policy = R"({"max_replay_count": 1000})";

bool is_flow_name(std::string_view text) {
    return !text.empty() && text.size() <= name_bytes_max && text[0] != '.' &&
           std::ranges::all_of(text, [](char c) {
               return is_variable_name(std::string{'x', c}) || c == '-' || c == '.';
           });
}

// ----------------------------------------------------------------------------------------- a node

struct Need {
    FlowEdge edge;
    Place at;  ///< of the upstream's name
};

/// What is read of a node before all of them are known.
struct NodeDraft {
    FlowNode node;
    std::optional<FlowCommand> command;
    std::vector<Need> needs;
};

class NodeReading {
  public:
    NodeReading(FlowValues& values, const FlowTerms& terms, const std::string& lane)
        : values_(values), terms_(terms), lane_(lane) {}

    expected<NodeDraft> read(const DocMember& member) {
        if (member.value.kind != Doc::Kind::table) {
            return values_.fault(member.value.at,
                                 fmt::format("node {} is a table, not {}; write [node.{}]",
                                             member.name, member.value.what(), member.name));
        }
        const Doc& table = member.value;
        draft_.node.name = member.name;
        FF_TRY_VOID(
            values_.check_names(table, "node " + printable(member.name),
                                {"kind", "payload", "payload_json", "needs", "join", "on_win",
                                 "retries", "backoff", "timeout", "priority", "capabilities",
                                 "delay", "lane", "limit_key", "command", "dir", "env"}));
        FF_TRY_VOID(
            values_.checked(member.at, "the name", check_label("the name", member.name, 1, 256)));
        FF_TRY_VOID(read_needs(table));
        FF_TRY_VOID(read_join(table));
        FF_TRY_VOID(read_command(table));
        FF_TRY_VOID(read_kind(member));
        FF_TRY_VOID(read_payload(table));
        FF_TRY_VOID(read_policy(member));
        return std::move(draft_);
    }

  private:
    CreateExecution& execution() { return draft_.node.execution; }

    expected<void> read_kind(const DocMember& member) {
        const Doc& table = member.value;
        execution().lane_id = lane_;
        if (const DocMember* lane = table.find("lane")) {
            FF_TRY(execution().lane_id, values_.text(*lane));
            FF_TRY_VOID(
                values_.checked(lane->value.at, "lane", check_lane("lane", execution().lane_id)));
        }
        if (const DocMember* kind = table.find("kind")) {
            FF_TRY(execution().execution_kind, values_.text(*kind));
            FF_TRY_VOID(values_.checked(kind->value.at, "kind",
                                        check_label("kind", execution().execution_kind, 1, 256)));
        } else if (draft_.command) {
            execution().execution_kind = exec_kind;
        } else {
            return values_.fault(member.at, fmt::format("node {} says nothing of what is to be "
                                                        "done; give it a command or a kind",
                                                        printable(member.name)));
        }
        return {};
    }

    expected<void> read_payload(const Doc& table) {
        const DocMember* text = table.find("payload");
        const DocMember* document = table.find("payload_json");
        if (text != nullptr && document != nullptr) {
            return values_.fault(document->at, "give payload or payload_json, not both");
        }
        const DocMember* given = text != nullptr ? text : document;
        if (given != nullptr && draft_.command && draft_.command->named_inputs) {
            return values_.fault(given->at,
                                 fmt::format("{} cannot be the standard input of a command that "
                                             "gets named inputs there; take it out, or `as` out of "
                                             "its needs",
                                             given->name));
        }
        if (text != nullptr) {
            FF_TRY(execution().input_payload, values_.text(*text));
        } else if (document != nullptr) {
            FF_TRY(const js::Value value, values_.json(document->value));
            execution().input_payload = js::dump(value);
            execution().payload_encoding = "json";
        }
        return {};
    }

    expected<void> read_policy(const DocMember& node) {
        const Doc& table = node.value;
        SubmitOptions options;
        if (draft_.command) {
            options.policy = command_policy;
            options.capabilities.push_back(flow_capability(terms_.flow_id));
        }
        if (const DocMember* retries = table.find("retries")) {
            FF_TRY(const std::int64_t count, values_.whole(*retries, 0, 10'000));
            options.retries = static_cast<std::uint32_t>(count);
        }
        if (const DocMember* backoff = table.find("backoff")) {
            FF_TRY(options.backoff, values_.text(*backoff));
            if (const auto parsed = parse_backoff(*options.backoff); !parsed) {
                return values_.fault(backoff->value.at, "backoff: " + parsed.error().detail);
            }
        }
        if (const DocMember* timeout = table.find("timeout")) {
            FF_TRY(options.attempt_timeout_ms, values_.some_span(*timeout));
        }
        if (const DocMember* capabilities = table.find("capabilities")) {
            FF_TRY(const auto tokens, values_.texts(*capabilities));
            const auto normal = normalise_capabilities(tokens, CapabilitySide::required);
            if (!normal) {
                return values_.fault(capabilities->value.at,
                                     "a capability is a word without commas and blanks (" +
                                         normal.error().detail + ")");
            }
            options.capabilities.insert(options.capabilities.end(), tokens.begin(), tokens.end());
        }
        if (const DocMember* key = table.find("limit_key")) {
            FF_TRY(options.limit_key, values_.text(*key));
        }
        if (const DocMember* priority = table.find("priority")) {
            FF_TRY(const std::int64_t value, values_.whole(*priority, 0, priority_max));
            execution().priority = static_cast<std::int32_t>(value);
        }
        if (const DocMember* delay = table.find("delay")) {
            FF_TRY(const DurationMs span, values_.span(*delay));
            execution().delay_until = terms_.now + span;
        }
        auto policy = policy_of(options);
        if (!policy) {
            return values_.fault(node.at, policy.error().detail);
        }
        execution().policy = std::move(*policy);
        execution().creator_identity = "ff flow run";
        return {};
    }

    // ------------------------------------------------------------------------------ the command

    expected<void> read_command(const Doc& table) {
        const DocMember* command = table.find("command");
        for (const char* name : {"dir", "env"}) {
            if (const DocMember* idle = table.find(name); idle != nullptr && command == nullptr) {
                return values_.fault(idle->at, fmt::format("{} belongs to a command, and the node "
                                                           "has none",
                                                           name));
            }
        }
        if (command == nullptr) {
            return {};
        }
        FlowCommand& out = draft_.command.emplace();
        if (command->value.if_text() != nullptr) {
            // What the file does not know may be a variable of the shell.
            FF_TRY(std::string line, values_.text(*command, Unset::left));
            out.words = {"sh", "-ec", std::move(line)};
        } else if (command->value.kind == Doc::Kind::list) {
            FF_TRY(out.words, values_.texts(*command));
        }
        if (out.words.empty() || out.words.front().empty() || out.words.back().empty()) {
            return values_.fault(command->value.at,
                                 "a command is a line for the shell, \"make all\", or a list of "
                                 "words, [\"cc\", \"-c\", \"x.c\"]");
        }
        out.named_inputs = std::ranges::any_of(draft_.needs, [](const Need& need) {
            return need.edge.data_passing_ref.starts_with('{');
        });
        return read_surroundings(table, out);
    }

    expected<void> read_surroundings(const Doc& table, FlowCommand& out) {
        fs::path dir = fs::absolute(terms_.file).parent_path();
        if (const DocMember* member = table.find("dir")) {
            FF_TRY(const std::string text, values_.text(*member));
            dir /= text;
        }
        out.dir = dir.lexically_normal().string();
        const DocMember* env = table.find("env");
        if (env == nullptr) {
            return {};
        }
        FF_TRY_VOID(values_.want_table(*env));
        for (const DocMember& variable : env->value.members) {
            if (!is_variable_name(variable.name)) {
                return values_.fault(variable.at, "a variable is named with letters, digits and _");
            }
            FF_TRY(out.env[variable.name], values_.text(variable));
        }
        return {};
    }

    // -------------------------------------------------------------------------------- the needs

    expected<void> read_needs(const Doc& table) {
        const DocMember* needs = table.find("needs");
        if (needs == nullptr) {
            return {};
        }
        if (needs->value.kind != Doc::Kind::list) {
            return values_.fault(needs->value.at,
                                 fmt::format("needs is a list of nodes, not {}; write needs = "
                                             "[\"NODE\"]",
                                             needs->value.what()));
        }
        std::set<std::string> names;
        for (const Doc& item : needs->value.items) {
            FF_TRY(Need need, read_need(item));
            need.edge.to = draft_.node.name;
            if (!names.insert(need.edge.from).second) {
                return values_.fault(need.at, fmt::format("{} is needed twice; take one out",
                                                          printable(need.edge.from)));
            }
            draft_.needs.push_back(std::move(need));
        }
        return {};
    }

    expected<Need> read_need(const Doc& item) {
        Need need;
        need.at = item.at;
        if (item.if_text() != nullptr) {
            need.edge.from = *item.if_text();
            return need;
        }
        const DocMember* node = item.find("node");
        if (node == nullptr) {
            return values_.fault(item.at,
                                 "a need is the name of a node, or a table {node = \"NAME\", …}");
        }
        FF_TRY_VOID(
            values_.check_names(item, "a need", {"node", "when", "as", "path", "on", "pass"}));
        need.at = node->value.at;
        FF_TRY(need.edge.from, values_.plain_text(*node));
        FF_TRY_VOID(read_condition(item, need));
        FF_TRY_VOID(read_passing(item, need));
        return need;
    }

    expected<void> read_condition(const Doc& item, Need& need) {
        if (const DocMember* on = item.find("on")) {
            FF_TRY(const std::string word,
                   values_.one_of(*on, {"success", "failure", "always", "skip"}));
            need.edge.dependency_kind = word == "failure"  ? DependencyKind::on_failure
                                        : word == "always" ? DependencyKind::always
                                        : word == "skip"   ? DependencyKind::on_skip
                                                           : DependencyKind::success_only;
        }
        if (const DocMember* when = item.find("when")) {
            FF_TRY(need.edge.when, values_.text(*when));
            if (need.edge.dependency_kind != DependencyKind::success_only) {
                return values_.fault(when->at,
                                     "when looks at a result, so it goes with on = \"success\"");
            }
            if (const auto parsed = core::Condition::parse("when", need.edge.when); !parsed) {
                return values_.fault(when->value.at, parsed.error().detail);
            }
        }
        return {};
    }

    /// What the upstream's result becomes here.
    expected<void> read_passing(const Doc& item, Need& need) {
        const DocMember* as = item.find("as");
        const DocMember* path = item.find("path");
        const DocMember* pass = item.find("pass");
        if (pass != nullptr) {
            FF_TRY(const bool whole, values_.truth(*pass));
            if (whole && (as != nullptr || path != nullptr)) {
                return values_.fault(pass->at,
                                     "pass gives the whole result as the payload, `as` gives an "
                                     "input of that name; choose one");
            }
            need.edge.data_passing_ref = whole ? "result" : "";
        }
        if (as == nullptr && path == nullptr) {
            return {};
        }
        js::Object ref{{"as", need.edge.from}};
        if (as != nullptr) {
            FF_TRY(const std::string name, values_.text(*as));
            if (name.empty()) {
                return values_.fault(as->value.at, "as is the name of an input, and not empty");
            }
            ref.front().second = name;
        }
        if (path != nullptr) {
            FF_TRY(const std::string text, values_.text(*path));
            if (const auto parsed = core::JsonPath::parse("path", text); !parsed) {
                return values_.fault(path->value.at, parsed.error().detail);
            }
            ref.emplace_back("path", text);
        }
        need.edge.data_passing_ref = js::dump(ref);
        return values_.checked(
            item.at, "as and path",
            core::check_edge_texts(need.edge.data_passing_ref, "", DependencyKind::success_only));
    }

    expected<void> read_join(const Doc& table) {
        const DocMember* join = table.find("join");
        const DocMember* on_win = table.find("on_win");
        GroupPolicy& policy = draft_.node.policy;
        const DocMember* idle = join != nullptr ? join : on_win;
        if (idle != nullptr && draft_.needs.empty()) {
            return values_.fault(idle->at, idle->name +
                                               " says how needs count, and the node has "
                                               "none");
        }
        if (join != nullptr) {
            FF_TRY_VOID(read_join_word(*join, policy));
        }
        if (on_win == nullptr) {
            return {};
        }
        FF_TRY(const std::string word, values_.one_of(*on_win, {"cancel", "let_run"}));
        if (policy.kind == GroupPolicyKind::all_of) {
            return values_.fault(on_win->at,
                                 "on_win goes with join = \"any\" or a number: when all are "
                                 "needed, none is left over");
        }
        policy.on_satisfied =
            word == "cancel" ? OnSatisfied::cancel_remaining : OnSatisfied::let_run;
        return {};
    }

    expected<void> read_join_word(const DocMember& join, GroupPolicy& policy) {
        js::Value number = join.value.leaf;
        if (number.if_string() != nullptr) {
            FF_TRY(const std::string word, values_.text(join));
            if (word == "all" || word == "any") {
                policy = word == "all" ? GroupPolicy::all_of() : GroupPolicy::any_of();
                return {};
            }
            number = js::parse(word).value_or(js::Value());
        }
        const auto k = number.as_uint64();
        if (!k || *k < 1 || *k > draft_.needs.size()) {
            return values_.fault(join.value.at,
                                 fmt::format("join is \"all\", \"any\", or how many of the {} "
                                             "needs must succeed",
                                             draft_.needs.size()));
        }
        policy = GroupPolicy::quorum(static_cast<std::uint32_t>(*k));
        return {};
    }

    FlowValues& values_;
    const FlowTerms& terms_;
    const std::string& lane_;
    NodeDraft draft_;
};

// ---------------------------------------------------------------------------------------- the file

class FileReading {
  public:
    FileReading(const Doc& root, const FlowTerms& terms)
        : root_(root), terms_(terms), values_(terms) {}

    expected<FlowFile> read() {
        FF_TRY_VOID(values_.check_names(
            root_, "the file",
            {"name", "namespace", "lane", "deadline", "fail_fast", "max_active", "vars", "node"}));
        FF_TRY_VOID(values_.read_variables(root_));
        FF_TRY_VOID(read_head());
        const DocMember* nodes = root_.find("node");
        if (nodes == nullptr) {
            return values_.fault({}, "there is no node; write [node.NAME] and its command");
        }
        FF_TRY_VOID(values_.want_table(*nodes));
        if (nodes->value.members.empty()) {
            return values_.fault(nodes->at, "there is no node; write [node.NAME] and its command");
        }
        for (const DocMember& member : nodes->value.members) {
            FF_TRY(NodeDraft draft, NodeReading(values_, terms_, lane_).read(member));
            out_.places[member.name] = member.at;
            drafts_.push_back(std::move(draft));
        }
        FF_TRY_VOID(check_needs());
        FF_TRY_VOID(check_circles());
        for (NodeDraft& draft : drafts_) {
            if (draft.command) {
                out_.commands[draft.node.name] = std::move(*draft.command);
            }
            for (Need& need : draft.needs) {
                out_.submit.edges.push_back(std::move(need.edge));
            }
            out_.submit.nodes.push_back(std::move(draft.node));
        }
        FF_TRY(out_.variables, values_.used_variables());
        FF_TRY_VOID(check_whole());
        return std::move(out_);
    }

  private:
    expected<void> read_head() {
        SubmitFlow& submit = out_.submit;
        submit.flow_id = terms_.flow_id;
        submit.ns = "default";
        FF_TRY(submit.flow_kind, flow_name(root_, terms_.file));
        if (const DocMember* ns = root_.find("namespace")) {
            FF_TRY(submit.ns, values_.text(*ns));
            FF_TRY_VOID(values_.checked(ns->value.at, "namespace",
                                        check_namespace("namespace", submit.ns)));
        }
        if (const DocMember* lane = root_.find("lane")) {
            FF_TRY(lane_, values_.text(*lane));
            FF_TRY_VOID(values_.checked(lane->value.at, "lane", check_lane("lane", lane_)));
        }
        if (const DocMember* deadline = root_.find("deadline")) {
            FF_TRY(const DurationMs span, values_.some_span(*deadline));
            submit.settings.deadline_at = terms_.now + span;
        }
        if (const DocMember* fail_fast = root_.find("fail_fast")) {
            FF_TRY(const bool fast, values_.truth(*fail_fast));
            submit.settings.on_member_failure =
                fast ? OnMemberFailure::cancel_rest : OnMemberFailure::continue_;
        }
        if (const DocMember* most = root_.find("max_active")) {
            FF_TRY(const std::int64_t count, values_.whole(*most, 1, 1'000'000));
            submit.settings.max_active_members = static_cast<std::uint32_t>(count);
        }
        return {};
    }

    expected<void> check_needs() const {
        std::vector<std::string> names;
        for (const NodeDraft& draft : drafts_) {
            names.push_back(draft.node.name);
        }
        for (const NodeDraft& draft : drafts_) {
            for (const Need& need : draft.needs) {
                const std::string& from = need.edge.from;
                if (from == draft.node.name) {
                    return values_.fault(need.at, fmt::format("node {} needs itself; take this out",
                                                              printable(from)));
                }
                if (!out_.places.contains(from)) {
                    const std::string meant = nearest_word(from, names);
                    return values_.fault(
                        need.at,
                        fmt::format("there is no node {}; {}", printable(from),
                                    meant.empty() ? "there are " + joined(names)
                                                  : fmt::format("did you mean {}?", meant)));
                }
            }
        }
        return {};
    }

    /// Takes away nodes whose needs are all gone; what is left has a circle in it.
    expected<void> check_circles() const {
        std::map<std::string, const NodeDraft*> left;
        for (const NodeDraft& draft : drafts_) {
            left[draft.node.name] = &draft;
        }
        const auto is_held = [&](const NodeDraft& draft) {
            return std::ranges::any_of(
                draft.needs, [&](const Need& need) { return left.contains(need.edge.from); });
        };
        while (std::erase_if(left, [&](const auto& entry) { return !is_held(*entry.second); }) >
               0) {
        }
        return left.empty() ? expected<void>() : circle_fault(left);
    }

    std::unexpected<Error> circle_fault(const std::map<std::string, const NodeDraft*>& left) const {
        std::vector<const NodeDraft*> walk{left.begin()->second};
        const Need* need = nullptr;
        for (;;) {
            need = &*std::ranges::find_if(walk.back()->needs, [&](const Need& candidate) {
                return left.contains(candidate.edge.from);
            });
            const NodeDraft* next = left.at(need->edge.from);
            const auto seen = std::ranges::find(walk, next);
            if (seen != walk.end()) {
                walk.erase(walk.begin(), seen);
                break;
            }
            walk.push_back(next);
        }
        std::string text = printable(walk.front()->node.name);
        for (std::size_t i = 1; i < walk.size(); ++i) {
            text += fmt::format(" needs {}, which", printable(walk[i]->node.name));
        }
        return values_.fault(
            need->at, fmt::format("{} needs {} again: these go round in a circle; take one need "
                                  "out",
                                  text, printable(walk.front()->node.name)));
    }

    /// What the engine will check, before a store is opened or made for it.
    expected<void> check_whole() const {
        core::Settings settings;
        settings.partitions.flow = std::numeric_limits<std::uint16_t>::max();
        SystemIdSource ids;
        const auto prepared = core::prepare(out_.submit, settings, ids, terms_.now);
        if (prepared) {
            return {};
        }
        const std::string plain = plain_words(prepared.error());
        const std::string detail = plain.empty() ? prepared.error().message() : plain;
        for (const auto& [name, place] : out_.places) {
            if (prepared.error().detail.starts_with("node " + name + ": ")) {
                return values_.fault(place, detail);
            }
        }
        return values_.fault({}, detail);
    }

    const Doc& root_;
    const FlowTerms& terms_;
    FlowValues values_;
    std::string lane_ = "default";
    std::vector<NodeDraft> drafts_;
    FlowFile out_;
};

}  // namespace

expected<std::string> flow_name(const Doc& root, const std::string& file) {
    const DocMember* member = root.find("name");
    std::string name = member == nullptr                    ? fs::path(file).stem().string()
                       : member->value.if_text() != nullptr ? *member->value.if_text()
                                                            : std::string();
    if (!is_flow_name(name)) {
        return fault_at(file, member != nullptr ? member->value.at : Place(),
                        member == nullptr
                            ? "give the flow a name: name = \"build\""
                            : "the name of a flow is a text of letters, digits, - _ and .");
    }
    return name;
}

expected<FlowFile> read_flow(const Doc& root, const FlowTerms& terms) {
    return FileReading(root, terms).read();
}

std::string flow_capability(const FlowId& id) { return "ff.flow." + id.to_string(); }

}  // namespace ff::cli
