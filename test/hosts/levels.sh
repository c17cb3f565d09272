#!/bin/bash
# Levels of checkpoints on pretend hosts: copies in other racks, on more than two hosts, and images that are damaged at one level.
# levels.sh HARK PACED_HEAT2D
set -u
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")" # also where /tmp is
hosts_begin 4 2>err
is 'four hosts begin' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared steps=4000
"$hark" run -n 4 -- "$heat2d" 256 $steps >right 2>/dev/null
is 'the answer here' 1 "$(grep -c digest right)"

begin() { # lines of the hostfile; options: a run of four processes begins on h1; its output is in out
  local h
  for h in h1 h2 h3 h4; do power_on $h; done
  rm -rf "$shared/store" "$HARK_HOSTS"/h*/local/hark out err
  pace "$shared/pace"
  printf "$1" >"$shared/hosts"; shift
  on h1 "$hark" run -n 4 --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --host-store /local/hark \
    --interval 50ms --host-timeout 3s "$@" -- "$heat2d" 256 $steps >out 2>err </dev/null &
  run=$!
}
resume() { # the interval of the shared store; options
  local interval=$1; shift
  lets_go
  on h1 "$hark" run -n 4 --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --resume --host-store /local/hark --store "$shared/store" \
    --store-interval "$interval" --interval 50ms --host-timeout 5s "$@" -- "$heat2d" 256 $steps >out 2>err </dev/null
}
names() { (cd "$HARK_HOSTS/$2" && ls local/hark/*/r"$1" 2>/dev/null | grep '^[0-9]'); } # RANK HOST: images of a rank on a host
lies_on() { # RANK HOST...: an image of the rank lies on these hosts, and of these only
  local rank=$1 h found=''; shift
  for h in h1 h2 h3 h4; do [ -z "$(names "$rank" $h)" ] || found+=" $h"; done
  [ "$found" = " $*" ]
}
ends_right() { # what: the run ends with the right answer
  lets_go
  wait $run
  is "$1: status" 0 $?
  is "$1: answer" "$(cat right)" "$(cat out)"
}
says() { grep -q -- "$1" err; }

# Racks: h1 and h2 are in one, h3 and h4 in the other. A whole rack dies, but for the host of hark run.
begin 'h1 slots=1 rack=a\nh2 slots=1 rack=a\nh[3-4] slots=1 rack=b\n'
holds 'racks: of h1' until_true 20 goes_on lies_on 0 h1 h3
holds 'racks: of h2' until_true 20 goes_on lies_on 1 h2 h4
holds 'racks: of h3' until_true 20 goes_on lies_on 2 h2 h3
holds 'racks: of h4' until_true 20 goes_on lies_on 3 h1 h4
power_cut h3; power_cut h4
ends_right 'a rack dies'
is 'a rack dies: two processes' 2 "$(grep -c '^hark: rank [0-9]* died' err)"
is 'one rack is left: it is said once' 1 "$(grep -c 'all hosts that live are in one rack' err)"

begin 'h1 slots=1 rack=a\nh2 slots=1 rack=a\nh[3-4] slots=1 rack=b\n'
holds 'one host of each rack: it runs' until_true 20 goes_on lies_on 1 h2 h4
holds 'one host of each rack: copies of h3' until_true 20 goes_on lies_on 2 h2 h3
several() { [ "$(names "$1" "$2" | sort -n | tail -n 1)" -ge 3 ] 2>/dev/null; } # so logs do not reach back to the beginning
holds 'one host of each rack: several checkpoints' until_true 20 goes_on several 2 h3
power_cut h2; power_cut h3 # rank 2 has an image there and there, rank 1 not
lets_go
wait $run
is 'both holders of an image die: status' 1 $?
holds 'both holders of an image die: it is said' says 'rank 2 can not go back, .* lies on no host that lives'

begin 'h1 slots=1\nh[2-4] slots=1\n' --host-copies 3
holds 'three copies: of h2' until_true 20 goes_on lies_on 1 h2 h3 h4
holds 'three copies: of h3' until_true 20 goes_on lies_on 2 h1 h3 h4
power_cut h2; power_cut h3
ends_right 'three copies, two hosts die at once'

# Its own image is damaged, and then its host's copy is taken from another one.
spoil() { # RANK HOST: the images of that rank on that host are damaged
  local image
  for image in "$HARK_HOSTS/$2"/local/hark/*/r"$1"/[0-9]*; do printf spoilt | dd of="$image" bs=1 seek=200 conv=notrunc 2>/dev/null; done
}
begin 'h1 slots=1\nh[2-3] slots=1\nh4 slots=1\n' --host-copies 3 --interval 1500ms
holds 'a damaged copy: it runs' until_true 20 goes_on lies_on 1 h2 h3 h4
spoil 1 h3
power_cut h2
ends_right 'a damaged copy'
holds 'a damaged copy: the damage is said' says 'host h3: image .*r1/[0-9]*: .*; another copy of it is looked for'

# A process is to begin on a host that does not reach the one with its image: that is said, and it begins when it does.
begin 'h1 slots=2\nh[2-3] slots=1\nh4\n' --spares 1 --host-timeout 1s
holds 'far from its image: it runs' until_true 20 goes_on lies_on 2 h2 h3
wall h3 h4
power_cut h2
holds 'far from its image: it is said' until_true 30 says '^hark: host h4: checkpoint [0-9]* of rank 2 has not come there in [0-9]* s, though it is on host h3; its process waits for it$'
wall_down h3 h4
ends_right 'far from its image'
is 'far from its image: it is said once' 1 "$(grep -c 'its process waits for it' err)"
begin 'h1 slots=2\nh[2-3] slots=1\nh4\n' --spares 1 --host-timeout 1s --stall-limit 4s
holds 'too far: it runs' until_true 20 goes_on lies_on 2 h2 h3
wall h3 h4
power_cut h2
wait $run
is 'too far: status' 1 $?
holds 'too far: it is said' says 'has waited for its checkpoint for 4 s (--stall-limit): the run ends'
wall_down h3 h4

# A host that keeps copies is not reached by hark run for a moment, and by the others it is. What was undone meanwhile it hears late: copies
# of what came after stay there.
begin 'h1 slots=2\nh[2-3] slots=1\nh4\n' --spares 1 --host-timeout 20s --host-copies 3 --verbose
holds 'heard late: it runs' until_true 20 goes_on lies_on 2 h2 h3 h4
newest_on() { names "$1" "$2" | sort -n | tail -n 1 | grep . || echo 0; }
wall h1 h4
on h2 kill -9 "$(sed -n 's/^hark: rank 2 is process \([0-9]*\) .*/\1/p' err)"
holds 'heard late: it goes back' until_true 20 says '^hark: rank 2 died'
before=$(newest_on 2 h2)
copied() { [ "$(newest_on 2 h4)" -gt "$before" ]; }
holds 'heard late: what comes then is copied' until_true 20 goes_on copied
kept=$(newest_on 2 h4)
# Of the undone past, as the agent sees it: that did not come as a copy of after it. When it goes, the agent has heard.
past=$(dirname "$(ls "$HARK_HOSTS"/h4/local/hark/*/r2/"$kept")")/4000000000
touch "$past"
wall_down h1 h4
holds 'heard late: what was undone goes' until_true 30 test ! -e "$past"
holds "heard late: copies of what came after stay ($kept)" [ "$(newest_on 2 h4)" -ge "$kept" ]
decided() { [ "$(newest_on 2 h2)" -gt $((kept + 1)) ]; }
holds 'heard late: there are checkpoints again' until_true 30 goes_on decided
ends_right 'heard late'

# A level above: some checkpoints go to a store that all share. All that had an image of the last one are gone.
sets() { ls "$shared/store/flushed/r0" 2>/dev/null | grep -c '^[0-9]'; } # that are whole in the shared store
last_set() { ls "$shared/store/flushed/r0" 2>/dev/null | grep '^[0-9]' | sort -n | tail -n 1 | grep . || echo 0; }
set_after() { [ "$(last_set)" -gt "$1" ]; }
begin_shared() { begin 'h1 slots=1\nh[2-4] slots=1\n' --store "$shared/store" --store-interval 500ms --verbose "$@"; }
begin_shared
holds 'shared: it runs' until_true 20 goes_on lies_on 1 h2 h3
holds 'shared: some checkpoints are there' until_true 30 goes_on set_after 3
is 'shared: two are kept' 2 "$(sets)"
newest() { names "$1" "$2" | sort -n | tail -n 1 | grep . || echo 0; }
above() { ls "$shared/store/r1" | grep '^[0-9]' | sort -n | tail -n 1; }
ahead() { [ "$(newest 1 h2)" -gt $(($(above) + 2)) ]; } # what is there is older than what logs reach back to
holds 'shared: the job is ahead of it' until_true 20 goes_on ahead
power_cut h2; power_cut h3
# Unless just then one more came there: it is the last but one of the cluster, or the last.
went_back() { grep -q 'can not go back, .* lies on no host that lives; all ranks go back to what was in .*/store at \|lies on no host that lives; the older checkpoint\|recovered in' err; }
holds 'shared: it goes back' until_true 20 goes_on went_back
had=$(last_set)
holds 'shared: and goes on there' until_true 30 goes_on set_after "$had"
ends_right 'both holders of an image die'
is 'shared: images that no set needs are gone' '' "$(for r in 0 1 2 3; do [ "$(ls "$shared/store/r$r" | grep -c '^[0-9]')" -le 3 ] || ls "$shared/store/r$r"; done)"

# The last of them is damaged there.
begin_shared
holds 'a damaged set: it runs' until_true 30 goes_on set_after 3
on h1 sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)' # all end, and all disks are lost
wait $run
all_gone() { [ -z "$(for h in h1 h2 h3 h4; do on $h sh -c 'ls -d /tmp/hark-[0-9]* 2>/dev/null'; done)" ]; }
holds 'all disks are lost: its agents end' until_true 20 all_gone
rm -rf "$HARK_HOSTS"/h*/local/hark
# The record of a set ends with the rank and checkpoint of each of its four images, and a digest of 16 bytes.
record=$shared/store/flushed/r0/$(last_set)
newest=$(($(od -An -t u8 -j $(($(stat -c %s "$record") - 16 - 4 * 16 + 1 * 16 + 8)) -N 8 "$record")))
printf spoilt | dd of="$shared/store/r1/$newest" bs=1 seek=200 conv=notrunc 2>/dev/null
resume 300ms
status=$?
is 'all disks are lost, and an image above is damaged: resumed' "0 $(cat right)" "$status $(cat out)"
holds 'the damage is said' says "r1/$newest: .*checksum"
went_back() { [ "$(grep -c 'all ranks go back to what was in\|lies on no host that lives; the older checkpoint' err)" -ge 1 ]; }
holds 'it is said that older ones are used' went_back

