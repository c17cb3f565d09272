#!/bin/bash
# For T seconds: programs made by chance, searched and walked, and real runs with real kills, protocols and transports in turn.
# Each failure prints a line that reproduces it. soak.sh HARK EXAMPLES [T [SEED]]
set -u
hark=$(readlink -f "$1") examples=$(readlink -f "$2") seconds=${3:-600} seed=${4:-$(date +%s)}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
end=$((SECONDS + seconds)) programs=0 runs=0 failed=0
echo "seed $seed"
for x in heat2d cg anysource; do timeout 120 "$hark" run -n 8 --clusters 4 -- "$examples/$x" >"$x" 2>err || exit 2; done

bad() { failed=$((failed + 1)); echo "FAILED $*"; }

while [ $SECONDS -lt $end ]; do
  for p in coordinated hydee scmel sendet; do
    "$hark" check --protocol $p --random "$seed:20" --max-states 50000 >out 2>&1 ||
      { bad "hark check --protocol $p --random $seed:20 --max-states 50000"; cat out; }
    "$hark" check --protocol $p --random "$((seed + 20)):20" --walks 200 >out 2>&1 ||
      { bad "hark check --protocol $p --random $((seed + 20)):20 --walks 200"; cat out; }
    programs=$((programs + 40))
    for t in shm uv; do
      for x in heat2d cg anysource; do
        run="hark run -n 8 --clusters 4 --protocol $p --transport $t --interval 100ms --chaos $seed:2 -- $x"
        timeout 120 "$hark" run -n 8 --clusters 4 --protocol $p --transport $t --interval 100ms --chaos "$seed:2" -- \
          "$examples/$x" >out 2>err
        r=$?
        [ $r = 0 ] && cmp -s "$x" out || { bad "$run (exit $r, or another answer)"; tail -3 err; }
        runs=$((runs + 1))
      done
    done
  done
  seed=$((seed + 40))
done
echo "$programs programs, $runs runs with kills"
echo "$((programs + runs - failed)) passed, $failed failed"
[ $failed = 0 ]
