#!/bin/sh
# installed_app.sh BUILD - the README's C program against an installed copy, where no CUDA is
#
# Installs BUILD under a temporary prefix, takes the program between the README's "```c" fences,
# builds it outside the tree with pkg-config alone, and runs it on the CPU with an empty environment.
# The loader's trace must show that no CUDA library was looked for.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: installed_app.sh BUILD}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/prefix" >/dev/null
libraries=$(dirname "$(find "$folder/prefix" -name 'libdllm.so')")
sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$folder/app.c"
[ -s "$folder/app.c" ] || { echo "README.md holds no C program" >&2; exit 1; }
flags=$(PKG_CONFIG_PATH="$libraries/pkgconfig" pkg-config --cflags --libs dllm)

cd "$folder"
# shellcheck disable=SC2086 # a list of flags
cc -std=c99 -Wall -Wextra -Werror app.c $flags -o app
env -i LD_LIBRARY_PATH="$libraries" LD_DEBUG=libs LD_DEBUG_OUTPUT="$folder/trace" ./app |
    tee answer
grep -q 'token 3 ' answer || { echo "the program's answer is not token 3" >&2; exit 1; }
if grep -E 'find library=lib(cuda|nvrtc|cublas)' "$folder"/trace.*; then
    echo "a CUDA library was looked for on the CPU" >&2
    exit 1
fi
[ -x "$(find "$folder/prefix" -name dllm-jit)" ] || { echo "dllm-jit was not installed" >&2; exit 1; }