# Stopped by a signal, the job goes on where no host has anything of it, as in another allocation.
begin 'h1 slots=1\nh[2-4] slots=1\n' --store "$shared/store" --store-interval 1h --checkpoint-on USR1 --then-stop
holds 'stopped: it runs' until_true 20 goes_on lies_on 1 h2 h3
on h1 sh -c 'kill -USR1 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
ended() { ! kill -0 $run; }
holds 'stopped: it ends' until_true 40 goes_on ended
wait $run
is 'stopped: status' 75 $?
is 'stopped: the last checkpoint is in the shared store' 1 "$(sets)"
rm -rf "$HARK_HOSTS"/h*/local/hark
resume 10s
status=$?
is 'stopped: resumed from there' "0 $(cat right)" "$status $(cat out)"
is 'stopped: no older one is used' 0 "$(grep -c older err)"

# A host is lost with an image on its disk that is undone then, and whose number another one gets. When the job is resumed with that
# host, its image is not taken for the other one.
begin 'h1 slots=1\nh[2-4] slots=1\n' --store "$shared/store" --protocol coordinated --interval 700ms --host-timeout 6s
last() { names "$1" "$2" | sort -n | tail -n 1; }
second() { [ "$(last 1 h2)" -ge 2 ] 2>/dev/null; }
holds 'another past: it runs' until_true 20 goes_on second
loss h2 0 300 # what it says comes late: so its next image is written long before the checkpoint is decided; it is not taken for dead for that
stale=$(($(last 1 h2) + 1))
third() { [ "$(last 1 h2)" = $stale ]; }
holds 'another past: an image is there' until_true 20 goes_on third
power_cut h2
again() { [ "$( (names 1 h1; names 1 h3; names 1 h4) | grep -cx "$stale")" -ge 2 ]; }
holds 'another past: its number is given again' until_true 30 goes_on again
holds 'another past: it is written down' grep -q "^undo h2 1 $((stale - 1))$" "$shared/store/missed"
on h1 sh -c 'kill -KILL $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p")'
wait $run
power_on h2
resume 0 --protocol coordinated
status=$?
is 'another past: resumed' "0 $(cat right)" "$status $(cat out)"
holds 'another past: it is forgotten when it is dropped' sh -c '! grep -q ^undo "$1"' sh "$shared/store/missed"

