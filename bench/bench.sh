#!/bin/bash
# What a message costs: each protocol beside `none` on the same transport, in interleaved rounds; medians.
# bench.sh BUILD [ROUNDS]: a table on standard output, figures in BUILD/bench/bench.json.
set -u
build=$1 rounds=${2:-7}
hark=$build/src/cli/hark ping=$build/bench/pingpong
out=$build/bench
mkdir -p "$out"
raw=$out/raw.txt
: >"$raw"

count() { # messages for a size, about a quarter of a second
  case $1 in 8) echo 150000 ;; 1024) echo 100000 ;; 65536) echo 6000 ;; *) echo 600 ;; esac
}

one() { # name, transport, size, options...
  local name=$1 t=$2 size=$3 ns; shift 3
  ns=$("$hark" run -n 2 --clusters 2 --transport "$t" --interval 10s "$@" -- "$ping" "$size" "$(count "$size")" 2>>"$out/err.txt")
  [ -n "$ns" ] && echo "ping $t $size $name $ns" >>"$raw"
}

stream() { # name, size, window in bytes (0: never trimmed), options...
  local name=$1 size=$2 window=$3 every=0 ns; shift 3
  [ "$window" -gt 0 ] && every=$((window / size))
  ns=$("$hark" run -n 2 --clusters 2 --interval 1ms "$@" -- "$ping" -s "$size" "$(($(count "$size")))" "$every" 2>>"$out/err.txt")
  [ -n "$ns" ] && echo "stream shm $size $name $ns" >>"$raw"
}

for ((i = 0; i < rounds; i++)); do
  for t in shm uv; do
    for size in 8 1024 65536 1048576; do
      one none $t $size --protocol none
      one hydee $t $size --protocol hydee --no-digest
      one hydee+digest $t $size --protocol hydee
      one scmel $t $size --protocol scmel --no-digest
    done
  done
  for size in 65536 1048576; do
    stream none $size 0 --protocol none
    stream hydee $size 0 --protocol hydee --no-digest
    stream hydee/8MiB $size 8388608 --protocol hydee --no-digest
  done
done

awk '
  { k = $1 " " $2 " " $3 " " $4; v[k, ++n[k]] = $5; if (!(k in seen)) { seen[k] = 1; order[++m] = k } }
  function median(k,  i, j, t, c) {
    c = n[k]
    for (i = 1; i <= c; i++) s[i] = v[k, i] + 0
    for (i = 2; i <= c; i++) for (j = i; j > 1 && s[j] < s[j - 1]; j--) { t = s[j]; s[j] = s[j - 1]; s[j - 1] = t }
    return s[int((c + 1) / 2)]
  }
  END {
    printf "%-7s %-4s %9s  %-14s %12s %8s %10s\n", "what", "on", "bytes", "protocol", "ns", "/ none", "- none"
    printf "[" > json
    for (i = 1; i <= m; i++) {
      split(order[i], f, " ")
      x = median(order[i]); base = median(f[1] " " f[2] " " f[3] " none")
      printf "%-7s %-4s %9d  %-14s %12.1f %8.2f %10.1f\n", f[1], f[2], f[3], f[4], x, x / base, x - base
      printf "%s\n  {\"what\": \"%s\", \"transport\": \"%s\", \"bytes\": %d, \"protocol\": \"%s\", \"ns\": %.1f, \"ratio\": %.3f, \"rounds\": %d}", i > 1 ? "," : "", f[1], f[2], f[3], f[4], x, x / base, n[order[i]] > json
    }
    printf "\n]\n" > json
  }' json="$out/bench.json" "$raw"
echo "figures: $out/bench.json"
