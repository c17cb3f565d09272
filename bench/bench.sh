#!/bin/bash
# What a message costs: each protocol beside `none` on the same transport, and that beside the bare machine; rounds are
# interleaved, medians of rounds are shown. bench.sh BUILD [ROUNDS [MILLISECONDS]]: a table on standard output,
# figures in BUILD/bench/bench.json. `bare-log` is a ring as long as a log of so many
# bytes: whoever retains what it sends has to write that much memory. A row that could not be measured says so.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$1 rounds=${2:-5} ms=${3:-100}
hark=$build/src/cli/hark out=$build/bench
raw=$out/raw.txt errors=$out/errors.txt
mkdir -p "$out"
: >"$raw"
: >"$errors"
# Checkpoints of a benchmark are not what is measured: they go to memory where that is possible.
store=$(mktemp -d -p /dev/shm hark-bench-XXXXXX 2>/dev/null || mktemp -d)
trap 'rm -rf "$store"' EXIT
MIB=1048576
machine=$("$here/machine.sh") # its load is that before the rounds

row() { # on, what, size, name, then the command: one figure, or none
  local on=$1 what=$2 size=$3 name=$4 ns; shift 4
  ns=$(timeout 60 "$@" 2>>"$errors") || ns=
  echo "$on $what $size $name ${ns:--}" >>"$raw"
}

carried() { # transport, what, size, window, name, options of hark run...
  local t=$1 what=$2 size=$3 window=$4 name=$5; shift 5
  rm -rf "$store/job"
  row "$t" "$what" "$size" "$name" "$hark" run -n 2 --clusters 2 --transport "$t" --interval 1ms --store "$store/job" "$@" -- \
    "$out/pingpong" "$what" "$size" "$ms" "$window"
}

mpis=""
for mpi in mpich openmpi; do
  command -v mpicc.$mpi >/dev/null && command -v mpiexec.$mpi >/dev/null || continue
  mpicc.$mpi -O2 -D_GNU_SOURCE -o "$out/pingpong_$mpi" "$here/pingpong_mpi.c" 2>>"$errors" && mpis="$mpis $mpi"
done

round() {
  local size t mpi root=
  for size in 8 1024 65536 $MIB; do
    row shm ping $size bare "$out/floor" ring ping $size "$ms" $((8 * MIB))
    [ $size -ge 65536 ] && row shm ping $size bare-log "$out/floor" log ping $size "$ms" $((8 * MIB))
    row uv ping $size bare "$out/floor" libuv ping $size "$ms" $((8 * MIB))
    for t in shm uv; do
      carried $t ping $size $((3 * MIB)) none --protocol none
      carried $t ping $size $((3 * MIB)) hydee --protocol hydee --no-digest
      carried $t ping $size $((3 * MIB)) hydee+digest --protocol hydee
      carried $t ping $size $((3 * MIB)) scmel --protocol scmel --no-digest
    done
    for mpi in $mpis; do
      [ $mpi = openmpi ] && [ "$(id -u)" = 0 ] && root=--allow-run-as-root || root=
      row shm ping $size $mpi mpiexec.$mpi $root -n 2 "$out/pingpong_$mpi" ping $size "$ms" $((8 * MIB))
    done
  done
  for size in 65536 $MIB; do
    row shm stream $size bare "$out/floor" ring stream $size "$ms" $((8 * MIB))
    row shm stream $size bare-log/8MiB "$out/floor" log stream $size "$ms" $((8 * MIB))
    row shm stream $size bare-log/512MiB "$out/floor" log stream $size "$ms" $((512 * MIB))
    carried shm stream $size $((3 * MIB)) none --protocol none
    carried shm stream $size $((3 * MIB)) hydee/8MiB --protocol hydee --no-digest
    carried shm stream $size $((256 * MIB)) none/long --protocol none
    carried shm stream $size $((256 * MIB)) hydee/512MiB --protocol hydee --no-digest
  done
}

table() {
  awk -v json="$out/bench.json" '
    { k = $1 " " $2 " " $3 " " $4; if ($5 != "-") v[k, ++n[k]] = $5; if (!(k in seen)) { seen[k] = 1; order[++m] = k } }
    function median(k,  i, j, t, c) {
      c = n[k] + 0
      if (c == 0) return 0
      for (i = 1; i <= c; i++) s[i] = v[k, i] + 0
      for (i = 2; i <= c; i++) for (j = i; j > 1 && s[j] < s[j - 1]; j--) { t = s[j]; s[j] = s[j - 1]; s[j - 1] = t }
      return s[int((c + 1) / 2)]
    }
    function over(x, y) { return x && y ? sprintf("%8.2f", x / y) : sprintf("%8s", "-") }
    END {
      printf "%-4s %-6s %8s  %-15s %12s %8s %8s %10s\n", "on", "what", "bytes", "protocol", "ns", "/ bare", "/ none", "- none"
      printf "[" > json
      for (i = 1; i <= m; i++) {
        split(order[i], f, " ")
        x = median(order[i]); k = f[1] " " f[2] " " f[3] " "
        floor = median(k "bare"); base = median(k (f[4] == "hydee/512MiB" ? "none/long" : "none"))
        printf "%-4s %-6s %8d  %-15s %12s %s %s %10s\n", f[1], f[2], f[3], f[4], x ? sprintf("%.0f", x) : "not measured",
          over(x, floor), over(x, base), x && base ? sprintf("%.0f", x - base) : "-"
        printf "%s\n  {\"on\": \"%s\", \"what\": \"%s\", \"bytes\": %d, \"protocol\": \"%s\", \"ns\": %s, \"bare_ns\": %s, \"none_ns\": %s, \"rounds\": %d}", (i > 1 ? "," : ""), f[1], f[2], f[3], f[4],
          x ? x : "null", floor ? floor : "null", base ? base : "null", n[order[i]] > json
      }
      printf "\n]\n" > json
    }' "$raw"
}

for ((i = 1; i <= rounds; i++)); do
  [ -t 2 ] && printf '\rround %d of %d ' "$i" "$rounds" >&2
  round
done
[ -t 2 ] && printf '\r' >&2
echo "$machine"
table
[ -n "$mpis" ] || echo "no MPI is installed: no rows of it"
[ -s "$errors" ] && echo "what was said meanwhile: $errors"
echo "figures: $out/bench.json"
