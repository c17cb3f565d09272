#!/bin/bash
# The example recluster: a cluster file that hark takes, and clusters that cost no more than the blocks. recluster.sh RECLUSTER HARK
recluster=$(readlink -f "$1") hark=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
costs() { sed -n 's/.*cost *\([0-9.]*\) %.*/\1/p' out; }
falls() { [ "$(costs | wc -l)" = 3 ] && costs | awk 'NR == 1 {first = $1} $1 > first {exit 1}'; }
every_rank_once() { [ "$(grep -v '^#' out | tr ' ' '\n' | sort -n | tr '\n' ' ')" = "$(seq -s ' ' 0 "$1") " ]; }

holds 'a grid' eval '"$recluster" >out'
holds 'every rank once' every_rank_once 63
holds 'costs' falls
holds 'less than half of what the blocks cost' eval 'costs | sort -n | awk "NR == 1 {least = \$1} END {exit !(least < \$1 / 2)}"'
holds 'as clusters' "$hark" sim --pattern stencil2d --ranks 64 --iterations 2 --clusters out
"$hark" sim --pattern stencil3d --ranks 27 --write-matrix cube.mtx >/dev/null
holds 'a matrix' eval '"$recluster" cube.mtx 9 >out'
holds 'every rank of it once' every_rank_once 26
holds 'costs of it' falls
for wrong in 0 28 x; do
  "$recluster" cube.mtx $wrong >out 2>&1
  holds "$wrong blocks" [ "$? $(cat out)" = "2 recluster: expected 1 to 27 blocks, found \"$wrong\"" ]
done
"$recluster" none.mtx >out 2>&1
holds 'no matrix' [ "$? $(cat out)" = '2 recluster: none.mtx: No such file or directory' ]
finish
