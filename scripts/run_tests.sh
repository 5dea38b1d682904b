#!/usr/bin/env bash
# Builds a preset and runs its whole test suite.
#
#   scripts/run_tests.sh [test|dev|asan|tsan]
#
# The last line is `N passed, M failed`, counted in GoogleTest cases. A program that crashes, hangs
# or ends badly after its last case counts as one failure. FF_TEST_JOBS sets how many programs run
# side by side. They find a PostgreSQL server of their own: see scripts/postgres.sh. Its data are in
# memory (/dev/shm) where two gigabytes are free there: no test cuts its power, and waiting for its
# syncs takes most of the time. With a sanitizer the SQLite stores are there too: what sanitizers look
# for is not on the disk. TMPDIR says where else both are to be.
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

server_folder=${TMPDIR:-/tmp}
free_kilobytes=$(df --output=avail -k /dev/shm 2> /dev/null | tail -n 1 || true)
if [[ -z ${TMPDIR:-} ]] && ((${free_kilobytes:-0} >= 2000000)) \
    && in_memory=$(mktemp -d /dev/shm/ff-tests-XXXXXX 2> /dev/null); then
    chmod 1777 "$in_memory" # the server is another account's
    trap 'rm -rf "$in_memory"' EXIT
    server_folder=$in_memory
    if [[ $preset == asan || $preset == tsan ]]; then
        export TMPDIR=$in_memory
    fi
fi

GTEST_BRIEF=1 GTEST_OUTPUT="json:$results/" TMPDIR=$server_folder scripts/postgres.sh run \
    env "TMPDIR=${TMPDIR:-/tmp}" \
    ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel "${FF_TEST_JOBS:-$(nproc)}" \
    --output-junit "$results/ctest.xml" < /dev/null || true

python3 scripts/sum_tests.py "$results"
