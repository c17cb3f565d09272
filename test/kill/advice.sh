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
run -n 12 -- "$examples/heat2d"
answer=$(cat out)
run -n 12 --clusters auto --store store --json auto.json --write-matrix heat.mtx -- "$examples/heat2d"
is 'auto, status' 0 $?
is 'auto, answer' "$answer" "$(cat out)"
is 'auto, one line' 1 "$(grep -c 'blocks of ranks cost .* by what was sent would cost .*: --clusters store/clusters.txt$' err)"
is 'auto, cost' 1 "$(sed -n 's/.*"cost": \([0-9.]*\), "cost_of_blocks": \([0-9.]*\).*/\1 \2/p' auto.json | awk '{print $1 <= $2}')"
is 'auto, figures' "$(tr '\n' ';' <store/clusters.txt)" "$(sed -n 's/.*"cost_of_blocks": [0-9.]*, "clusters": \["\(.*\)"\]}.*/\1;/p' auto.json | sed 's/", "/;/g')"
is 'auto, as hark partition' "$(cat store/clusters.txt)" "$("$hark" partition heat.mtx 2>/dev/null | grep -v '^#')"
run -n 12 --clusters store/clusters.txt --kill 5@300 --json next.json -- "$examples/heat2d"
is 'next, status' 0 $?
is 'next, answer' "$answer" "$(cat out)"
is 'next, who went back' "$(grep -c . store/clusters.txt)" "$(sed -n 's/.*"clusters": \[\(.*\)\],/\1/p' next.json | tr ',' '\n' | grep -c .)"

# After a failure it still says so; where clusters are nothing to the protocol it does not.
run -n 8 --clusters auto --kill 3@200 -- "$examples/heat2d"
is 'killed, status' 0 $?
is 'killed, one line' 1 "$(grep -c 'by what was sent would cost' err)"
run -n 4 --protocol scmel --clusters auto -- "$examples/ring"
is 'scmel, status' 0 $?
is 'scmel, nothing said' 0 "$(grep -c 'by what was sent' err)"
run -n 4 --write-matrix none/ring.mtx -- "$examples/ring"
is 'no folder, status' 2 $?
is 'no folder, words' 'hark run: cannot write none/ring.mtx: No such file or directory' "$(cat err)"
finish
