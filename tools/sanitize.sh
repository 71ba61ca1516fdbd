#!/bin/sh
# sanitize.sh BUILD - the gpu suites under compute-sanitizer: memcheck, racecheck, synccheck
#
# Ends 1 at the first tool that finds something, or that does not end the suite: a process it loses has no
# hazards either. Of the loop only its own kernels are looked at, and two blocks of a canvas; heads, samplers and
# gathers have suites of their own, and whole decodes would take hours. The logs stay under BUILD.
set -eu
build=${1:?usage: sanitize.sh BUILD}
for tool in memcheck racecheck synccheck; do
    for suite in gpu_rows gpu_head gpu_sampler gpu_graph gpu_decode; do
        log=$build/$tool-$suite.log
        filter='' less=''
        if [ $suite = gpu_decode ]; then filter='--kernel-name kns=decode' less=--short; fi
        printf '== %s %s\n' "$tool" "$suite"
        # shellcheck disable=SC2086
        if ! compute-sanitizer --tool "$tool" --error-exitcode 9 --target-processes all $filter \
            "$build/tests/$suite" $less >"$log" 2>&1 || ! grep -q '^100%: Checks' "$log"; then
            tail -n 40 "$log"
            exit 1
        fi
        tail -n 1 "$log"
    done
done
