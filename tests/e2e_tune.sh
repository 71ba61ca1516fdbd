#!/bin/sh
# dllm-tune and bench from outside: what they print, what they write, how they end.
# usage: e2e_tune.sh BUILD_FOLDER
set -u
build=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
unset DLLM_JIT DLLM_NVRTC DLLM_KERNEL_DIR DLLM_LOG
export DLLM_CACHE_DIR="$work/cache"
failures=0

# check NAME WANTED_STATUS COMMAND...: runs it into $work/out and $work/err
check() {
    name=$1 wanted=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -eq "$wanted" ] && return 0
    complain "ended with $status, not $wanted"
}

complain() {
    echo "FAIL $name: $1"
    sed 's/^/    /' "$work/out" "$work/err" | tail -n 20
    failures=$((failures + 1))
}

# has FILE TEXT: the last command's out or err holds the text
has() {
    grep -q -e "$2" "$work/$1" || complain "no \"$2\" in its $1"
}

# one_line TEXT: the last command said so in one line
one_line() {
    [ "$(wc -l <"$work/err")" -eq 1 ] || complain 'its error has not one line'
    has err "$1"
}

last_line() {
    [ "$(tail -n 1 "$work/out")" = "$1" ] || complain "its last line is not \"$1\""
}

is_json() {
    python3 -m json.tool "$work/out" >/dev/null 2>&1 || complain "its output is not JSON"
}

tune="$build/dllm-tune"
prebuild="$tune prebuild --arch sm_90a --set austen"

# ---- usage
check help 0 "$tune" --help
has out 'prebuild'
for command in doctor prebuild tune capture merge export import stat show trim clear list verify; do
    check "$command --help" 0 "$tune" $command --help
    has out "usage: dllm-tune $command"
    check "$command with a strange option" 1 "$tune" $command --strange
    has err 'strange'
done
check 'a strange letter among others' 1 "$tune" list -xq
has err 'does not take -x,'
check 'an option of another command' 1 "$tune" list --arch sm_90a
has err 'does not take --arch,'
check 'an option without its value' 1 "$tune" prebuild --arch
has err 'does not take --arch, or not so'
check 'no command' 1 "$tune"
check 'unknown command' 1 "$tune" polish
has err 'polish is not a command'
check 'capture' 0 "$tune" capture
has out 'DLLM_CAPTURE=FILE'
check 'capture --json' 0 "$tune" capture --json
is_json
check 'no arch' 1 "$tune" prebuild
has err 'needs --arch'
check 'unknown arch' 1 "$tune" prebuild --arch sm_12
has err 'sm_12 is not sm_75, .*sm_90a'
check 'unknown set' 1 "$tune" prebuild --arch sm_90a --set gpt-9
has err 'gpt-9 is not one of'
has err 'llada-8b'
check 'bad job count' 1 $prebuild --jobs 0
has err 'jobs 0'
for time in inf nan 0x10 1e3 -1 0 . m 10d 1e400; do
    check "a time limit of $time" 1 "$tune" tune --set austen --dry-run --time-limit $time
    has err "time-limit $time is no time like 90s, 10m or 1h"
done
for time in 90 1.5s 10m 1h; do
    check "a time limit of $time" 0 "$tune" tune --set austen --dry-run --time-limit $time
done
two_lines=$(printf 'sm\n90')
check 'an arch of two lines' 1 "$tune" prebuild --arch "$two_lines"
one_line 'sm.n90 is not'
check 'dry run of what writes nothing' 1 "$tune" verify --dry-run
has err 'goes with --repair'
check 'clear of each kind alone, and both' 1 "$tune" clear --kernels --tuning
one_line 'kernels does not go with --tuning'

