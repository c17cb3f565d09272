#!/bin/bash
# Predefined handles of Open MPI in Fortran: integers.sh LIST FOLDER, FOLDER is that of mpif.h.
list=$1 folder=$2
. "$(dirname "$0")/../shell.sh"
grep -v '^#' "$list" | awk '{ print $1 "=" $2 }' | LC_ALL=C sort >listed
cat "$folder"/mpif-handles.h "$folder"/mpif-io-handles.h | sed -n 's/^ *parameter (\(MPI_[A-Z0-9_]*=[0-9]*\))$/\1/p' | LC_ALL=C sort >declared
holds 'there are handles' [ "$(grep -c . declared)" -ge 100 ]
is 'listed, but not declared' '' "$(LC_ALL=C comm -23 listed declared | head | paste -sd' ')"
is 'declared, but not listed' '' "$(LC_ALL=C comm -13 listed declared | head | paste -sd' ')"
finish
