#!/bin/bash
# The functions that hark refuses: refused.sh REFUSED.PY NAMES CC NM
refused=$1 names=$2 cc=$3 nm=$4
. "$(dirname "$0")/../shell.sh"
flags="-std=c11 -Wall -Wextra -pedantic -Werror -fvisibility=hidden -fPIC"

cat >names.txt <<'END'
# a comment
MPI_Send       mos point-to-point yes
MPI_Recv       mos point-to-point todo
MPI_Comm_spawn mos process        processes cannot be "started" at run time
MPI_Comm_c2f   mo- fortran        todo
END
cat >library.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#pragma GCC visibility push(default)
int PMPI_Send(void);
int PMPI_Send(void)
{
    return 7;
}
#pragma weak MPI_Send = PMPI_Send
int MPI_Send(void);
#pragma GCC visibility pop
_Noreturn void hark_mpi_refuse(const char *name, const char *reason);
_Noreturn void hark_mpi_refuse(const char *name, const char *reason)
{
    printf("%s: %s\n", name, reason);
    exit(3);
}
END
cat >program.c <<'END'
int MPI_Send(void);
int FUNCTION(void);
#ifdef OWN
int MPI_Recv(void);
int MPI_Recv(void)
{
    return 1;
}
#endif
int main(void)
{
    return MPI_Send() == 7 ? FUNCTION() : 9;
}
END
holds 'the library compiles' $cc $flags -c library.c -o library.o
holds 'refused.py' "$refused" names.txt s refused.c "$nm" library.o
holds 'what it writes compiles' $cc $flags -c refused.c -o refused.o
holds 'and links' $cc -shared -Wl,-z,defs -o libmpi_abi.so library.o refused.o
is 'the names of the library' 'MPI_Comm_spawn MPI_Recv MPI_Send PMPI_Comm_spawn PMPI_Recv PMPI_Send' \
  "$("$nm" -D --defined-only libmpi_abi.so | cut -d' ' -f3 | LC_ALL=C sort | paste -sd' ')"

says() { # what a program prints that calls that function, and its status; flags
  local function=$1; shift
  $cc -DFUNCTION="$function" "$@" program.c -o program -L. -lmpi_abi -Wl,-rpath,"$work" || return
  ./program
  echo $?
}
is 'a function with a reason' $'MPI_Comm_spawn: processes cannot be "started" at run time\n3' "$(says MPI_Comm_spawn)"
is 'its profiling name' $'MPI_Comm_spawn: processes cannot be "started" at run time\n3' "$(says PMPI_Comm_spawn)"
is 'a function without one' $'MPI_Recv: hark does not have this function\n3' "$(says MPI_Recv)"
is 'a function that the program has itself' 1 "$(says MPI_Recv -DOWN)"

# Another interface has other names.
holds 'refused.py for MPICH' "$refused" names.txt m mpich.c "$nm" library.o
is 'a name that only mpi.h of others has' '0 1' "$(grep -c MPI_Comm_c2f refused.c mpich.c | cut -d: -f2 | paste -sd' ')"

# What names.txt says has to be so.
wrong() { # what is said, a line for names.txt in the place of MPI_Send's
  sed "s/^MPI_Send .*/$2/" names.txt >wrong.txt
  "$refused" wrong.txt s wrong.c "$nm" library.o >said 2>&1
  is "$2" "1 $1" "$? $(cat said)"
}
wrong 'wrong.txt: MPI_Send has a reason to be refused, but an object defines it: write `yes`' 'MPI_Send mos point-to-point nobody sends'
wrong 'wrong.txt: MPI_Send is defined, but not named here' '# nothing'
wrong 'wrong.txt: MPI_Bsend is `yes`, but no object defines it' 'MPI_Send mos point-to-point yes\nMPI_Bsend mos point-to-point yes'
wrong 'wrong.txt:3: MPI_Send is there twice' 'MPI_Send mos point-to-point yes\nMPI_Send mos point-to-point yes'
wrong 'wrong.txt:2: expected a name, interfaces such as mos or m--, a family and yes, todo or a reason, found: MPI_Send mos yes' 'MPI_Send mos yes'
is 'another interface' '1 refused.py: expected one of m, o, s, found x' "$("$refused" names.txt x out.c "$nm" library.o >said 2>&1; echo "$? $(cat said)")"

# With the real list, every name of every interface is there.
for interface in m o s; do
  echo 'int nothing;' | $cc -xc -c - -o nothing.o
  holds "refused.py for $interface" "$refused" <(sed 's/ yes$/ todo/' "$names") $interface all.c "$nm" nothing.o
  holds "what it writes for $interface compiles" $cc $flags -c all.c -o all.o
  is "names of $interface" "$(grep -v '^#' "$names" | awk -v i=$interface '$2 ~ i { print $1; print "P" $1 }' | LC_ALL=C sort | sha1sum)" \
    "$("$nm" -g --defined-only all.o | cut -d' ' -f3 | LC_ALL=C sort | sha1sum)"
done
finish
