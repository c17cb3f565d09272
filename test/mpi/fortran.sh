#!/bin/bash
# Fortran programs of Open MPI with hark's Fortran library, above Open MPI's own library of C functions: it converts
# arguments only, so any will do. What it needs of hark's own is in fortran_below.c. fortran.sh SOURCE CC NM MPIF90 LIBRARY FLAG...: LIBRARY is the folder of libmpi.so, the
# FLAGs are those for its mpi.h.
here=$(cd "$(dirname "$0")" && pwd) source=$(readlink -f "$1") cc=$2 nm=$3 mpif90=$4 libraries=$5; shift 5
. "$here/../shell.sh"
export TMPDIR=$work OMPI_MCA_orte_tmpdir_base=$work # sockets and shared memory of Open MPI
flags="-std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -Wno-deprecated-declarations -fvisibility=hidden -fPIC"

holds 'fortran.py' "$source/fortran.py" calls.c "$cc" "$@"
for file in calls.c "$source/fortran.c" "$here/fortran_below.c"; do
  holds "$file compiles" "$cc" $flags "$@" -I"$source" -c "$file" -o "$(basename "$file" .c).o"
done
holds 'the library is complete' "$cc" -shared -Wl,-z,defs -Wl,-soname,libmpi_mpifh.so.40 -o libmpi_mpifh.so.40 \
  calls.o fortran.o fortran_below.o -L"$libraries" -lmpi
[ -e libmpi_mpifh.so.40 ] || { finish; exit; }
holds 'it exports what programs and other libraries need' "$here/exports.py" "$nm" libmpi_mpifh.so.40 \
  "$source/openmpi_needed.txt" mpifh
# Of Open MPI's library, all that a compiler may call a function of MPI; sizes (MPI_SIZEOF) are in another one.
names() { "$nm" -D --defined-only "$1" | cut -d' ' -f3 | grep -iE '^p?mpix?_' | grep -viE '_sizeof|_f(08)?$' | LC_ALL=C sort; }
is 'names that are missing' '' "$(LC_ALL=C comm -23 <(names "$libraries/libmpi_mpifh.so") <(names libmpi_mpifh.so.40) | head -20 | paste -sd' ')"

for program in fortran.f90 fortran_f08.f90 fortran_old.f; do
  holds "$program compiles" env OMPI_FC=gfortran "$mpif90" -fallow-argument-mismatch -w -o "${program%.*}" "$here/$program"
  LD_PRELOAD=$work/libmpi_mpifh.so.40 timeout 60 "./${program%.*}" >said 2>&1
  is "$program" '0 0 failed' "$? $(tail -1 said | grep -o '0 failed')" || cat said
  grep FAILED said
  is "$program took this library" 1 "$(LD_PRELOAD=$work/libmpi_mpifh.so.40 ldd "./${program%.*}" | grep -c libmpi_mpifh)"
done
finish
