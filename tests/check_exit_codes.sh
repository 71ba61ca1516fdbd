#!/bin/sh
# check_exit_codes.sh - dllm-check: exit status and last or only line of each way to call it
#
#     check_exit_codes.sh path/to/dllm-check path/to/row_cases.json
set -u
check=$1
cases=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

# expect STATUS PATTERN ARGUMENTS...: the exit status, and a line of the output that matches
expect() {
    status=$1
    pattern=$2
    shift 2
    "$check" "$@" >"$folder/output" 2>&1
    got=$?
    if [ "$got" -ne "$status" ] || ! grep -q -- "$pattern" "$folder/output"; then
        echo "dllm-check $*: status $got, wanted $status and a line like '$pattern':"
        cat "$folder/output"
        failed=1
    fi
}

# a right case, and the same with a wrong answer
cat >"$folder/right.json" <<'END'
{"meta": {"format": 1}, "cases": [{"id": "one", "V": 2, "rows": [
  {"logits": [1, 2], "expected": {"argmax": 1, "max": 2.0, "flags": []}, "tol": {}}]}]}
END
cat >"$folder/chosen.json" <<'END'
{"cases": [{"id": "one", "kind": "select", "tier": "A", "runs": [
  {"confidence": [0.5, 0.25], "rule": {"name": "top_k", "k": 1}, "expected": {"selected": [1]}}]}]}
END
cat >"$folder/stalled.json" <<'END'
{"cases": [{"id": "one", "kind": "step", "tier": "A", "runs": [
  {"logits": [[0, 1]], "mask_id": 1, "mask_rule": "allow", "rule": {"name": "threshold"},
   "expected": {"tokens": [1], "selected": [0], "status": "done"}}]}]}
END
# decode cases with a number that fits nothing
cat >"$folder/unfit.json" <<'END'
{"cases": [
 {"id": "rows", "kind": "rows", "runs": [{"logits": [[0, 1]], "expected": {"rows": [{"max": 1}, {"max": 1}]}}]},
 {"id": "shard", "kind": "rows", "runs": [{"logits": [[0, 1]], "shards": [[0, 1], [1, 3]]}]},
 {"id": "uniforms", "kind": "filter", "runs": [{"logits": [0, 1], "temperature": 1, "uniforms": [1]}]},
 {"id": "draw", "kind": "filter", "runs": [{"logits": [0, "nan"], "temperature": 1, "uniforms": [1, 1]}]},
 {"id": "shares", "kind": "schedule", "runs": [
  {"steps": 1, "masks": 1, "expected": {"transfer_probability": [1, 1]}}]},
 {"id": "entropy", "kind": "select", "runs": [
  {"confidence": [0.5, 0.25], "entropy": [1], "rule": {"name": "entropy_bound"}}]},
 {"id": "masked", "kind": "step", "runs": [
  {"logits": [[0, 1]], "mask_id": 1, "rule": {"name": "threshold"}, "masked": [1, 1]}]},
 {"id": "flags", "kind": "step", "runs": [
  {"logits": [[0, 1]], "mask_id": 1, "rule": {"name": "threshold"}, "expected": {"flags": ["", ""]}}]},
 {"id": "committed", "kind": "eos", "runs": [{"canvas": [0, 1], "block": [0, 2], "just_committed": [-1]}]},
 {"id": "block", "kind": "eos", "runs": [{"canvas": [0, 1], "block": [0], "just_committed": []}]},
 {"id": "window", "kind": "gather", "runs": [{"masked": [0], "block_length": 1, "window": "half"}]},
 {"id": "low", "kind": "gather", "runs": [
  {"masked": [0], "prompt_len": -1e300, "block_index": 1e300, "block_length": 1e300,
   "window": "block"}]},
 {"id": "empty", "kind": "loop", "runs": [
  {"family": "sdar", "vocab": 2, "mask_id": 1, "prompt": [], "gen_length": 0, "table": []}]}]}
END
sed 's/"argmax": 1/"argmax": 0/' "$folder/right.json" >"$folder/wrong.json"
sed 's/"logits": \[1, 2\]/"logits": [1]/' "$folder/right.json" >"$folder/short.json"
sed 's/"logits": \[1, 2\]/"bad_index": true/' "$folder/right.json" >"$folder/ungathered.json"