# The same of a host that is said to be lost after the others have gone back: it was told, and has not heard it.
begin 'h1 slots=2\nh2 slots=2\nh[3-4]\n' --spares 2 --store "$shared/store" --protocol coordinated --interval 700ms --host-copies 4
second() { [ "$(last 2 h4)" -ge 2 ] 2>/dev/null; }
holds 'not heard: it runs' until_true 20 goes_on second
wall h2 h3 # no checkpoint is decided from now on: one copy does not come
waits() { stale=$(last 2 h4) && [ "$(last 2 h3)" -lt "$stale" ] && [ "$(last 2 h2)" = "$stale" ] && [ "$(last 3 h4)" = "$stale" ]; }
holds 'not heard: one waits' until_true 20 goes_on waits
power_cut h2
sleep 1 # h2 is taken for dead first then; else this tests what the one above does
power_cut h4
holds 'not heard: both die' until_true 20 says '^hark: host h4 died'
again() { [ "$( (names 2 h1; names 2 h3) | grep -cx "$stale")" = 2 ] && grep -q "^undo h4 2 $((stale - 1))$" "$shared/store/missed"; }
holds 'not heard: its number is given again, and it is written down' until_true 20 goes_on again
on h1 sh -c 'kill -KILL $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p")'
wait $run
power_on h2; power_on h4
rm -rf "$HARK_HOSTS"/h2/local/hark
printf 'h1 slots=2\nh4 slots=2\nh[2-3]\n' >"$shared/hosts" # where its image would be the first at hand
resume 0 --protocol coordinated --spares 2 --host-copies 4 --stall-limit 30s
status=$?
is 'not heard: resumed' "0 $(cat right)" "$status $(cat out)"

