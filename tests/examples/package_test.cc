// The package: a project outside finds it, builds against it and runs.
#include <gtest/gtest.h>

#include <string>

#include "examples/command.h"
#include "support/temp_dir.h"

namespace ff::examples::test {

TEST(Package, AnOutsideProjectBuildsAgainstAnInstallAndRuns) {
    const support::TempDir folder;
    const std::string cmake = std::string("'") + FF_CMAKE + "'";
    const std::string prefix = folder.file("installed");
    const std::string build = folder.file("build");

    const Output installed = run(cmake + " --install '" + FF_BUILD_DIR +
                                 "' --component development --prefix '" + prefix + "'");
    ASSERT_EQ(installed.status, 0) << installed.text;

    const Output configured =
        run(cmake + " -G Ninja -S '" + FF_SOURCE_DIR + "/tests/examples/outside' -B '" + build +
            "' -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH='" + prefix +
            "' -DCMAKE_CXX_COMPILER='" + FF_CXX + "' -DCMAKE_CXX_FLAGS='" + FF_CXX_FLAGS + "'");
    ASSERT_EQ(configured.status, 0) << configured.text;

    const Output built = run(cmake + " --build '" + build + "'");
    ASSERT_EQ(built.status, 0) << built.text;

    const Output ran = run("'" + build + "/outside'");
    EXPECT_EQ(ran.status, 0);
    EXPECT_TRUE(ran.text.ends_with("42\n") || ran.text.contains("\n42\n")) << ran.text;
}

}  // namespace ff::examples::test
