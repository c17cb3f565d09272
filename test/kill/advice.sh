#!/bin/bash
# What `hark run` says of who should be together: advice.sh HARK EXAMPLES
hark=$(readlink -f "$1") examples=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

run() { # options...: the program's output in out, the command's words in err
  "$hark" run "$@" >out 2>err </dev/null
}

# A ring: each sends to the next, and all as much.
run -n 6 --write-matrix ring.mtx -- "$examples/ring"
is 'ring, status' 0 $?
is 'ring, size' '6 6 6' "$(grep -v '^%' ring.mtx | head -1)"
is 'ring, places' '1 2,2 3,3 4,4 5,5 6,6 1,' "$(grep -v '^%' ring.mtx | tail -n +2 | cut -d' ' -f1,2 | tr '\n' ,)"
is 'ring, values' 1 "$(grep -v '^%' ring.mtx | tail -n +2 | cut -d' ' -f3 | sort -u | wc -l)"
is 'ring, nothing said' '' "$(cat err)"

# Clusters for the next run, which it reads; they are no worse than the blocks, and what the JSON has.
run -n 12 -- "$examples/heat2d" 128 200
answer=$(cat out)
run -n 12 --clusters auto --store store --json auto.json --write-matrix heat.mtx -- "$examples/heat2d" 128 200
is 'auto, status' 0 $?
is 'auto, answer' "$answer" "$(cat out)"
is 'auto, one line' 1 "$(grep -c 'blocks of ranks cost .* by the observed traffic would cost .*: --clusters store/clusters.txt$' err)"
is 'auto, cost' 1 "$(sed -n 's/.*"cost": \([0-9.]*\), "cost_of_blocks": \([0-9.]*\).*/\1 \2/p' auto.json | awk '{print $1 <= $2}')"
is 'auto, figures' "$(tr '\n' ';' <store/clusters.txt)" "$(sed -n 's/.*"cost_of_blocks": [0-9.]*, "clusters": \["\(.*\)"\]}.*/\1;/p' auto.json | sed 's/", "/;/g')"
is 'auto, as hark partition' "$(cat store/clusters.txt)" "$("$hark" partition heat.mtx 2>/dev/null | grep -v '^#')"
run -n 12 --clusters store/clusters.txt --kill 5@300 --json next.json -- "$examples/heat2d" 128 200
is 'next, status' 0 $?
is 'next, answer' "$answer" "$(cat out)"
is 'next, who went back' "$(grep -c . store/clusters.txt)" "$(sed -n 's/.*"clusters": \[\(.*\)\],/\1/p' next.json | tr ',' '\n' | grep -c .)"

# After a failure it still says so; where clusters are nothing to the protocol it does not.
run -n 8 --clusters auto --kill 3@200 -- "$examples/heat2d" 128 200
is 'killed, status' 0 $?
is 'killed, one line' 1 "$(grep -c 'by the observed traffic would cost' err)"
run -n 4 --protocol scmel --clusters auto -- "$examples/ring"
is 'scmel, status' 0 $?
is 'scmel, nothing said' 0 "$(grep -c 'by the observed traffic' err)"

# A trace says as much as the matrix of the same run, and what is sent again after a failure counts once.
run -n 8 --clusters 4 --trace calm.trace --write-matrix calm.mtx --json calm.json -- "$examples/cg"
is 'traced, status' 0 $?
run -n 8 --clusters 4 --trace killed.trace --kill 3@400 -- "$examples/cg"
is 'traced and killed, status' 0 $?
for of in calm.mtx calm.trace killed.trace; do "$hark" partition $of --json $of.json >out 2>err || bad "hark partition $of"; done
for of in calm.trace killed.trace; do
  is "partition, bytes of $of" "$(figure bytes calm.mtx.json)" "$(figure bytes $of.json)"
  is "partition, $of" "$(figure clusters calm.mtx.json) $(figure logged_bytes calm.mtx.json)" "$(figure clusters $of.json) $(figure logged_bytes $of.json)"
done
is 'partition, bytes of the run' "$(figure bytes calm.json)" "$(figure bytes calm.trace.json)"

# The simulator runs what a trace has, and after failures comes to the same end.
for of in calm.trace killed.trace; do
  "$hark" sim --pattern $of --clusters 4 --iterations 1 --checkpoint-every 0 --json sim.json >out 2>err || bad "hark sim $of"
  is "sim of $of" "$(figure messages calm.json) $(figure bytes calm.json)" "$(figure messages sim.json) $(figure bytes sim.json)"
done
run=(--pattern killed.trace --iterations 3 --restart 200us --detect 50us --checkpoint-cost 50us --checkpoint-every 1)
for protocol in hydee scmel sendet; do
  "$hark" sim "${run[@]}" --protocol $protocol --json one.json >out 2>err || bad "hark sim of a trace, $protocol"
  "$hark" sim "${run[@]}" --protocol $protocol --fail 3@2 --fail 0@3 --json two.json >out 2>err || bad "hark sim of a trace, $protocol, failures"
  is "sim of a trace, $protocol, the end" "$(figure digest one.json) 2" "$(figure digest two.json) $(figure failed two.json)"
done
run -n 4 --protocol camel --trace groups.trace -- "$examples/cg"
is 'groups, status' 0 $?
tested=("$hark" sim) words='hark sim'
expect 2 '^hark sim: groups.trace: rank [0-9]* took message [0-9]* of rank [0-9]* (context [0-9]*): expected to find its sending; messages to groups have none' \
  --pattern groups.trace
expect 2 '^hark sim: calm.trace: expected at most 4 ranks, found 8$' --pattern calm.trace --ranks 4
head -100 calm.trace >cut.trace
expect 2 '^hark sim: cut.trace:10[01]: expected' --pattern cut.trace
sed '$s/$/ lost=3/' calm.trace >lost.trace
expect 2 '^hark sim: lost.trace: expected a whole trace, found one that lost 3 records$' --pattern lost.trace

run -n 4 --write-matrix none/ring.mtx -- "$examples/ring"
is 'no folder, status' 2 $?
is 'no folder, words' 'hark run: --write-matrix none/ring.mtx: No such file or directory' "$(cat err)"
run -n 4 --write-matrix /dev/full -- "$examples/ring"
is 'a full disk, status' 1 $?
is 'a full disk, words' 1 "$(grep -c '^hark run: --write-matrix /dev/full: No space left on device$' err)"
run -n 4 --write-matrix none.mtx --option x=1 -- "$examples/ring"
is 'another option is wrong, status' 2 $?
is 'another option is wrong: no file' '' "$(ls none.mtx 2>/dev/null)"
finish