# Copies that all hosts are to have, and two do not reach each other: the program goes on, and it is said that there are no checkpoints.
ends_at=$steps steps=1000000
begin 'h1 slots=2\nh2 slots=2\nh[3-4]\n' --spares 2 --host-copies 4
holds 'no copy: it runs' until_true 20 goes_on second
wall h2 h3
lets_go
holds 'no copy: it is said' until_true 40 says '^hark: host h[1-4]: a copy of checkpoint [0-9]* of rank [0-3] has not come from there to host h[23] in [0-9]* s; checkpoints wait for it$'
before=$(last 2 h3)
wall_down h2 h3
more() { [ "$(last 2 h3)" -gt $((before + 1)) ] 2>/dev/null; }
holds 'no copy: not any more' until_true 40 more
is 'no copy: it is said once' 1 "$(grep -c 'has not come from there' err)"
on h1 sh -c 'kill -KILL $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p")'
wait $run
steps=$ends_at
agents_gone() { [ -z "$(for h in h1 h2 h3 h4; do on $h sh -c 'ls -d /tmp/hark-*-h[0-9]* 2>/dev/null'; done)" ]; }
holds 'no copy: its agents end' until_true 20 agents_gone # one that lives still writes to its disk

# What can not be resumed leaves nothing on the hosts' disks.
for h in h1 h2; do power_on $h; done
on_two() { # the host store; program: of two processes
  local where=$1; shift
  on h1 "$hark" run -n 2 --hosts h1,h2 --launcher "$here/on.sh %h" --host-store "$where" --interval 50ms "$@" >out 2>err </dev/null
}
rm -rf "$HARK_HOSTS"/h*/local/hark
on_two /local/hark -- "$heat2d" 256 1000000 & run=$!
holds 'an interrupted run: it runs' until_true 20 goes_on lies_on 1 h1 h2
on h1 sh -c 'kill -INT $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
wait $run
is 'an interrupted run: status' 130 $?
is 'an interrupted run: nothing is left' '' "$(find "$HARK_HOSTS"/h[12]/local/hark -mindepth 1)"

