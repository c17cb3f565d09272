#!/bin/bash
# hark-mpi/mpi.h warns of nothing in C and C++, and is the standard ABI: header.sh FOLDER COMPILER...
folder=$(readlink -f "$1"); shift
here=$(readlink -f "$(dirname "$0")")
. "$here/../shell.sh"
flags="-Wall -Wextra -pedantic -Werror -I$folder"

for compiler in "$@"; do
  case $compiler in
  *++) language=c++ standards='c++98 c++11 c++17' ;;
  *) language=c standards='c99 c11 c17' ;;
  esac
  for standard in $standards; do
    holds "$compiler -std=$standard, old names" "$compiler" $flags -x $language -std=$standard -c "$here/old.c" -o old.o
    holds "$compiler -std=$standard" "$compiler" $flags -x $language -std=$standard "$here/header.c" -o header &&
      is "$compiler -std=$standard, values" 0 "$(./header >said 2>&1; r=$?; [ $r = 0 ] || cat said; echo $r)"
  done
done
# Handles of different kinds are different types.
cat >mixed.c <<'END'
#include <mpi.h>
int rank(int *rank);
int rank(int *rank)
{
    return MPI_Comm_rank(MPI_INT, rank);
}
END
is 'a handle in the place of another is refused' 1 "$("$1" $flags -c mixed.c -o mixed.o >mixed 2>&1; echo $(($? != 0)))"
holds 'the message names both types' grep -q 'MPI_ABI_Datatype.*MPI_ABI_Comm' <(tr "\n" " " <mixed)
finish
