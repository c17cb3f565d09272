#!/bin/bash
# Slurm in pretend hosts (slurm.sh): jobs run, a node loses its power and comes back, and nothing stays.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/slurm.sh"
hosts_enter "$@"
slurm_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN=$here
count() { on "$1" sh -c 'cat /proc/[0-9]*/comm 2>/dev/null | grep -cxE "$0"' "$2" 2>/dev/null; } # processes of a host by their name

hosts_begin 5 2>err
slurm_begin each 2>>err
is 'a node each host: begins' 0 $?
[ $failed = 0 ] || finish || exit
is 'a node each host' 'idle idle idle idle' "$(slurm_states)"
is 'srun on 4 nodes' 'h2 h3 h4 h5' "$(on h1 srun -N4 hostname | sort | paste -sd' ')"
is 'srun: status' 3 "$(on h1 srun -N1 sh -c 'exit 3' 2>/dev/null; echo $?)"
shared=$HARK_HOSTS/shared
on h1 sbatch --quiet -w h2,h3 -o "$shared/out" --wrap 'srun hostname' >said 2>&1
is 'sbatch: status' 0 $?
of_two() { [ "$(sort "$shared/out" 2>/dev/null | paste -sd' ')" = 'h2 h3' ]; }
holds 'sbatch' until_true 20 of_two
is 'names' 'h2 h3 h5' "$(on h1 scontrol show hostnames 'h[2-3,5]' | paste -sd' ')"

# A node without power: the steps of the others go on, as it was asked for. Slurm would notice after SlurmdTimeout; it is told.
on h1 srun --no-kill -K0 -w h2,h3,h4 sh -c "echo up >>$shared/up; exec sleep 1000" >said 2>&1 &
step=$!
three() { [ "$(grep -c up "$shared/up" 2>/dev/null)" = 3 ]; }
holds 'a step on 3 nodes' until_true 20 three
power_cut h3
on h1 scontrol update NodeName=h3 State=down Reason=power
holds 'a node is down, two go on' until_true 20 slurm_are 'allocated down allocated idle'
is 'who goes on' '1 1' "$(count h2 sleep) $(count h4 sleep)"
holds 'srun goes on' kill -0 $step
on h1 scancel --name sh
wait $step
holds 'cancelled' until_true 20 slurm_are 'idle down idle idle'
power_on h3
slurm_node_on h3
holds 'the node comes back' until_true 20 slurm_are 'idle idle idle idle'
is 'srun on 4 nodes again' 'h2 h3 h4 h5' "$(on h1 srun -N4 hostname | sort | paste -sd' ')"

on h1 srun -w h2,h3 sleep 1000 >said 2>&1 &
two() { [ "$(count h2 sleep) $(count h3 sleep)" = '1 1' ]; }
holds 'a step that will be ended' until_true 20 two 
slurm_end
is 'the end: no process' '0 0 0 0 0' "$(for h in h1 h2 h3 h4 h5; do count $h 'slurm.*|munged|sleep'; done | paste -sd' ')"
is 'the end: no file' '' "$(ls -d "$shared"/slurm* 2>/dev/null)$(on h2 sh -c 'ls -d /local/slurm* /run/slurm* /run/munge 2>/dev/null')"
wait

slurm_begin 4 2>err
is 'all nodes on a host: begins' 0 $?
is 'all nodes on a host' 'h1 h1 h1 h1' "$(on h1 srun -N4 hostname | sort | paste -sd' ')"
is 'nodes by name' 'n1 n2 n3 n4' "$(on h1 srun -N4 sh -c 'echo $SLURMD_NODENAME' | sort | paste -sd' ')"
hosts_end
unset SLURM_CONF

# SIGKILL of the script while a job runs.
cat >victim.sh <<'END'
. "$1/slurm.sh"
hosts_begin 1 "$2" && slurm_begin 2 || exit
on h1 srun -N2 sleep 1000 &
both() { [ "$(on h1 sh -c 'cat /proc/[0-9]*/comm | grep -cx sleep')" = 2 ]; }
until_true 20 both || exit
echo ready >ready
read -r _ <never
END
mkfifo never
bash victim.sh "$here" "$work/victim" >said 2>&1 &
victim=$!
holds 'a job runs' until_true 20 test -e ready
holds 'there is something' [ "$(hosts_traces "$work/victim" | wc -l)" -gt 10 ]
kill -KILL $victim
wait $victim 2>wait.err
gone() { [ -z "$(hosts_traces "$work/victim")" ]; }
holds 'SIGKILL: nothing is left' until_true 20 gone
gone || hosts_traces "$work/victim"
finish
