#!/bin/bash
# hark mpi: command.sh HARK NAMES FLAVOUR LIBRARY PROGRAM, a program of that flavour which refers to MPI_Comm_spawn
hark=$(readlink -f "$1") names=$2 flavour=$3 library=$(readlink -f "$4") program=$(readlink -f "$5")
. "$(dirname "$0")/../shell.sh"
library=$(dirname "$library")/$(basename "$library")

"$hark" mpi >out 2>err
is 'hark mpi' 0 $?
grep "^$flavour " out >line
is 'the library of this flavour' "$library" "$(readlink -f "$(sed 's/.*: //' line)")"
"$hark" mpi --functions >out 2>err
is 'hark mpi --functions' 0 $?
is 'as many functions as there are' "$(grep -c '^MPI' "$names")" "$(wc -l <out)"
is 'one that is there' yes "$(awk '$1 == "MPI_Allreduce" { print $NF }' out)"
is 'those that are there' "$(grep -c ' yes$' "$names")" "$(grep -c ' yes$' out)"
is 'one that is not' process "$(awk '$1 == "MPI_Comm_spawn" { print $5 }' out)"
grep -q '^MPI_Comm_spawn .* the processes of a job are those that hark run starts' out && good || bad 'the reason'

"$hark" mpi "$program" >out 2>err
is 'a program that refers to a function which is refused' 1 $?
grep -q "place of its MPI library: .*/$(basename "$library")" out && good || bad 'its library'
grep -q '^    MPI_Comm_spawn: the processes of a job' out && good || bad 'its function'
is 'other functions' 1 "$(grep -c '^    ' out)"
is 'it runs all the same' 0 "$(timeout 60 "$hark" run -n 2 --protocol none -- "$program" >out 2>err; echo $?)"
(cd "$(dirname "$program")" && "$hark" mpi "./$(basename "$program")") >out 2>err
is 'a program by its path' "$program: a program of MPI" "$(head -1 out)"
"$hark" mpi /bin/sh >out 2>err
is 'a program without MPI' 0 $?

refused() { # line, arguments
  local line=$1; shift
  "$hark" mpi "$@" >out 2>err
  is "hark mpi $*" "2 $line" "$? $(cat err)"
}
refused 'hark mpi: missing/program: No such file or directory' missing/program
refused 'hark mpi: no-such-program: no such program in PATH' no-such-program
refused 'hark mpi: expected one program at most, found "b" too' a b
refused 'hark mpi: expected --functions alone, found "a" too' --functions a
refused 'hark mpi: --colour: no such option, see `hark help mpi`' --colour
finish