expect 0 '^usage: dllm-check' --help
expect 0 '^PASS one$' rows "$folder/right.json"
expect 0 '^1 passed, 0 failed, 0 skipped$' rows "$folder/right.json" --op head --family cpu
expect 2 '^FAIL one: got 1, wanted 0 ' rows "$folder/wrong.json" --device cpu --op sampler
expect 2 '^0 passed, 1 failed, 0 skipped$' rows "$folder/wrong.json"
expect 0 '^SKIP offset_64bit: needs --large$' rows "$cases"
expect 0 ' passed, 0 failed, ' rows "$cases"
expect 1 'a command is missing'
expect 1 'command "columns" is not rows or decode' columns "$cases"
expect 0 ' passed, 0 failed, ' decode "${cases%row_cases.json}decode_cases.json"
expect 0 '^PASS factor_selection$' decode "${cases%row_cases.json}decode_cases.json" --tier A
expect 0 '^PASS predicted_mask_id$' decode "${cases%row_cases.json}decode_cases.json"
expect 0 '^PASS argmax_tie_and_vocab_shard_merge$' decode "${cases%row_cases.json}decode_cases.json"
expect 0 '^PASS cfg$' decode "${cases%row_cases.json}decode_cases.json"
expect 0 '^SKIP wino: needs tier C$' decode "${cases%row_cases.json}decode_cases.json"
expect 0 '^PASS editing_joint_threshold$' decode "${cases%row_cases.json}decode_cases.json"
sed 's/6, 7, 8, 9, 10, 11\], "forwards": 4/6, 7, 8, 9, 10, 12], "forwards": 4/' \
    "${cases%row_cases.json}decode_cases.json" >"$folder/ended.json"
expect 2 '^FAIL factor_loop: run 0: final ' decode "$folder/ended.json"
expect 2 '^FAIL one: run 0: status no_progress, wanted done$' decode "$folder/stalled.json"
expect 2 '^FAIL one: run 0: selected \[0\], wanted \[1\]$' decode "$folder/chosen.json"
while read -r line; do
    expect 2 "^FAIL $line" decode "$folder/unfit.json"
done <<'END'
rows: run 0: 2 rows are expected of 1$
shard: run 0: a shard of columns 1 .. 3 is outside 0 .. 2$
uniforms: run 0: 1 uniforms of 2 logits$
draw: run 0: a draw among 0 candidates of 2 logits$
shares: run 0: expected transfer_probability is no list of 1 numbers$
entropy: run 0: 2 confidences and 1 entropies$
masked: run 0: masked has 2 positions, logits 1$
flags: run 0: flags of 2 positions are expected of 1$
committed: run 0: just_committed -1 is outside 0 .. 1$
block: run 0: block is no list of two positions$
window: run 0: the window's name is not known$
low: run 0: status -1, wanted none$
empty: run 0: length_max 0 is outside 1 .. 16777216$
END
expect 1 'no list "cases" whose members have id and kind' decode "$cases"
expect 1 '--tier "D" is not A, B or C' decode "$cases" --tier D
expect 1 'no case file is given' rows
expect 1 'option "--fast" is not ' rows "$cases" --fast
expect 1 '"b" is a second file' rows "$cases" b
expect 1 '--device "gpu" is not cpu, cuda or cuda:N' rows "$cases" --device gpu
expect 1 '--device "cuda:x" is not ' rows "$cases" --device cuda:x
expect 1 '--op has no value' rows "$cases" --op
expect 1 '--op "merge" is not head or sampler' rows "$cases" --op merge
expect 1 '--family "fast" is not one of cpu' rows "$cases" --family fast
expect 1 '--family "stream" is not one of naive' rows "$cases" --device cuda --op head --family stream
expect 1 'nowhere.json' rows "$folder/nowhere.json"
expect 1 'case "one": logits are not a rule or a list of V numbers' rows "$folder/short.json"
expect 1 'case "one": a row has bad_index, and there is no gather' rows "$folder/ungathered.json"

# output that is lost is said and no success
for place in '>/dev/full' '>&-'; do
    eval "'$check' rows '$folder/right.json' $place" 2>"$folder/output"
    got=$?
    if [ "$got" -ne 1 ] || ! grep -q 'output could not be written' "$folder/output"; then
        echo "dllm-check $place: status $got, wanted 1 and a message:"
        cat "$folder/output"
        failed=1
    fi
done
expect 3 . rows "$cases" --device cuda:1023
exit $failed
