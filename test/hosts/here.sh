#!/bin/bash
# Lines for users of several hosts. The agents are on this machine, so it needs no namespaces. here.sh HARK EXAMPLES
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2")/heat2d
. "$(dirname "$0")/../shell.sh"
run=
trap '[ $BASHPID = $$ ] && { [ -z "$run" ] || kill -KILL $run 2>/dev/null; rm -rf "$work"; }' EXIT
hosts=(--hosts a,b,c --launcher 'env HOST=%h' --host-timeout 2s)

# ---- hosts ----------------------------------------------------------------------------------------
tested=("$hark" run) words='hark run'
line() { # what is expected, what is found; the line of a file of hosts
  echo "$3" >hosts
  refused "hosts:1: expected $1, found \"$2\"" -n 2 --hostfile hosts --store st -- true
}
line 'one rack=NAME' rack=y 'a rack=x rack=y'
line 'one rack=NAME' rack=x 'a rack=x rack=x'
line 'one slots=N' slots=3 'a slots=2 slots=3'
line 'one of HOST:N and slots=N' a:2 'a:2 slots=3'
line 'one of HOST:N and slots=N' 'a[1-2]:2' 'a[1-2]:2 slots=3'
line 'the name of a host' 'a;b' 'a;b'
refused '--hosts: expected the name of a host, found "a;b"' -n 2 --hosts 'a;b' --store st -- true
refused '--hosts: expected the name of a host, found "a b"' -n 2 --hosts 'c,a b' --store st -- true
printf 'me@a-1.b_c slots=1 rack=x max_slots=2\nfe80::1%%eth0 slots=1\n' >hosts # these are names
refused '-n: expected at most 2 processes, as many as the hosts have slots, found 3' -n 3 --hostfile hosts --store st -- true

several=(-n 2 --hosts a,b)
refused '--supervisor-timeout: expected a time from 1s to 24h such as 10m, found "1"' "${several[@]}" --store st --supervisor-timeout 1 -- true
refused '--supervisor-timeout needs hosts: --hostfile FILE, --hosts LIST, or a Slurm allocation of several nodes' --supervisor-timeout 1m --store st -- true
refused '--supervisor-timeout needs a --protocol that survives failures, found none' "${several[@]}" --protocol none --store st --supervisor-timeout 1m -- true
refused '--supervisor-timeout needs --store DIR, which all hosts see: there they find who takes over' "${several[@]}" --host-store /x --supervisor-timeout 1m -- true

# ---- agents ---------------------------------------------------------------------------------------
without=' before its agent had come up; a launcher without %h must start the agents of all 2 hosts, as srun does; is %h missing?'
"$hark" run -n 2 --hosts a,b --launcher 'env X=1' --store st1 -- true >out 2>err
is 'a launcher without %h: status' 2 $?
holds 'a launcher without %h: the line' grep -qxF "hark: all hosts: the launcher (env) ended with status 3$without" err
holds 'a launcher without %h: the agent has a name' grep -qxF "hark agent: $(hostname): the connection to hark run has ended (it was cut)" err
"$hark" run -n 1 --hosts a --launcher false --store st2 -- true >out 2>err
is 'one host' 'hark: all hosts: the launcher (false) ended with status 1 before its agent had come up' "$(cat err)"
for i in 1 2 3 4 5 6; do
  "$hark" run -n 4 "${hosts[@]}" --host-store /proc/hs -- true >out 2>err
  is 'no folder for images: status' 2 $?
  is 'no folder for images: lines of agents' 0 "$(grep -c 'hark agent' err)"
  holds 'no folder for images: the line' grep -q '^hark: host [abc]: host store /proc/hs: No such file or directory$' err
done

