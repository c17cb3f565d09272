#!/bin/bash
# A program communicates before hark_restarted: it begins again from a checkpoint all the same: prologue.sh HARK PROLOGUE
hark=$(readlink -f "$1") prologue=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

# Rank 0 takes messages in the order in which they come: the answer is another one in each run, and must be the same in all
# processes of one.
same() { cut -d: -f2 out | sort -u | wc -l; }

for protocol in coordinated hydee "hydee --camel" scmel team camel sendet; do
  for kill in "--kill 1@150" "--kill 0@120 --kill 3@170"; do
    chosen || continue
    "$hark" run -n 4 --protocol $protocol --interval 1ms --wait-for-checkpoints $kill -- "$prologue" 100 100000 >out 2>err </dev/null
    is "$protocol $kill: status" 0 $?
    is "$protocol $kill: lines" 4 "$(wc -l <out)"
    is "$protocol $kill: answers" 1 "$(same)"
    is "$protocol $kill: back to a checkpoint" 1 "$(grep -c 'go.* back to checkpoint' err | sed 's/[1-9].*/1/')"
  done
done

# What it does before must be what it did.
"$hark" run -n 4 --protocol scmel --interval 1ms --wait-for-checkpoints --kill 1@150 -- "$prologue" 100 1000 again >out 2>err </dev/null
is 'another beginning: status' 1 $?
is 'another beginning: said' 1 "$(grep -c 'hark: rank 1 begins its program again, and does not communicate before hark_restarted as it did in its first execution' err)"
# A longer one is not kept.
"$hark" run -n 4 --protocol scmel --interval 1ms --wait-for-checkpoints --kill 1@190 -- "$prologue" 100 17000000 >out 2>err </dev/null
is 'a long beginning: status' 1 $?
is 'a long beginning: said' 1 "$(grep -c 'hark: rank 1 begins again from checkpoint [0-9]*, and communicates before it has its protected memory back' err)"
finish
