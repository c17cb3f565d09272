#!/bin/bash
# Every scenario: searched as far as STATES go, deeper with effects at once, and then by WALKS by chance to the end: what it expects is
# what is found. Those of few states are searched whole and reduced, and both come to the same. STRIDE=3: of every third. run.sh HARK [STATES [WALKS [FILE...]]]
set -u
hark=$1 states=${2:-100000} walks=${3:-100}; shift; shift $(($# < 2 ? $# : 2))
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT # hark check says how far it got, and ends with 3
passed=0 failed=0 compared=0

try() { # file, options...
  local file=$1; shift
  "$hark" check -o "$work/violation.hark" "$@" "$file" >"$work/out" 2>&1
  local status=$?
  if [ $status = 3 ] && grep -qF 'the limit of states (--max-states) was reached' "$work/out"; then status=0; fi # as far as STATES go
  if [ $status = 0 ]; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  echo "FAILED hark check $* $file"
  sed 's/^/    /' "$work/out"
  [ -s "$work/violation.hark" ] && sed 's/^/    /' "$work/violation.hark"
}

[ $# -gt 0 ] || set -- "$here"/*.hark
turn=0
for file; do
  [ $((turn++ % ${STRIDE:-1})) = 0 ] || continue
  try "$file" --max-states "$states"
  grep -q '^expect ok' "$file" && try "$file" --walks "$walks:7"
  grep -q '^expect ok' "$file" && try "$file" --atomic --max-states $((states / 5))
  try "$file" --compare --max-states $((states / 2))
  grep -qE '^  (the same ends as|as in the search of) all' "$work/out" && compared=$((compared + 1))
done
echo "$compared searched whole and reduced"
part=3; [ "$states" -ge 100000 ] || part=5 # fewer end within fewer states
[ $# -lt 30 ] || [ "$states" -lt 30000 ] || [ $compared -gt $(($# / part)) ] || { failed=$((failed + 1)); echo "FAILED: too few to compare"; }
echo "$passed passed, $failed failed"
[ $failed = 0 ]
