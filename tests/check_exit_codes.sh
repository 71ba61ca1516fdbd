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
 {"id": "low", "kind": "gather", "runs": [
  {"masked": [0], "prompt_len": -1e300, "block_index": 1e300, "block_length": 1e300,
   "window": "block"}]},
 {"id": "empty", "kind": "loop", "runs": [
  {"family": "sdar", "vocab": 2, "mask_id": 1, "prompt": [], "gen_length": 0, "table": []}]}]}
END
# one word or field that is not known in an otherwise right case, and what is said of it: run, or row
cat >"$folder/strange.txt" <<'END'
decode|"kind": "selekt", "runs": [{}]|kind "selekt" is none of schedule, rows, select, step, filter, eos, gather, loop, wino, likelihood
decode|"kind": "select", "tier": "D", "runs": [{}]|tier "D" is none of A, B, C
decode|"kind": "select", "rusn": [{}]|field "rusn" is none of id, kind, tier, title, notes, core, source, runs, common
decode|"kind": "select", "runs": []|runs is no list that has any
decode|"kind": "select", "runs": [{"confidense": [1]}]|run 0: field "confidense" is none of name, confidence, entropy, rule, expected
decode|"kind": "select", "common": {"rul": {}}, "runs": [{}]|run 0: field "rul" is none of name, confidence, entropy, rule, expected
decode|"kind": "select", "runs": [{"rule": {"name": "best"}}]|run 0: rule: name "best" is none of top_k, threshold, factor, dynamic, sequential, entropy_bound, hierarchy
decode|"kind": "select", "runs": [{"rule": {"name": "factor", "variant": "papre"}}]|run 0: rule: variant "papre" is none of paper, first_failure, drop_last
decode|"kind": "select", "runs": [{"rule": {"name": "top_k", "count": 1}}]|run 0: rule: field "count" is none of name, variant, order, run_ties, k, inclusive, threshold, near_tie, factor, gamma, low_threshold
decode|"kind": "select", "runs": [{"rule": {"name": "threshold", "threshold": "half"}}]|run 0: rule: threshold is no number
decode|"kind": "select", "runs": [{"rule": {"name": "threshold", "inclusive": true}}]|run 0: rule: inclusive is no number
decode|"kind": "select", "runs": [{"expected": {"selekted": [0]}}]|run 0: expected: field "selekted" is none of selected
decode|"kind": "schedule", "runs": [{"rule": "odd"}]|run 0: rule "odd" is none of even, dream, dllm_linear
decode|"kind": "gather", "runs": [{"window": "half"}]|run 0: window "half" is none of canvas, block, block_minus_1
decode|"kind": "gather", "runs": [{"window": 1}]|run 0: window is no word
decode|"kind": "gather", "runs": [{"expected": {"error": "yes"}}]|run 0: expected: error is not true or false
decode|"kind": "eos", "runs": [{"eos_rule": "soon"}]|run 0: eos_rule "soon" is none of never, gap_closed, after_block, fill, step
decode|"kind": "filter", "runs": [{"filter_order": "k_p"}]|run 0: filter_order "k_p" is none of p_then_k, k_then_p
decode|"kind": "filter", "runs": [{"logits": [0, "one"]}]|run 0: logits is no list of numbers
decode|"kind": "rows", "runs": [{"cfg_round": "fp16"}]|run 0: cfg_round "fp16" is none of fp32, bf16
decode|"kind": "rows", "runs": [{"expected": {"rows": [{"lsee": 0}]}}]|run 0: expected: rows: field "lsee" is none of argmax, max, lse, confidence
decode|"kind": "step", "runs": [{"mask_id": 1}, {"mask_rule": "alow"}]|run 1: mask_rule "alow" is none of suppress, exclude, allow
decode|"kind": "step", "runs": [{"mask_rul": "allow"}]|run 0: field "mask_rul" is not known
decode|"kind": "step", "runs": [{"score": "surest"}]|run 0: score "surest" is none of confidence, margin, neg_entropy, entropy
decode|"kind": "step", "runs": [{"eos_confidence": "on"}]|run 0: eos_confidence "on" is none of off, intended, published
decode|"kind": "step", "runs": [{"confidence_round": "fp16"}]|run 0: confidence_round "fp16" is none of fp32, bf16
decode|"kind": "step", "runs": [{"expected": {"status": "finished"}}]|run 0: expected: status "finished" is none of running, done, no_progress, unusable_row
decode|"kind": "step", "runs": [{"expected": {"flags": ["NAN"]}}]|run 0: expected: flags "NAN" is none of "", NONFINITE, EMPTY
decode|"kind": "loop", "runs": [{"family": "lada"}]|run 0: family: preset "lada" is none of llada, threshold
decode|"kind": "loop", "runs": [{"family": "dream", "alg": "best"}]|run 0: alg "best" is none of origin, maskgit_plus, topk_margin, entropy
decode|"kind": "loop", "runs": [{"family": "llada", "remasking": "rand"}]|run 0: remasking "rand" is none of low_confidence, random
decode|"kind": "loop", "runs": [{"family": "llada", "eligible": "all"}]|run 0: eligible "all" is none of block, prefix
decode|"kind": "loop", "runs": [{"family": "llada", "top_k": 5}]|run 0: top_k is not null, which alone is offered
decode|"kind": "loop", "runs": [{"family": "llada", "batch": [{"prompts": [0]}]}]|run 0: batch: field "prompts" is not known
decode|"kind": "loop", "runs": [{"family": "llada", "expected": {"finals": [0]}}]|run 0: expected: field "finals" is none of final, selected
rows|"rows": [{"logits": [1, 2], "expected": {}}]|a row has no expected values
rows|"Vocab": 3, "rows": []|the case: field "Vocab" is none of id, V, exact_in
rows|"large": "yes", "rows": []|large is not true or false
rows|"exact_in": "fp32", "rows": []|exact_in is no list of types
rows|"exact_in": ["fp8"], "rows": []|exact_in "fp8" is none of bf16, fp16, fp32
rows|"params": {"scales": 2}, "rows": []|params: field "scales" is none of scale, softcap, round_logits, bias, suppress, valid_vocab, vocab_offset
rows|"params": {"round_logits": "half"}, "rows": []|round_logits "half" is none of bf16, fp16, fp32
rows|"head": {"h": 1}, "rows": []|head: field "h" is none of H, x, W
rows|"gather": {"rows": []}, "rows": []|gather: field "rows" is none of source_rows, row_index
rows|"rows": [{"logits": [1, 2], "temprature": 1}]|a row: field "temprature" is none of logits, bad_index, target, temperature
rows|"rows": [{"logits": {"count": 2, "fill": 0, "sets": {}}}]|logits: field "sets" is none of count, fill, cycle, ranges, set
rows|"rows": [{"logits": [1, 2], "noise": {"keys": 1}}]|noise: field "keys" is none of words, seed, row_key
rows|"rows": [{"logits": [1, 2], "expected": {"lsee": 1}}]|expected: field "lsee" is none of argmax, max, lse
rows|"rows": [{"logits": [1, 2], "expected": {}, "tol": {"confidence": 1}}]|tol: field "confidence" is none of argmax, max, lse, confidence_rel
rows|"rows": [{"logits": [1, 2], "expected": {"flags": ["NAN"]}}]|flags "NAN" is none of NONFINITE, EMPTY, TARGET, PARAM, ROW, COVER
rows|"rows": [{"logits": [1, 2], "expected": {"flags": "EMPTY"}}]|flags is no list
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
sed 's/"counts": \[1, 2, 3\], "selected"/"counts": [1, 3, 2], "selected"/' \
    "${cases%row_cases.json}decode_cases.json" >"$folder/counted.json"
