#!/bin/bash
# The program of the README, as it is printed there, says the same when a process of it is killed: readme.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

timeout 60 "$hark" run -n 8 -- "$program" >out 2>err </dev/null
is 'undisturbed: status' 0 $?
is 'undisturbed: answer' 28000 "$(cat out)"
timeout 60 "$hark" run -n 8 --clusters 4 --kill 3@500 -- "$program" >out 2>err </dev/null
is 'killed: status' 0 $?
is 'killed: answer' 28000 "$(cat out)"
holds 'rank 3 was killed' grep -q '^hark: rank 3 died (SIGKILL) after 500 deliveries; cluster 1 (ranks 2-3) goes back' err
finish
