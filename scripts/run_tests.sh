#!/usr/bin/env bash
# Builds a preset and runs its whole test suite.
#
#   scripts/run_tests.sh [test|dev|asan|tsan]
#
# The last line is `N passed, M failed`, counted in GoogleTest cases. A program that crashes, hangs
# or ends badly after its last case counts as one failure. FF_TEST_JOBS sets how many programs run
# side by side. They find a PostgreSQL server of their own: see scripts/postgres.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-test}
build=build/$preset
results=$PWD/$build/test-results

cmake --preset "$preset" --log-level=WARNING > /dev/null
cmake --build --preset "$preset"

rm -rf "$results"
mkdir -p "$results"

export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}"

GTEST_BRIEF=1 GTEST_OUTPUT="json:$results/" scripts/postgres.sh run \
    ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "${FF_TEST_JOBS:-$(nproc)}" \
    --output-junit "$results/ctest.xml" < /dev/null || true

exec python3 scripts/sum_tests.py "$results"
