# setup.sh - what quickstart.sh and test.sh share: installs what is missing, finds NVRTC
#
# Sourced, in POSIX sh, with the repository as working folder. Sets and exports DLLM_NVRTC when the
# compiler is not where the loader finds it by itself.

say() { printf '== %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

# Runs a command as root, or says what a person must do.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif has sudo; then
        sudo "$@"
    else
        fail "these packages are missing and this is not root: $packages"
    fi
}

# install_packages PACKAGE...: from the distribution, where that is Debian or of its kind
install_packages() {
    packages=$*
    has apt-get || fail "install these first (no apt-get here): $packages"
    say "installing $packages"
    as_root apt-get update -qq >/dev/null || fail "apt-get update failed: is this machine online?"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "$@" >/dev/null || fail "apt-get could not install $packages"
}

want_command() { has "$1" || missing="$missing $2"; }

want_library() { pkg-config --exists "$1" 2>/dev/null || missing="$missing $2"; }

# want_packages [tests]: the compiler and libraries, with "tests" also the checkers
want_packages() {
    missing=""
    want_command cc gcc
    want_command make make
    want_command cmake cmake
    want_command pkg-config pkg-config
    want_command python3 python3
    want_library jansson libjansson-dev
    if [ "${1:-}" = tests ]; then
        want_library check check
        want_command g++ g++
        want_command clang clang
        want_command clang-format clang-format
        want_command clang-tidy clang-tidy
        [ -n "$(find /usr/lib/llvm-* /usr/lib/clang -name 'libclang_rt.asan*' 2>/dev/null)" ] ||
            missing="$missing libclang-rt-dev"
    fi
    # shellcheck disable=SC2086 # a list of words
    [ -z "$missing" ] || install_packages $missing
}

# NVRTC of the installed CUDA toolkit or, without one, of NVIDIA's Python wheel under build/nvrtc.
want_nvrtc() {
    [ -z "${DLLM_NVRTC:-}" ] || return 0
    if has ldconfig && ldconfig -p | grep -q 'libnvrtc\.so\.1[23]'; then return 0; fi
    if [ -x /sbin/ldconfig ] && /sbin/ldconfig -p | grep -q 'libnvrtc\.so\.1[23]'; then return 0; fi
    nvrtc=$(find /usr/local/cuda*/lib64/ /usr/local/cuda*/targets/ build/nvrtc/whole \
        -name 'libnvrtc.so.1[23]' 2>/dev/null | head -n 1)
    if [ -z "$nvrtc" ]; then
        say "no CUDA toolkit here: fetching NVRTC as a Python wheel"
        mkdir -p build/nvrtc
        if ! python3 -m pip --version >/dev/null 2>&1; then
            has apt-get || fail "install python3-pip, or set DLLM_NVRTC to a libnvrtc.so"
            install_packages python3-pip
        fi
        python3 -m pip download -q --no-deps --only-binary=:all: -d build/nvrtc \
            nvidia-cuda-nvrtc==13.0.88 || fail "NVRTC could not be fetched: is this machine online?"
        # unpacked beside and renamed, so that what an interrupt leaves is not taken for whole
        rm -rf build/nvrtc/part
        for wheel in build/nvrtc/*.whl; do python3 -m zipfile -e "$wheel" build/nvrtc/part; done
        mv build/nvrtc/part build/nvrtc/whole
        nvrtc=$(find build/nvrtc/whole -name 'libnvrtc.so.1[23]' | head -n 1)
        [ -n "$nvrtc" ] || fail "the wheel holds no libnvrtc.so"
    fi
    DLLM_NVRTC=$(cd "$(dirname "$nvrtc")" && pwd)/$(basename "$nvrtc")
    export DLLM_NVRTC
}

# Whether a Python has a torch that works with its NumPy: an older torch beside NumPy 2 does not.
has_torch() { "$1" -c 'import torch; torch.zeros(1).numpy()' >/dev/null 2>&1; }

# Whether a person chose to test without torch; nothing else leaves its answers out.
without_torch() { [ "${DLLM_TEST_WITHOUT_TORCH:-}" = 1 ]; }

whole_python() {
    "$1" -c 'import numpy, pytest' 2>/dev/null && { has_torch "$1" || without_torch; }
}

# A Python with NumPy, pytest and torch, for the tests of the package and of the decode loop. PyPI's
# torch for Linux brings gigabytes of CUDA, so a machine without torch gets the distribution's, and
# its NumPy with it.
want_python() {
    python=build/python/bin/python
    ! whole_python "$python" || return 0
    base=python3
    if ! has_torch "$base"; then
        if without_torch; then
            say "no torch here: its answers are not asked for, as DLLM_TEST_WITHOUT_TORCH=1 says"
        else
            base=/usr/bin/python3
            if ! has_torch "$base"; then
                has apt-get || fail "no torch here and no apt-get: pip install torch, or set" \
                    "DLLM_TEST_WITHOUT_TORCH=1"
                install_packages python3-torch python3-numpy
            fi
        fi
    fi
    say "a Python for the tests in build/python"
    rm -rf build/python
    "$base" -m venv --system-site-packages build/python >/dev/null 2>&1 || {
        install_packages python3-venv
        "$base" -m venv --system-site-packages build/python
    }
    "$python" -m pip install -q numpy pytest ||
        fail "NumPy and pytest could not be fetched: is this machine online?"
    whole_python "$python" || fail "build/python finds no torch that works with its NumPy: install one for" \
        "$base (outside of virtual environments), or set DLLM_TEST_WITHOUT_TORCH=1"
}

# configure_and_build FOLDER [cmake options]
configure_and_build() {
    folder=$1
    shift
    cmake -S . -B "$folder" "$@" >"$folder.log" 2>&1 || {
        cat "$folder.log" >&2
        fail "cmake could not configure $folder"
    }
    cmake --build "$folder" -j "$jobs" >>"$folder.log" 2>&1 || {
        tail -n 60 "$folder.log" >&2
        fail "$folder did not build"
    }
}

jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
mkdir -p build