# ---- doctor
check doctor 0 "$tune" doctor
has out "$DLLM_CACHE_DIR"
has out 'named by *DLLM_CACHE_DIR'
has out '^verdict'
check 'doctor --json' 0 "$tune" doctor --json
is_json
odd_limit='DLLM_CACHE_MAX is "bogus", not a size such as 500M, 2G or 1000000: taken as 2G'
check 'doctor with an odd limit' 0 env DLLM_CACHE_MAX=bogus "$tune" doctor
has out "problem  *$odd_limit"
for command in stat 'stat --json' trim; do
    # shellcheck disable=SC2086 # words
    check "$command with an odd limit" 0 env DLLM_CACHE_MAX=bogus "$tune" $command
    one_line "$odd_limit"
done
check 'trim --max beside an odd limit' 0 env DLLM_CACHE_MAX=bogus "$tune" trim --max 1G
[ -s "$work/err" ] && complain 'it speaks of a limit that was not asked'
for variable in DLLM_NVRTC=/no/such.so DLLM_JIT=off; do
    check "doctor with $variable" 0 env $variable "$tune" doctor
    has out "problem .*${variable#*=}"
    has out "to have it unset ${variable%=*}"
done
[ -e "$DLLM_CACHE_DIR" ] && complain 'doctor made a cache folder'

# ---- output that is lost
check 'list into a full disk' 2 sh -c "'$tune' list >/dev/full"
has err 'output could not be written'
check 'list into nowhere' 2 sh -c "'$tune' list --json >&-"
has err 'output could not be written'

# ---- a name that is not UTF-8
strange="$work/caf$(printf '\351')"
for command in doctor list verify; do
    check "$command --json of a strange name" 0 env DLLM_CACHE_DIR="$strange" "$tune" $command --json
    is_json
    has out 'caf.*xE9'
done

# ---- an empty folder
check 'list of nothing' 0 "$tune" list
has out '^0 entries'
check 'verify of nothing' 0 "$tune" verify
last_line '0 entries, 0 bad'
check 'no compiler, cold' 4 env DLLM_NVRTC=/no/such.so $prebuild
has err '/no/such.so'
nowhere=/no/such/pack
check 'prebuild -o nowhere, before the first compile' 2 env DLLM_NVRTC=/no/such.so $prebuild -o $nowhere
one_line "cannot write $nowhere: No such file"
check 'no usable folder' 5 env DLLM_CACHE_DIR=/dev/null/below $prebuild
has err '/dev/null/below'

check 'tune --dry-run' 0 "$tune" tune --set austen --dry-run
has out '^austen rows 64$'

# ---- with a compiler
if ! "$tune" doctor | grep -q 'compiles *yes'; then
    echo 'no compiler here: the rest is skipped'
    [ "$failures" -eq 0 ] && exit 77
    exit 1
fi
check 'dry run' 0 $prebuild --dry-run
number=$(tail -n 1 "$work/out" | sed 's/ kernels.*//')
last_line "$number kernels, $number to compile, 0 already cached"
[ "${number:-0}" -gt 0 ] || complain 'it lists no kernel'
[ -e "$DLLM_CACHE_DIR" ] && complain 'a dry run made a cache folder'

# timeout sends SIGTERM to the process and then to its group: kernels in hand are finished all the same
check 'ended by a job' 130 timeout --preserve-status 1 $prebuild --jobs 2
has err 'interrupted'
for inner in lock tmp; do
    [ -z "$(ls "$DLLM_CACHE_DIR/v1/$inner")" ] || complain "a kernel in hand was lost: $inner is not empty"
