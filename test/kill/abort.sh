#!/bin/bash
# A process ends the whole job with a status, as MPI_Abort does; one that exits by itself before the end is a failed program.
# abort.sh HARK OBEDIENT
hark=$(readlink -f "$1") obedient=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run -n 4) words='hark run -n 4'
export PLACE=$work

for protocol in hydee scmel coordinated none; do
  for pair in 5:5 0:1 1:1 255:255 -1:255 256:1 259:3; do
    expect ${pair#*:} "^hark: rank 2 aborted the job with status $((${pair%:*} & 255))$" --protocol $protocol -- "$obedient" 2:abort=${pair%:*} recv=1.1
  done
  # What was printed before is shown, also what still waits for its order to be safe, and a line without an end.
  expect 7 '^here$' --protocol $protocol -- "$obedient" 0:send=1.3 1:recv=0.3 1:print=here 1:abort=7 recv=1.1
  # Others who compute, or are stopped, end too.
  expect 9 '^hark: rank 0 aborted the job with status 9$' --protocol $protocol -- "$obedient" 1:await=never 2:system='kill -STOP $PPID' 0:abort=9 recv=1.1
done
# Behind a failure that was survived, and with checkpoints.
expect 6 '^hark: rank 1 aborted the job with status 6$' --interval 1ms --kill 2@20 -- "$obedient" steps=60 1:abort=6 recv=1.1
expect 4 '^hark: rank 0 aborted the job with status 4$' --store st --interval 1ms -- "$obedient" steps=60 0:abort=4 recv=1.1
is 'not resumed as finished' '' "$("$hark" run -n 4 --store st --resume -- "$obedient" steps=60 0:abort=4 recv=1.1 2>&1 | grep 'finished already')"
PLACE=$work "$obedient" abort=3 >out 2>&1; is 'alone' 3 $?

expect 1 '^hark: rank 3 exited with status 5$' -- "$obedient" 3:exit=5 recv=1.1
expect 1 '^hark: rank 3 exited without hark_finalize (in an MPI program MPI_Finalize)$' -- "$obedient" 3:exit=0 recv=1.1
finish
