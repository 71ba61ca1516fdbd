#!/bin/sh
# run.sh - fuzzes the parsers of entries, plans and packs with clang's libFuzzer, from a corpus
# usage: run.sh BUILD_FOLDER [SECONDS each]
#
# What is new in the corpus stays in the build folder; what made a parser fail is named by libFuzzer.
# Ends 77 where clang has no libFuzzer.
set -eu
cd "$(dirname "$0")/../.."
build=$1/fuzz
seconds=${2:-10}
flags='-std=c11 -D_GNU_SOURCE -O1 -g -Iinclude -Iruntime -Iautotune -Ikernel_src -pthread'
sources='runtime/entry_file.c runtime/entry_walk.c runtime/entry_read.c runtime/entry_store.c
    runtime/entry_publish.c runtime/entry_bad.c runtime/entry_lock.c runtime/cache_dirs.c
    runtime/cache_trim.c runtime/kernel_key.c runtime/kernel_spec.c runtime/kernel_sources.c
    runtime/plan_file.c runtime/pack_file.c runtime/pack_item.c runtime/sha256.c runtime/status.c
    runtime/log.c'
mkdir -p "$build"
cmake -DOUT="$build/data.c" -DFILES="$(ls kernel_src/*.cu kernel_src/*.cuh kernel_src/*.h | paste -sd ';' -)" \
    -P tools/embed_kernels.cmake

for name in entry plan pack; do
    # shellcheck disable=SC2086
    clang $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o "$build/fuzz_$name" \
        tests/fuzz/fuzz_$name.c $sources "$build/data.c" || exit 77
    mkdir -p "$build/corpus/$name"
    "$build/fuzz_$name" -max_total_time="$seconds" -max_len=16384 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/failed-$name-" "$build/corpus/$name" tests/fuzz/corpus/$name \
        2>"$build/$name.log" || { tail -n 40 "$build/$name.log"; exit 1; }
    printf 'fuzz_%s: %s runs\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")"
done
