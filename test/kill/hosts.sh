#!/bin/bash
# Processes that are on several hosts by their addresses, though on one machine, and come back on any of them: the answer is that of
# an undisturbed run within one. hosts.sh HARK HEAT2D LONG
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2") long=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"
word=t$$
trap 'rm -rf "$work" /dev/shm/hark-hark-*-"$word"-[0-9].*' EXIT

run() { timeout 120 "$hark" run -n 8 --clusters 4 --json json "$@" >out 2>err </dev/null; }

for program in "$heat2d 64" "$long"; do
  run --protocol none -- $program
  is "$program: undisturbed" 0 $?
  cp out expected
  for hosts in 2 5; do
    for options in "none" "coordinated --kill 3@9" "hydee --kill 2@20 --kill 5@31" "hydee --kill 3@7 --kill recovery@3" "scmel --kill 5@12" \
        "team --kill 4@8" "camel --kill 1@25" "sendet --chaos 7:2"; do
      chosen || continue
      HARK_HOSTS=$word:$hosts run --transport mixed --interval 20ms --protocol $options -- $program
      is "$hosts hosts, $options, $program: status" 0 $?
      holds "$hosts hosts, $options, $program: the answer" cmp expected out
    done
  done
done
holds 'there were such hosts' test -n "$(ls /dev/shm/hark-hark-*-"$word"-[0-9].* 2>/dev/null)" # what the killed left
finish
