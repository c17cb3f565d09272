#!/bin/bash
# Real programs, real SIGKILLs at random deliveries, every protocol on every transport: the answer is the undisturbed one,
# bit for bit, and nobody outside the failed clusters went back. matrix.sh HARK EXAMPLES [SEEDS [FIRST]]
set -u
hark=$1 examples=$2 seeds=${3:-1} first=${4:-1}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 combinations=0 # of which every STRIDE-th is tried, with that in the environment

# What sanitizers find is not for the answer to show.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$work/finding" UBSAN_OPTIONS="print_stacktrace=1:log_path=$work/finding"

program() { # the command of a program, small enough to be run often
  case $1 in
    cg) echo "$examples/cg -g 100" ;;
    heat2d) echo "$examples/heat2d 64" ;;
    anysource) echo "$examples/anysource" ;;
    long) echo "$examples/../test/kill/long" ;;
    long-any) echo "$examples/../test/kill/long any" ;;
  esac
}

verdict() { # name, what is wrong (nothing: passed)
  local finding
  for finding in "$work"/finding.*; do
    [ -e "$finding" ] || continue
    # A thread that ended while leaks were looked for is no fault, see test/shell.sh.
    grep -qvE '^==[0-9]+==Unable to get registers from thread [0-9]+\.$' "$finding" || { rm -f "$finding"; continue; }
    set -- "$1" "${2:-a sanitizer has found something}"
    sed 's/^/    /' "$finding" | head -20
    rm -f "$finding"
  done
  if [ -z "$2" ]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED $1: $2"
    sed 's/^/    /' "$work/err" | tail -5
  fi
}

# Runs with the given options, compares, and looks at who went back: $4 is the set of clusters that may, as ranks.
try() { # name, program, ranks that may go back (or any), options...
  local name=$1 x=$2 may=$3 wrong="" r; shift 3
  [ $((combinations++ % ${STRIDE:-1})) = 0 ] || return
  timeout 120 "$hark" run -n 8 --clusters 4 --json "$work/json" "$@" -- $(program "$x") >"$work/out" 2>"$work/err"
  r=$?
  [ $r = 0 ] || wrong="exit $r"
  [ -n "$wrong" ] || cmp -s "$work/$x" "$work/out" || wrong="another answer"
  if [ -z "$wrong" ] && [ "$may" != any ]; then
    local back
    back=$(sed -n 's/.*"restarted_ranks": \[\(.*\)\].*/\1/p' "$work/json" | tr -d ' ')
    [ "$back" = "$may" ] || wrong="ranks $back went back, expected $may"
  fi
  verdict "$name: hark run -n 8 --clusters 4 $* -- $x" "$wrong"
}

for x in heat2d cg anysource long long-any; do
  timeout 120 "$hark" run -n 8 --clusters 4 -- $(program $x) >"$work/$x" 2>"$work/err" || verdict "undisturbed $x" "exit $?"
done

for ((seed = first; seed < first + seeds; seed++)); do
  for p in coordinated hydee scmel team camel sendet; do
    for t in shm uv; do
      for x in heat2d cg anysource long long-any; do
        try "chaos" $x any --protocol $p --transport $t --interval 20ms --chaos $seed:2
      done
    done
  done
  for t in shm uv; do
    at=$((seed * 37 % 400 + 40))
    try "one cluster" cg 2,3 --transport $t --interval 20ms --kill 3@$at
    try "one cluster, exact gate" cg 2,3 --exact-gate --transport $t --interval 20ms --kill 3@$at
    try "two clusters at once" cg 2,3,6,7 --transport $t --interval 20ms --kill 3@$at --kill 6@$at
    try "during recovery" cg 2,3,4,5 --transport $t --interval 20ms --kill 2@$at --kill 3@$((at + 3)) --kill 4@$((at + 2))
    try "the recovery process too" cg 2,3 --transport $t --interval 20ms --kill 3@$at --kill recovery@$((seed % 9 + 1))
    try "reports by a tree, during recovery" cg 2,3,4,5 --report-tree 2 --transport $t --interval 20ms --kill 2@$at --kill 3@$((at + 3)) --kill 4@$((at + 2))
    try "reports by a tree, the top and the recovery process" cg 0,1 --report-tree 3 --transport $t --interval 20ms --kill 0@$at --kill recovery@$((seed % 3 + 1))
    try "reports by a tree, chance" heat2d any --report-tree 2 --transport $t --interval 20ms --chaos $seed:2
    try "one cluster, long messages" long 2,3 --transport $t --interval 20ms --kill 3@$((seed * 7 % 90 + 3))
    try "one process, long messages" long 5 --transport $t --protocol scmel --interval 0 --kill 5@$((seed * 7 % 90 + 3))
    try "one process" heat2d 5 --protocol scmel --transport $t --interval 20ms --kill 5@$at
    try "one process, collectives" cg 5 --protocol camel --transport $t --interval 20ms --kill 5@$at
    try "one of a team" heat2d 4,5 --protocol team --transport $t --interval 20ms --kill 5@$at
    try "a team that is shorter" heat2d 6,7 --protocol team --clusters 3 --transport $t --interval 20ms --kill 7@$at
    try "a whole team" heat2d 4,5 --protocol team --team-lost --transport $t --interval 20ms --kill 4@$at --kill 5@$at
    try "two copies, two processes" heat2d 1,5 --protocol scmel --copies 2 --transport $t --interval 20ms --kill 5@$at --kill 1@$at
  done
done

# A determinant for each delivery, and they travel.
figure() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$work/json"; }
timeout 120 "$hark" run -n 8 --protocol scmel --json "$work/json" -- $(program anysource) >"$work/out" 2>"$work/err"
made=$(figure determinants_created) taken=$(figure deliveries) went=$(figure determinants_piggybacked)
verdict "determinants are counted" "$([ "${taken:-0}" -gt 0 ] && [ "$made" = "$taken" ] && [ "${went:-0}" -gt 0 ] ||
  echo "$made made, $taken deliveries, $went piggybacked")"

left=$(find /dev/shm -maxdepth 1 -name "hark-hark-$$-*" | wc -l)
verdict "nothing is left in /dev/shm" "$([ "$left" = 0 ] || echo "$left segments")"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
