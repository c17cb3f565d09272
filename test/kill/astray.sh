#!/bin/bash
# An execution that goes another way than before the failure is ended, and what it should have done next is named:
# astray.sh HARK ASTRAY
hark=$(readlink -f "$1") astray=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
export PLACE=$work

for way in scmel camel; do
  for look in '' look; do
    rm -f told died
    next='does not take, or look at, message 1 of rank 1 (context 0: messages), as it did next before the failure'
    [ -z "$look" ] || next='waits where it did something else before the failure'
    expect 1 "^hark: rank 0 diverged: its re-execution $next\$" -n 3 --protocol $way --interval 0 -- "$astray" $look
    is "$way $look: said once" 1 "$(grep -c diverged out)"
  done
done
finish
