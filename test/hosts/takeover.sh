#!/bin/bash
# `hark run` dies, perhaps with its host, and another one takes its place: processes that live go on, only those go back who must, and
# each line that they print is there. takeover.sh HARK TALK PACED_PARTNERS HARK_POINTS [ROUNDS [PROTOCOL [OPTIONS]]]: so many times more it dies at a random moment, up
# to four times in a row, and has these options then.
set -u
hark=$(readlink -f "$1") talk=$(readlink -f "$2") partners=$(readlink -f "$3") points=$(readlink -f "$4") rounds=${5:-0} protocol=${6:-hydee} options=${7:-}
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
laps=4000 wait_time=30s
every=1300 gates=$shared/gates # each process waits after so many laps, until there is a byte more in that file
printf 'h[1-3] slots=2\n' >"$shared/hosts"
"$hark" run -n 6 -- "$talk" $laps 300 2>/dev/null | sort >right
is 'the lines here' $((laps / 10 * 6)) "$(wc -l <right)"

program=("$talk" $laps 300 $every "$gates") answer=right
opens() { printf '%s' "$1" >>"$gates"; } # a byte for each gate
takes() { # host, options: a run begins there, or takes over; its lines are behind those before
  local host=$1; shift
  on "$host" timeout 60 "$hark" run -n 6 --protocol "$protocol" --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --store "$shared/store" \
    --interval 50ms --host-timeout 3s --supervisor-timeout $wait_time "$@" -- "${program[@]}" >>lines 2>>err </dev/null &
  run=$!
}
begin() { # options: on h4, which has no processes
  rm -rf "$shared/store" "$gates" "$HARK_HOSTS"/h*/local/hark lines err
  touch lines err
  takes h4 "$@"
}
dies() { # host: hark run there
  on "$1" sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
  wait $run
}
shown() { [ "$(wc -l <lines)" -ge "$1" ]; }
lines_at_gate() { echo $(($(stat -c %s "$gates" 2>/dev/null || echo 0) * every / 10 * 6)); } # that was opened last
runs() { holds "$1: it runs" until_true 20 shown "${2:-200}"; }
says() { grep -q -- "$1" err; }
went_back() { sed -n 's/^hark: rank \([0-9]*\) died.*/\1/p' err | tr '\n' ' ' | sed 's/ $//'; }
# What is written and not noted when hark run dies may come again, and no line is missing or wrong.
ends_right() { # what
  opens ....
  wait $run
  is "$1: status" 0 $?
  sort -u lines >sorted
  holds "$1: the lines" cmp -s sorted "$answer"
  is "$1: who takes its place has nothing more" '' "$(ls "$shared/store/takeover" 2>/dev/null)"
}
clean() { # nothing of a run is left on hosts that live
  local h
  for h in "$@"; do
    is "$h: left in /tmp, /dev/shm and of processes" '' "$(on $h sh -c 'ls -d /tmp/hark-[0-9]* /dev/shm/hark-* 2>/dev/null; ps -A -o args= | grep -E "^[^ ]*(talk|hark) " | grep -v defunct')"
  done
}
stopped() { # of a host: all its processes are
  [ "$(on "$1" sh -c 'ps -A -o stat=,args= | grep "/talk "' | grep -c '^T')" = 2 ]
}

gone() { [ -z "$(on h3 sh -c 'ps -A -o args= | grep "^[^ ]*talk "')" ]; }

begin
runs 'it dies'
holds 'it dies: who takes its place finds keys that only its owner can read' until_true 20 test -s "$shared/store/takeover"
is 'it dies: the mode of the file with them' 600 "$(stat -c %a "$shared/store/takeover")"
dies h4
for h in h1 h2 h3; do holds "it dies: processes of $h are stopped" until_true 20 stopped $h; done
had=$(wc -l <lines)
takes h1 --resume
ends_right 'another host takes over'
is 'another host takes over: nobody goes back' '' "$(went_back)"
holds 'another host takes over: it is said' says '^hark: ranks 0-5 of the run before live, and go on with this one$'
holds 'another host takes over: it shows what comes later' [ "$had" -lt "$(wc -l <lines)" ]
clean h1 h2 h3 h4