done
check interrupted 130 timeout --preserve-status -s INT 1 $prebuild --jobs 1
has err 'interrupted'
kept=$("$tune" list -q | wc -l)
check prebuild 0 $prebuild --jobs 2
last_line "$number kernels, $((number - kept)) compiled, $kept already cached"
check 'prebuild again' 0 $prebuild
last_line "$number kernels, 0 compiled, $number already cached"
check 'prebuild without a compiler, warm' 0 env DLLM_NVRTC=/no/such.so $prebuild
last_line "$number kernels, 0 compiled, $number already cached"
check 'prebuild --json' 0 $prebuild --json -q
is_json
has out "\"cached\": $number"
check 'list' 0 "$tune" list
has out "^$number entries"
has out 'head_mma.cu *sm_90a .*TILE_ROWS='
sed '1d;$d' "$work/out" | awk '{print $1, $2}' >"$work/order"
LC_ALL=C sort -c "$work/order" || complain 'its lines are not in order of program and arch'
check 'list --json' 0 "$tune" list --json
is_json
python3 - "$work/out" <<'PYTHON' || complain 'it is not in the order that --help tells'
import json, sys
entries = json.load(open(sys.argv[1]))["entries"]
order = [[entry[name] for name in ("program", "arch", "defines", "file")] for entry in entries]
sys.exit(order != sorted(order) or len({entry["program"] for entry in entries}) < 3)
PYTHON
"$tune" list -q >"$work/names"
python3 -c 'import json, sys
print(*[entry["file"] for entry in json.load(open(sys.argv[1]))["entries"]], sep="\n")' "$work/out" |
    cmp -s - "$work/names" || complain 'list -q has another order'

# ---- packs
check 'prebuild -o' 0 $prebuild -o "$work/pack"
check 'export' 0 "$tune" export -o "$work/all"
last_line "$number added, 0 same, 0 worse, 0 incompatible, 0 corrupt"
cmp -s "$work/pack" "$work/all" || complain 'the pack of a set is not that of the folder that has only it'
check 'merge' 0 "$tune" merge "$work/pack" "$work/all" -o "$work/both"
last_line "$number added, $number same, 0 worse, 0 incompatible, 0 corrupt"
cmp -s "$work/pack" "$work/both" || complain 'a pack merged with itself is another one'
check 'import --dry-run' 0 env DLLM_CACHE_DIR="$work/new" "$tune" import "$work/pack" --dry-run
[ -e "$work/new" ] && complain 'a dry run made a cache folder'
check 'import --json' 0 env DLLM_CACHE_DIR="$work/new" "$tune" import "$work/pack" --json
is_json
has out "\"added\": $number"
check 'verify what was imported' 0 env DLLM_CACHE_DIR="$work/new" "$tune" verify
last_line "$number entries, 0 bad"
check 'prebuild from what was imported, without a compiler' 0 \
    env DLLM_CACHE_DIR="$work/new" DLLM_NVRTC=/no/such.so $prebuild
last_line "$number kernels, 0 compiled, $number already cached"
check 'import through a pipe' 0 sh -c "cat '$work/pack' | '$tune' import /dev/stdin"
last_line "0 added, $number same, 0 worse, 0 incompatible, 0 corrupt"
check 'import a device' 2 "$tune" import /dev/zero
has err 'it is a device'
: >"$work/file"
check 'import below a file' 5 env DLLM_CACHE_DIR="$work/file" "$tune" import "$work/pack"
mkdir -p -m 700 "$work/part/v1"
: >"$work/part/v1/tmp"
check 'import that stores nothing' 2 env DLLM_CACHE_DIR="$work/part" "$tune" import "$work/pack"
has out "$number not stored"
has err 'with -v the library says why'
head -c 5000 "$work/pack" >"$work/half"
check 'import half a pack' 2 env DLLM_CACHE_DIR="$work/none" "$tune" import "$work/half"
has err 'cut off'
[ -e "$work/none" ] && complain 'half a pack made a cache folder'
check 'import what is no pack' 2 "$tune" import "$tune"
one_line 'no dllm pack of .* it does not begin with dllm-pack-1'
check 'import nothing' 1 "$tune" import
check 'merge one' 1 "$tune" merge "$work/pack" -o "$work/both"
check 'export nowhere' 2 "$tune" export -o /no/such/folder/pack
has err 'No such file'
mkfifo "$work/pipe"
cat "$work/pipe" >"$work/piped" &
check 'export into a pipe' 0 "$tune" export -o "$work/pipe"
wait $!
[ -p "$work/pipe" ] || complain 'the pipe is no pipe any more'
cmp -s "$work/all" "$work/piped" || complain 'the pack did not go through the pipe'
: >"$work/behind"
ln -s behind "$work/link"
check 'export through a link' 0 "$tune" export -o "$work/link"
[ -L "$work/link" ] || complain 'the link is no link any more'
cmp -s "$work/all" "$work/behind" || complain 'the pack did not go through the link'
check 'shapes of a folder' 1 "$tune" tune --shapes "$work"
has err 'Is a directory'
check 'shapes of an odd line' 1 sh -c "printf '\\nheads\\n' | '$tune' tune --shapes /dev/stdin"
one_line '^dllm-tune: /dev/stdin: line 2: heads is not head or sampler'
check 'shapes of an empty file' 1 "$tune" tune --shapes /dev/null
has err '/dev/null names no problem'

