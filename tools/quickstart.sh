#!/bin/sh
# quickstart.sh - from a fresh machine to text: sets up, builds, and runs the main job
#
# With a GPU the text is generated on it. Without one it is generated on the CPU, and the kernels are
# prebuilt for the architecture DLLM_ARCH (default sm_90a), which takes minutes. Safe to repeat: a
# second run takes seconds.
set -eu
cd "$(dirname "$0")/.."
. tools/setup.sh

prompt="It is a truth universally acknowledged, that"

want_packages
want_nvrtc
say "building"
configure_and_build build/quickstart -DDLLM_TESTS=OFF

generate() {
    build/quickstart/dllm-generate --model tests/data/austen --prompt "$prompt" --gen-length 64 "$@"
}

status=0
say "generating with the small model of tests/data/austen"
generate --device cuda 2>build/quickstart.err || status=$?
if [ "$status" = 0 ]; then
    cat build/quickstart.err >&2
else
    [ "$status" = 3 ] || {
        cat build/quickstart.err >&2
        fail "dllm-generate --device cuda ended with $status"
    }
    say "no GPU here: on the CPU"
    generate --device cpu
    say "prebuilding the kernels for ${DLLM_ARCH:-sm_90a}: minutes the first time"
    build/quickstart/dllm-tune prebuild --arch "${DLLM_ARCH:-sm_90a}"
fi
say "done: ${DLLM_NVRTC:+DLLM_NVRTC=$DLLM_NVRTC }build/quickstart/dllm-tune doctor says what is here"
