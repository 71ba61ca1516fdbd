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
        fail "these packages are missing and this is not root:$missing"
    fi
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
    [ -n "$missing" ] || return 0
    has apt-get || fail "install these first (no apt-get here):$missing"
    say "installing$missing"
    as_root apt-get update -qq >/dev/null || fail "apt-get update failed: is this machine online?"
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        $missing >/dev/null || fail "apt-get could not install$missing"
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
            missing=" python3-pip"
            has apt-get || fail "install python3-pip, or set DLLM_NVRTC to a libnvrtc.so"
            as_root apt-get update -qq >/dev/null
            as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
                --no-install-recommends python3-pip >/dev/null ||
                fail "apt-get could not install python3-pip"
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

# A Python with NumPy and pytest, for the tests of the package and of the decode loop; torch is tested
# where it is installed.
want_python() {
    python=build/python/bin/python
    ! "$python" -c 'import numpy, pytest' 2>/dev/null || return 0
    say "fetching NumPy and pytest"
    rm -rf build/python
    python3 -m venv --system-site-packages build/python 2>/dev/null || {
        missing=" python3-venv"
        has apt-get || fail "install python3-venv"
        as_root apt-get update -qq >/dev/null
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends python3-venv >/dev/null || fail "apt-get could not install$missing"
        python3 -m venv --system-site-packages build/python
    }
    "$python" -m pip install -q numpy pytest ||
        fail "NumPy and pytest could not be fetched: is this machine online?"
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
