#!/bin/sh
# installed_examples.sh BUILD - the programs of tools/examples/ against the Debian package
#
# Packs BUILD, unpacks the package under a temporary folder, so the tree lies elsewhere than where it
# was made for, builds the examples as a user would with find_package, and runs them on the CPU
# with an empty environment. The library there must find its compile helper.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: installed_examples.sh BUILD}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$folder/packed" >"$folder/cpack.log" ||
    { cat "$folder/cpack.log" >&2; exit 1; }
dpkg-deb -x "$folder"/packed/*.deb "$folder/root"
cmake -S tools/examples -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/root/usr" >"$folder/cmake.log"
cmake --build "$folder/build" >>"$folder/cmake.log" || { cat "$folder/cmake.log" >&2; exit 1; }

run() {
    mkdir -p "$folder/home"
    env -i HOME="$folder/home" "$folder/build/$1" | tee "$folder/answer"
    [ -z "$(ls -A "$folder/home")" ] || { echo "$1 wrote into an empty HOME" >&2; exit 1; }
}

wanted() {
    grep -qxF "$1" "$folder/answer" || { echo "wanted: $1" >&2; exit 1; }
}

run masked_step
wanted 'position 3: token 3, confidence 0.9802'
wanted 'position 1: token 1, confidence 0.8700'
wanted 'position 5: token 0, confidence 0.3655'
run sampler
wanted 'row 0: token 1, lse 4.1852, confidence 0.8310'
wanted 'row 1: token 0, lse 4.1427, confidence 0.3189'

helper=$("$folder/root/usr/bin/dllm-tune" doctor | grep dllm-jit || true)
case $helper in
*"$folder/root/usr/libexec/dllm/dllm-jit"*) ;;
*) echo "the moved tree does not find its dllm-jit: $helper" >&2; exit 1 ;;
esac
