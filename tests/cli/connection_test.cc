// Which engine a command talks to: options, variables, profiles; and who may have a store open.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "cli/connection.h"
#include "cli/rig.h"

namespace ff::test {
namespace {

/// Three stores, each with an execution of its own kind, and a folder for a profiles file.
class Connection : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const char* name : {"a", "b", "c"}) {
            ASSERT_EQ(run_ff({"submit", name, "--connect", store(name)}).code, 0);
        }
    }

    [[nodiscard]] std::string store(const std::string& name) const {
        return "sqlite:" + folder_.file(name + ".db");
    }
    [[nodiscard]] std::string config() const { return folder_.file("config.toml"); }

    void write_config(const std::string& text, mode_t mode = 0600) const {
        std::filesystem::remove(config());
        std::ofstream(config()) << text;
        ASSERT_EQ(chmod(config().c_str(), mode), 0);
    }

    /// Which store answers: the kind of its execution, or what went wrong.
    [[nodiscard]] std::string asked(std::vector<std::string> arguments,
                                    std::map<std::string, std::string> variables = {}) const {
        arguments.insert(arguments.end(), {"ls", "-o", "jsonl"});
        const Ran ran = run_ff(arguments, {std::move(variables), ""});
        return ran.code == 0 ? member(ran.json_lines().at(0), "execution_kind") : ran.err;
    }

    Folder folder_;
};

TEST_F(Connection, TheOrderIsOptionProfileVariableDefault) {
    write_config(
        "default = \"standard\"\n"
        "[profiles.standard]\nconnect = \"" +
        store("a") +
        "\"\n"
        "[profiles.other]\nconnect = \"" +
        store("b") + "\"\n");
    const std::map<std::string, std::string> file{{"FF_CONFIG", config()}};
    auto with = [&](std::map<std::string, std::string> more) {
        more.insert(file.begin(), file.end());
        return more;
    };
    EXPECT_EQ(asked({}, file), "a");
    EXPECT_EQ(asked({}, with({{"FF_CONNECT", store("c")}})), "c");
    EXPECT_EQ(asked({}, with({{"FF_CONNECT", store("c")}, {"FF_PROFILE", "other"}})), "b");
    EXPECT_EQ(asked({"--profile", "other"}, with({{"FF_CONNECT", store("c")}})), "b");
    EXPECT_EQ(asked({"--profile", "standard"}, with({{"FF_PROFILE", "other"}})), "a");
    EXPECT_EQ(asked({"--connect", store("c")}, with({{"FF_PROFILE", "other"}})), "c");
    EXPECT_TRUE(contains(asked({"--connect", store("c"), "--profile", "other"}, file), "excludes"));
}

TEST_F(Connection, AWordThatNamesAProfileIsThatProfile) {
    write_config("[profiles.prod]\nconnect = \"" + store("a") + "\"\n");
    const std::map<std::string, std::string> file{{"FF_CONFIG", config()}};
    EXPECT_EQ(asked({"--connect", "prod"}, file), "a");
    EXPECT_EQ(asked({}, {{"FF_CONFIG", config()}, {"FF_CONNECT", "prod"}}), "a");
    EXPECT_TRUE(contains(asked({"--connect", "./prod"}, file), "no file ./prod"));
}

TEST_F(Connection, AnAddressWithoutItsSchemeIsRefusedAndMakesNoFile) {
    const Ran ran = run_ff({"submit", "x", "--connect", "127.0.0.1:9777"});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_TRUE(contains(ran.err, "write http://127.0.0.1:9777")) << ran.err;
    EXPECT_FALSE(std::filesystem::exists("127.0.0.1:9777"));
}

TEST_F(Connection, TheProfilesFileIsFoundWhereTheStandardSays) {
    std::filesystem::create_directories(folder_.file("xdg/flowfabric"));
    std::ofstream(folder_.file("xdg/flowfabric/config.toml"))
        << "default = \"p\"\n[profiles.p]\nconnect = \"" << store("a") << "\"\n";
    EXPECT_EQ(asked({}, {{"XDG_CONFIG_HOME", folder_.file("xdg")}}), "a");
    std::filesystem::create_directories(folder_.file("home/.config"));
    std::filesystem::rename(folder_.file("xdg/flowfabric"),
                            folder_.file("home/.config/flowfabric"));
    EXPECT_EQ(asked({}, {{"XDG_CONFIG_HOME", ""}, {"HOME", folder_.file("home")}}), "a");
    EXPECT_EQ(asked({}, {{"XDG_CONFIG_HOME", "relative"}, {"HOME", folder_.file("home")}}), "a");
}

