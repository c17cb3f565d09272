#!/bin/bash
# Programs of other MPIs get hark's library in the place of theirs. The libraries here are small: each says whose it is.
# mpi_choice.sh HARK CC OBEDIENT BINDIR LIBDIR
hark=$(readlink -f "$1") cc=$2 obedient=$(readlink -f "$3") bindir=$4 libdir=$5
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run -n 1) words='hark run -n 1'
unset LD_PRELOAD LD_LIBRARY_PATH
export HARK_MPI_PATH=$work/ours

mkdir theirs ours ours/mpich ours/openmpi ours/abi
library() { # FOLDER SONAME, what it says
  echo "#include <stdio.h>
int MPI_Init(void *a, void *b) { (void)a; (void)b; puts(\"$3\"); fflush(stdout); return 0; }" >"$2.c"
  $cc -shared -fPIC -Wl,-soname,"$2" -o "$1/$2" "$2.c"
}
declare -A folder=([libmpich.so.12]=mpich [libmpi.so.12]=mpich [libmpi.so.40]=openmpi [libmpi_abi.so.0]=abi [libmpi_abi.so.1]=abi)
for soname in "${!folder[@]}"; do
  library theirs $soname "their $soname"
  library ours/${folder[$soname]} $soname "our $soname"
done
echo 'int MPI_Init(void *, void *); int main(void) { return MPI_Init(0, 0); }' >program.c
program() { # NAME SONAME [OPTION]...: looks for its library among theirs, as DT_RPATH says, which comes before LD_LIBRARY_PATH
  local name=$1 soname=$2; shift 2
  $cc -o "$name" program.c "$@" -Wl,--disable-new-dtags,-rpath,"$work/theirs" -Wl,--no-as-needed "theirs/$soname"
}

for soname in "${!folder[@]}"; do
  program with-$soname $soname
  is "$soname without hark" "their $soname" "$(./with-$soname)"
  expect 1 "^our $soname$" ./with-$soname
  expect 1 "^our $soname$" --mpi ${folder[$soname]} ./with-$soname
  expect 1 "^their $soname$" --mpi none ./with-$soname
done

# Where hark's libraries are: beside the command in a build tree, and where both were installed.
for place in "build/src/cli build/src/mpi" "usr/$bindir usr/$libdir/hark/mpi"; do
  case $bindir$libdir in *//* | /*) [ "${place%% *}" = build/src/cli ] || continue ;; esac
  mkdir -p "${place%% *}" "${place##* }"
  cp "$hark" "${place%% *}/hark"
  cp -r ours/* "${place##* }"
  env -u HARK_MPI_PATH "${place%% *}/hark" run -n 1 ./with-libmpich.so.12 >out 2>err
  is "libraries of ${place%% *}" 'our libmpich.so.12' "$(cat out)"
done

# By way of a library of Fortran, which has a known name, and of one that has none; that is found by RUNPATH beside itself.
echo 'int MPI_Init(void *, void *); int mpi_init_(void) { return MPI_Init(0, 0); }' >fortran.c
$cc -shared -fPIC -Wl,-soname,libmpichfort.so.12 -o theirs/libmpichfort.so.12 fortran.c
echo 'int mpi_init_(void); int main(void) { return mpi_init_(); }' >fortran_program.c
$cc -o fortran fortran_program.c theirs/libmpichfort.so.12 -Wl,--disable-new-dtags,-rpath,"$work/theirs" -Wl,--unresolved-symbols=ignore-all
expect 1 '^our libmpich.so.12$' ./fortran
# Open MPI's: hark's library of Fortran comes too, also for a program of mpi_f08, which stands on it.
fortran_of_openmpi() { # FOLDER, its function, what that says
  echo "#include <stdio.h>
int MPI_Init(void *, void *); int $2(void) { puts(\"$3\"); fflush(stdout); return MPI_Init(0, 0); }" >"$2.c"
  $cc -shared -fPIC -Wl,-soname,libmpi_mpifh.so.40 -o "$1/libmpi_mpifh.so.40" "$2.c"
}
fortran_of_openmpi theirs mpi_init_ 'their mpif.h'
fortran_of_openmpi ours/openmpi mpi_init_ 'our mpif.h'
echo 'int mpi_init_(void); int mpi_init_f08_(void) { return mpi_init_(); }' >f08.c
$cc -shared -fPIC -Wl,-soname,libmpi_usempif08.so.40 -o theirs/libmpi_usempif08.so.40 f08.c
echo 'int mpi_init_f08_(void); int main(void) { return mpi_init_f08_(); }' >f08_program.c
beside=(-Wl,--disable-new-dtags,-rpath,"$work/theirs" -Wl,--unresolved-symbols=ignore-all -Wl,--no-as-needed)
$cc -o mpifh fortran_program.c "${beside[@]}" theirs/libmpi_mpifh.so.40 theirs/libmpi.so.40
$cc -o f08 f08_program.c "${beside[@]}" theirs/libmpi_usempif08.so.40 theirs/libmpi_mpifh.so.40 theirs/libmpi.so.40
for program in mpifh f08; do
  is "$program without hark" 'their mpif.h;their libmpi.so.40' "$(./$program | paste -sd';')"
  "$hark" run -n 1 ./$program >out 2>err
  is "$program" 'our mpif.h;our libmpi.so.40' "$(paste -sd';' out)"
done
mv ours/openmpi/libmpi_mpifh.so.40 kept
expect 2 'the program needs libmpi_mpifh.so.40 of Open MPI, and there is no ' ./mpifh
mv kept ours/openmpi/libmpi_mpifh.so.40
mkdir deep deep/er
$cc -shared -fPIC -Wl,-soname,libsolver.so -o deep/er/libsolver.so fortran.c -Wl,--disable-new-dtags,-rpath,"$work/theirs" theirs/libmpi.so.40
$cc -o by-solver fortran_program.c -Wl,--enable-new-dtags,-rpath,'$ORIGIN/deep/er' deep/er/libsolver.so -Wl,--unresolved-symbols=ignore-all
expect 1 '^our libmpi.so.40$' ./by-solver
mkdir bin && mv by-solver bin && mv deep bin
PATH=$work/bin:$PATH expect 1 '^our libmpi.so.40$' by-solver

# What is in LD_PRELOAD already stays there, behind.
echo '#include <unistd.h>
__attribute__((constructor)) static void begin(void) { (void)!write(1, "before\n", 7); }' >before.c
$cc -shared -fPIC -o before.so before.c
"$hark" run -n 1 --env LD_PRELOAD="$work/before.so" ./with-libmpich.so.12 >out 2>err
is 'LD_PRELOAD of the program' 'before;our libmpich.so.12' "$(paste -sd';' out)"

# Who loads MPI later says nothing of it: an interpreter, a script. The MPI that is named comes first.
for flavour in auto mpich openmpi abi; do
  "$hark" run -n 1 --mpi $flavour sh -c 'echo "$LD_LIBRARY_PATH/$LD_PRELOAD"' >out 2>err
  case $flavour in
  auto | mpich) order=mpich:openmpi:abi ;;
  openmpi) order=openmpi:abi:mpich ;;
  abi) order=abi:mpich:openmpi ;;
  esac
  is "a shell with --mpi $flavour" "$work/ours/${order//:/:$work/ours/}/" "$(cat out)"
done
printf '#!/bin/sh\necho "$LD_LIBRARY_PATH"\n' >script
chmod +x script
LD_LIBRARY_PATH=/behind "$hark" run -n 1 ./script >out 2>err
is 'a script' "$work/ours/mpich:$work/ours/openmpi:$work/ours/abi:/behind" "$(cat out)"
"$hark" run -n 1 --mpi none ./script >out 2>err
is 'a script with --mpi none' '' "$(cat out)"
HARK_MPI_PATH=$work/nothing "$hark" run -n 1 ./script >out 2>err
is 'a script without our libraries' '' "$(cat out)"

# VELOC's library, beside that of MPI; it has no MPI itself.
mkdir ours/veloc
for whose in their our; do
  printf '#include <stdio.h>\nint VELOC_Init(void) { puts("%s VELOC"); fflush(stdout); return 0; }\n' $whose >veloc.c
  $cc -shared -fPIC -Wl,-soname,libveloc-client.so -o $whose.so veloc.c
done
mv their.so theirs/libveloc-client.so
echo 'int VELOC_Init(void); int MPI_Init(void *, void *); int main(void) { VELOC_Init(); return MPI_Init(0, 0); }' >veloc_program.c
$cc -o veloc veloc_program.c "${beside[@]}" theirs/libveloc-client.so theirs/libmpich.so.12
expect 2 "there is no $work/ours/veloc/libveloc-client.so" ./veloc
mv our.so ours/veloc/libveloc-client.so
"$hark" run -n 1 ./veloc >out 2>err
is 'VELOC' 'our VELOC;our libmpich.so.12' "$(paste -sd';' out)"
# One that is linked with hark for its checkpoints only.
printf '#include <stdio.h>\nint hark_checkpoint(void) { puts("checkpoint"); fflush(stdout); return 0; }\n' >app.c
$cc -shared -fPIC -Wl,-soname,libhark_app.so.0.1 -o theirs/libhark_app.so app.c
ln -s libhark_app.so theirs/libhark_app.so.0.1
echo 'int hark_checkpoint(void); int MPI_Init(void *, void *); int main(void) { hark_checkpoint(); return MPI_Init(0, 0); }' >both.c
$cc -o both both.c "${beside[@]}" theirs/libhark_app.so theirs/libmpi.so.40
"$hark" run -n 1 ./both >out 2>err
is 'checkpoints in a program of MPI' 'checkpoint;our libmpi.so.40' "$(paste -sd';' out)"

# A program that calls hark itself gets nothing, whatever else it is linked with.
echo '#include <stdio.h>
#include <stdlib.h>
int hark_init(void) { return 0; }
int main(void) { printf("%s;%s\n", getenv("LD_PRELOAD") ? "preload" : "", getenv("LD_LIBRARY_PATH") ? "path" : ""); return 0; }' >own.c
$cc -o own own.c -Wl,--no-as-needed theirs/libmpich.so.12 -Wl,-rpath,"$work/theirs"
expect 1 '^;$' ./own
PLACE=$work expect 0 '' "$obedient"

# What can not run.
HARK_MPI_PATH=$work/nothing expect 2 "^hark run: the program needs libmpi.so.40 of Open MPI, and there is no $work/nothing/openmpi/libmpi.so.40: hark was built without Open MPI's headers: install libopenmpi-dev and build hark again$" ./with-libmpi.so.40
HARK_MPI_PATH="$work/a b" expect 2 'there is no .*/a b/mpich/libmpich.so.12: hark was built without MPICH.s headers: install libmpich-dev' ./with-libmpich.so.12
ln -s ours 'a b'; cp -r ours 'c d'
HARK_MPI_PATH="$work/c d" expect 2 'LD_PRELOAD can not name a path with a space or a colon: set HARK_MPI_PATH' ./with-libmpich.so.12
HARK_MPI_PATH="a b" expect 1 '^our libmpich.so.12$' ./with-libmpich.so.12
expect 2 '^hark run: --mpi openmpi: .*/with-libmpich.so.12 needs libmpich.so.12, which is MPICH: leave out --mpi, or use --mpi mpich$' --mpi openmpi ./with-libmpich.so.12
expect 2 '^hark run: --mpi: expected one of mpich, openmpi, abi, auto or none, found "lam"$' --mpi lam ./own
program mixed libmpich.so.12 -Wl,--no-as-needed theirs/libmpi.so.40
expect 2 'mixed: it needs the libraries of two MPIs, libmpi.so.40 (Open MPI) and libmpich.so.12 (MPICH): link it, and the libraries that it uses, with one of them$' ./mixed
echo 'int PMPI_Init(void) { return 0; } int main(void) { return PMPI_Init(); }' >inside.c
$cc -o inside inside.c
expect 2 'inside: MPI is linked into it statically, and hark replaces shared libraries only: link it again without -static$' ./inside
$cc -static -o inside inside.c
expect 2 'inside: MPI is linked into it statically' ./inside
echo 'int main(void) { return 0; }' >nothing.c
$cc -static -o nothing nothing.c
expect 1 'exited without hark_init: ./nothing is not a program of hark' ./nothing
cp own narrow
printf '\001' | dd of=narrow bs=1 seek=4 conv=notrunc status=none # EI_CLASS: 32 bits
expect 2 'narrow: it is built for other machines than this hark, such as 32-bit ones' ./narrow
for launcher in mpiexec mpirun srun orterun prterun /usr/bin/mpiexec.hydra; do
  expect 2 "^hark run: $launcher: hark run starts the processes itself: use .hark run -n 4 -- PROGRAM., without ${launcher##*/} (or hark-mpiexec" -- $launcher -n 4 ./own
done
expect 2 'use .hark run -n N -- PROGRAM.' -- mpirun ./own
printf '#!/bin/sh\necho mine\n' >bin/mpirun; chmod +x bin/mpirun
expect 1 '^mine$' --mpi none bin/mpirun

# A damaged file ends nothing but itself: --clusters is refused behind it, so that nothing is started.
damaged() { "$hark" run -n 1 --clusters 2 ./damaged >out 2>&1; r=$?; [ $r = 2 ] && grep -q '^hark run: ' out && good || bad "damaged $* (exit $r)"; }
size=$(stat -c %s with-libmpich.so.12)
sections=$(od -An -t u8 -j 40 -N 8 with-libmpich.so.12)
dynamic=$(readelf -lW with-libmpich.so.12 | awk '$1 == "DYNAMIC" { print $2 }')
for at in $(seq 4 4 64) $(seq 64 24 800) $(seq $((dynamic)) 20 $((dynamic + 480))) $(seq $((sections)) 40 $((size - 8))); do
  for value in '\377\377\377\377\377\377\377\377' '\000\000\000\000\000\000\000\100' '\001\000\000\000\000\000\000\000'; do
    cp with-libmpich.so.12 damaged
    printf "$value" | dd of=damaged bs=1 seek=$at conv=notrunc status=none
    damaged "at $at by $value"
  done
done
for length in 0 1 4 15 16 63 64 65 120 400 $((dynamic)) $((dynamic + 8)) $((sections + 8)) $((size - 1)); do
  head -c $length with-libmpich.so.12 >damaged
  damaged "after $length bytes"
done
finish
