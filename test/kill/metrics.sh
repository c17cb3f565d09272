#!/bin/bash
# `hark run --metrics`: the page, strictly read; its figures while ranks are killed; other requests, garbage and slow clients; where it
# listens, and that nothing is left there. metrics.sh HARK OBEDIENT PYTHON3
hark=$(readlink -f "$1") obedient=$(readlink -f "$2") python=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../shell.sh"
tested=("$hark" run) words='hark run'
export PLACE=$work TMPDIR=$work/t
mkdir t
client() { "$python" "$here/metrics_client.py" "$@"; }
begin() { # where, options of hark run, and behind -- the program; then `at` is what it says
  rm -f go up.* said; "$hark" run --metrics "$@" >shown 2>said & run=$!
  wait_until is_said '^hark: metrics are at ' said
  at=$(sed -n 's/^hark: metrics are at //p' said)
}
figures() { client get "$at" >page && client figures page "$@"; } # their names, with labels in braces
ends() { touch go; wait $run; is "$1: status" 0 $?; is "$1: nothing is left" '' "$(ls t)"; }

# Addresses.
form='expected HOST:PORT, [ADDRESS]:PORT or unix:PATH'
for wrong in '' 9100 localhost localhost: :9100 localhost:65536 localhost:-1 localhost:9x 'a b:1' ::1:9100 '[::1' '[::1]' '[::1]9100' '[]:1' \
  http://localhost:1 unix: "unix:/$(printf '%0120d' 0)"; do
  refused "--metrics: $form, found \"$wrong\"" --metrics "$wrong" -- true
done
refused '--metrics needs a value' --metrics
client hold 127.0.0.1 held & holder=$!
wait_until is_there held
expect 2 "^hark: --metrics: cannot listen at 127.0.0.1:$(cat held): Address already in use\$" --metrics "127.0.0.1:$(cat held)" -- "$obedient"
touch held.done; wait $holder
expect 2 '^hark: --metrics: cannot listen at nowhere.invalid: ' --metrics nowhere.invalid:0 -- "$obedient"
echo text >file
expect 2 "^hark: --metrics: cannot listen at $work/file: there is a file of that name" --metrics unix:file -- "$obedient"
is 'that file' text "$(cat file)"
expect 2 "^hark: --metrics: cannot listen at $work/no/socket: No such file or directory\$" --metrics unix:no/socket -- "$obedient"
is 'nothing is left of refused runs' '' "$(ls t)"

# Figures, rank by rank.
begin 127.0.0.1:0 -n 4 --clusters 2 --interval 0 --checkpoint-on USR1 -- "$obedient" make=up steps-until=go
for r in 0 1 2 3; do wait_until is_there up.$r; done
case $at in http://127.0.0.1:*[1-9]*/metrics) good ;; *) bad "where they are: $at" ;; esac
is 'a job' '1 0 0 4 4' "$(figures 'hark_job_state{state=running}' hark_failures_total hark_recoveries_total hark_ranks count:hark_messages_total)"
is 'its labels' "$obedient hydee shm" "$(client labels page hark_job_info program protocol transport)"
case $(client labels page hark_ranks job) in "hark-$run-"*) good ;; *) bad 'its name' ;; esac
is 'no checkpoint yet' 0 "$(figures count:hark_last_checkpoint_time_seconds)"
kill -USR1 $run; wait_until is_said 'asked for is taken' said
is 'a checkpoint of each rank' '4 1 1 1 1' "$(figures count:hark_last_checkpoint_time_seconds 'hark_checkpoints_total{rank=0}' \
  'hark_checkpoints_total{rank=1}' 'hark_checkpoints_total{rank=2}' 'hark_checkpoints_total{rank=3}')"
cp page before
kill -KILL "$(cat up.1)"; wait_until is_said 'recovered in' said
is 'after a failure' '1 1 1 1 0 0 1 0' "$(figures hark_failures_total hark_recoveries_total 'hark_restarts_total{rank=0}' \
  'hark_restarts_total{rank=1}' 'hark_restarts_total{rank=2}' 'hark_restarts_total{rank=3}' 'hark_incarnation{rank=1}' 'hark_incarnation{rank=2}')"