# ---- `hark store` of a job whose checkpoints are on its hosts -------------------------------------
until_true() { # command...; half a minute, as long as the run lasts
  local i
  for i in $(seq 600); do
    if "$@" >said 2>&1; then return 0; fi
    kill -0 $run 2>said || return 1
    sleep 0.05
  done
  return 1
}
# Hosts of one machine have one folder for their images: so it is one host.
run() { exec "$hark" run -n 4 --protocol coordinated --interval 20ms --hosts a "${hosts[@]:2}" "$@" -- "$heat2d" 40 100000000; }
stopped() { # what, options: a run that is stopped behind a checkpoint
  local what=$1; shift
  rm -f err
  touch mark
  run --store st --host-store "$PWD/hs" --checkpoint-on USR1 --then-stop "$@" >out 2>err & run=$!
  case $* in
  *--resume*) # what is newer than that is of this run
    holds "$what: it goes on" until_true grep -q '^hark: the job goes on from checkpoint [1-9][0-9]*$' err
    touch mark ;;
  esac
  holds "$what: there are checkpoints" until_true sh -c 'find hs -path "*/r3/*" -newer mark | grep .'
  kill -USR1 $run 2>said; wait $run
  is "$what: status" 75 $?
  run=
}
stopped 'a run'
for what in list verify; do
  "$hark" store $what st --json json >out 2>&1
  is "store $what: status" 0 $?
  holds "store $what: where its checkpoints are" grep -qxF \
    "Its checkpoints are on its hosts' own disks, below $PWD/hs (--host-store), and are not read from here: a" out
  holds "store $what: JSON" grep -qF "\"host_store\": \"$PWD/hs\"" json
  if grep -q 'none\|can not' out; then bad "store $what: not that there were none"; else good; fi
done
"$hark" run -n 4 "${hosts[@]}" --store st3 --host-store "$PWD/hs" -- false >out 2>err
"$hark" store list st3 >out 2>&1
holds 'store list: several hosts' grep -q 'are not read from here: a, b, c$' out
holds 'store verify: JSON: only its hosts know' grep -qF '"resumable": null' json
stopped 'the run goes on' --resume

# ---- a run that was killed -------------------------------------------------------------------------
touch mark
run --store st --host-store "$PWD/hs" --resume >out 2>err & run=$!
holds 'a run to be killed: there are checkpoints' until_true sh -c 'find hs -path "*/r3/*" -newer mark | grep .'
{ kill -KILL $run; wait $run; } 2>said
stopped 'behind one that was killed' --resume
holds 'behind one that was killed: how long its processes may live' grep -qx \
  'hark: the run before did not end by itself; its processes may live for [23][.][0-9] s more at the longest, then this one begins' err

# ---- what a run must know of the one before (`missed`), damaged ------------------------------------
cp st/missed missed
echo 'undo a 1 999999' >undo # all that are there may be used
sed '1d;$d' missed | cat - undo >earlier # as versions wrote it that had no checksum
changes=('printf garbage >st/missed' 'echo garbage >st/missed' ': >st/missed' 'rm st/missed' 'sed -i s/^host/hast/ st/missed'
  'sed -i "1s/2/3/" st/missed' 'sed -i "\$d" st/missed' 'sed -i "\$s/. \$/x/" st/missed; truncate -s -1 st/missed' 'cat undo >>st/missed'
  'sed -i 2d st/missed' '(cat earlier; echo garbage) >st/missed' 'head -c -1 earlier >st/missed')
for change in "${changes[@]}"; do
  cp missed st/missed; eval "$change"
  timeout 60 "$hark" run -n 4 --protocol coordinated --interval 20ms --hosts a "${hosts[@]:2}" --store st --host-store "$PWD/hs" --resume \
    -- "$heat2d" 40 100000000 >out 2>err
  is "missed, $change: status" 2 $?
  holds "missed, $change: the line" grep -q '^hark: store st: missed: it is \(damaged, its checksum or a line is wrong\|not there\); it says which checkpoints on the disks of hosts must not be used, and without it the job can not go on; expected a copy of the store that has it whole, or a new store$' err
done
cp earlier st/missed
stopped 'missed of an earlier version' --resume
is 'missed: it has a checksum now' 1 "$(tail -n 1 st/missed | grep -c '^digest [0-9a-f]\{32\}$')"
# A store has it before it has a record, also of a run within one machine, which may go on with hosts.
"$hark" run -n 1 --store st9 -- true >out 2>err
holds 'missed: of each store' [ -s st9/missed ]

