#!/bin/sh
# installed_wheel.sh BUILD PYTHON - the Python package's tests against its wheel, installed by pip
#
# Nothing of the tree but the tests is in reach: the environment is empty but for the wheel's folder,
# so the package finds the library that it carries. PYTHON has NumPy, pytest and torch, whose answers
# the package is held to: fails where they were not asked, unless DLLM_TEST_WITHOUT_TORCH=1.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: installed_wheel.sh BUILD PYTHON}
python=${2:?usage: installed_wheel.sh BUILD PYTHON}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

wheel=$("$python" tools/python/wheel.py "$build" "$folder")
"$python" -m pip install -q --no-index --no-deps --target "$folder/site" "$wheel"
[ -x "$folder/site/dllm_kernels/dllm-jit" ] || { echo "dllm-jit is no program" >&2; exit 1; }
mkdir "$folder/home"
torch=--need-torch
[ "${DLLM_TEST_WITHOUT_TORCH:-}" != 1 ] || torch=
env -i HOME="$folder/home" PATH="$PATH" PYTHONPATH="$folder/site" PYTHONDONTWRITEBYTECODE=1 \
    "$python" -m pytest -q -rs -p no:cacheprovider $torch tools/python/tests
