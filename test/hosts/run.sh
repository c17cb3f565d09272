#!/bin/bash
# `hark run` on several pretend hosts: the answer of a run without failures, whatever dies or is cut off meanwhile, and only those
# go back who must. run.sh HARK PACED_HEAT2D OBEDIENT [SEEDS]: with SEEDS, so many runs more in which a host's power is cut at
# a random moment.
set -u
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2") obedient=$(readlink -f "$3") seeds=${4:-0}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")" # also where /tmp is
hosts_begin 4 2>err
is 'four hosts begin' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared
printf 'h1 slots=2\nh[2-3] slots=2 # and one to spare\nh4\n' >"$shared/hosts"
"$hark" run -n 6 -- "$heat2d" 256 2500 >right 2>/dev/null
is 'the answer here' 1 "$(grep -c digest right)"

begin() { # options of hark run: a run of six processes on h1 .. h3, with h4 to spare, begins on h1; its output is in out
  rm -rf "$shared/store" "$HARK_HOSTS"/h*/local/hark out err
  pace "$shared/pace"
  on h1 "$hark" run -n 6 --hostfile "$shared/hosts" --spares 1 --launcher "$here/on.sh %h" \
    --interval 50ms --host-timeout 2s --json "$shared/json" "$@" -- "$heat2d" 256 ${STEPS:-2500} >out 2>err </dev/null &
  run=$!
}
begin_own() { begin --host-store /local/hark "$@"; }
images_of() { ls "$HARK_HOSTS"/h*/local/hark/*/r"$1" "$shared/store/r$1" 2>/dev/null | grep -c '^[0-9]'; }
newest() { ls "$HARK_HOSTS/$2"/local/hark/*/r"$1" 2>/dev/null | grep '^[0-9]' | sort -n | tail -n 1 | grep . || echo 0; } # image of a rank on a host
runs_on() { on "$1" sh -c 'ps -A -o args= | grep -q "^[^ ]*heat2d "'; }
copied() { [ "$(images_of "$1")" -ge "$2" ]; }
ends_right() { # what: the run ends with the right answer
  lets_go
  wait $run
  is "$1: status" 0 $?
  is "$1: answer" "$(cat right)" "$(cat out)"
}
went_back() { grep -c "^hark: rank [0-9]* died" err; }
says() { grep -q -- "$1" err; }
clean() { # nothing of a run is left on hosts that live
  local h
  for h in "$@"; do
    is "$h: left in /tmp, /dev/shm and of processes" '' "$(on $h sh -c 'ls -d /tmp/hark-[0-9]* /dev/shm/hark-* 2>/dev/null; ps -A -o args= | grep -E "^[^ ]*(heat2d|hark) " | grep -v defunct')"
  done
}

begin --store "$shared/store" --host-timeout 20s
ends_right 'no failure, a store that all share'
is 'no failure: nobody dies' 0 "$(went_back)"
begin_own --host-timeout 20s
ends_right "no failure, the hosts' own stores"
is 'own stores: removed' '' "$(find "$HARK_HOSTS"/h*/local/hark -mindepth 1)"
clean h1 h2 h3 h4

begin --protocol none --host-timeout 20s
ends_right 'none, without a store'
clean h1 h2 h3 h4
STEPS=1000000 begin --protocol none --host-timeout 1s
lets_go
holds 'none: it runs' until_true 20 runs_on h3
power_cut h3
wait $run
is 'none: a host dies: status' 1 $?
holds 'none: a host dies: it is said' says '^hark: host h3 died'
power_on h3
clean h1 h2

begin_own --host-timeout 20s --kill 3@100
ends_right 'a process dies'
is 'a process dies: one' 1 "$(went_back)"
holds 'a process dies: its host is its cluster' says 'cluster 1 (ranks 2-3) goes back'