expect 2 '^FAIL dream_loop_shift_three_criteria: run 0: sequence 0, forward 1: 2 positions committed, not 3$' \
    decode "$folder/counted.json"
sed 's/"canvases": \[\[2, 3, 15, 15\], \[2, 3, 15, 5\]/"canvases": [[2, 3, 15, 15], [2, 3, 15, 6]/' \
    "${cases%row_cases.json}decode_cases.json" >"$folder/left.json"
expect 2 '^FAIL editing_joint_threshold: run 0: sequence 0, forward 1: canvas ' decode "$folder/left.json"
# an answer of a case, damaged by an edit of the file, and what is said of it
while IFS='|' read -r edit line; do
    sed "$edit" "${cases%row_cases.json}decode_cases.json" >"$folder/damaged.json"
    expect 2 "^FAIL $line" decode "$folder/damaged.json"
done <<'END'
s/"argmax": 0, "max": 64,/"argmax": "inf", "max": 64,/|row_stats: run [0-9]: row 0: argmax 0, wanted inf
s/"argmax": 0, "max": 64,/"argmax": null, "max": 64,/|row_stats: run [0-9]: expected argmax is null$
s/"batch_final": \[\[0, 1, 2, 3\], \[1, 2, 5, 4\]\]/"batch_final": [[0, 1, 2, 3]]/|sglang_low_confidence_batch: run 0: batch_final has 1 sequences, the run 2$
s/"forwards": 4, "selected": \[\[\[0, 3\]/"forwards": null, "selected": [[[0, 3]/|sglang_low_confidence_batch: run 0: expected forwards is null$
s/"selected": \[\[\[0, 3\], \[2\]\], \[\[1\], \[\]\], \[\[2\], \[\]\]\]/"selected": []/|sglang_low_confidence_batch: run 0: sequence 0, forward 0: more than wanted$
s/"selected": \[\[\[0, 3\], \[2\]\],/"selected": [[[0, 3]],/|sglang_low_confidence_batch: run 0: forward 0: selected is not of 2 sequences$
s/"canvases": \[\[2, 3, 15, 15\], \[2, 3, 15, 5\],.*$/"canvases": []}/|editing_joint_threshold: run 0: 0 canvases are expected of 4 forwards$
s/"batch": \[{"final": \[1, 4, 5, 9, 10\],/"final": [9], "batch": [{"final": [1, 4, 5, 9, 10],/|batch_ragged_loop: run 0: final is expected beside batch, which has it$
s/"counts": \[1, 2, 3\], "selected": \[\[7\]/"counts": [], "selected": [[7]/|dream_loop_shift_three_criteria: run 0: sequence 0, forward 0: 1 positions committed, not 0$
s/"flags": \["NONFINITE", "EMPTY", "NONFINITE", ""\], "selected"/"flags": ["NONFINITE"], "selected"/|nonfinite_rows: run 0: flags of 1 positions are expected of 4$
END
echo '{"cases": [{"id": "one", "kind": "select", "runs": [{"confidence": [0.5], "rule": {"name": "sequential", "k": 1}}]}]}' \
    >"$folder/vague.json"
expect 2 '^FAIL one: run 0: nothing is expected of it$' decode "$folder/vague.json"
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
low: run 0: status -1, wanted none$
empty: run 0: length_max 0 is outside 1 .. 16777216$
END
while IFS='|' read -r command fields reason; do
    v=
    [ "$command" = decode ] || v='"V": 2, '
    echo "{\"meta\": {\"format\": 1}, \"cases\": [{\"id\": \"one\", $v$fields}]}" \
        >"$folder/strange.json"
    expect 1 "^dllm-check: $folder/strange.json: case \"one\": $reason" \
        "$command" "$folder/strange.json"
done <"$folder/strange.txt"
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
for option in '--op head' '--op=head' '--family cpu' --large; do
    # shellcheck disable=SC2086 # an option and its value are two words
    expect 1 "option ${option%%[ =]*} is for rows, decode does not take it" decode "$folder/chosen.json" $option
done
expect 1 'option --tier is for decode, rows does not take it' rows "$folder/right.json" --tier A
expect 0 '^1 passed, 0 failed, 0 skipped$' rows "$folder/right.json" --device=cpu --op=head --family=cpu
expect 2 '^0 passed, 1 failed, 0 skipped$' decode --tier=A --device=cpu "$folder/chosen.json"
expect 1 '--device "" is not cpu, cuda or cuda:N' rows "$folder/right.json" --device=
expect 1 '--large takes no value' rows "$folder/right.json" --large=yes
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
