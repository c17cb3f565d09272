#!/bin/bash
# A host is lost with the readings of its processes: what goes on elsewhere reads the same again. The agents are on this machine.
# clocks.sh HARK PACED_CLOCKED
hark=$(readlink -f "$1") clocked=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
run=
trap '[ $BASHPID = $$ ] && { [ -z "$run" ] || kill -KILL $run 2>/dev/null; rm -rf "$work"; }' EXIT
export PACE=$work/pace

child() { ps -A -o pid=,ppid=,comm= | awk -v parent="$1" -v name="$2" '$2 == parent && $3 == name { print $1 }'; } # PARENT NAME
agent_of() { # HOST: sets `agent`
  for agent in $(child $run hark); do
    tr '\0' '\n' <"/proc/$agent/environ" 2>/dev/null | grep -qx "HOST=$1" && return 0
  done
  return 1
}
made() { # RANKS DELIVERIES: so many have made so many at least (where one begins again they are counted from its checkpoint on)
  "$hark" ps --json $run >ps 2>said || return 1
  [ "$(sed -n 's/.*"deliveries": *\([0-9]*\).*/\1/p' ps | awk -v least="$2" '$1 >= least' | wc -l)" -ge $1 ]
}

for protocol in scmel team camel hydee sendet coordinated; do
  for interval in 0 1ms; do
    chosen || continue
    what="$protocol, interval $interval"
    printf '%020d' 0 >"$PACE"
    rm -rf hs
    "$hark" run -n 4 --hosts a:1,b:1,c:1,d:1,e:1,f:1 --spares 2 --launcher 'env HOST=%h' --host-timeout 1s --store "$PWD/hs" \
      --protocol $protocol --interval $interval --clusters 4 --json figures.json -- "$clocked" 400 3 >out 2>err </dev/null & run=$!
    holds "$what: it comes to step 80" until_true 60 made 4 160
    holds "$what: the agent of b" agent_of b
    kill -KILL $agent 2>said
    holds "$what: b is dead" until_true 60 grep -q '^hark: host b: its processes go to host [ef]' err
    printf '%020d' 0 >>"$PACE"
    holds "$what: it comes to step 160" until_true 60 made 3 320
    holds "$what: the agent of c" agent_of c
    kill -KILL $agent 2>said
    holds "$what: c is dead" until_true 60 grep -q '^hark: host c: its processes go to host [bef]' err
    head -c 1000 /dev/zero >>"$PACE"
    wait $run
    is "$what: status" 0 $?
    run=
    is "$what: all processes are right" 4 "$(grep -c '^rank [0-3]: right$' out)"
    [ $protocol = coordinated ] || [ $interval != 0 ] || holds "$what: readings were given again" [ "$(figure readings_given figures.json)" -gt 0 ]
  done
done
finish