TEST_F(Connection, WithoutAnyWordItIsTheServerOfThisMachine) {
    const auto target = cli::choose_target({std::string("http://h:1"), std::nullopt});
    ASSERT_TRUE(target.has_value());
    EXPECT_TRUE(target->is_server());
    const Ran ran = run_ff({"ls", "--connect", "http://127.0.0.1:1"});
    EXPECT_EQ(ran.code, 1);
    EXPECT_TRUE(contains(ran.err, "no server answers at http://127.0.0.1:1 (--connect)"))
        << ran.err;
}

TEST_F(Connection, FaultsOfTheProfilesFileNameTheirPlace) {
    struct Case {
        std::string text;
        std::string expected;
    };
    const std::vector<Case> cases{
        {"default = \n", "line 1: "},
        {"default = 3\n", "line 1: default must be a text"},
        {"\ndefult = \"x\"\n", "line 2: \"defult\" is not known"},
        {"default = \"x\"\n", "the default is \"x\", which is no profile"},
        {"[profiles.x]\n", "profile \"x\" has no connect"},
        {"[profiles.x]\nconnect = \"\"\n", "line 2: connect must be a text, and not empty"},
        {"[profiles.x]\nconect = \"a\"\n", "line 2: \"conect\" is not known"},
        {"[profiles]\nx = \"a\"\n", "line 2: write [profiles.x]"},
        {"[profiles.x]\nconnect = \"a\"\ntoken = \"t\"\ntoken_file = \"f\"\n", "has both a token"},
    };
    for (const Case& c : cases) {
        write_config(c.text);
        const Ran ran = run_ff({"ls"}, {{{"FF_CONFIG", config()}}, ""});
        EXPECT_EQ(ran.code, 2) << c.text;
        EXPECT_TRUE(contains(ran.err, config() + ": ")) << ran.err;
        EXPECT_TRUE(contains(ran.err, c.expected)) << c.expected << "\n" << ran.err;
        EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    }
    std::filesystem::remove(config());
    const Ran gone = run_ff({"ls"}, {{{"FF_CONFIG", config()}}, ""});
    EXPECT_EQ(gone.code, 2);
    EXPECT_TRUE(contains(gone.err, "there is no such file, and FF_CONFIG names it")) << gone.err;
    write_config("[profiles.x]\nconnect = \"" + store("a") + "\"\n");
    const Ran unknown = run_ff({"ls", "--profile", "y"}, {{{"FF_CONFIG", config()}}, ""});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_TRUE(contains(unknown.err, "there is no profile y in ")) << unknown.err;
    EXPECT_TRUE(contains(unknown.err, "it has x")) << unknown.err;
}

TEST_F(Connection, AFileWithATokenMustBePrivate) {
    const std::string text = "[profiles.p]\nconnect = \"" + store("a") + "\"\ntoken = \"s3cret\"\n";
    for (const mode_t mode : {0644, 0640, 0604, 0660, 0602}) {
        write_config(text, mode);
        const Ran ran = run_ff({"ls", "--profile", "p"}, {{{"FF_CONFIG", config()}}, ""});
        EXPECT_EQ(ran.code, 2) << mode;
        EXPECT_TRUE(contains(ran.err, "others can read or change it; chmod 600 " + config()))
            << ran.err;
    }
    write_config(text, 0600);
    EXPECT_EQ(asked({"--profile", "p"}, {{"FF_CONFIG", config()}}), "a");
    write_config("[profiles.p]\nconnect = \"" + store("a") + "\"\n", 0644);
    EXPECT_EQ(asked({"--profile", "p"}, {{"FF_CONFIG", config()}}), "a") << "no token, no secret";
}

TEST_F(Connection, ProfilesAreListedWithoutTheirSecrets) {
    write_config(
        "default = \"prod\"\n"
        "[profiles.prod]\nconnect = \"https://ff.example.org\"\ntoken = \"s3cret\"\n"
        "[profiles.pg]\nconnect = \"postgres://u:pa55word@h/d\"\n"
        "[profiles.web]\nconnect = \"http://u:pa55word@h:1\"\ntoken_file = \"t\"\n");
    const Around around{{{"FF_CONFIG", config()}}, ""};
    const Ran text = run_ff({"profiles"}, around);
    EXPECT_EQ(text.code, 0) << text.err;
    const Ran json = run_ff({"profiles", "-o", "json"}, around);
    const js::Value value = json.json();
    const js::Array* list = value.find("items")->if_array();
    ASSERT_EQ(list->size(), 3U);
    EXPECT_EQ(member((*list)[0], "name"), "pg");
    EXPECT_EQ(member((*list)[0], "token"), "unset");
    EXPECT_EQ(member((*list)[1], "token"), "set");
    EXPECT_EQ(member((*list)[1], "default"), "true");
    EXPECT_EQ(member((*list)[2], "token"), "set");
    for (const Ran& ran : {text, json, run_ff({"profiles", "-o", "jsonl"}, around)}) {
        EXPECT_TRUE(contains(ran.out, "https://ff.example.org")) << ran.out;
        for (const char* secret : {"s3cret", "pa55word"}) {
            EXPECT_FALSE(contains(ran.out + ran.err, secret)) << ran.out << ran.err;
        }
    }
    const Ran none = run_ff({"profiles"});
    EXPECT_EQ(none.code, 0);
    EXPECT_TRUE(contains(none.out, "no profile in ")) << none.out;
}

