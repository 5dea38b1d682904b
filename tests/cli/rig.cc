#include "cli/rig.h"

#include "support/postgres.h"

namespace ff::test {

Rig::Rig(Way way) {
    if (way != Way::postgres) {
        store_ = "sqlite:" + folder_.file("store.db");
    } else if (!support::postgres_address().empty()) {
        store_ = support::postgres_store(folder_.path());
    }
    auto engine = ready() ? open() : nullptr;
    if (way == Way::server && engine) {
        http::ServerOptions options;
        options.port = 0;
        auto server = http::Server::start(engine, options, {});
        EXPECT_TRUE(server.has_value()) << (server ? "" : server.error().message());
        engine_ = std::move(engine);
        server_ = server ? std::move(*server) : nullptr;
    }
}

Rig::~Rig() {
    server_.reset();
    if (engine_) {
        engine_->stop();
    }
}

std::shared_ptr<Engine> Rig::open() const {
    EngineOptions options;
    options.background = false;
    auto opened = Engine::open(store_, options);
    EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message());
    return opened ? *opened : nullptr;
}

void Rig::with_engine(const std::function<void(Engine&)>& body) {
    const auto engine = engine_ ? engine_ : open();
    if (engine) {
        body(*engine);
    }
}

std::string Rig::address() const {
    return server_ ? "http://127.0.0.1:" + std::to_string(server_->port()) : store_;
}

std::string Rig::family() const { return store_.starts_with("sqlite:") ? "sqlite" : "postgres"; }

Ran Rig::ff(const std::vector<std::string>& arguments, Around around) const {
    around.variables.emplace("FF_CONNECT", address());
    return run_ff(arguments, around);
}

js::Value Rig::json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"-o", "json"});
    const Ran ran = ff(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.json();
}

js::Array Rig::items(const std::vector<std::string>& arguments) const {
    const js::Value value = json(arguments);
    const js::Value* list = value.find("items");
    EXPECT_NE(value.find("next_cursor"), nullptr) << js::dump(value);
    EXPECT_TRUE(list != nullptr && list->if_array() != nullptr) << js::dump(value);
    return list != nullptr && list->if_array() != nullptr ? *list->if_array() : js::Array();
}

ExecutionId Rig::create(const std::string& lane, const std::string& kind) {
    ExecutionId id;
    with_engine([&](Engine& engine) {
        CreateExecution op;
        op.ns = "shop";
        op.lane_id = lane;
        op.execution_kind = kind;
        op.input_payload = "input of " + kind;
        const auto created = engine.run(op);
        ASSERT_TRUE(created.has_value()) << created.error().message();
        id = created->execution_id;
    });
    return id;
}

namespace {

Claim claim_on(const std::string& lane) {
    Claim op;
    op.lanes = {lane};
    op.worker_id = "w";
    op.worker_instance_id = "w-1";
    return op;
}

ClaimedTask claim(Engine& engine, const std::string& lane, DurationMs ttl_ms) {
    Claim op = claim_on(lane);
    op.lease_ttl_ms = ttl_ms;
    auto claimed = engine.run(op);
    EXPECT_TRUE(claimed.has_value() && claimed->tasks.size() == 1) << "nothing on " << lane;
    return claimed && !claimed->tasks.empty() ? claimed->tasks[0] : ClaimedTask{};
}

}  // namespace

void Rig::complete(const std::string& lane, const std::string& result) {
    with_engine([&](Engine& engine) {
        Complete op;
        op.lease = claim(engine, lane, 600'000).handle;
        op.result_payload = result;
        EXPECT_TRUE(engine.run(op).has_value());
    });
}

void Rig::fail(const std::string& lane, const std::string& reason) {
    with_engine([&](Engine& engine) {
        Fail op;
        op.lease = claim(engine, lane, 600'000).handle;
        op.failure_reason = reason;
        op.failure_category = "permanent";
        EXPECT_TRUE(engine.run(op).has_value());
    });
}

void Rig::hold(const std::string& lane, DurationMs ttl_ms) {
    with_engine([&](Engine& engine) { claim(engine, lane, ttl_ms); });
}

void Rig::find_nothing(const std::string& lane) {
    with_engine([&](Engine& engine) {
        const auto claimed = engine.run(claim_on(lane));
        ASSERT_TRUE(claimed) << claimed.error().message();
        EXPECT_TRUE(claimed->tasks.empty());
    });
}

void Rig::register_worker(const std::string& lane) {
    with_engine([&](Engine& engine) {
        RegisterWorker op;
        op.ns = "shop";
        op.worker_id = "w";
        op.worker_instance_id = "w-1";
        op.lanes = {lane};
        op.capabilities = {"gpu"};
        op.liveness_ttl_ms = 3'600'000;
        EXPECT_TRUE(engine.run(op).has_value());
    });
}

std::string way_name(const ::testing::TestParamInfo<Way>& info) {
    switch (info.param) {
        case Way::file: return "file";
        case Way::server: return "server";
        case Way::postgres: return "postgres";
    }
    return "";
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

}  // namespace ff::test
