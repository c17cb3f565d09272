#!/bin/bash
# HydEE, Table I: clusters, share of the processes that roll back, share of the data that is logged. hydee-table1.sh HARK
# [NAME=BYTES.mtx[,MESSAGES.mtx]]..., NAME one of BT CG FT LU MG SP; without any those of test/data/patterns. What differs: README.md.
set -u
hark=$1; shift
. "$(dirname "$0")/common.sh"
npb=$(dirname "$0")/../../test/data/patterns/npb-
[ $# -gt 0 ] || for name in BT CG FT LU MG SP; do set -- "$@" "$name=$npb${name,,}.B.256.mtx.gz,$npb${name,,}.B.256.msgs.mtx.gz"; done
matrices "$@"
echo 'A. Guermouche, T. Ropars, M. Snir, F. Cappello: HydEE, IPDPS 2012, Table I: 256 processes, class D. Per cent.'
printf '%-5s %8s | %8s %8s | %8s %8s | %8s %8s\n' '' '' paper '' nas-* '' matrix '' NAS clusters back logged back logged back logged
while read -r name clusters back logged; do
  set -- $(shares "$clusters" --pattern "nas-${name,,}" --ranks 256) || exit 1
  [ $# = 3 ] || exit 1
  of=($(measured "$name" "$clusters"))
  printf '%-5s %8s | %8s %8s | %8s %8s | %8s %8s\n' "$name" "$clusters" "$back" "$logged" "$3" "$1" "${of[2]:--}" "${of[0]:--}"
done <<'END'
BT 5 21.78 18.09
CG 16 6.25 18.98
FT 2 50 50.19
LU 8 12.5 13.26
MG 4 25 19.63
SP 6 18.56 20.04
END
