#!/bin/sh
# test.sh - the one test command: sets up what is missing, checks, builds and runs everything
#
# Stages: format, layers, results, warnings with clang, clang-tidy, ASan + UBSan, fuzzing, TSan, an installed copy,
# the Python package, and last the whole of ctest on the release build. Suites that need a GPU skip without one; where there
# is one compute-sanitizer runs them too. Ends 0 only if every stage did.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh

want_packages tests
want_nvrtc
want_python

say "format"
git ls-files '*.c' '*.h' '*.cc' '*.cu' '*.cuh' | xargs clang-format --dry-run -Werror ||
    fail "clang-format wants changes: clang-format -i the files above"

say "layers, and results as the script writes them"
sh tests/check_layers.sh
python3 tools/bench/report.py --check

say "clang, warnings as errors"
CC=clang CXX=clang++ configure_and_build build/clang -DCMAKE_BUILD_TYPE=Debug -DDLLM_WERROR=ON

say "clang-tidy"
git ls-files 'runtime/*.c' 'autotune/*.c' 'tools/*.c' 'tests/*.c' |
    xargs -P "$jobs" -n 4 clang-tidy --quiet -p build/clang >build/tidy.log 2>/dev/null || {
    cat build/tidy.log
    fail "clang-tidy found something"
}

say "address and undefined-behaviour sanitizers"
configure_and_build build/asan -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DDLLM_SANITIZE=address,undefined
ASAN_OPTIONS=protect_shadow_gap=0:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir build/asan -L 'unit|simt|e2e' --output-on-failure -j "$jobs"

say "the parsers of the cache, fuzzed"
sh tests/fuzz/run.sh build 10

say "thread sanitizer"
configure_and_build build/tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DDLLM_SANITIZE=thread
ctest --test-dir build/tsan -R 'test_(kernel_cache|kernel_layers|cpu_pool|compiler)' --output-on-failure

say "release build, and an installed copy of it"
configure_and_build build/release -DDLLM_WERROR=ON
configure_and_build build/library -DDLLM_WERROR=ON -DDLLM_TOOLS=OFF -DDLLM_TESTS=OFF
sh tests/installed_app.sh build/release
sh tests/installed_examples.sh build/release

say "the Python package as a wheel"
sh tests/installed_wheel.sh build/release "$python"

say "all suites"
if has compute-sanitizer && has nvidia-smi && nvidia-smi -L >/dev/null 2>&1; then
    sh tools/sanitize.sh build/release
fi
ctest --test-dir build/release --output-on-failure -j "$jobs"