begin_own
holds 'h3: images are on two hosts' until_true 20 goes_on copied 4 3
power_cut h3
ends_right 'power cut'
holds 'power cut: it is said' says '^hark: host h3 died: nothing was heard of it'
holds 'power cut: the spare host takes over' says 'its processes go to host h4, a spare one'
is 'power cut: two die' '2 4 5' "$(went_back) $(sed -n 's/^hark: rank \([0-9]*\) died.*/\1/p' err | tr '\n' ' ' | sed 's/ $//')"
one_died='[("h1", 0, True, [0, 1]), ("h2", 0, True, [2, 3]), ("h3", 1, False, []), ("h4", 0, True, [4, 5])]'
holds 'power cut: the figures have the hosts' python3 -c "import json, sys
hosts = [(h['host'], h['deaths'], h['alive'], h['ranks']) for h in json.load(open(sys.argv[1]))['hosts']]
sys.exit(hosts != $one_died and f'found {hosts}')" "$shared/json"
clean h1 h2 h4
power_on h3

begin_own --protocol scmel # all that died are lost at once: copies elsewhere are enough
holds 'scmel: images are on two hosts' until_true 20 goes_on copied 4 3
power_cut h3
ends_right 'scmel: power cut'
is 'scmel: power cut: two die' 2 "$(went_back)"
power_on h3

begin_own # two hosts one after the other: the second when a checkpoint of its processes lies on two hosts that live
holds 'h2: images are on two hosts' until_true 20 goes_on copied 2 3
power_cut h2
holds 'h2: its processes go on elsewhere' until_true 20 goes_on says 'recovered in'
had=$(newest 2 h3)
newer() { [ "$(newest 2 h1)" -gt "$had" ] || [ "$(newest 2 h4)" -gt "$had" ]; }
holds 'h2: an image that lies on h3 no more' until_true 20 goes_on newer
power_cut h3
lets_go
wait $run
status=$?
is 'two hosts one after the other' "0 $(cat right)" "$status $(cat out)"
power_on h2
power_on h3

begin_own --host-timeout 10s # cut off for less than the timeout: nothing is lost
holds 'cut for a moment: it runs' until_true 20 goes_on copied 2 2
link_down h2
sleep 1 # that long it is cut off
link_up h2
ends_right 'cut for a moment'
is 'cut for a moment: nobody dies' 0 "$(went_back)"

begin_own # for longer: others take their places, and its own processes have ended themselves
holds 'cut off: it runs' until_true 20 goes_on copied 2 3
link_down h2
ends_right 'cut off'
is 'cut off: two die' 2 "$(went_back)"
holds 'cut off: its processes have ended' until_true 20 on h2 sh -c '! ps -A -o args= | grep -q "^[^ ]*heat2d "'
link_up h2
clean h2

begin_own # its agent dies
holds 'an agent dies: it runs' until_true 20 goes_on copied 2 3
on h2 sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark agent$/\1/p" | sort -n | head -n 1)'
ends_right 'an agent dies'
is 'an agent dies: two with it' 2 "$(went_back)"
clean h1 h2 h3 h4

begin_own # its agent hangs, and its janitor ends the processes in time
holds 'an agent hangs: it runs' until_true 20 goes_on copied 2 3
on h2 sh -c 'kill -STOP $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark agent$/\1/p" | sort -n | head -n 1)'
ends_right 'an agent hangs'
is 'an agent hangs: two die' 2 "$(went_back)"
clean h1 h2 h3 h4

begin_own # all that had an image are gone, and the beginning is kept no more
third() { [ "$(newest 2 h2)" -ge 3 ]; }
holds 'two at once: it runs' until_true 20 goes_on third
power_cut h2; power_cut h3
lets_go
wait $run
is 'two at once: status' 1 $?
holds 'two at once: it is said' says 'lies on no host that lives'
clean h1 h4
power_on h2
power_on h3

begin --store "$shared/store" # a store that all share survives it
holds 'two at once, a store that all share: it runs' until_true 20 goes_on copied 2 2
power_cut h2; power_cut h3
ends_right 'two at once, a store that all share'
power_on h2
power_on h3