# ---- how much there is, and less of it
check 'stat' 0 "$tune" stat
has out "^sm_90a *$number kernels"
check 'stat --json' 0 "$tune" stat --json
is_json
has out "\"kernels\": $number"
"$tune" list | sed '1d;$d' | awk '{print $3}' >"$work/keys"
cut -c 1-12 "$work/names" | cmp -s - "$work/keys" || complain 'list prints other keys than -q'
key=$(head -n 1 "$work/keys") whole=$(head -n 1 "$work/names")
for wanted in "$key" "$(echo "$key" | cut -c 1-10)" "$whole"; do
    check "show $wanted" 0 "$tune" show "$wanted"
    has out '^arch sm_90a'
    [ "$(head -n 1 "$work/out")" = "$whole" ] || complain "it is not $whole"
done
check 'show of nothing' 2 "$tune" show 0000
one_line 'no entry of .* begins with 0000'
for digit in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
    many=$(grep -c "^$digit" "$work/names")
    [ "$many" -gt 1 ] && break
done
check 'show of several' 2 "$tune" show "$digit"
one_line "^dllm-tune: $many entries of .* begin with $digit"
[ -s "$work/out" ] && complain 'it printed one of them'
check 'show --json of several' 2 "$tune" show "$digit" --json
is_json
[ "$(grep -c '"file"' "$work/out")" -eq "$many" ] || complain "it has not $many files"
check 'trim keeps the young' 0 "$tune" trim --max 0
last_line "$(tail -n 1 "$work/out" | sed 's/^[0-9]*/0/')"
one_line "$number files of [1-9][0-9]* bytes stay above the limit: used in the last hour"
check 'trim of a wrong size' 1 "$tune" trim --max much
find "$work/new/v1/k" -name '*.dk' -exec touch -d '2 hours ago' {} +
check 'trim --dry-run --json' 0 env DLLM_CACHE_DIR="$work/new" "$tune" trim --max 0 --dry-run --json
is_json
# root may write where nobody may
as_caller="setpriv --reuid 54322 --clear-groups"
[ "$(id -u)" = 0 ] || as_caller=
chmod 711 "$work"
chmod -R a+rX,a-w "$work/new"
# shellcheck disable=SC2086 # words
if $as_caller "$tune" --help >/dev/null 2>&1; then
    check 'trim of what cannot be written' 2 env DLLM_CACHE_DIR="$work/new" $as_caller "$tune" trim --max 0
    has out "^0 of $number files removed"
    one_line "$work/new/v1/k/../.*\.dk stays: Permission denied"
