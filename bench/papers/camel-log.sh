#!/bin/bash
# CAMEL, Table 3 and Figures 5 and 6: what scmel and camel log of leanmd and openatom, and the determinants. camel-log.sh HARK [ITERATIONS]
# (100). The workload is derived in README.md. The log is what is kept at the end, without checkpoints; the share of multicasts is of all
# that was logged on the way, where a contribution to a reduction counts until the root has acknowledged it.
set -u
hark=$1 iterations=${2:-100}
. "$(dirname "$0")/common.sh"
leanmd="--pattern leanmd --cells 13 --away 2,2,1 --atoms 455 --branches 4"

run() { # protocol, options...
  "$hark" sim --protocol "$1" --iterations "$iterations" --checkpoint-every 0 --json "$work/one.json" "${@:2}" >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    exit 1
  }
}

giga() { awk -v b="$1" 'BEGIN {printf "%.2f", b / 1e9}'; }
mega() { awk -v b="$1" 'BEGIN {printf "%.2f", b / 1e6}'; }

echo "E. Meneses, L. V. Kale: CAMEL, 2015. Table 3: leanmd, a million particles. The paper: 100 iterations; here: $iterations."
printf '%-9s | %27s | %27s | %13s | %27s\n' '' 'messages, million' 'log, GB' 'camel of scmel' 'determinants, million'
printf '%-9s | %13s %13s | %6s %6s %6s %6s | %6s %6s | %6s %6s %6s %6s %6s\n' cores paper here paper '' here '' paper here paper '' here '' '%'
while read -r ranks messages scmel camel created least; do
  run scmel $leanmd --ranks "$ranks"
  of=("$(mega "$(figure messages)")" "$(giga "$(figure log_bytes)")" "$(mega "$(figure determinants_created)")")
  bytes=$(figure log_bytes) dets=$(figure determinants_created)
  mc=$(share "$(figure logged_multicast_bytes)" "$bytes")
  run camel $leanmd --ranks "$ranks"
  printf '%-9s | %13s %13s | %6s %6s %6s %6s | %5s%% %5s%% | %6s %6s %6s %6s %6s\n' "$ranks" "$messages" "${of[0]}" "$scmel" "$camel" "${of[1]}" \
    "$(giga "$(figure log_bytes)")" "$(share "$camel" "$scmel")" "$(share "$(figure log_bytes)" "$bytes")" \
    "$created" "$least" "${of[2]}" "$(mega "$(figure determinants_created)")" "$(share "$(figure determinants_created)" "$dets")"
  echo "$ranks multicasts $mc % -> $(share "$(figure logged_multicast_bytes)" "$bytes") % of scmel's log, piggybacked $(mega "$(figure determinants_piggybacked)")" >>"$work/parts"
done <<'END'
1024 24.32 269.49 12.77 54.72 28.94
2048 23.7 261.19 12.77 54.04 28.61
4096 32.33 363.44 12.79 62.68 32.99
8192 32.05 359.59 12.83 62.4 32.87
16384 33.09 370.82 12.94 63.44 33.44
END
echo
echo 'Figure 5: the share of multicasts (paper: 50 % -> 1 %)'
cat "$work/parts"
echo
echo 'Figure 6: openatom, the log that camel saves, % (paper, moderate size: 24 at 1,024 to 65 at 16,384; small: 52 at 4,096)'
for ranks in 1024 2048 4096 8192 16384; do
  openatom="--pattern openatom --cells $((ranks / 256)) --branches 2 --ranks $ranks"
  run scmel $openatom
  bytes=$(figure log_bytes)
  run camel $openatom
  awk -v n="$ranks" -v a="$(figure log_bytes)" -v b="$bytes" 'BEGIN {printf "%6d  %.2f\n", n, 100 - 100 * a / b}'
done