# A process dies while one on a host far away has not begun: that one begins as if nothing had been.
loss h3 0 700
begin_own --host-timeout 20s --verbose
holds 'h3 is late: others have begun' until_true 20 says '^hark: rank 2 is process'
is 'h3 is late: its own have not' 0 "$(grep -c '^hark: rank [45] is process' err)"
on h2 kill -9 "$(sed -n 's/^hark: rank 2 is process \([0-9]*\) .*/\1/p' err)"
holds 'h3 is late: it begins' until_true 20 goes_on says '^hark: rank 4 is process'
heal
ends_right 'h3 is late, a process dies'
is 'h3 is late: one dies' 1 "$(went_back)"
holds 'h3 is late: it had not begun' eval '[ "$(grep -n "rank 2 died" err | cut -d: -f1)" -lt "$(grep -n "rank 4 is process" err | cut -d: -f1)" ]'

# Its supervisor dies: all end, and the job is resumed on the same hosts.
begin_own --store "$shared/store"
holds 'the supervisor dies: it runs' until_true 20 goes_on copied 2 3
on h1 sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
wait $run
all_gone() { [ -z "$(for h in h1 h2 h3 h4; do on $h sh -c 'ls -d /tmp/hark-[0-9]* 2>/dev/null'; done)" ]; }
holds 'the supervisor dies: its agents end' until_true 20 all_gone
on h1 env PACE= "$hark" run -n 6 --hostfile "$shared/hosts" --spares 1 --launcher "$here/on.sh %h" --resume \
  --host-store /local/hark --store "$shared/store" --interval 50ms --host-timeout 1s --verbose -- "$heat2d" 256 2500 >out 2>err
status=$?
is 'resumed' "0 $(cat right)" "$status $(cat out)"
clean h1 h2 h3 h4

# Two hosts reach only the supervisor's, from the beginning or later: a line says so, and the limit of a stall holds.
cut='rank [23] (host h2) has not reached rank [45] (host h3) for [0-9]* s: tcp:[^ ]*: .*; do their hosts reach each other, on all ports?'
back='rank [45] (host h3) has not reached rank [23] (host h2) for [0-9]* s: tcp:[^ ]*: no answer; do their hosts reach each other, on all ports?'
wall h2 h3
begin_own --host-timeout 20s --option handshake-ms=1000 --stall-limit 3s
lets_go
wait $run
is 'h2 does not reach h3: status' 1 $?
holds 'h2 does not reach h3: it is said' says "$cut"
holds 'h2 does not reach h3: the limit' says 'nothing has moved for 3 s (--stall-limit): the run ends'
wall_down h2 h3
STEPS=1000000 begin_own --host-timeout 20s --stall-limit 6s
lets_go
holds 'h2 is cut off from h3: it runs' until_true 20 goes_on copied 4 3
wall h2 h3
wait $run
is 'h2 is cut off from h3: status' 1 $?
holds 'h2 is cut off from h3: it is said' eval 'says "$cut" || says "$back"'
holds 'h2 is cut off from h3: the limit' says 'nothing has moved for 6 s (--stall-limit): the run ends'
wall_down h2 h3
# Only the one that can not send has something for the other.
printf 'h[2-3]\n' >"$shared/two"
rm -f "$shared"/go "$shared"/met.* out err
on h1 env PLACE="$shared" "$hark" run -n 2 --hostfile "$shared/two" --launcher "$here/on.sh %h" --protocol none --store "$shared/two-store" \
  --host-timeout 20s --stall-limit 6s -- "$obedient" 0:send=1.1 1:recv=0.1 1:send=0.2 0:recv=1.2 1:make=met \
  0:await=go 0:send=1.3 1:recv=0.3 >out 2>err </dev/null &
