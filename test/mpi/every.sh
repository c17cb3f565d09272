#!/bin/bash
# A program of MPI whose processes die at each of their deliveries in turn, one in each run: the answer is always the same.
# every.sh HARK PROGRAM SIZE
# STEP: of the deliveries every how manieth (1), from the first on. PROTOCOLS are those that suit the program.
hark=$(readlink -f "$1") program=$(readlink -f "$2") size=$3
. "$(dirname "$0")/../shell.sh"
step=${STEP:-1}

runs() { # what; then arguments of hark run
  local what=$1; shift
  "$hark" run -n "$size" --json figures.json "$@" -- "$program" "$size" ${ARGUMENTS:-} >out 2>err </dev/null
  local status=$?
  if [ $status = 0 ] && ! grep -v '^hark: ' err | grep -q .; then good; else bad "$what: exit $status"; fi
}

runs 'no failures' --protocol none
mv out expected
killed=0
for protocol in ${PROTOCOLS:-hydee sendet scmel team camel coordinated}; do
  for ((rank = 0; rank < size; rank++)); do
    for ((at = 1 + rank; ; at += step)); do # until the process has no such delivery
      runs "$protocol, rank $rank, delivery $at" --protocol "$protocol" --kill "$rank@$at" --interval "${INTERVAL:-0}"
      is "$protocol, rank $rank, delivery $at: the answer" "$(cat expected)" "$(cat out)"
      grep -q 'died (SIGKILL)' err || break
      killed=$((killed + 1))
    done
  done
done
holds "$killed processes have died" [ $killed -gt 0 ]
finish
