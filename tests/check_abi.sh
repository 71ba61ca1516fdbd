#!/bin/sh
# check_abi.sh LIBRARY - the committed interface is the header's, and a moved field is noticed
#
# The second part swaps two neighbours of a struct in a copy: tools/abi.py has to name them. Both
# are 8 bytes wide, so only an offset tells.
set -eu
cd "$(dirname "$0")/.."
library=${1:?usage: check_abi.sh LIBRARY}
python3 tools/abi.py --check "$library"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/tools/python" "$folder/tests"
cp -r include "$folder/"
cp -r tests/abi "$folder/tests/"
cp -r tools/python/dllm_kernels "$folder/tools/python/"
cp tools/abi.py "$folder/tools/"
sed -i '/ int64_t hidden_stride; .*next/{h;d};/ int64_t weight_stride; .*next/{G}' "$folder/include/dllm.h"
cmp -s include/dllm.h "$folder/include/dllm.h" && { echo "no field was moved" >&2; exit 1; }
if python3 "$folder/tools/abi.py" --check >"$folder/said"; then
    echo "two fields changed places and tools/abi.py did not notice" >&2
    exit 1
fi
grep -q '^-.* hidden_stride int64_t$' "$folder/said" || { cat "$folder/said" >&2; exit 1; }
