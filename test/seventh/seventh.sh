#!/bin/bash
# The protocol of pessimist.h, of which no source of hark knows: it is run, searched, simulated, drawn and explained as all others are; and
# a fault in it is found. seventh.sh HARK HARK-BROKEN MASTER
hark=$(readlink -f "$1") broken=$(readlink -f "$2") master=$(readlink -f "$3") here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../shell.sh"
tested=("$hark") words='hark'

# Run: one process is killed, it alone goes back, and the answer is the same.
answer=$("$hark" run -n 4 --protocol none -- "$master" 5 2>err)
for kill in 0@100 2@20; do
  timeout 60 "$hark" run -n 4 --protocol pessimist --interval 5ms --kill $kill --json run.json -- "$master" 5 >out 2>err
  is "--kill $kill: status" 0 $?
  is "--kill $kill" "$answer" "$(cat out)"
  is "--kill $kill: who went back" " [${kill%@*}]," "$(sed -n 's/^ *"restarted_ranks":\(.*\)/\1/p' run.json)"
done
is 'determinants in messages' 0 "$(figure determinants_piggybacked run.json)"
# Its options, where they are asked for.
expect 0 '' run -n 3 --protocol pessimist --copies 2 --store store -- "$master" 1
expect 2 'protocol=pessimist --copies 2, this one has protocol=pessimist$' run -n 3 --protocol pessimist --store store --resume -- "$master" 1
expect 2 '^hark run: --copies needs --protocol scmel, team, camel or pessimist; this run uses hydee$' run --copies 2 -- "$master"
expect 2 '^hark run: --camel needs --protocol hydee or team; this run uses pessimist$' run --protocol pessimist --camel -- "$master"
expect 2 'expected one of none, .*, pessimist, found "hope"$' run --protocol hope -- "$master"
expect 0 'pessimist: copies of a determinant, before a message leaves, 1 to 8 (1)$' help run
expect 0 'pessimist: copies of a determinant, before a message leaves, 1 to 8 (1)$' help sim
expect 0 '^     and it sends little, and must not grow its messages *pessimist$' help protocols
# Searched: every interleaving of what fails; and of the broken one the same search finds the fault, as do scenarios of scmel's.
for scenario in pessimist scmel-a scmel-v1 scmel-b scmel-look scmel-checkpoint; do
  file=$here/../scenario/$scenario.hark
  [ -e "$file" ] || file=$here/$scenario.hark
  expect 0 ' ok ' check --protocol pessimist --max-states 300000 "$file"
done
expect 0 ' 0 violated' check --protocol pessimist --random 1:30 --walks 100
"$broken" check -o violation.hark "$here/pessimist.hark" >out 2>&1
is 'the broken one: status' 1 $?
holds 'the broken one: what' grep -q 'violated' out
# Simulated: the end is that without failures, and one has gone back.
expect 0 '^pessimist, stencil3d, 27 processes' sim --pattern stencil3d --ranks 27 --protocol pessimist --fail 3@4 --json sim.json
is 'simulated: how many went back' 1 "$(figure rolled_back sim.json)"
# Drawn: what its frames carry is said, by itself.
expect 0 'p0 S1' replay --svg p.svg "$here/schedule.hark"
holds 'the picture' grep -q 'SPREAD p0 took p2.1 p1.1' p.svg
finish