fi
chmod -R u+w "$work/new"
check 'trim' 0 env DLLM_CACHE_DIR="$work/new" "$tune" trim --max 0
has out "^$number of $number files removed"
check 'import again' 0 env DLLM_CACHE_DIR="$work/new" "$tune" import "$work/pack"
check 'clear --tuning' 0 env DLLM_CACHE_DIR="$work/new" "$tune" clear --tuning
has out '^0 of 0 files'
check 'clear' 0 env DLLM_CACHE_DIR="$work/new" "$tune" clear
[ -z "$(find "$work/new/v1/k" -name '*.dk')" ] || complain 'it left a kernel'
mkdir "$work/new/v1/tmp/folder"
check 'clear that leaves a folder' 2 env DLLM_CACHE_DIR="$work/new" "$tune" clear
has out '^0 of 1 files removed'
one_line "$work/new/v1/tmp/folder stays: Is a directory"
mkdir "$work/foreign"
check 'clear what is no cache' 5 env DLLM_CACHE_DIR="$work/foreign" "$tune" clear
has err 'CACHEDIR.TAG'

# ---- a bad entry: found, told, moved aside, compiled again
check verify 0 "$tune" verify
last_line "$number entries, 0 bad"
entry=$(find "$DLLM_CACHE_DIR/v1/k" -name '*.dk' | sort | head -n 1)
printf x | dd of="$entry" bs=1 seek=200 conv=notrunc 2>/dev/null
check 'verify finds a flipped byte' 2 "$tune" verify
has out "^BAD $entry"
last_line "$number entries, 1 bad"
check 'verify --json' 2 "$tune" verify --json
is_json
check 'export without it' 2 "$tune" export -o "$work/rest"
last_line "$((number - 1)) added, 0 same, 0 worse, 0 incompatible, 1 corrupt"
has err 'is left out'
check 'import of what was exported' 0 env DLLM_CACHE_DIR="$work/rest.cache" "$tune" import "$work/rest"
check 'verify --repair --dry-run' 2 "$tune" verify --repair --dry-run
[ -e "$entry" ] || complain 'a dry run moved an entry'
check 'verify --repair' 0 "$tune" verify --repair
[ -e "$entry" ] && complain 'the bad entry is still there'
mkdir -p -m 700 "$DLLM_CACHE_DIR/v1/t/gpu"
echo 'this is no tuned choice' >"$DLLM_CACHE_DIR/v1/t/gpu/a.plan"
check 'verify finds a bad tuned choice' 2 "$tune" verify
has out '^BAD .*v1/t/gpu/a.plan: it is not a plan'
check 'list with it' 0 "$tune" list
has out '^gpu  *a.plan  *it is not a plan'
check 'show it' 0 "$tune" show a.p
has out '^a.plan: it is not a plan'
check 'list --json with it' 0 "$tune" list --json
is_json
check 'verify --repair of it' 0 "$tune" verify --repair
[ -e "$DLLM_CACHE_DIR/v1/bad/a.plan" ] || complain 'the bad tuned choice was not moved aside'
check 'prebuild after the repair' 0 $prebuild
last_line "$number kernels, 1 compiled, $((number - 1)) already cached"

# ---- a folder in place of an entry
rm "$entry" && mkdir "$entry"
echo 'not a kernel' >"$entry/file"
check 'verify finds a folder' 2 "$tune" verify
has out "^BAD $entry: it is a folder"
check 'prebuild beside a folder' 0 $prebuild
last_line "$number kernels, 1 compiled, $((number - 1)) already cached"
[ -e "$DLLM_CACHE_DIR/v1/bad/$(basename "$entry")/file" ] || complain 'the folder was not moved aside'
rm "$entry" && mkdir "$entry"
echo 'not a kernel' >"$entry/file"
check 'verify --repair of a second folder' 0 "$tune" verify --repair
has out "^MOVED $entry: it is a folder"
[ -e "$DLLM_CACHE_DIR/v1/bad/$(basename "$entry").1/file" ] || complain 'the second folder was not moved aside'
check 'prebuild after it' 0 $prebuild
last_line "$number kernels, 1 compiled, $((number - 1)) already cached"

