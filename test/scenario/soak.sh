#!/bin/bash
# For T seconds, looked at after every 300 programs: programs made by chance, searched and walked, as many of each protocol, and real runs with
# real kills, transports in turn.
# Each failure prints a line that reproduces it. soak.sh HARK EXAMPLES [T [SEED]]
set -u
hark=$(readlink -f "$1") examples=$(readlink -f "$2") seconds=${3:-600} seed=${4:-$(date +%s)}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
cd "$work" || exit 2
end=$((SECONDS + seconds)) runs=0 failed=0
protocols="coordinated hydee scmel sendet team camel"
declare -A searched turn
echo "seed $seed"

program() { # its command
  case $1 in
    long) echo "$examples/../test/kill/long" ;;
    long-any) echo "$examples/../test/kill/long any" ;;
    *) echo "$examples/$1" ;;
  esac
}

# shellcheck disable=SC2046
for x in heat2d cg anysource long long-any; do
  timeout 120 "$hark" run -n 8 --clusters 4 -- $(program $x) >"$x" 2>err || { echo "soak.sh: $x did not run without failures: $(tail -1 err)" >&2; exit 2; }
done

bad() { failed=$((failed + 1)); echo "FAILED $*"; }

# Programs that can finish without failures, and so are searched with them: as hark check counts.
programs() {
  local p=$1
  "$hark" check --jobs "$(nproc)" --protocol "$@" >out 2>&1
  case $? in 0|3) ;; *) bad "hark check --protocol $*"; cat out ;; esac # 3: some are too large for so many states
  searched[$p]=$((${searched[$p]:-0} + $(sed -nE "s/^$p: ([0-9]+) programs .*/\\1/p" out)))
}

# A real run with kills says what it says without.
real() {
  local x=$1 how="-n 8 --clusters 4 --interval 100ms $2"
  case $x in long*) how=${how/100ms/20ms} ;; esac # they are over soon
  # shellcheck disable=SC2046,SC2086
  timeout 120 "$hark" run $how -- $(program "$x") >out 2>err
  local r=$?
  [ $r = 0 ] && cmp -s "$x" out || { bad "hark run $how -- $(program "$x") (exit $r, or another answer)"; tail -3 err; }
  runs=$((runs + 1))
}

# Whose programs are fewest is next: some protocols take many times as long for one as others.
next() {
  local p least=
  for p in $protocols; do
    [ -n "$least" ] && [ "${searched[$p]:-0}" -ge "${searched[$least]:-0}" ] || least=$p
  done
  echo "$least"
}

while [ $SECONDS -lt $end ]; do
  p=$(next)
  programs $p --random "$seed:150" --max-states 20000
  programs $p --random "$((seed + 150)):150" --walks 200 --max-states 20000
  # Two kills may fall together: what keeps determinants survives as many as there are copies of them.
  at_once=
  case $p in scmel|team|camel) at_once="--copies 2" ;; esac
  turn[$p]=$((1 - ${turn[$p]:-1}))
  [ "${turn[$p]}" = 0 ] && t=shm || t=uv
  for x in heat2d cg anysource long long-any; do real "$x" "--protocol $p $at_once --transport $t --chaos $seed:2"; done
  case $p in
  hydee)
    real cg "--protocol $p --camel --transport $t --chaos $seed:2"
    for x in heat2d cg; do real $x "--protocol $p --recluster --transport $t --chaos $seed:2"; done ;;
  scmel) real anysource "--protocol $p --transport $t --chaos $seed" ;;
  team)
    real anysource "--protocol $p --transport $t --chaos $seed"
    real cg "--protocol $p --camel --transport $t --chaos $seed"
    real cg "--protocol $p --camel --copies 2 --transport $t --chaos $seed:2" ;;
  camel) real cg "--protocol $p --transport $t --chaos $seed" ;;
  esac
  seed=$((seed + 300))
done
all=0
for p in $protocols; do
  echo "$p: ${searched[$p]:-0} programs"
  all=$((all + ${searched[$p]:-0}))
done
echo "$runs runs with kills"
echo "$((all + runs - failed)) passed, $failed failed"
[ $failed = 0 ] && [ $((all + runs)) -gt 0 ]
