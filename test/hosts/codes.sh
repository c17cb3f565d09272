#!/bin/bash
# Checkpoints that a code over sets of hosts protects, on pretend hosts: as many hosts lose power at once as it survives, one after the
# other, and what the others have is damaged.
# codes.sh HARK PACED_HEAT2D
set -u
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")" # also where /tmp is
hosts_begin 5 2>err
is 'five hosts begin' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared steps=2500
"$hark" run -n 4 -- "$heat2d" 256 $steps >right 2>/dev/null
is 'the answer here' 1 "$(grep -c digest right)"

begin() { # lines of the hostfile; options: a run of four processes begins on h1; its output is in out
  local h
  for h in h1 h2 h3 h4 h5; do power_on $h; done
  rm -rf "$shared/store" "$HARK_HOSTS"/h*/local/hark out err
  pace "$shared/pace"
  printf "$1" >"$shared/hosts"; shift
  on h1 "$hark" run -n 4 --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --host-store /local/hark \
    --interval 50ms --host-timeout 1s "$@" -- "$heat2d" 256 $steps >out 2>err </dev/null &
  run=$!
}
ends_right() { # what: the run ends with the right answer
  lets_go
  wait $run
  is "$1: status" 0 $?
  is "$1: answer" "$(cat right)" "$(cat out)"
}
says() { grep -q -- "$1" err; }
newest() { # HOST: the number of the newest generation that is whole there
  ls -d "$HARK_HOSTS/$1"/local/hark/*/codes/[0-9]*[0-9a-f]/table 2>/dev/null | sed 's,.*/codes/\([0-9]*\)-.*,\1,' | sort -n | tail -n 1 | grep . || echo 0
}
past() { [ "$(newest "$1")" -gt "$2" ]; }
decided() { # HOST RANK: a second generation is there, so a checkpoint of the rank was decided with an earlier one
  [ "$(newest "$1")" -gt "${3:-1}" ] && ls "$HARK_HOSTS/$1"/local/hark/*/codes/[0-9]*/r"$2"/[0-9]* >/dev/null 2>&1
}
a_third() { # of a generation that is on h2 and h3: a parity is a third of an image, up to a row of units
  local n image parity
  n=$(newest h3)
  image=$(cat "$HARK_HOSTS"/h3/local/hark/*/codes/"$n"-*/r2/* 2>/dev/null | wc -c)
  parity=$(cat "$HARK_HOSTS"/h2/local/hark/*/codes/"$n"-*/parity* 2>/dev/null | wc -c)
  [ "$image" -gt 0 ] && [ $((parity * 3)) -ge "$image" ] && [ $((parity * 3)) -lt $((image + 3 * 4096)) ]
}
spoil() { # HOST NAME: these files of all generations there are damaged
  local file
  for file in "$HARK_HOSTS/$1"/local/hark/*/codes/[0-9]*/$2; do printf spoilt | dd of="$file" bs=1 seek=200 conv=notrunc 2>/dev/null; done
}
# All go back, and what the dead host had is computed.
begin 'h[1-4] slots=1\n' --host-code 3+1 --protocol coordinated
holds 'a host dies: it runs' until_true 20 goes_on decided h3 2
holds 'a host dies: parity is a third of an image' until_true 10 goes_on a_third
power_cut h3
ends_right 'a host dies'
holds 'a host dies: its image is rebuilt' says 'host h[124]: checkpoint [0-9]* of rank 2 was rebuilt from its code'
holds 'a host dies: three are left' says '3 hosts live: checkpoints are coded 2+1 from now on, not 3+1'

# Each cluster for itself; a spare host takes the place of the first that dies, and is in the set then.
begin 'h[1-4] slots=1\nh5\n' --host-code 3+1 --spares 1
holds 'one after the other: it runs' until_true 20 goes_on decided h3 2 4
power_cut h3
holds 'one after the other: the spare one is in the set' until_true 20 goes_on decided h5 2
before=$(newest h5)
holds 'one after the other: and again' until_true 20 goes_on past h5 $((before + 1))
power_cut h5
ends_right 'one after the other'
is 'one after the other: two clusters went back' 2 "$(grep -c '^hark: recovered in .*: rank 2 went back' err)"

if [ -n "$("$hark" run --host-code 3+2 -- true 2>&1 | grep 'without isa-l')" ]; then
  echo '# without isa-l no code survives two hosts'
else
  begin 'h[1-2] slots=1\nh3 slots=2\nh[4-5]\n' --host-code 3+2 --spares 2
  holds 'two at once: it runs' until_true 20 goes_on decided h3 3 4
  power_cut h2; power_cut h3
  ends_right 'two at once'
  is 'two at once: three images are rebuilt' 3 "$(grep -c 'was rebuilt from its code' err)"

  begin 'h[1-4] slots=1\nh5\n' --host-code 3+2 --spares 1
  holds 'a damaged part: it runs' until_true 20 goes_on decided h3 2 4
  power_cut h3 # from then on no other generation is made until its death is found out
  spoil h2 'r1/*'
  ends_right 'a damaged part'
  holds 'a damaged part: the damage is said' says 'host h2: image .*r1/[0-9]*: .*; it is not used'
  holds 'a damaged part: the others do' says 'checkpoint [0-9]* of rank 2 was rebuilt'