# ---- folders in it that are not used
folder=$(dirname "$entry")
for inner in v1 v1/k "${folder#"$DLLM_CACHE_DIR"/}" v1/tmp; do
    case $inner in v1 | v1/k) wanted=5 ;; *) wanted=2 ;; esac
    chmod 777 "$DLLM_CACHE_DIR/$inner"
    for command in list verify; do
        check "$command with $inner open to the world" $wanted "$tune" $command
        one_line "is not used: $(basename "$inner"): the world may write it"
    done
    check "list --json with $inner open to the world" $wanted "$tune" list --json
    is_json
    check "dry run with $inner open to the world" 5 $prebuild --dry-run
    if [ "$inner" = v1/tmp ]; then rm "$entry"; fi
    check "prebuild with $inner open to the world" 5 $prebuild
    has err 'the world may write it'
    if [ "$inner" != "${folder#"$DLLM_CACHE_DIR"/}" ]; then
        check "doctor with $inner open to the world" 0 "$tune" doctor
        has out 'problem.*the world may write it'
    fi
    chmod 700 "$DLLM_CACHE_DIR/$inner"
done
for inner in v1/t v1/t/gpu; do
    chmod 777 "$DLLM_CACHE_DIR/$inner"
    for command in list verify stat "export -o $work/rest"; do
        # shellcheck disable=SC2086 # words
        check "$command with $inner open to the world" 2 "$tune" $command
        [ "$(wc -l <"$work/err")" -eq 1 ] || complain 'it does not say so in one line'
    done
    check "verify --json with $inner open to the world" 2 "$tune" verify --json
    is_json
    has out '"refused_folders": 1'
    chmod 700 "$DLLM_CACHE_DIR/$inner"
done
mv "$DLLM_CACHE_DIR/v1/k" "$work/moved" && ln -s "$work/moved" "$DLLM_CACHE_DIR/v1/k"
check 'list through a link' 5 "$tune" list
has err 'k: Not a directory'

# ---- a set-uid program: the caller's variables are not heard
set_uid() { cp "$1" "$2" && chown 54321 "$2" && chmod 4755 "$2"; }
# a file system may not know set-uid; a leak sanitizer cannot end such a program, nor be told not to try
if ! grep -q __asan_init "$tune" && [ "$(id -u)" = 0 ] && set_uid "$(command -v id)" "$work/id" &&
    [ "$($as_caller "$work/id" -u 2>/dev/null)" = 54321 ]; then
    set_uid "$tune" "$work/set-uid"
    mkdir "$work/planted"
    chown 54321 "$work/planted"
    check 'stat, set-uid' 5 env DLLM_CACHE_DIR="$work/planted" XDG_CACHE_HOME="$work/planted" \
        HOME="$work/planted" $as_caller "$work/set-uid" stat
    has err 'no DLLM_CACHE_DIR, XDG_CACHE_HOME, HOME or passwd entry names a folder'
fi

# ---- a worker that leaves a process behind
if [ -e "$build/tests/libfake_nvrtc_leaves.so" ]; then
    check 'prebuild whose workers leave a process' 0 env DLLM_CACHE_DIR="$work/left" \
        DLLM_JIT=inproc DLLM_NVRTC="$build/tests/libfake_nvrtc_leaves.so" \
        timeout 15 $prebuild --jobs 2
fi

# ---- bench, its logic alone
bench="$build/bench"
check 'bench --help' 0 "$bench" --help
check 'bench with a bad number' 1 "$bench" --rows 1,x
has err 'rows x'
check 'bench with an unknown set' 1 "$bench" --set gpt-9
has err 'llada-8b'
check 'bench with a set of two lines' 1 "$bench" --set "$two_lines"
one_line 'set sm.n90 is not all or one of: '
check 'bench by an unknown method' 1 "$bench" --method LX
has err 'letters of L, B and H'
check 'bench beside what it does not know' 1 "$bench" --beside read,torch
has err 'beside torch is not'
check 'bench of the host time of a run that is the work' 1 "$bench" --device cpu --method H
has err 'needs a GPU'
check 'bench of one vocabulary for all sets' 1 "$bench" --set all --vocab 8
has err 'vocab does not go with --set all'
for operation in head sampler step; do
    check "bench $operation of an unknown family" 1 "$bench" --device cpu --op $operation --family nope
    has err 'bench: --family nope is not one of: naive'
