#!/bin/bash
# Is a program deterministic, send-deterministic, or neither? Runs it several times, under different conditions, records what
# its processes send and receive, and compares.
#
# classify.sh NAME RUNS [OPTION of hark run]... -- PROGRAM [ARGUMENT]...
#
# Prints a row of a Markdown table: the name, the word of `hark compare` as the program is, that with --steady, and how many
# sends and deliveries a run has. HARK is the command (hark). Every third run is on one core, every third beside two processes
# that do nothing but compute, and the transport alternates.
set -u
hark=${HARK:-hark} name=$1 runs=$2
shift 2
options=()
while [ "$1" != -- ]; do options+=("$1"); shift; done
shift
work=$(mktemp -d) spinners=()
trap 'kill "${spinners[@]}" 2>/dev/null; rm -rf "$work"' EXIT

spin() { local end=$((SECONDS + 130)); while [ $SECONDS -lt $end ]; do :; done }

one() { # number, file, options: one run
  local number=$1 file=$2 pin=(); shift 2
  [ $((number % 3)) = 1 ] && pin=(taskset -c 0)
  if [ $((number % 3)) = 2 ]; then spin & spinners+=($!); spin & spinners+=($!); fi
  local transport=shm; [ $((number / 3 % 2)) = 1 ] && transport=uv
  (cd "$work" && timeout 120 "${pin[@]}" "$hark" run --protocol none --interval 0 --transport $transport "${options[@]}" "$@" \
    --record "$file" -- "${program[@]}") >"$work/out" 2>&1 </dev/null
  local status=$?
  [ ${#spinners[@]} = 0 ] || { kill "${spinners[@]}"; wait "${spinners[@]}"; } 2>/dev/null
  spinners=()
  [ $status = 0 ] && return
  echo "classify.sh: $name: run $number ended with status $status:" >&2; tail -3 "$work/out" >&2
  exit 1
}

class() { # prefix, options: the word of all runs, and "contents" where nothing else differs
  local prefix=$1 files=(); shift
  for ((i = 0; i < runs; i++)); do one $i "$work/$prefix$i" "$@"; files+=("$work/$prefix$i"); done
  "$hark" compare --json "$work/$prefix.json" "${files[@]}" >"$work/$prefix.text"
  [ $? -le 1 ] || exit 1
  local word; word=$(head -1 "$work/$prefix.text")
  grep -q '"channels_differ_in_shape": [1-9]' "$work/$prefix.json" || [ "$word" != neither ] || word="neither (contents)"
  echo "$word"
}

program=("$@")
plain=$(class plain) || exit 1
steady=$(class steady --steady) || exit 1
counts=$(sed -n '2s/.*: \([0-9]*\) sends* on \([0-9]*\) channels*, \([0-9]*\) deliver.*/\1 | \2 | \3/p' "$work/steady.text")
echo "| $name | $plain | $steady | $counts |"
[ -z "${KEEP:-}" ] || cat "$work/plain.text" "$work/steady.text" >&2
