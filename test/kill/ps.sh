#!/bin/bash
# `hark ps`: the jobs that run, and the ranks and hosts of one, while processes start, wait, are killed and finish; names; a hark run that
# is stopped or dead; strangers at its socket. ps.sh HARK OBEDIENT PYTHON3
hark=$(readlink -f "$1") obedient=$(readlink -f "$2") python=$3
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../shell.sh"
tested=("$hark" ps) words='hark ps'
export PLACE=$work TMPDIR=$work/t
mkdir t

# What the JSON of a job shows, as `rank.key` or `host.NAME.key` or `key`, each; null as None. JOB KEYS...
shows() { "$hark" ps --json "$1" >json 2>err && "$python" "$here/ps_json.py" json "${@:2}"; }
until_shown() { # JOB EXPECTED KEYS...
  local expected=$2
  while [ "$(shows "$1" "${@:3}")" != "$expected" ]; do
    kill -0 "$1" 2>/dev/null || { bad "the run has ended before it showed ${*:3} as $expected"; return; }
  done
  good
}
begin() { # options of hark run, and behind -- the program
  rm -f go up.* far.* said; "$hark" run "$@" >shown 2>said & run=$!
}
ends() { touch go; wait $run; is "$1: status" 0 $?; }
gone() { wait_until is_empty t; good; }

refused 'expected one job, found "b" too' a b
refused '--fast: no such option, see `hark help ps`' --fast
refused 'no job "no-such-job" of this user runs on this host: `hark ps` lists those that do' no-such-job
refused 'no job "" of this user runs on this host: `hark ps` lists those that do' ''
expect 0 '^usage: hark ps ' --help

# States: rank 0 computes, the others wait for it; then they have finished.
begin -n 3 --protocol coordinated --interval 0 -- "$obedient" make=up 0:await=middle barrier 0:await=go
wait_until is_there up.0
until_shown $run 'running waiting waiting' 0.state 1.state 2.state
"$hark" ps --once $run >out 2>&1; is 'a job by its process: status' 0 $?
is 'its ranks' '0 running 0|1 waiting 0|2 waiting 0' "$(awk '$1 == "RANK" { on = 1; next } on { print $1, $2, $3 }' out | paste -sd'|')"
grep -q "^job hark-$run-[0-9a-f]*, process $run: $obedient, 3 ranks under coordinated over shm, running for [0-9.]*s$" out && good || bad 'the first line of a job'
grep -q '^0 failures, 0 recoveries, no checkpoint yet$' out && good || bad 'the second line of a job'
"$hark" ps >out 2>&1; is 'all jobs: status' 0 $?
is 'a line of a job' "$run obedient coordinated 3 1 0 -" "$(awk -v run=$run '$2 == run { print $2, $3, $4, $5, $6, $8, $9 }' out)"
is 'what the titles are' 'JOB PID PROGRAM PROTOCOL RANKS HOSTS TIME FAILURES CHECKPOINT' "$(head -1 out | tr -s ' ')"
is 'the JSON of the job' "coordinated shm 3 0 0 None None $run True running [] None" \
  "$(shows $run protocol transport ranks failures recoveries store checkpoint_age_ms pid answers state hosts 0.host)"
is 'a list has no processes' "$run False" "$("$hark" ps --json >json && "$python" "$here/ps_json.py" json --pid $run pid has:processes)"
touch middle
until_shown $run 'running finished finished' 0.state 1.state 2.state
ends 'states'
gone

# A program that has not called hark_init.
begin -n 2 --protocol none -- sh -c 'echo x >>begun; while [ ! -e go ]; do sleep 0.01; done; exec "$0" barrier' "$obedient"
wait_until is_said x begun 2
is 'before hark_init' 'starting starting' "$(shows $run 0.state 1.state)"
ends 'starting'

# Checkpoints, and failures: who went back, how often, and from where. What holds the new process of rank 1 shows its recovery.
cat >held.sh <<'END'
while [ -e hold ]; do sleep 0.01; done
exec "$@"
END
begin -n 4 --verbose --clusters 2 --interval 0 --store st --checkpoint-on USR1 -- sh held.sh "$obedient" make=up steps-until=go
for r in 0 1 2 3; do wait_until is_there up.$r; done
is 'before a checkpoint' '0 None None' "$(shows $run 1.checkpoint 1.checkpoint_age_ms checkpoint_age_ms)"
is 'the store' "$work/st" "$(shows $run store)"
kill -USR1 $run
wait_until is_said 'asked for is taken' said
for r in 0 1 2 3; do is "checkpoint of rank $r" '1 True' "$(shows $run $r.checkpoint number:$r.checkpoint_age_ms)"; done
is 'the last checkpoint of the job' True "$(shows $run number:checkpoint_age_ms)"
touch hold
victim=$(cat up.1)
kill -KILL "$victim"
until_shown $run 'recovering 1 1' 1.state 1.restarts 1.incarnation
is 'the others meanwhile' '1 1 0 0' "$(shows $run failures 0.restarts 2.restarts 3.restarts)"
is 'and their table' 'recovering 1' "$("$hark" ps --once $run | awk '$1 == "RANK" { on = 1; next } on && $1 == 1 { print $2, $NF }')"
rm hold
wait_until is_said 'recovered in' said
is_another() { [ "$(cat up.1)" != "$victim" ]; }
wait_until is_another
is 'incarnations' '1 1 0 0 0' "$(shows $run 0.incarnation 1.incarnation 2.incarnation 3.incarnation recovery.incarnation)"
is 'restarts' '1 1 0 0 0' "$(shows $run 0.restarts 1.restarts 2.restarts 3.restarts recovery.restarts)"
is 'failures and recoveries' '1 1' "$(shows $run failures recoveries)"
victim=$(cat up.3)
kill -KILL "$victim"
wait_until is_said 'recovered in' said 2
is 'incarnations, another cluster' '1 1 1 1' "$(shows $run 0.incarnation 1.incarnation 2.incarnation 3.incarnation)"
is 'failures, two' '2 2' "$(shows $run failures recoveries)"
kill -KILL "$(sed -n 's/^hark: the recovery process is process //p' said)"
until_shown $run '1 1 3 2' recovery.restarts recovery.incarnation failures recoveries
until_shown $run 'True True' positive:0.log_bytes positive:2.deliveries