done
check 'bench with more threads than a context has' 1 "$bench" --device cpu --threads 2000
has err 'bench: threads 2000 is outside 0 .. 1024'
check 'bench on a device that is not there' 3 "$bench" --device cuda:99
check 'bench on the CPU' 0 "$bench" --device cpu --vocab 4096 --depth 256 --rows 1,4 --samples 5 \
    --csv "$work/results.csv" --json "$work/results.json"
has out 'head *bf16 *4096 *256 *4 cpu'
has out 'sampler *fp32 *4096 *0 *4 cpu'
[ "$(wc -l <"$work/results.csv")" -eq 9 ] || complain 'the CSV has not a header and 8 results'
python3 - "$work/results.json" <<'PYTHON' || complain 'the JSON is not a list of 8 whole results'
import json, sys
results = json.load(open(sys.argv[1]))
assert len(results) == 8
for result in results:
    assert 0 < result["min_ms"] <= result["ms"] and result["samples"] == 5
    assert result["ratio"] is None and result["method"] == "L" and result["workspace_bytes"] > 0
    assert "--rows 1,4" in result["command"] and result["set"] == ""
    assert result["share"] is None and result["sm_mhz"] is None and result["watts"] is None
PYTHON
check 'bench in launches and bursts' 0 "$bench" --device cpu --set austen --op head --rows 1 \
    --method LB --burst 2 --samples 3 --json "$work/results.json"
has out 'head *bf16 *4096 *256 *1 cpu *B'
grep -q '"set": "austen"' "$work/results.json" || complain 'its JSON does not name the set'
check 'bench with more outputs' 0 "$bench" --device cpu --set austen --op head --rows 3 --samples 3 \
    --more statistics,gumbel
has out 'head *bf16 *4096 *256 *3 cpu+statistics *L'
has out 'head *bf16 *4096 *256 *3 cpu+gumbel *L'
check 'bench of steps' 0 "$bench" --device cpu --op step --vocab 512 --depth 64 --canvases 2 --length 64 \
    --block 8 --samples 3 --json "$work/step.json"
has out 'llada head'
has out 'dream own'
python3 - "$work/step.json" <<'END' || complain "its results are not those of steps"
import json, sys
results = json.load(open(sys.argv[1]))
found = [(r["vocab"], r["what"]) for r in results]
wanted = [(v, p + s) for v in (512, 256) for p in ("llada", "threshold", "dream")
          for s in ("", " head", " own")]
sys.exit(found != wanted or any(r["op"] != "step" or r["rows"] != 16 for r in results))
END
check 'bench of a decoder that nobody published' 1 "$bench" --device cpu --op step --vocab 512 --depth 64 \
    --canvases 1 --length 64 --block 8 --preset lamda
has err 'bench: --preset lamda is not one of: llada'
[ -s "$work/out" ] && complain 'it printed before it looked the name up'
check 'bench of a canvas of half a block' 1 "$bench" --device cpu --op step --length 100
has err 'length 100 is not two blocks of 32'
check 'bench of a family that the CPU has not' 2 "$bench" --device cpu --op head --vocab 64 \
    --depth 16 --rows 1 --family mma
has out 'mma *--'
if [ -x "$build/bench-cpu" ]; then
    check 'bench-cpu with a bad number' 1 "$build/bench-cpu" --rows x
    has err '^bench-cpu: --rows x is not a number'
fi

if [ "$failures" -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo 'all passed'
