#!/bin/bash
# What a message costs: each protocol beside `none` on the same transport, and that beside the bare machine.
# bench.sh [--limit PERCENT] BUILD [ROUNDS [MILLISECONDS]]: a table on standard output: instructions, which are the same on
# every machine, and of the times of interleaved rounds the least, the first quartile and the median; figures in
# BUILD/bench/bench.json. `bare-log` is a ring as long as a log of so many bytes: whoever retains what it sends has to
# write that much memory. A row that could not be measured says so.
# The last line says whether the run is good: not if other work and the host took more than PERCENT (10) of the processors.
# Exit status: 0 good; 1 a row could not be measured; 2 bad arguments; 3 not good.
set -u
. "$(dirname "$0")/common.sh"
limit=10
if [ "${1:-}" = --limit ]; then
  number --limit "${2:-}" 0 100
  limit=$2; shift 2
fi
[ $# -ge 1 ] && [ $# -le 3 ] || bad_input "expected [--limit PERCENT] BUILD [ROUNDS [MILLISECONDS]]"
build=$1 count_of_rounds=${2:-5} ms=${3:-100}
number ROUNDS "$count_of_rounds" 1 1000
number MILLISECONDS "$ms" 1 60000
for program in src/cli/hark bench/pingpong bench/floor; do
  [ -x "$build/$program" ] || bad_input "$build/$program is missing: run make bench, or ninja -C $build src/cli/hark bench/pingpong bench/floor bench/instructions"
done
open_figures "$build/bench"

mpis=""
for mpi in mpich openmpi; do
  command -v mpicc.$mpi >/dev/null && command -v mpiexec.$mpi >/dev/null || continue
  mpicc.$mpi -O2 -D_GNU_SOURCE -o "$out/pingpong_$mpi" "$here/pingpong_mpi.c" 2>>"$errors" && mpis="$mpis $mpi"
done
[ -n "$mpis" ] || echo "no MPI is installed: no rows of it" >>"$out/notes.txt"

bare() { # on, what, size, name, then the arguments of floor
  local on=$1 what=$2 size=$3 name=$4 kind=$5 bytes=$6
  row A "$on" "$what" "$size" "$name" "$out/floor" "$kind" "$what" "$size" "$ms" "$bytes"
}

round() {
  local size on mpi root name
  for size in 8 1024 65536 $MIB; do
    bare shm ping $size bare ring $((8 * MIB))
    [ $size -ge 65536 ] && bare shm ping $size bare-log log $((8 * MIB))
    bare uv ping $size bare libuv $((8 * MIB))
    for on in shm uv; do
      for name in none hydee hydee+digest scmel; do
        carried A "$build" $on ping $size $WINDOW $name
      done
    done
    for mpi in $mpis; do
      [ $mpi = openmpi ] && [ "$(id -u)" = 0 ] && root=--allow-run-as-root || root=
      row A shm ping $size $mpi mpiexec.$mpi $root -n 2 "$out/pingpong_$mpi" ping $size "$ms" $((8 * MIB))
    done
  done
  for size in 65536 $MIB; do
    bare shm stream $size bare ring $((8 * MIB))
    bare shm stream $size bare-log/8MiB log $((8 * MIB))
    bare shm stream $size bare-log/512MiB log $((512 * MIB))
    for name in none hydee/8MiB; do carried A "$build" shm stream $size $WINDOW $name; done
    for name in none/long hydee/512MiB; do carried A "$build" shm stream $size $((256 * MIB)) $name; done
  done
}

if can_count "$build"; then
  for size in 8 1024; do
    for on in shm uv; do
      for name in none hydee hydee+digest scmel; do count A "$build" $on $size $name; done
    done
  done
  for mpi in $mpis; do count A "$build" shm 8 $mpi; done # Open MPI's send of 1 KiB waits for its receiver
fi
rounds "$count_of_rounds" round
"$here/report.py" bench "$out" "$limit"
