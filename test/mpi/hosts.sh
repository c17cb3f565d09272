#!/bin/bash
# Names of hosts, and what MPI_Comm_split_type makes of them: they stay those on which the job began, when a host dies and when the
# job is resumed on others. The agents are on this machine, so it needs no namespaces.
# hosts.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
run=
trap '[ $BASHPID = $$ ] && { [ -z "$run" ] || kill -KILL $run 2>/dev/null; rm -rf "$work"; }' EXIT
printf '#!/bin/sh\necho $$ >"%s/agent.$1"; shift; exec sh -c "exec $*"\n' "$work" >launch
chmod +x launch
seen() { # when, hosts of the four ranks
  echo "$1: rank 0, program 0, host $2: 2 from 0"
  echo "$1: rank 1, program 1, host $2: 2 from 0"
  echo "$1: rank 2, program 1, host $3: 1 from 2"
  echo "$1: rank 3, program 1, host $3: 0 from 0"
}
start() { # mode, options
  local mode=$1; shift
  exec "$hark" run --host-timeout 2s --launcher "$work/launch %h" "$@" -n 1 -- "$program" 4 "$mode" : -n 3 -- "$program" 4 "$mode"
}

# A host dies. Input comes when that is known.
for journal in wtime none; do
  rm -f out err agent.* # those of the run before
  mkfifo line
  start wait --hosts a:2,b:2,c:2 --spares 1 --store st.$journal --journal $journal <line >out 2>err & run=$!
  exec 3>line
  wait_until is_said '^first: rank 3' out
  kill -KILL "$(cat agent.b)"
  wait_until is_said '^hark: host b: its processes go to host c' err
  echo go on >&3
  exec 3>&-
  wait $run
  is "journal $journal: status" 0 $?
  is "journal $journal: hosts" "$(seen first a b; seen then a b)" "$(cat out)"
  rm line
done

# It is resumed on others.
rm -f out err
start loop --hosts a:2,b:2 --store st --protocol coordinated --interval 1ms --checkpoint-on USR1 --then-stop </dev/null >out 2>err & run=$!
wait_until is_said '^first: rank 3' out
kill -USR1 $run
wait $run
is 'stopped: status' 75 $?
is 'stopped: hosts' "$(seen first a b)" "$(cat out)"
rm -f out err
start loop --hosts x:2,y:2 --store st --protocol coordinated --interval 1ms --resume </dev/null >out 2>err & run=$!
wait $run
is 'resumed: status' 0 $?
is 'resumed: hosts' "$(seen then a b)" "$(grep ^then out)"
run=
finish
