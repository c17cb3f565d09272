#!/bin/bash
# Wall time per message of hark sim over the number of simulated processes: stencil3d without checkpoints under none and hydee,
# hydee with the usual ones as well. Rounds are interleaved, each figure is the median of its rounds; the largest jobs run once.
# sim.sh BUILD [ROUNDS [MOST]]
set -u
"$(dirname "$0")/machine.sh"
hark=$(readlink -f "$1")/src/cli/hark rounds=${2:-5} most=${3:-1048576}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mebibytes=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
limit=$((mebibytes < 16384 ? mebibytes : 16384))

figure() { sed -n "s/^  \"$1\": \([0-9.]*\).*/\1/p" one.json; }
median() { sort -n | awk '{x[NR] = $1} END {print NR ? x[int((NR + 1) / 2)] : "-"}'; }

once() { # name, ranks, iterations, options...
  local name=$1 ranks=$2 iterations=$3; shift 3
  rm -f one.json
  (ulimit -v $((limit * 1024)); exec "$hark" sim --pattern stencil3d --ranks "$ranks" --iterations "$iterations" --json one.json "$@") \
    >out 2>&1 || { echo "$name, $ranks processes: $(tail -1 out)" >&2; return; }
  figure wall_ms | awk -v m="$(figure messages)" '{printf "%.1f\n", $1 * 1e6 / m}' >>"$name.$ranks"
  figure memory | awk '{print int($1 / 1048576)}' >"$name.$ranks.memory"
}

sizes=()
for ((n = 64; n <= most; n *= 4)); do sizes+=("$n"); done
for ((round = 0; round < rounds; round++)); do
  for n in "${sizes[@]}"; do
    [ "$round" -gt 0 ] && [ "$n" -gt 65536 ] && continue
    i=$((1048576 / n)); i=$((i < 4 ? 4 : i))
    once none "$n" $i --protocol none --checkpoint-every 0
    once hydee "$n" $i --protocol hydee --checkpoint-every 0
    [ "$n" -le 65536 ] && once checkpoints "$n" $i --protocol hydee
  done
done
printf '%10s %16s %16s %16s   %s\n' processes none hydee 'hydee, images' 'MiB'
for n in "${sizes[@]}"; do
  printf '%10s' "$n"
  for name in none hydee checkpoints; do
    [ -s "$name.$n" ] && printf '%13s ns' "$(median <"$name.$n")" || printf '%16s' -
    printf ' '
  done
  printf '  %s\n' "$(cat "none.$n.memory" "hydee.$n.memory" "checkpoints.$n.memory" 2>/dev/null | tr '\n' ' ' | sed 's/ $//; s/ / \/ /g')"
done
