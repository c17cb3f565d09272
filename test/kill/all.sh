#!/bin/bash
# The whole kill matrix: random kills of the examples, then all that every.c lists. A line each kind; the last counts all.
# all.sh BUILD [SEEDS [JOBS]]
set -u
build=$1 here=$(dirname "$0")
log=$(mktemp) || exit 2
trap 'rm -f "$log"' EXIT
"$here/matrix.sh" "$build/src/cli/hark" "$build/examples" "${2:-20}" | tee "$log" |
  sed -uE "s/^([0-9]+) (passed, [0-9]+ failed)$/random         runs: \1 \2/"
"$build/test/kill/test-kill-every" -j "${3:-2}" | tee -a "$log" | grep --line-buffered -vE '^[0-9]+ passed, [0-9]+ failed$'
awk '/^[0-9]+ passed, [0-9]+ failed$/ { n++; passed += $1; failed += $3 }
  END { printf "%d passed, %d failed\n", passed, failed; exit n != 2 || failed || !passed }' "$log"
