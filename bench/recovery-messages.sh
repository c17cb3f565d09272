#!/bin/bash
# How long a recovery takes over the number of messages that have to be replayed, for every protocol: two processes in
# two clusters, N round trips of 8 bytes without a checkpoint, one killed 100 deliveries before its end. Milliseconds
# from the death until it has delivered again what it had before, medians of the rounds, which are interleaved.
# recovery-messages.sh BUILD [ROUNDS [MOST]]
set -u
"$(dirname "$0")/machine.sh"
hark=$(readlink -f "$1")/src/cli/hark program=$(readlink -f "$1")/bench/roundtrips rounds=${2:-3} most=${3:-1000000}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
rows=("hydee" "hydee --report-tree 2" "hydee --exact-gate" "scmel" "team" "camel" "sendet" "coordinated")
sizes=()
for n in 1000 4000 16000 64000 256000 1000000; do [ "$n" -gt "$most" ] || sizes+=("$n"); done

once() { # row, N
  "$hark" run -n 2 --clusters 2 --interval 0 --kill 1@$(($2 - 100)) --json one.json --protocol $1 \
    -- "$program" "$2" >out 2>err ||
    { echo "$1, $2 round trips: $(tail -1 err)" >&2; exit 1; }
  sort out >answer
  [ -f "answer.$2" ] || cp answer "answer.$2"
  cmp -s answer "answer.$2" || { echo "$1, $2 round trips: another answer than the others have" >&2; exit 1; }
  sed -n 's/.*"caught_up_ms": \([0-9.]*\).*/\1/p' one.json >>"${1// /}.$2"
}

for ((round = 0; round < rounds; round++)); do
  for n in "${sizes[@]}"; do
    for row in "${rows[@]}"; do once "$row" "$n"; done
  done
done
printf '%-22s' 'messages replayed'
printf ' %9s' "${sizes[@]}"
echo
for row in "${rows[@]}"; do
  printf '%-22s' "$row"
  for n in "${sizes[@]}"; do
    printf ' %9.1f' "$(sort -n "${row// /}.$n" | awk '{x[NR] = $1} END {print x[int((NR + 1) / 2)]}')"
  done
  echo
done