begin # one stands by
first=$run
runs 'one stands by'
takes h1 --standby
holds 'one stands by: it waits' until_true 20 says 'this one waits, to take its place$'
on h4 sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
wait $first
ends_right 'one stands by'
is 'one stands by: nobody goes back' '' "$(went_back)"
holds 'one stands by: it takes over' says '^hark: ranks 0-5 of the run before live, and go on with this one$'
clean h1 h2 h3 h4

begin # with its host, and one that has processes
runs 'its host dies'
power_cut h4
power_cut h3
wait $run
takes h2 --resume
ends_right 'its host dies'
is 'its host dies: only those go back whose host died too' '4 5' "$(went_back)"
holds 'its host dies: it is said' says '^hark: host h3: no agent of the run before has come from there$'
power_on h3
power_on h4
clean h1 h2 h3

begin --kill 3@700 --host-store /local/hark # while processes go back
holds 'it dies in a recovery' until_true 20 says 'rank 3 died'
dies h4
takes h3 --resume --host-store /local/hark
ends_right 'it dies in a recovery'
holds 'it dies in a recovery: some live' says 'of the run before live, and go on'
clean h1 h2 h3 h4

# The only one whose processes live dies when it has come, and before they go on. If the machine is busy it dies before it has come.
for try in 1 2 3; do
  begin
  runs 'all die'
  for h in h2 h3; do on $h sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark agent$/\1/p")'; done
  dies h4
  takes h1 --resume
  holds 'all die: processes are stopped' until_true 20 stopped h1
  on h1 sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark agent$/\1/p")'
  ends_right 'all die'
  clean h1 h2 h3
  ! says 'no agent of the run before lives any more' || break
done
holds 'all die: it is said' says '^hark: no agent of the run before lives any more; others are started$'

begin # again and again
for next in h1 h2 h3; do
  runs "it dies before $next" $(($(lines_at_gate) + 200))
  dies "$(sed 's/h1/h4/; s/h2/h1/; s/h3/h2/' <<<$next)"
  takes $next --resume
  opens .
done
ends_right 'again and again'
is 'again and again: nobody goes back' '3 ' "$(grep -c 'ranks 0-5 of the run before live' err) $(went_back)"