# Names. A second job makes a beginning of both ambiguous.
name=$(shows $run job)
is 'a name' "hark-$run-" "${name%????????}"
first=$run
"$hark" run -n 1 --protocol none -- "$obedient" make=alone await=go2 >second.out 2>&1 & second=$!
wait_until is_there alone.0
"$hark" ps hark- >out 2>&1
is 'two that begin so: status' 2 $?
case "$(cat out)" in
'hark ps: expected one job, found several that begin with "hark-": '*"hark-$first-"*) good ;;
*) bad 'two that begin so' ;;
esac
grep -q "hark-$second-" out && good || bad 'both are named'
is 'one line of it' 1 "$(wc -l <out)"
for by in "$name" "${name%??}" "$first"; do is "a job by $by" "$name" "$(shows "$by" job)"; done
is 'the other one' "hark-$second-" "$(shows "hark-$second" job | sed 's/........$//')"
"$hark" ps >out; is 'both are listed' 2 "$(awk -v a=$first -v b=$second '$2 == a || $2 == b' out | wc -l)"
touch go2; wait $second
refused "no job \"$second\" of this user runs on this host: \`hark ps\` lists those that do" $second
"$hark" ps >out; is 'one is listed' 1 "$(awk -v a=$first -v b=$second '$2 == a || $2 == b' out | wc -l)"

# A hark run that is stopped.
kill -STOP $run
expect 1 "^hark ps: job $name: its hark run, process $run, has not answered within 2 s: it is stopped\$" $run
expect 0 "^$name: its hark run, process $run, has not answered within 2 s: it is stopped\$"
is 'in the JSON' "False $run" "$("$hark" ps --json >json; "$python" "$here/ps_json.py" json --pid $run answers pid)"
kill -CONT $run
until_shown $run "$name" job

# Strangers at its socket do not disturb it.
holds 'strangers' "$python" "$here/ps_strangers.py" "$TMPDIR/$name/status"
is 'after them' "True $name" "$(shows $run answers job)"

# It dies: nothing of it is left, and it can be resumed, under its own name.
kill -KILL $run; wait $run 2>/dev/null
gone
refused "no job \"$run\" of this user runs on this host: \`hark ps\` lists those that do" $run
begin -n 4 --clusters 2 --interval 0 --store st --checkpoint-on USR1 --resume -- sh held.sh "$obedient" make=up steps-until=go
wait_until is_there up.0
until_shown $run "$name 1 None 0" job 1.checkpoint 1.checkpoint_age_ms 1.restarts
is 'by its own name' $run "$(shows "$name" pid)"
holds 'its checkpoint is of the run before' sh -c "'$hark' ps --once $run | grep -q 'recoveries, last checkpoint not in this run, store'"
wait_until is_there far.0
ends resumed
gone

# Several hosts: rank by rank where it runs; one dies, and is back later.
printf 'one slots=2\ntwo slots=2\nthree slots=2\n' >hosts
cat >launch.sh <<'END'
[ -e agent.$1 ] && while [ ! -e back ]; do sleep 0.01; done
echo $$ >agent.$1
shift
exec "$@"
END
begin -n 4 --hostfile hosts --spares 1 --launcher 'sh launch.sh %h' --host-timeout 500ms --interval 0 --store far -- "$obedient" make=up steps-until=go
for r in 0 1 2 3; do wait_until is_there up.$r; done
is 'hosts of ranks' 'one one two two' "$(shows $run 0.host 1.host 2.host 3.host)"
is 'hosts' 'ready ready spare True' "$(shows $run host.one.state host.two.state host.three.state number:host.two.heard_ms)"
is 'processes of hosts' '2 0' "$(shows $run host.two.processes host.three.processes)"
"$hark" ps --once $run >out
is 'the table with hosts' '2 two' "$(awk '$1 == "RANK" { on = 1; next } on && $1 == 2 { print $1, $2 }' out)"
is 'the table of hosts' 'two ready 2' "$(awk '$1 == "HOST" { on = 1; next } on && $1 == "two" { print $1, $2, $3 }' out)"
is 'hosts of the job' 3 "$("$hark" ps | awk -v run=$run '$2 == run { print $6 }')"
kill -KILL "$(cat agent.two)"
wait_until is_said 'host two died' said
wait_until is_said 'recovered in' said
is 'a dead host' 'dead 0 ready 2' "$(shows $run host.two.state host.two.processes host.three.state host.three.processes)"
is 'where its ranks are' 'one one three three' "$(shows $run 0.host 1.host 2.host 3.host)"
is 'the job goes on' running "$(shows $run state)"
touch back
wait_until is_said 'host two is back' said
is 'a host that is back' 'spare 0 running' "$(shows $run host.two.state host.two.processes state)"
is 'how often they went back' '0 0 1 1' "$(shows $run 0.restarts 1.restarts 2.restarts 3.restarts)"
ends 'hosts'
gone

# What only looks like a job is not shown.
holds 'dead, foreign and other directories' "$python" "$here/ps_strangers.py" --directories "$hark" "$TMPDIR"
finish