# ---- working directories ----------------------------------------------------------------------------
mkdir gone sub
(cd gone && rmdir ../gone && exec "$hark" run -n 2 "${hosts[@]}" --store "$work/st7" -- "$heat2d" 40 10) >out 2>err
is 'no working directory: status' 2 $?
is 'no working directory' 'hark: the working directory, in which processes begin on all hosts: No such file or directory' "$(cat err)"
printf '#!/bin/sh\nrmdir sub\nexec "$@"\n' >removes; chmod +x removes
"$hark" run -n 1 --hosts a --launcher "$PWD/removes env HOST=%h" --store st8 --wdir "$PWD/sub" -- "$heat2d" 40 10 >out 2>err
is 'no working directory there: status' 2 $?
is 'no working directory there' "hark: cannot start rank 0 on host a: working directory $PWD/sub: No such file or directory" "$(cat err)"

# ---- checkpoints that can not go to the store that all hosts share ---------------------------------
run --store st4 --host-store "$PWD/hs4" --store-interval 50ms >out 2>err & run=$!
newest() { ls "$1" | grep '^[0-9]' | sort -n | tail -n 1 | grep . || echo 0; }
newer() { [ "$(newest "$1")" -gt "$2" ]; }
holds 'the shared store fails: it works before' until_true newer st4/flushed/r0 1
touch file; away=0
until ln -T file st4/r1 2>said; do mv st4/r1 away.$((away++)); done # of each set from now on one image can not be there
for i in 1 2 3 4 5 6 7; do holds 'the shared store fails: other images come there' until_true newer st4/r0 "$(newest st4/r0)"; done
# Those of two whole sets, of the one that is being written, and of one before it that may be removed just now.
holds 'the shared store fails: what is left of sets goes' [ "$(ls st4/r0 | grep -c '^[0-9]')" -le 4 ]
had=$(newest st4/flushed/r0)
rm st4/r1; mv away.0 st4/r1
holds 'the shared store works again' until_true newer st4/flushed/r0 "$had"
kill -TERM $run; wait $run
is 'the shared store fails: status' 143 $?
run=

# ---- an agent whose janitor dies, and which hangs then ---------------------------------------------
"$hark" run -n 2 "${hosts[@]}" --spares 1 --protocol coordinated --interval 20ms --store st5 -- "$heat2d" 40 100000000 >out 2>err & run=$!
child() { ps -A -o pid=,ppid=,comm= | awk -v parent="$1" -v name="$2" '$2 == parent && $3 == name { print $1 }'; } # PARENT NAME
agent_of_process() { # sets `agent`, `process`
  for agent in $(child $run hark); do
    process=$(child $agent heat2d)
    [ -z "$process" ] || return 0
  done
  return 1
}
holds 'a janitor dies: it runs' until_true agent_of_process
died=$(child $agent hark-janitor)
kill -KILL $died
replaced() { janitor=$(child $agent hark-janitor); [ -n "$janitor" ] && [ "$janitor" != $died ]; }
holds 'a janitor dies: another one is there' until_true replaced
holds 'a janitor dies: it is said' until_true grep -q '^hark: host [abc]: its janitor has died, and another one is there now$' err
kill -STOP $agent
gone() { ! kill -0 $process; }
holds 'a janitor dies: the other one ends the processes' until_true gone
kill -KILL $agent 2>said
goes_back() { grep -q '^hark: recovered in' err; }
holds 'a janitor dies: the job goes on elsewhere' until_true goes_back
kill -TERM $run; wait $run
is 'a janitor dies: status' 143 $?
run=

# ---- a job that is done, and whose processes end badly then ----------------------------------------
printf '#!/bin/sh\n"$@"\nexit 5\n' >fails; chmod +x fails
"$hark" run -n 4 --protocol coordinated --interval 5ms --hosts a "${hosts[@]:2}" --store st6 --host-store "$PWD/hs6" -- \
  ./fails "$heat2d" 40 100000 >out 2>err & run=$!
holds 'done, and a bad end: there are checkpoints' until_true sh -c 'find hs6 -path "*/r3/[0-9]*" | grep .'
wait $run
is 'done, and a bad end: status' 1 $?
holds 'done, and a bad end: it is done' sh -c '"$1" store list st6 | grep ", finished$"' sh "$hark"
is 'done, and a bad end: no images are left' '' "$(find hs6 -mindepth 1)"
run=

finish
