#!/bin/sh
# check_layers.sh - dependencies point one way (ARCHITECTURE.md); prints each breach, ends 1 if any
set -eu
cd "$(dirname "$0")/.."
breaches=0

# forbid WHAT FILES... : no #include of a header that matches the pattern
forbid() {
    why=$1
    pattern=$2
    shift 2
    found=$(grep -nE "^ *# *include +[\"<]($pattern)[\">]" "$@" /dev/null || true)
    [ -n "$found" ] || return 0
    printf '%s:\n%s\n' "$why" "$found"
    breaches=1
}

autotune_headers=$(cd autotune && ls ./*.h 2>/dev/null | sed 's|^\./||; s|\.|\\.|g' | paste -sd '|' -)
runtime_headers=$(cd runtime && ls ./*.h | sed 's|^\./||; s|\.|\\.|g' | paste -sd '|' -)

for file in runtime/*.[ch]; do
    [ "$file" = runtime/api.c ] || forbid "only runtime/api.c may use autotune/" "$autotune_headers" "$file"
done
forbid "the library knows nothing of tools/ or tests/" '\.\./(tools|tests)/.*' runtime/*.[ch] autotune/*.[ch]
forbid "the library and the tools need no CUDA header" 'cuda[^"]*\.h|cublasLt\.h|cublas_v2\.h' \
    include/*.h runtime/*.[ch] autotune/*.[ch] tools/*.[ch] tools/*/*.[ch]
forbid "a kernel includes no toolkit or system header but stdint.h" '[^"]*/[^"]*|cuda[^"]*|std[^i"][^"]*' kernel_src/*
for file in tools/*.[ch] tools/check/*.[ch] tools/generate/*.[ch]; do
    forbid "tools but tune/ and jit/ use the public header alone" "$runtime_headers|$autotune_headers" "$file"
done
other_autotune_headers=$(printf '%s' "$autotune_headers" | tr '|' '\n' | grep -vx 'heads\\.h' | paste -sd '|' -)
for file in tools/bench/*.[ch]; do
    forbid "bench uses the public header and the table of heads alone" \
        "$runtime_headers|${other_autotune_headers:-none}" "$file"
done
# what stands below: the driver layer and plain data know nothing of plans and families
forbid "the bottom layer includes nothing from above" '(plan|families|family_.*|context|kernel_cache)\.h' \
    runtime/status.[ch] runtime/log.[ch] runtime/driver.[ch] runtime/nvrtc.[ch] runtime/cublas.[ch] \
    runtime/sha256.[ch] runtime/device.[ch] runtime/kernel_spec.[ch] runtime/argument.[ch]
forbid "the cache knows nothing of problems and plans" '(plan|families|family_.*|context|problem)\.h' \
    runtime/kernel_cache.[ch] runtime/kernel_key.[ch] runtime/entry_*.[ch] runtime/cache_dirs.[ch] \
    runtime/compiler.[ch] runtime/helper_process.[ch] runtime/kernel_sources.[ch]
exit "$breaches"
