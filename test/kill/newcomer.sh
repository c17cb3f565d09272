#!/bin/bash
# The faults of a first program, and of its first command lines: each is explained in a line that says what to do.
# newcomer.sh HARK NEWCOMER OBEDIENT
hark=$(readlink -f "$1") newcomer=$(readlink -f "$2") obedient=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
export PLACE=$work

expect 2 "^hark run: -n: expected 1 to 65536 processes, found \"p\" (-np is mpiexec's)$" -np 4 -- "$newcomer"
cp "$newcomer" newcomer
expect 2 '^hark run: newcomer: no such program in PATH; did you mean ./newcomer?$' -n 2 newcomer
echo 'int main' >ring.c
expect 2 '^hark run: ring.c: no such program in PATH; did you mean ./ring.c?$' -n 2 ring.c
for option in '--spares 1' '--host-store /x' '--host-timeout 3s' '--launcher x' '--host-copies 2' '--host-code 2+1' '--interface x'; do
  # shellcheck disable=SC2086
  refused "${option% *} needs hosts: --hostfile FILE, --hosts LIST, or a Slurm allocation of several nodes" $option -- true
done
expect 2 '^hark run: ./out: expected a program, this can not be executed$' -n 2 ./out
expect 1 '^hark: rank 0 exited without hark_init: true is not a program of hark$' -n 1 true
left='^hark: rank 1 has closed its connection to hark run, so it counts as dead: expected that the program calls no exec, and closes only'
for there in '' yes; do
  expect 1 "$left" -n 2 --interval 0 ${there:+--hosts a:2 --launcher 'env HOST=%h' --store there} -- ./newcomer exec
  is "exec: said once $there" 1 "$(grep -c "$left" out)"
  is "exec: deaths $there" 5 "$(grep -c '^hark: rank 1 died (closed its connection) ' out)"
done
expect 1 '^hark: rank 1: its connection to hark run, descriptor [0-9]*, is closed: expected that the program closes only descriptors that it has opened$' \
  -n 2 --interval 0 -- ./newcomer close
expect 1 '^hark: rank [01] exited without hark_finalize (in an MPI program MPI_Finalize)$' -n 2 ./newcomer no-finalize
PMI_SIZE=4 PMI_RANK=0 ./newcomer >out 2>&1; grep -q '^hark: 4 processes were started by mpiexec, and each is a job of its own: start them by hark run -n 4$' out && good || bad mpiexec
PMI_SIZE=4 PMI_RANK=1 ./newcomer >out 2>&1; grep -q '^hark' out && bad 'mpiexec, rank 1' || good
"$hark" run -n 2 ./newcomer >out 2>&1; is 'under hark run it is said of nobody' '' "$(PMI_SIZE=2 PMI_RANK=0 "$hark" run -n 2 ./newcomer 2>&1 | grep mpiexec)"

# One checkpoint, then a kill: what the program did not do about its memory.
for protocol in hydee scmel coordinated; do
  kill=(-n 4 --clusters 2 --protocol $protocol --interval 1ms --wait-for-checkpoints --kill 1@60 --stall-limit 1s)
  expect 0 '' "${kill[@]}" ./newcomer whole
  grep -Eq 'holds no memory|communicates before' out && bad "$protocol: a whole program is accused" || good
  expect 1 '^hark: rank [0-3] begins again from checkpoint [0-9]*, and communicates before it has its protected memory back: call hark_restarted' \
    "${kill[@]}" ./newcomer no-restarted
  LATER=1 "$hark" run "${kill[@]}" ./newcomer other-regions >out 2>&1
  is "$protocol: the same regions" 0 $?
  "$hark" run "${kill[@]}" ./newcomer no-protect >out 2>&1
  is "$protocol: said once" 1 "$(grep -c 'begins its program again, and checkpoint [0-9]* holds no memory of it: hark_protect names the variables' out)"
done
for fault in half-protected late-step; do
  expect 1 'this one does not. If the order .* if it takes checkpoints, look whether all it needs is protected, also the loop counter$' \
    -n 4 --clusters 4 --interval 1ms --wait-for-checkpoints --kill 1@60 ./newcomer $fault
done

# Regions that a later version of the program has more of.
rm -rf st
"$hark" run -n 2 --store st --interval 0 --checkpoint-on USR1 --then-stop -- "$obedient" make=up steps-until=go >run 2>&1 & run=$!
for r in 0 1; do wait_until is_there up.$r; done
kill -USR1 $run; wait $run; is 'stopped' 75 $?
"$hark" run -n 2 --store st --resume -- "$newcomer" >out 2>&1; is 'another program' 2 $?
grep -q 'the store belongs to a job with program=' out && good || bad 'another program is named'

# Calls that do not fit together.
expect 1 'rank 0 waits in hark_recv for a message of rank 1 with tag 7; a message of rank 1 with tag 8 has come, and no receive takes it' \
  -n 2 --stall-limit 1s -- "$obedient" 1:send=0.8 0:recv=1.7
expect 1 'rank 0 has called hark_checkpoint 1 time, ranks 1-3 0 times: under scmel all processes must call it equally often' \
  -n 4 --protocol scmel --interval 1ms --stall-limit 1s -- "$obedient" 1:recv=0.2 2:recv=0.2 3:recv=0.2 checkpoint 0:send=1.2 0:send=2.2 0:send=3.2
finish