fi

# A code that survives one host, and a host dies while what another one has is damaged.
begin 'h[1-4] slots=1\n' --host-code 3+1 --protocol coordinated
holds 'too much is lost: it runs' until_true 20 goes_on decided h3 2 4
power_cut h3
spoil h2 'parity0'
lets_go
wait $run
is 'too much is lost: status' 1 $?
holds 'too much is lost: the damage is said' says 'host h2: .*/parity0: its checksum is wrong: it is damaged; it is not used'
holds 'too much is lost: it is said' says 'rank [0-9] can not go back, .* lies on no host that lives'
is 'too much is lost: no answer' '' "$(cat out)"

# The host of hark run dies, with another one, whose disk is lost: resumed, from what the others have.
begin 'h[1-4] slots=1\nh5\n' --host-code 3+1 --spares 1 --store "$shared/store" --protocol coordinated
holds 'resumed: it runs' until_true 20 goes_on decided h3 2 2
on h1 sh -c 'kill -KILL $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p")'
wait $run
all_gone() { [ -z "$(for h in h1 h2 h3 h4 h5; do on $h sh -c 'ls -d /tmp/hark-*-h[0-9]* 2>/dev/null'; done)" ]; }
holds 'resumed: the agents of the run before end' until_true 20 all_gone # one that lives writes to the disk that is lost
rm -rf "$HARK_HOSTS"/h3/local/hark
lets_go
on h1 "$hark" run -n 4 --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --resume --host-store /local/hark --store "$shared/store" \
  --interval 50ms --host-timeout 1s --host-code 3+1 --spares 1 --protocol coordinated -- "$heat2d" 256 $steps >out 2>err </dev/null
status=$?
is 'resumed' "0 $(cat right)" "$status $(cat out)"
holds 'resumed: rebuilt' says 'checkpoint [0-9]* of rank 2 was rebuilt from its code'
is 'nothing is left of it' '' "$(ls -d "$HARK_HOSTS"/h*/local/hark/*/codes 2>/dev/null)"

# The run is to stop, and a host dies while its image goes to the shared store; nobody takes checkpoints by himself.
for h in h1 h2 h3 h4 h5; do power_on $h; done
rm -rf "$shared/store" "$HARK_HOSTS"/h*/local/hark out err
printf 'h[1-4] slots=1\nh5\n' >"$shared/hosts"
on h1 "$hark" run -n 4 --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --host-store /local/hark --store "$shared/store" --spares 1 \
  --host-code 3+1 --store-interval 1h --interval 0 --checkpoint-on USR1 --then-stop --host-timeout 1s --verbose \
  -- "$heat2d" 2000 3000 >out 2>err </dev/null &
run=$!
all_begin() { [ "$(grep -c 'rank [0-3] is process' err)" = 4 ]; }
holds 'stopped: it runs' until_true 20 all_begin
on h1 sh -c 'kill -USR1 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p" | sort -n | head -n 1)'
holds 'stopped: its checkpoint is taken' until_true 40 says 'is taken; the run stops'
power_cut h3
wait $run
is 'stopped: status' 75 $?
is 'stopped: the last checkpoint is in the shared store' 1 "$(ls "$shared/store/flushed/r0" 2>/dev/null | grep -c '^[0-9]')"

# Two hosts of a set whose processes do not talk to each other do not reach each other: the program goes on, without checkpoints.
steps=1000000
begin 'h[1-4] slots=1\n' --host-code 3+1
holds 'apart: it runs' until_true 20 goes_on decided h3 2
wall h2 h3
lets_go
holds 'apart: it is said' until_true 40 says 'host h[23]: cannot keep a code: host h[23] is not reached from here, or does not answer; checkpoints wait for it'
wall_down h2 h3
before=$(newest h3)
holds 'apart: not any more' until_true 40 past h3 $((before + 2))
on h1 sh -c 'kill -KILL $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark run .*/\1/p")'
wait $run

tested=("$hark" run) words='hark run'
printf 'h1\nh2\nh3\n' >three
for text in 3 3+ +1 0+1 3+0 a+1 3+1+1 20+13 ' 3+1' 3+-1; do
  refused "--host-code: expected N+M, such as 3+1, with at most 32 hosts in all, found \"$text\"" \
    -n 2 --hostfile three --host-store /x --host-code "$text" -- true
done
refused '--host-code: expected at most the 3 hosts, found 3+1' -n 2 --hostfile three --host-store /x --host-code 3+1 -- true
refused '--host-code needs --host-store DIR, where each host has checkpoints' -n 2 --hostfile three --store s --host-code 2+1 -- true
refused '--host-code cannot be used with --host-copies 2: a checkpoint is protected by copies, or by a code' \
  -n 2 --hostfile three --host-store /x --host-code 2+1 --host-copies 2 -- true
refused '--host-code cannot be used with --protocol sendet: its processes may go back to any of their checkpoints, and a code has the last ones' \
  -n 2 --hostfile three --host-store /x --host-code 2+1 --protocol sendet -- true
finish
