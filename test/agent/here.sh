#!/bin/bash
# Agents of several hosts that are all this machine: connections that are cut, agents that are stopped, a host that dies before all are
# there, many hosts, a slow disk. here.sh HARK EXAMPLES SLOW_DISK
hark=$(readlink -f "$1") examples=$(readlink -f "$2") slow_disk=$(readlink -f "$3")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../shell.sh"

run() { # hosts, processes, launcher, program and its words; options in $options
  local hosts=$1 ranks=$2 launcher=$3; shift 3
  rm -rf store out err
  echo "h[001-$(printf %03d "$hosts")]" >hosts
  "$hark" run -n "$ranks" --hostfile hosts --store store --launcher "$launcher" --interval 20ms $options -- "$@" >out 2>err </dev/null
}
agents() { pgrep -P "$1" -f ' agent$'; }
says() { grep -q -- "$1" err; }
nobody_died() { ! grep -q 'died' err; }

"$hark" run -n 4 -- "$examples/heat2d" 128 600 >right 2>/dev/null
is 'the answer here' 1 "$(grep -c digest right)"

# Other launchers, and their files of hosts.
printf 'a slots=2 max_slots=4\nb:2\n' >machines
hosts=(--hosts a:2,b:2)
for launcher in 'mpiexec.hydra -n 1 env X=%h' 'mpiexec.openmpi --allow-run-as-root -n 1 env X=%h'; do
  command -v "${launcher%% *}" >/dev/null || { echo "no ${launcher%% *}: agents are not started by it"; continue; }
  "$hark" run "${hosts[@]}" -n 4 --store "by-${launcher%% *}" --launcher "$launcher" --interval 20ms --kill 1@50 -- \
    "$examples/heat2d" 128 600 >out 2>err </dev/null
  is "agents started by ${launcher%% *}: status" 0 $?
  is "agents started by ${launcher%% *}: answer" "$(cat right)" "$(cat out)"
  holds "agents started by ${launcher%% *}: one died" says 'rank 1 died'
  hosts=(--hostfile machines)
done

# All launchers fail at once, by chance in the same turn of the loop: it ends.
for i in $(seq 40); do
  timeout 30 "$hark" run -n 2 --hosts a,b --launcher 'false %h' --store "failed$i" -- true 2>err
  r=$?
  [ $r = 2 ] || break
done
is 'launchers fail at once: status' 2 $r

# Wherever connections are cut, nothing that was said is lost: not what is printed, and no process.
for seed in 1 2 3; do
  options="--protocol hydee --host-timeout 20s"
  run 4 4 "python3 $here/cutting.py %h $seed 600 20000" "$examples/heat2d" 128 600
  is "connections are cut, seed $seed: status" 0 $?
  is "connections are cut, seed $seed: answer" "$(cat right)" "$(cat out)"
  holds "connections are cut, seed $seed: nobody died" nobody_died
done
cat >talk <<'END'
#!/bin/sh
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); echo "line $i of what is printed"; done
exec "$@"
END
chmod +x talk
options="--protocol hydee --host-timeout 20s"
run 2 2 "python3 $here/cutting.py %h 9 40000 90000" ./talk "$examples/heat2d" 128 60
is 'cut while much is printed: status' 0 $?
for i in 1 2; do seq -f 'line %.0f of what is printed' 20000; done | sort >lines
grep '^line' out | sort >printed
holds 'cut while much is printed: each line once' cmp lines printed

# With --trace the parts come from all hosts, over connections that are cut too; each takes more than one message of 256 KiB.
options="--protocol hydee --host-timeout 20s --trace trace"
run 3 4 "python3 $here/cutting.py %h 4 400000 700000" "$examples/heat2d" 128 600
is 'a trace over cut connections: status' 0 $?
holds 'a trace over cut connections: it is whole' "$hark" trace trace --svg picture

# A host that dies before the last agent has come up: its processes begin elsewhere.
cat >late <<'END'
#!/bin/sh
if [ "$1" = h004 ]; then until [ -e come ]; do sleep 0.05; done; fi
shift
exec "$@"
END
chmod +x late
options="--protocol hydee --host-timeout 1s"
run 4 4 "$work/late %h" "$examples/heat2d" 128 600 &
while ! says 'died' 2>/dev/null; do
  kill -0 $! 2>/dev/null || break
  for supervisor in $(pgrep -P $!); do
    [ "$(ls -d /tmp/hark-"$supervisor"-*-h[0-2] 2>/dev/null | wc -l)" = 3 ] && kill -STOP "$(agents "$supervisor" | head -n 1)"
  done
  sleep 0.1
done
touch come
wait $!
is 'a host dies at the start: status' 0 $?
is 'a host dies at the start: answer' "$(cat right)" "$(cat out)"
holds 'a host dies at the start: it is said' says '^hark: host h00[1-3] died: nothing was heard of it'

# All hosts at once: none is left to go on, and the run ends.
options="--protocol hydee --host-timeout 1s"
steps=1$$000 # by which they are found
began() { [ "$(pgrep -f "heat2d 128 $steps\$" | wc -l)" -ge 5 ]; } # hark run too
run 3 4 'env X=%h' "$examples/heat2d" 128 "$steps" &
until_true 30 began
kill -STOP $(agents "$(pgrep -P $!)")
wait $!
is 'all hosts die: status' 1 $?
holds 'all hosts die: it is said' says 'no host is left; the job can be resumed from store'

gone() { ! began && ! pgrep -f "heat2d 128 $steps\$" >/dev/null; }
holds 'all hosts die: nothing is left' until_true 30 gone

# hark run dies, and the job goes on here, without hosts: not before the processes of the run before can not live any more.
"$hark" run -n 3 -- "$examples/heat2d" 128 9000 >long 2>/dev/null
options="--protocol hydee --host-timeout 1s --supervisor-timeout 60s"
rm -rf store
run 3 3 'setsid -f env X=%h' "$examples/heat2d" 128 9000 &
holds "without hosts: it has checkpoints" until_true 30 compgen -G 'store/r2/[0-9]*'
kill -KILL "$(pgrep -P $! -x hark)"
wait $!
"$hark" run -n 3 --clusters 3 --store store --resume -- "$examples/heat2d" 128 9000 >out 2>alone </dev/null
is 'without hosts: status' 0 $?
is 'without hosts: answer' "$(cat long)" "$(cat out)"
holds 'without hosts: it waits' grep 'its processes may live for .* s more at the longest, then this one begins' alone
holds 'without hosts: it goes on from checkpoints' grep 'the job goes on from checkpoint' alone

# At the end a disk is longer busy with what is removed than a host may be silent: no host dies of that.
options="--protocol hydee --host-timeout 1s"
run 2 2 "env SLOW_DISK_MS=2500 LD_PRELOAD=$slow_disk X=%h" "$examples/heat2d" 128 600
is 'a slow disk at the end: status' 0 $?
is 'a slow disk at the end: what is said' '' "$(cat err)"

options="--protocol hydee --spares 58 --host-timeout 20s"
run 60 4 'env X=%h' "$examples/heat2d" 128 600
is 'sixty hosts: status' 0 $?
is 'sixty hosts: answer' "$(cat right)" "$(cat out)"
finish