// ---------------------------------------------------------------------------------------- servers

/// A server that wants a token.
class GuardedServer : public Connection {
  protected:
    void SetUp() override {
        auto opened = Engine::open(folder_.file("guarded.db"));
        ASSERT_TRUE(opened.has_value());
        http::ServerOptions options;
        options.port = 0;
        http::ServiceOptions service;
        service.gate.api_token = "s3cret";
        auto started = http::Server::start(*opened, options, service);
        ASSERT_TRUE(started.has_value()) << started.error().message();
        server_ = std::move(*started);
        address_ = "http://127.0.0.1:" + std::to_string(server_->port());
    }

    std::unique_ptr<http::Server> server_;
    std::string address_;
};

TEST_F(GuardedServer, TheTokenComesFromTheVariableTheProfileOrItsFile) {
    const Ran without = run_ff({"ls", "--connect", address_});
    EXPECT_EQ(without.code, 2) << without.err;
    EXPECT_TRUE(contains(without.err, "wants a token: FF_API_TOKEN")) << without.err;
    const Ran wrong = run_ff({"ls", "--connect", address_}, {{{"FF_API_TOKEN", "gu3ssed"}}, ""});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_TRUE(contains(wrong.err, "wants another token")) << wrong.err;
    EXPECT_FALSE(contains(wrong.err, "s3cret") || contains(wrong.err, "gu3ssed")) << wrong.err;
    const Ran variable = run_ff({"ls", "--connect", address_}, {{{"FF_API_TOKEN", "s3cret"}}, ""});
    EXPECT_EQ(variable.code, 0) << variable.err;
    const Around around{{{"FF_CONFIG", config()}, {"FF_PROFILE", "p"}}, ""};
    write_config("[profiles.p]\nconnect = \"" + address_ + "\"\ntoken = \"s3cret\"\n");
    EXPECT_EQ(run_ff({"ls"}, around).code, 0);
    write_config("[profiles.p]\nconnect = \"" + address_ + "\"\ntoken_file = \"the.token\"\n",
                 0644);
    const Ran missing = run_ff({"ls"}, around);
    EXPECT_EQ(missing.code, 2);
    EXPECT_TRUE(contains(missing.err, "there is no such file; profile \"p\"")) << missing.err;
    std::ofstream(folder_.file("the.token")) << "s3cret\n";
    chmod(folder_.file("the.token").c_str(), 0644);
    const Ran open = run_ff({"ls"}, around);
    EXPECT_EQ(open.code, 2);
    EXPECT_TRUE(contains(open.err, "chmod 600 ")) << open.err;
    chmod(folder_.file("the.token").c_str(), 0600);
    EXPECT_EQ(run_ff({"ls"}, around).code, 0);
}

TEST_F(Connection, AServerWithItsOwnCertificateIsTrustedByProfile) {
    const Ran made = run_shell(
        "cd \"$1\" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
        "-keyout key.pem -out cert.pem -days 2 -subj /CN=localhost "
        "-addext subjectAltName=IP:127.0.0.1",
        {folder_.path()});
    if (made.code != 0) {
        GTEST_SKIP() << "no certificate can be made here: " << made.err;
    }
    const auto engine = Engine::open(folder_.file("tls.db"));
    ASSERT_TRUE(engine.has_value());
    http::ServerOptions options;
    options.port = 0;
    options.tls_cert = folder_.file("cert.pem");
    options.tls_key = folder_.file("key.pem");
    const auto server = http::Server::start(*engine, options, {});
    ASSERT_TRUE(server.has_value()) << server.error().message();
    const std::string address = "https://127.0.0.1:" + std::to_string((*server)->port());
    const Ran stranger = run_ff({"ls", "--connect", address});
    EXPECT_EQ(stranger.code, 1) << stranger.err;
    EXPECT_TRUE(contains(stranger.err, "ca_file in a profile says")) << stranger.err;
    write_config("[profiles.p]\nconnect = \"" + address + "\"\nca_file = \"cert.pem\"\n");
    const Ran known = run_ff({"ls", "--profile", "p"}, {{{"FF_CONFIG", config()}}, ""});
    EXPECT_EQ(known.code, 0) << known.err;
}

