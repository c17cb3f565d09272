#!/bin/bash
# A run that stands by: it waits while another one has the job, and goes on with it when that dies, but not when it ends by itself.
# standby.sh HARK OBEDIENT
hark=$(readlink -f "$1") obedient=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
export PLACE=$work

begin() { # file for what it says, options...
  local said=$1; shift
  "$hark" run -n 4 --protocol coordinated --interval 20ms --store st "$@" -- "$obedient" make=up steps-until=go >"$said" 2>&1 &
}
stands_by() { # file
  wait_until is_said '^hark: store st: process [0-9]* on host .* runs the job; this one waits, to take its place$' "$1"
}
goes_on() { # process: it runs the job, and is past what was done before (all go back together, so none sees the file go too early)
  wait_until is_far $1
}
is_far() { { [ "$(runs_now)" = $1 ] && [ -e far.0 ]; } || ! kill -0 $1 2>/dev/null; }
runs_now() { sed -n 's/^process \([0-9]*\) on host .*/\1/p' st/runs 2>/dev/null; }
refused '--standby needs --store DIR, the store of the job that is waited for' --standby -n 2 -- true

begin first; first=$!
wait_until is_there far.0
is 'the store says who runs the job' $first "$(runs_now)"
begin second --standby; second=$!
stands_by second
expect 2 "^hark: store st: another run is using it: process $first on host " -n 4 --protocol coordinated --store st --resume -- "$obedient" make=up steps-until=go
other=("$hark" run -n 4 --protocol coordinated --store st --standby -- "$obedient" make=up) # not what it would go on with
tested=(timeout 60 "${other[@]}") words='a standby for another job'
expect 2 '^hark: st: the store belongs to a job with program=.* make=up steps-until=go, this one has program=.* make=up$'
tested=(timeout 60 "${other[@]/coordinated/scmel}")
expect 2 '^hark: st: the store belongs to a job with protocol=coordinated.*, this one has protocol=scmel'
tested=(timeout 60 "${other[@]/4/3}")
expect 2 '^hark: store .*/st: belongs to a job of 4 processes, expected 3$'
rm far.0
kill -KILL $first; wait $first 2>/dev/null
goes_on $second
begin third --standby; third=$!
stands_by third
touch go
wait $second; is 'the second goes on with the job' 0 $?
holds 'it goes on from a checkpoint' grep -q '^hark: the job goes on from checkpoint' second
is 'it ends as the program does' 1 "$(grep -c '^sum ' second)"
wait $third; is 'the third has nothing to do' 0 $?
holds 'that is said' grep -q 'the job in it has finished already; there is nothing to do$' third
is 'nobody runs the job' '' "$(ls st/runs 2>/dev/null)"

rm -rf st go far.0
begin first; first=$! # it is told to end: then nobody takes its place
wait_until is_there far.0
begin second --standby; second=$!
stands_by second
kill -TERM $first; wait $first; is 'the first is ended' 143 $?
wait $second; is 'the second does not go on' 1 $?
holds 'it says why' grep -q '^hark: store st: the run before has ended by itself, and the job is not done; `hark run --resume` goes on with it$' second
rm far.0
begin third --standby; third=$! # nobody has the job
goes_on $third
touch go
wait $third; is 'the third goes on' 0 $?

rm -rf st go far.0
begin first; first=$! # the same before the second has waited for long
wait_until is_there far.0
begin second --standby; second=$!
has_looked() { ls -l /proc/$second/fd 2>/dev/null | grep -q '/st/lock$'; }
wait_until has_looked
kill -TERM $first; wait $first; is 'the first is ended early' 143 $?
wait $second; is 'the second does not go on then' 1 $?
holds 'it says why then' grep -q '^hark: store st: the run before has ended by itself, and the job is not done; `hark run --resume` goes on with it$' second
touch go

rm -rf st go far.0
begin first; first=$! # one that dies while it begins has not said yet that it runs
wait_until is_there far.0
kill -TERM $first; wait $first
flock st/lock sh -c 'touch begins; until [ -e dead ]; do sleep 0.01; done' & holder=$!
wait_until is_there begins
begin second --standby; second=$!
wait_until is_said '^hark: store st: another run runs the job; this one waits, to take its place$' second
rm far.0
touch dead; wait $holder
goes_on $second
touch go
wait $second; is 'after one that died while it began' 0 $?

rm -rf st go far.0
begin first --standby; first=$! # a job that begins
wait_until is_there far.0
begin second --standby; second=$!
stands_by second
kill -TERM $second; wait $second; is 'one that waits is told to end' 143 $?
touch go
wait $first; is 'the first is not disturbed' 0 $?
finish