# Images on disks of hosts are not in the store.
rm -rf "$shared/store" "$HARK_HOSTS"/h*/local/hark
on_two /local/hark --store "$shared/store" -- "$heat2d" 256 1000000 & run=$!
holds 'resumed without hosts: it runs' until_true 20 goes_on lies_on 1 h1 h2
on h1 sh -c 'kill -INT $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
wait $run
for where in '' '--hosts h1,h2'; do
  on h1 "$hark" run -n 2 --store "$shared/store" --resume $where -- "$heat2d" 256 1000000 >out 2>err </dev/null
  is "resumed without images $where: status" 2 $?
  is "resumed without images $where" "hark: store $shared/store: images of this job are on the disks of its hosts: it is resumed with the same hosts, and with --host-store /local/hark" "$(cat err)"
done

# A directory that hosts share is none of their own.
on_two "$shared/own" -- "$heat2d" 64 10
is 'a shared host store: status' 2 $?
holds 'a shared host store: it is said' says "host store $shared/own: another host of the job has it too; expected a disk of each host"
is 'a shared host store: nothing is left' '' "$(ls "$shared/own")"

tested=("$hark" run) words='hark run'
printf 'h1 rack=\n' >rack
refused 'rack:1: expected HOST [slots=N] [rack=NAME], found "rack="' -n 2 --hostfile rack --store s -- true
printf 'h1\nh2\n' >two
refused '--host-copies: expected 1 to 8 hosts that have each checkpoint, found "0"' -n 2 --hostfile two --host-store /x --host-copies 0 -- true
refused '--host-copies: expected at most the 2 hosts, found 3' -n 2 --hostfile two --host-store /x --host-copies 3 -- true
refused '--host-copies needs --host-store DIR, where each host has them' -n 2 --hostfile two --store s --host-copies 2 -- true
refused '--compress cannot be used with --host-store: a compressed checkpoint is more than one file, and one is copied' -n 2 --hostfile two --store s --host-store /x --compress lz4 -- true
refused '--store-interval needs --host-store DIR, where checkpoints are, and --store DIR, where some go too' -n 2 --hostfile two --store s --store-interval 3s -- true
refused '--store-interval: expected a time such as 30s, 10m or 1h, or 0, found "3"' -n 2 --hostfile two --store-interval 3 -- true
finish
