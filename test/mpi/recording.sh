#!/bin/bash
# Recordings of a program of MPI: recording.sh HARK PROGRAM PYTHON READER
hark=$(readlink -f "$1") program=$(readlink -f "$2") python=$3 reader=$4
. "$(dirname "$0")/../shell.sh"

for run in 1 2; do
  timeout 120 "$hark" run -n 4 --protocol none --record $run --write-matrix matrix -- "$program" 4 >out 2>err </dev/null
  is "run $run" 0 $?
  if grep -q . err; then bad "run $run"; fi
done
holds 'the reader, and the matrix' "$python" "$reader" 2 matrix
holds 'more than a few messages' [ "$("$python" "$reader" 2 matrix | cut -d' ' -f1)" -gt 1000 ]
"$hark" compare --sends 1 2 >out 2>err
is 'the sends' 0 $?
if grep -q . err; then bad 'hark compare'; fi
# Under a protocol, over the other transport, the same.
timeout 120 "$hark" run -n 4 --protocol hydee --interval 1ms --transport uv --record 3 -- "$program" 4 >out 2>err </dev/null
is 'a run under a protocol' 0 $?
"$hark" compare --sends 1 3 >out 2>err
is 'its sends' 0 $?
finish
