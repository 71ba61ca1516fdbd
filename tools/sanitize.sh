#!/bin/sh
# sanitize.sh BUILD - the gpu suites under compute-sanitizer: memcheck, racecheck, synccheck
#
# Ends 1 at the first tool that finds something; the logs stay under BUILD.
set -eu
build=${1:?usage: sanitize.sh BUILD}
for tool in memcheck racecheck synccheck; do
    for suite in gpu_rows gpu_head gpu_sampler gpu_graph gpu_decode; do
        printf '== %s %s\n' "$tool" "$suite"
        compute-sanitizer --tool "$tool" --error-exitcode 9 --target-processes all \
            "$build/tests/$suite" >"$build/$tool-$suite.log" 2>&1 || {
            tail -n 40 "$build/$tool-$suite.log"
            exit 1
        }
        tail -n 1 "$build/$tool-$suite.log"
    done
done
