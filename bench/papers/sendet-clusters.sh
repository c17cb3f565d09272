#!/bin/bash
# The table of clusters in the slides on uncoordinated checkpoints of send-deterministic programs: share of the messages that are
# logged and of the processes that roll back with 4, 8 and 16 clusters. sendet-clusters.sh HARK [NAME=BYTES.mtx[,MESSAGES.mtx]]...,
# NAME one of MG LU FT CG BT. What differs: README.md.
set -u
hark=$1; shift
. "$(dirname "$0")/common.sh"
matrices "$@"
echo 'A. Guermouche, T. Ropars, E. Brunet, M. Snir, F. Cappello: slides on send-deterministic HPC programs, 2011: 128 processes,'
echo 'class D, epochs of clusters. Here hydee in the same numbers of clusters. Per cent.'
printf '%-5s %8s | %8s %8s | %8s %8s | %8s %8s\n' '' '' slides '' nas-* '' matrix '' NAS clusters back logged back logged back logged
while read -r name clusters logged back; do
  ranks=128
  [ "$name" = BT ] && ranks=121 # the generator wants a square
  set -- $(shares "$clusters" --pattern "nas-${name,,}" --ranks $ranks) || exit 1
  [ $# = 3 ] || exit 1
  of=($(measured "$name" "$clusters"))
  printf '%-5s %8s | %8s %8s | %8s %8s | %8s %8s\n' "$name" "$clusters" "$back" "$logged" "$3" "$2" "${of[2]:--}" "${of[1]:--}"
done <<'END'
MG 4 9.5 62.5
MG 8 17.1 56.3
MG 16 25.4 42.1
LU 4 10.35 62.5
LU 8 24.14 56.3
LU 16 25.9 42.1
FT 4 37.3 62.5
FT 8 43.6 56
FT 16 46.8 53
CG 4 2.9 62.5
CG 8 3.4 56.3
CG 16 15 43.8
BT 4 13 62.6
BT 8 25.2 56.4
BT 16 36.7 53.3
END
