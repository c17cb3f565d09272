#!/bin/bash
# Exclusive locks of windows with a flush inside are granted in an order that hydee does not repeat: a program that diverges is told so.
# window_locks.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
job=(-n 2 --clusters 2 --kill 1@40)
hint='it flushes windows that it has locked exclusively: these locks are granted to one process after the other, in an order that hydee does not repeat$'
expect 1 "^hark: rank 1 diverged: messages .*; $hint" "${job[@]}" -- "$program" 2 flush
rm test.mark
expect 1 '^hark: rank 1 diverged: messages' "${job[@]}" -- "$program" 2 whole
is 'no flush: no hint' 0 "$(grep -c 'flushes windows' out)"
finish
