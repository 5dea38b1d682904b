#include "http/test_server.h"

#include <gtest/gtest.h>

#include <thread>

#include "wire/url.h"

namespace ff::http::test {

TestServer::TestServer(TestOptions options)
    : clock_(std::make_shared<ManualClock>()), engine_(std::move(options.engine)) {
    if (!engine_) {
        EngineOptions how;
        if (!options.real_time) {
            how.clock = clock_;
        }
        auto opened = Engine::open(options.store, how);
        if (!opened) {
            ADD_FAILURE() << opened.error().message();
            std::abort();  // nothing of the test can be run
        }
        engine_ = *opened;
    }
    if (!options.service.clock && !options.real_time) {
        options.service.clock = clock_;
    }
    options.server.port = 0;
    auto started = Server::start(engine_, options.server, std::move(options.service));
    if (!started) {
        ADD_FAILURE() << started.error().message();
        std::abort();
    }
    server_ = std::move(*started);
}

TestServer::~TestServer() { server_.reset(); }

std::string TestServer::create(std::string_view kind) const {
    const RawAnswer answer = post("/v1/executions", create_body(kind));
    EXPECT_EQ(answer.status, 201) << answer.body;
    const json whole = answer.document();
    const json* created = whole.find("Created");
    return created != nullptr ? text_of(*created, "execution_id") : "";
}

json TestServer::claim(std::string_view worker) const {
    const RawAnswer answer = post("/v1/workers/" + std::string(worker) + "/poll", poll_body(0));
    if (answer.status != 200) {
        EXPECT_EQ(answer.status, 204) << answer.body;
        return {};
    }
    const json whole = answer.document();
    return whole.find("tasks")->if_array()->at(0);
}

bool eventually(std::string_view what, const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!is_so()) {
        if (std::chrono::steady_clock::now() > end) {
            ADD_FAILURE() << "never came about: " << what;
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

std::string create_body(std::string_view kind, std::string_view lane) {
    return js::dump(json{{"namespace", "acme"},
                         {"lane_id", lane},
                         {"execution_kind", kind},
                         {"input_payload", json{{"text", "in"}}}});
}

std::string poll_body(std::int64_t block_ms, std::string_view lane) {
    return js::dump(json{
        {"worker_instance_id", "i1"}, {"lanes", js::Array{json(lane)}}, {"block_ms", block_ms}});
}

std::string fence_of(const json& task) {
    return js::dump(json{{"lease_id", *task.find("lease_id")},
                         {"lease_epoch", *task.find("lease_epoch")},
                         {"attempt_id", *task.find("attempt_id")}});
}

std::string text_of(const json& object, std::string_view name) {
    const json* member = object.find(name);
    if (member == nullptr) {
        return "";
    }
    return member->if_string() != nullptr ? *member->if_string() : js::dump(*member);
}

std::string encoded(std::string_view text) {
    std::string out;
    wire::append_encoded(out, text);
    return out;
}

}  // namespace ff::http::test
