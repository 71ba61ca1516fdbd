#!/bin/sh
# check_configure.sh SOURCE - configuring without a package names it, its Debian name and the way to do without
set -u
source=${1:?usage: check_configure.sh SOURCE}
jansson=$(pkg-config --variable=pcfiledir jansson)/jansson.pc
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/packages"
failed=0

# configure ARGUMENTS...: with the packages of the folder alone
configure() {
    rm -rf "$folder/build"
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR="$folder/packages" \
        cmake -S "$source" -B "$folder/build" "$@" >"$folder/output" 2>&1
}

# refuses WORDS ARGUMENTS...: configuring fails and says the words, in one line
refuses() {
    words=$1
    shift
    if configure "$@" || ! tr -s ' \n' '  ' <"$folder/output" | grep -q -F -- "$words"; then
        echo "cmake $*: wanted '$words':"
        cat "$folder/output"
        failed=1
    fi
}

refuses "pkg-config was not found, which finds jansson: install pkg-config and libjansson-dev" \
    -DPKG_CONFIG_EXECUTABLE=
refuses "jansson was not found by pkg-config: install libjansson-dev (its name in Debian), or \
configure with -DDLLM_TOOLS=OFF -DDLLM_TESTS=OFF"
cp "$jansson" "$folder/packages"
refuses "check was not found by pkg-config: install check (its name in Debian), or configure with \
-DDLLM_TESTS=OFF"
for switches in -DDLLM_TESTS=OFF '-DDLLM_TOOLS=OFF -DDLLM_TESTS=OFF'; do
    # shellcheck disable=SC2086 # a list of switches
    configure $switches || { echo "cmake $switches:"; cat "$folder/output"; failed=1; }
    rm -f "$folder/packages/jansson.pc"
done
exit $failed