run=$!
holds 'h2 can not send: they have met' until_true 20 test -e "$shared/met.1"
wall h2 h3
touch "$shared/go"
wait $run
is 'h2 can not send: status' 1 $?
holds 'h2 can not send: it is said' says 'rank [01] (host h[23]) has not reached rank [01] (host h[23]) for [0-9]* s: tcp:[^ ]*: no answer; do their hosts'
wall_down h2 h3
# Both wait in a send, for each other, and do not reach each other.
rm -f "$shared"/go "$shared"/met.* out err
on h1 env PLACE="$shared" "$hark" run -n 2 --hostfile "$shared/two" --launcher "$here/on.sh %h" --protocol none --store "$shared/send-store" \
  --host-timeout 20s --stall-limit 6s -- "$obedient" 0:send=1.1 1:recv=0.1 1:send=0.2 0:recv=1.2 1:make=met \
  await=go pour=1000000000 >out 2>err </dev/null &
run=$!
holds 'in a send: they have met' until_true 20 test -e "$shared/met.1"
wall h2 h3
wall h3 h2
touch "$shared/go"
wait $run
is 'in a send: status' 1 $?
holds 'in a send: it is said who waits' says 'waits\? in a send for room'
holds 'in a send: the limit' says 'nothing has moved for 6 s (--stall-limit): the run ends'
wall_down h2 h3
wall_down h3 h2
begin_own --host-timeout 20s
holds 'h2 is cut off for a moment: it runs' until_true 20 goes_on copied 4 3
wall h2 h3
lets_go
holds 'h2 is cut off for a moment: it stands still' until_true 20 says 'nothing moves: every process waits'
wall_down h2 h3
wait $run
is 'h2 is cut off for a moment: status' 0 $?
is 'h2 is cut off for a moment: nobody dies' 0 "$(went_back)"
clean h1 h2 h3 h4

# Mistakes, each in one line.
tested=("$hark" run) words='hark run'
printf 'h1\nh1\n' >twice
refused "twice:2: expected each host once, found \"h1\"" -n 2 --hostfile twice --store s -- true
printf 'h1 slot=2\n' >slot
refused 'slot:1: expected HOST [slots=N] [rack=NAME], found "slot=2"' -n 2 --hostfile slot --store s -- true
printf 'h[1-x]\n' >range
refused 'range:1: expected a range such as node[01-16], found "1-x"' -n 2 --hostfile range --store s -- true
refused 'several hosts need --host-store DIR, on the disk of each, or --store DIR, which all of them see' -n 2 --hostfile "$shared/hosts" -- true
printf '# nobody\n\n' >empty
refused '--hostfile: empty: expected lines HOST [slots=N] [rack=NAME], found none' -n 2 --hostfile empty --store s -- true
printf 'h1 slots=1\nh2 slots=1\n' >two
refused '-n: expected at most 2 processes, as many as the hosts have slots, found 3' -n 3 --hostfile two --store s -- true
refused '--spares: expected fewer than the 2 hosts, found 2' -n 2 --hostfile two --spares 2 --store s -- true
refused '--copies: expected at least 2, as many as a host runs and loses at once, found 1' -n 4 --hostfile "$shared/hosts" --protocol scmel --copies 1 --store s -- true
printf 'h1 slots=9\n' >nine
refused 'under scmel a host may run 8 processes at most, since all that it runs are lost at once; found one with 9 slots' -n 9 --hostfile nine --protocol scmel --store s -- true
expect 2 'the launcher (false) ended with status 1 before its agent had come up' -n 2 --hostfile two --launcher 'false %h' --store s -- true
expect 2 'cannot start the launcher no-such-command' -n 2 --hostfile two --launcher 'no-such-command %h' --store s2 -- true

random=1
for seed in $(seq "$seeds"); do # a host's power is cut when so many more images have come
  random=$(((random * 1103515245 + 12345 + seed) % 2147483648))
  host=h$((2 + random / 65536 % 2)) more=$((random / 1024 % 7))
  begin_own
  holds "seed $seed: it runs" until_true 20 goes_on copied 4 $((3 + more))
  power_cut $host
  ends_right "seed $seed: $host after $((3 + more)) images"
  power_on $host
done
finish