TEST_F(GuardedServer, APasswordInItsAddressIsRefusedAndNotShown) {
    const std::string address = "http://user:pa55word@" + address_.substr(7);
    const Ran ran = run_ff({"ls", "--connect", address});
    EXPECT_EQ(ran.code, 2);
    EXPECT_TRUE(contains(ran.err, address_)) << ran.err;
    EXPECT_FALSE(contains(ran.err, "pa55word")) << ran.err;
}

// ------------------------------------------------------------------------------------------ files

TEST_F(Connection, AFileThatIsInUseCanBeLookedAtButNotChanged) {
    const auto owner = Engine::open(folder_.file("a.db"));
    ASSERT_TRUE(owner.has_value());
    EXPECT_EQ(asked({"--connect", store("a")}), "a");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"submit", "k"}, std::vector<std::string>{"lanes", "pause", "a"},
          std::vector<std::string>{"cancel", "{fp:0}:0190b5a2-7c3e-7d4f-8a1b-2c3d4e5f6071"}}) {
        const Ran ran = run_ff(arguments, {{{"FF_CONNECT", store("a")}}, ""});
        EXPECT_EQ(ran.code, 4) << arguments[0] << ran.err;
        EXPECT_TRUE(contains(ran.err, "is in use by process ")) << ran.err;
        EXPECT_TRUE(contains(ran.err, "--connect http://HOST:PORT")) << ran.err;
    }
    EXPECT_EQ(asked({"--connect", store("a")}), "a") << "and nothing was added";
}

TEST_F(Connection, OnlySubmitMakesAFile) {
    const std::string path = folder_.file("new.db");
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"ls"}, std::vector<std::string>{"get", "123456"},
          std::vector<std::string>{"cancel", "123456"}, std::vector<std::string>{"lanes"},
          std::vector<std::string>{"lanes", "pause", "x"}, std::vector<std::string>{"top"},
          std::vector<std::string>{"scanners"}, std::vector<std::string>{"wait", "123456"}}) {
        const Ran ran = run_ff(arguments, {{{"FF_CONNECT", path}}, ""});
        EXPECT_EQ(ran.code, 3) << arguments[0] << ran.err;
        EXPECT_EQ(ran.err, "ff: there is no file " + path + "\n");
    }
    EXPECT_EQ(run_ff({"submit", "k", "--tag", "bad", "--connect", path}).code, 2);
    EXPECT_EQ(run_ff({"submit", "k", "--policy", "{}x", "--connect", path}).code, 2);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(run_ff({"submit", "k", "--connect", path}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Connection, AnAddressForALibraryMaySayWhetherScannersRun) {
    const std::string path = folder_.file("new.db");
    EXPECT_EQ(run_ff({"submit", "k", "--connect", "sqlite:" + path + "?scanners=on"}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(path));
    const Ran list = run_ff({"ls", "-o", "jsonl", "--connect", path + "?scanners=off"});
    EXPECT_EQ(list.json_lines().size(), 1U) << list.err;
    EXPECT_EQ(run_ff({"ls", "--connect", path + "?scanners=perhaps"}).code, 2);
}

TEST_F(Connection, AStoreInMemoryIsRefused) {
    for (const char* address : {":memory:", "sqlite::memory:", "memory:"}) {
        const Ran ran = run_ff({"submit", "k", "--connect", address});
        EXPECT_EQ(ran.code, 2) << address;
        EXPECT_TRUE(contains(ran.err, "a store in memory ends with this command")) << ran.err;
    }
    const Ran unknown = run_ff({"ls", "--connect", "mysql:x"});
    EXPECT_EQ(unknown.code, 2);
    EXPECT_TRUE(contains(unknown.err, "there is no store \"mysql:\"")) << unknown.err;
}

TEST(Address, PasswordsAreTakenOut) {
    EXPECT_EQ(cli::without_password("http://u:p@h:1/x"), "http://h:1/x");
    EXPECT_EQ(cli::without_password("http://h:1"), "http://h:1");
    EXPECT_EQ(cli::without_password("https://u@h"), "https://h");
    EXPECT_EQ(cli::without_password("http://h/a@b"), "http://h/a@b");
    EXPECT_EQ(cli::without_password("sqlite:a@b.db"), "sqlite:a@b.db");
}

}  // namespace
}  // namespace ff::test