# Who takes over knows what hosts have on their disks: one of them dies before another checkpoint is taken.
newest() { ls "$HARK_HOSTS"/h*/local/hark/*/r4 2>/dev/null | grep '^[0-9]' | sort -n | tail -n 1; }
several() { [ "$(newest)" -ge 2 ] 2>/dev/null; } # the first has been decided then
for kept in '--host-copies 2' '--host-code 2+1'; do
  begin --host-store /local/hark $kept
  runs "$kept" $((every / 10 * 6 - 6)) # all wait at a gate
  holds "$kept: there are checkpoints" until_true 20 several
  dies h4
  takes h1 --resume --host-store /local/hark $kept
  holds "$kept: it takes over" until_true 20 says '^hark: ranks 0-5 of the run before live, and go on with this one$'
  power_cut h3
  holds "$kept: a host dies" until_true 20 says '^hark: host h3 died'
  ends_right "$kept"
  is "$kept: who goes back" '4 5' "$(went_back)"
  holds "$kept: to a checkpoint" says 'cluster 2 (ranks 4-5) goes back to checkpoint [1-9]'
  power_on h3
  clean h1 h2
done

# A checkpoint is decided, and nobody has heard it: its copies count although the processes say again that they have it.
dies_at() { # a point of the supervisor (test/kill/points.c), options: it begins, and dies there
  local hark=$points
  rm -f "$shared/point" "$shared/hit"
  export HARK_POINT=$1@supervisor PLACE=$shared; shift
  begin "$@"
  wait $run
  unset HARK_POINT PLACE
}
copied='--host-store /local/hark --host-copies 2 --interval 200ms --protocol coordinated'
dies_at noted $copied
holds 'not answered: it dies' test -e "$shared/hit"
wall h3 h1; wall h3 h2 # no copy is made again
takes h4 --resume $copied
holds 'not answered: it takes over' until_true 20 says '^hark: ranks 0-5 of the run before live, and go on with this one$'
power_cut h3
holds 'not answered: they go back to it' until_true 20 says 'all ranks go back to checkpoint 1$'
ends_right 'not answered'
power_on h3
clean h1 h2

# Who goes back is known, and perhaps to the one who has died only: what is undone is written down for who takes over.
dies_at announced --host-store /local/hark --host-copies 2 --kill 3@700
holds 'undone: it dies' test -e "$shared/hit"
is 'undone: it is written down' 'h1 2 h1 3 h2 2 h2 3 h3 2 h3 3' "$(sed -n 's/^undo \(h[123] [0-9]*\) .*/\1/p' "$shared/store/missed" | xargs)"
takes h1 --resume --host-store /local/hark --host-copies 2
ends_right 'undone'
clean h1 h2 h3

# Of the shared store too: an image that was on the dead host only is there. If the last one is not, all go back to those that are.
with_shared='--host-store /local/hark --host-copies 1 --store-interval 100ms'
begin $with_shared
runs 'shared' $((every / 10 * 6 - 6))
holds 'shared: sets are there' until_true 20 sh -c "ls $shared/store/flushed/r0 | grep '^[0-9]'"
dies h4
takes h2 --resume $with_shared
holds 'shared: it takes over' until_true 20 says '^hark: ranks 0-5 of the run before live, and go on with this one$'
power_cut h3
holds 'shared: they go back' until_true 20 says "cluster 2 (ranks 4-5) goes back to checkpoint [1-9]\|^hark: all ranks go back to what was in $shared/store at "
ends_right 'shared'
power_on h3
clean h1 h2

begin --host-store /local/hark
runs 'other disks'
dies h4
for h in h1 h2 h3; do holds "other disks: processes of $h are stopped" until_true 20 stopped $h; done
takes h1 --resume --host-store /local/hark --store-interval 1m
ends_right 'other disks'
holds 'other disks: it is said' says '^hark: --host-store, or whether there is a --store-interval, is not as in the run before, so its processes are not taken over$'
clean h1 h2 h3

begin # one of its hosts can not be reached then: what is there ends when it is
runs 'one is cut off'
dies h4
link_down h3
takes h1 --resume
holds 'one is cut off: it is said' until_true 20 says '^hark: host h3: no agent of the run before has come from there$'
link_up h3
ends_right 'one is cut off'
is 'one is cut off: its processes go back' '4 5' "$(went_back)"
holds 'one is cut off: what is there ends' until_true 20 gone

begin # it lives, and one of its hosts can not be reached for longer than that has time: others take its place, and it is used again
runs 'cut off from hark run'
link_down h3
holds 'cut off from hark run: what is there is stopped' until_true 20 stopped h3
holds 'cut off from hark run: its processes go elsewhere' until_true 20 says 'its processes go to host'
link_up h3
ends_right 'cut off from hark run'
is 'cut off from hark run: who goes back' '4 5' "$(went_back)"
holds 'cut off from hark run: what is there ends' until_true 20 gone

begin # a host that it had given up is reached by who takes over: what is there must not go on
runs 'given up before'
link_down h3
holds 'given up before: its processes go elsewhere' until_true 20 says '^hark: recovered in'
dies h4
link_up h3
takes h1 --resume
ends_right 'given up before'
is 'given up before: who goes back' '4 5' "$(went_back)"
holds 'given up before: what is there ends' until_true 20 gone
clean h1 h2 h4

begin # it lives, and does nothing for longer than that: nothing is lost
runs 'it is stopped'
pids=$(on h4 sh -c 'ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p"')
on h4 kill -STOP $pids
for h in h1 h2 h3; do holds "it is stopped: processes of $h are too" until_true 20 stopped $h; done
on h4 kill -CONT $pids
ends_right 'it is stopped'
is 'it is stopped: nobody goes back' '' "$(went_back)"

begin # the store can not be read for a while, as when its file server is away: they wait
runs 'no store'
dies h4
mv "$shared/store/takeover" "$shared/kept"; ln -s takeover "$shared/store/takeover" # too many links to follow
for h in h1 h2 h3; do holds "no store: processes of $h are stopped" until_true 20 stopped $h; done
sleep 3 # so long it is away: six times as long as between two looks
mv "$shared/kept" "$shared/store/takeover"
takes h1 --resume
ends_right 'no store'
is 'no store: nobody goes back' '' "$(went_back)"

begin # agents that come when the other one waits for them no more: new ones are started, and the job goes on from a checkpoint
runs 'too late'
holds 'too late: there is a checkpoint' until_true 20 sh -c "ls $shared/store/r5 | grep -q '^[0-9]'"
for h in h1 h2 h3; do link_down $h; done
dies h4
for h in h1 h2 h3; do holds "too late: processes of $h are stopped" until_true 20 stopped $h; done
takes h4 --resume
holds 'too late: others are started' until_true 40 on h4 sh -c 'ps -A -o args= | grep -q "door[.]py on h1"'
for h in h1 h2 h3; do link_up $h; done
ends_right 'too late'
holds 'too late: it goes on from a checkpoint' says '^hark: the job goes on from checkpoint'
clean h1 h2 h3 h4

# Clusters that are proposed, and come into force with the next checkpoint: who takes over proposes them again, or there is none.
program=("$partners" 4000 2000) answer=partners
pace "$shared/pace"; lets_go
"$hark" run -n 6 -- "${program[@]}" 2>/dev/null | sort >partners
pace "$shared/pace"
begin --recluster --interval 1s
holds 'new clusters: they are proposed' until_true 20 goes_on grep -q '^clusters ' "$shared/store/takeover"
dies h4
holds 'new clusters: they were not in force' eval '! says "on the clusters are"'
takes h1 --resume --recluster --interval 1s
holds 'new clusters: they come into force' until_true 20 goes_on says '^hark: from checkpoint [0-9]* on the clusters are'
lets_go
ends_right 'new clusters'
is 'new clusters: nobody goes back' '' "$(went_back)"
program=("$talk" $laps 300 $every "$gates") answer=right

wait_time=2s # nobody comes
begin
runs 'nobody comes'
holds 'nobody comes: there is a checkpoint' until_true 20 sh -c "ls $shared/store/r5 | grep -q '^[0-9]'"
left=$(on h3 sh -c 'ls -d /tmp/hark-[0-9]*')
dies h4
none_left() { [ -z "$(for h in h1 h2 h3; do on $h sh -c 'ls -d /tmp/hark-[0-9]* 2>/dev/null'; done)" ]; }
holds 'nobody comes: its agents end' until_true 20 none_left
on h3 sh -c "mkdir $left && touch $left/agent $left/some" # as after a power cut, if /tmp is on a disk
takes h1 --resume
ends_right 'nobody comes'
holds 'nobody comes: it goes on from a checkpoint' says '^hark: the job goes on from checkpoint'
wait_time=30s

begin # what is there is of no use: the agents that wait are ended by those that come
runs 'garbage'
dies h4
echo 'hark takeover of another kind' >"$shared/store/takeover"
holds 'garbage: processes are stopped' until_true 20 stopped h3
takes h1 --resume
ends_right 'garbage'
holds 'garbage: it goes on from a checkpoint' says '^hark: the job goes on from'

begin # other hosts
runs 'other hosts'
dies h4
for h in h1 h2 h3; do holds "other hosts: processes of $h are stopped" until_true 20 stopped $h; done
printf 'h[2-3] slots=2\nh1 slots=2\n' >"$shared/hosts"
takes h1 --resume
ends_right 'other hosts'
holds 'other hosts: it is said' says '^hark: the hosts are not those of the run before, in the same order, so its processes are not taken over$'
holds 'other hosts: it goes on from a checkpoint' says '^hark: the job goes on from'
printf 'h[1-3] slots=2\n' >"$shared/hosts"
clean h1 h2 h3 h4

for ((round = 1; round <= rounds; round++)); do
  host=h4
  begin $options
  opens ....
  for ((death = RANDOM % 4 + 1; death > 0; death--)); do
    sleep "0.$((RANDOM % 7 + 2))" # the moment is to be any
    kill -0 $run 2>/dev/null || break
    dies $host
    host=h$((RANDOM % 4 + 1))
    if [ $((RANDOM % 3)) = 0 ]; then takes $host --resume $options --kill $((RANDOM % 6))@$((RANDOM % 3000)); else takes $host --resume $options; fi
  done
  ends_right "round $round"
done
finish
