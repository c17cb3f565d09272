#!/bin/bash
# A job over libfabric's sockets on two pretend hosts, and one to spare: a process dies, then a host's power is cut. The answers are
# those of runs here over another transport. fabric.sh HARK PACED_HEAT2D EXAMPLES
set -u
hark=$(readlink -f "$1") paced=$(readlink -f "$2") examples=$(readlink -f "$3")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")" # also where /tmp is
hosts_begin 3 2>err
is 'three hosts begin' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared
printf 'h1 slots=2\nh2 slots=2\nh3\n' >"$shared/hosts"
heat2d="$paced 256 2500" cg="$examples/cg"
for program in heat2d cg; do "$hark" run -n 4 -- ${!program} >right.$program 2>/dev/null; done

begin() { # program, options of hark run; its output is in out
  local program=$1; shift
  rm -rf "$HARK_HOSTS"/h*/local/hark out err
  pace "$shared/pace"
  on h1 "$hark" run -n 4 --hostfile "$shared/hosts" --spares 1 --launcher "$here/on.sh %h" --transport fabric \
    --host-store /local/hark --interval 50ms "$@" -- ${!program} >out 2>err </dev/null &
  run=$!
}
ends_right() { # what, program
  lets_go
  wait $run
  is "$1, $2: status" 0 $?
  is "$1, $2: answer" "$(cat right.$2)" "$(cat out)"
}
went_back() { grep -c "^hark: rank [0-9]* died" err; }
copied() { [ "$(ls "$HARK_HOSTS"/h*/local/hark/*/r"$1" 2>/dev/null | grep -c '^[0-9]')" -ge 3 ]; }

for program in heat2d cg; do
  begin $program --host-timeout 20s --kill 2@40
  ends_right 'a process dies' $program
  is "a process dies, $program: one" 1 "$(went_back)"
done

begin heat2d --host-timeout 2s
holds 'h2: images are on two hosts' until_true 20 goes_on copied 2
power_cut h2
ends_right 'power cut' heat2d
is 'power cut: two die' 2 "$(went_back)"
for h in h1 h3; do
  is "$h: left in /tmp, /dev/shm and of processes" '' \
    "$(on $h sh -c 'ls -d /tmp/hark-[0-9]* /dev/shm/* 2>/dev/null; ps -A -o args= | grep -E "^[^ ]*(heat2d|cg|hark) " | grep -v defunct')"
done
power_on h2

# Shared memory within a host, libfabric between hosts.
begin cg --host-timeout 20s --kill 2@40 --transport mixed --option between=fabric
ends_right 'between=fabric: a process dies' cg
is 'between=fabric: one dies' 1 "$(went_back)"
begin heat2d --host-timeout 2s --transport mixed --option between=fabric
holds 'between=fabric: images are on two hosts' until_true 20 goes_on copied 2
power_cut h2
ends_right 'between=fabric: power cut' heat2d
is 'between=fabric: two die' 2 "$(went_back)"
power_on h2

# Two hosts that do not reach each other: a line says so, and the run goes on where it stood when they do.
printf 'h1 slots=2\nh2 slots=1\nh3 slots=1\n' >"$shared/hosts"
wall h2 h3
begin heat2d --host-timeout 20s --spares 0
holds 'h2 does not reach h3: it is said' until_true 40 grep -qE 'rank [23] \(host h[23]\) has not reached rank [23] \(host h[23]\) for [0-9]* s: tcp;ofi_rxm 10.104.0.[23] port [0-9]*: no connection' err
wall_down h2 h3
ends_right 'h2 reaches h3 again' heat2d
is 'h2 reaches h3 again: nobody died' 0 "$(went_back)"
hosts_end
finish
