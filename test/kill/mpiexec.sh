#!/bin/bash
# hark-mpiexec takes the options of mpiexec.
# mpiexec.sh HARK OBEDIENT
hark=$(readlink -f "$1") obedient=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
ln -s "$hark" hark-mpiexec
tested=("$work/hark-mpiexec") words='hark-mpiexec'
export PLACE=$work

for n in '-n 3' '-np 3' '-c 3' '--np 3' '--n 3'; do
  expect 0 '' $n "$obedient" 0:send=2.7 2:recv=0.7
  expect 1 'rank 3' $n "$obedient" 0:send=3.7 : -n 1 "$obedient" exit=1
done
expect 0 '' "$obedient" 0:send=0.7 0:recv=0.7
is 'one process, if it does not say' '' "$("$work/hark-mpiexec" "$obedient" send=1.7 2>&1 | grep 'rank 1')"
expect 0 'rank 1 died (SIGKILL)' --kill=1@1 --protocol=scmel -n 2 "$obedient" 0:send=1.7 1:recv=0.7 0:send=1.8 1:recv=0.8

mkdir sub
cat >where <<'END'
#!/bin/sh
echo "$PWD $A $B"
END
chmod +x where
shown() { # what, arguments...
  local what=$1; shift
  ./hark-mpiexec "$@" >out 2>err
  is "$*" "$what" "$(sort out | paste -sd';')"
}
shown "$work/sub b c" -n 1 -wdir sub -env A b -genv B c "$work/where"
shown "$work b =" -n 1 -x A=b -genv B = -wdir . ./where
A=d shown "$work d c" -x A -x B=c -n 1 ./where
shown "[0] $work  " -l -n 1 ./where
shown "[0] $work  " --tag-output -n 1 ./where
# A variable of all programs, and one of a single program, which holds.
for part in 0 1; do
  say="echo \$G \$O >of.\$HARK_TEST; [ \$HARK_TEST = $part ] || sleep 60"
  rm -f of.*
  expect 1 '' -genv G g -env HARK_TEST 0 -env O o -n 1 sh -c "$say" : -n 1 -env HARK_TEST 1 -env G own sh -c "$say"
  is "program $part" "$([ $part = 0 ] && echo g o || echo own)" "$(cat of.$part | sed 's/ $//')"
done

expect 0 '^hark-mpiexec: ignored: --oversubscribe --allow-run-as-root --bind-to core -mca btl self$' \
  --oversubscribe --allow-run-as-root --bind-to core -n 1 -mca btl self "$obedient"
expect 0 '' -host localhost -n 1 "$obedient"
is 'a host that is this one is no news' '' "$(./hark-mpiexec -host localhost -n 1 "$obedient" 2>&1)"
# Hosts go to hark run.
printf 'a:1\nb:1\n' >machines
for option in '-hosts a:1,b:1' '-host a:1,b:1' '-H a:1,b:1' '--hostfile machines' '-machinefile machines' '-f machines'; do
  expect 2 '^hark run: -n: expected at most 2 processes, as many as the hosts have slots, found 3' $option --store=far -n 3 "$obedient"
done
expect 2 '^hark run: several hosts need --host-store DIR' -hosts a:1,b:1 -n 2 "$obedient"
expect 2 '^hark run: expected one of --hosts and --hostfile, found both' -hosts a -f machines -n 2 "$obedient"
expect 0 '' -hosts 'h[1-2]:1' --store=far '--launcher=env HOST=%h' -n 2 "$obedient"
expect 2 '^hark: --interface: expected a name or address of an interface of this host, found "none-such"' -iface none-such -hosts a:1,b:1 --store=far2 '--launcher=env HOST=%h' -n 2 "$obedient"
refused '-foo: no such option; one of hark run is taken as --NAME=VALUE' -foo -n 1 "$obedient"
refused '-n: it needs a value' -n
refused '-genv: it needs a value' -genv A
expect 2 '^hark run: expected a program' -n 2
expect 2 '^hark run: expected a program'
expect 2 '^hark run: -n: expected 1 to 65536 processes, found "x"' -n x true
expect 2 'without mpirun (or hark-mpiexec' -n 2 mpirun true
expect 0 '^usage: hark-mpiexec' --help
expect 0 '' -n 1 -- "$obedient"
finish