holds 'counters only rise' client risen before page
is 'each rank has a state' 4 "$(figures sum:hark_processes)"
kill -STOP "$(cat up.3)" # all wait for it, in the end
all_wait() { [ "$(figures 'hark_processes{state=waiting}')" -ge 3 ]; }
wait_until all_wait
kill -CONT "$(cat up.3)"
holds 'requests, and strangers' client strangers "$at"
is 'after them' 1 "$(figures hark_failures_total)"
ends 'figures'
holds 'nobody listens there any more' client closed "$at"

# Sums: 256 ranks, which do nothing.
begin 127.0.0.1:0 -n 256 --protocol none -- sh -c 'while [ ! -e go ]; do read -r line <fifo; done'
mkfifo fifo
is 'sums' '256 256 1 1 1 0 0' "$(figures hark_ranks 'hark_processes{state=starting}' count:hark_messages_total count:hark_restarts_total \
  count:hark_log_bytes count:hark_incarnation labelled:rank)"
kill -KILL $run; wait $run 2>/dev/null
wait_until is_empty t

# IPv6, if there is any, and a name.
if client has6; then
  begin '[::1]:0' -n 1 --protocol none -- "$obedient" make=up await=go
  case $at in 'http://[::1]:'*) good ;; *) bad "where they are: $at" ;; esac
  is 'by IPv6' 1 "$(figures hark_ranks)"
  ends 'IPv6'
fi
begin localhost:0 -n 1 --protocol none -- "$obedient" make=up await=go
is 'by a name' 1 "$(figures hark_ranks)"
ends 'a name'

# A UNIX socket: gone after the run, also after its SIGKILL; who listens there already keeps it; one that is left over is replaced.
begin unix:socket -n 1 --protocol none -- "$obedient" make=up await=go
is 'where it is' "unix:$work/socket" "$at"
is 'by a UNIX socket' 1 "$(figures hark_ranks)"
expect 2 "^hark: --metrics: cannot listen at $work/socket: .*another process listens there\$" --metrics unix:socket -- "$obedient"
is 'it is still there' 1 "$(figures hark_ranks)"
ends 'a UNIX socket'
is 'the socket' '' "$(ls socket 2>/dev/null)"
begin unix:socket -n 1 --protocol none -- "$obedient" make=up await=go
kill -KILL $run; wait $run 2>/dev/null
wait_until is_gone socket
wait_until is_empty t
good
client leave socket
begin unix:socket -n 1 --protocol none -- "$obedient" make=up await=go
is 'in the place of another one' 1 "$(figures hark_ranks)"
ends 'in the place of another one'

# A name with what the formats, and terminals, take for something else.
odd=$'od"d\\n\nx\e[31m\xff\xc2\x9b'
ln -s "$obedient" "$odd"
begin 127.0.0.1:0 -n 1 --protocol none -- "./$odd" make=up await=go
is 'an odd name' 1 "$(figures hark_ranks)"
is 'in a label' $'./od"d\\n\nx\e[31m\xef\xbf\xbd\xc2\x9b' "$(client labels page hark_job_info program)"
"$hark" ps --json $run >json
is 'in JSON' $'./od"d\\n\nx\e[31m\xef\xbf\xbd\xc2\x9b' "$("$python" "$here/ps_json.py" json program)"
"$hark" ps --once $run >out
grep -aq 'od"d\\n?x?\[31m???,' out && good || bad 'in a table'
is 'what a table has of it' '' "$(tr -d '\n' <out | LC_ALL=C tr -dc '\000-\037')"
ends 'an odd name'

# Hosts.
printf 'one\ntwo\n' >hosts
begin 127.0.0.1:0 -n 2 --hostfile hosts --launcher 'env HOST=%h' --store far -- "$obedient" make=up steps-until=go
wait_until is_there up.0; wait_until is_there up.1
is 'hosts' '1 1 1' "$(figures 'hark_host_up{host=one}' 'hark_host_up{host=two}' 'hark_host_processes{host=two}')"
is 'when they were heard of' 2 "$(figures count:hark_host_heard_time_seconds)"
ends 'hosts'
finish
