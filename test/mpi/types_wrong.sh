#!/bin/bash
# Datatypes with arguments that are wrong: each call ends the job with one line.
# types_wrong.sh HARK LIBRARY PROGRAM
hark=$(readlink -f "$1") library=$2 program=$(readlink -f "$3"); shift 3
. "$(dirname "$0")/../shell.sh"

wrong() { # number, line
  "$hark" run -n 1 -- env LD_PRELOAD="$library" "$program" "$1" >out 2>err </dev/null
  holds "call $1: it fails" [ $? != 0 ] # with the class of the error
  is "call $1: the line" "hark: rank 0: $2 (communicator MPI_COMM_WORLD)" "$(head -1 err)"
  is "call $1: lines" 2 "$(cat out err | wc -l)"
}

wrong 0 'MPI_Type_contiguous: the count is -1, and must not be negative'
wrong 1 'MPI_Type_vector: the block length is -2, and must not be negative'
wrong 2 'MPI_Type_create_hindexed: the length of block 0 is -1, and must not be negative'
wrong 3 'MPI_Type_contiguous: the datatype is MPI_DATATYPE_NULL'
wrong 4 'MPI_Type_create_subarray: start 0 is 1, and may be 0 .. 0'
wrong 5 'MPI_Type_create_darray: dimension 0: the distribution must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE'
wrong 6 'MPI_Type_free: MPI_INT can not be freed'
wrong 7 'MPI_Send: the datatype is not committed: call MPI_Type_commit'
wrong 8 'MPI_Pack: 8 bytes do not fit: the position is 0, and the packed buffer has 7 bytes'
wrong 9 'MPI_Type_get_contents: the datatype is predefined: it has no contents'
wrong 10 'MPI_Type_match_size: there is no datatype of this class with 3 bytes'
wrong 11 'MPI_Type_create_f90_real: there is no kind with 40 digits and exponents up to 0'
wrong 12 'MPI_Pack_external: the representation is external64, and may be external32'
wrong 13 'MPI_Type_size: the datatype is MPI_DATATYPE_NULL'
finish
