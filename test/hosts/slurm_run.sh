#!/bin/bash
# `hark run` in a Slurm allocation of several nodes: it finds them, and starts its agents by srun. slurm_run.sh HARK PACED_HEAT2D
set -u
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/slurm.sh"
hosts_enter "$@"
slurm_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")"
hosts_begin 4 2>err
slurm_begin each 2>>err
is 'a node each host: begins' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared
"$hark" run -n 6 -- "$heat2d" 256 2500 >right 2>/dev/null
is 'the answer here' 1 "$(grep -c digest right)"

submit() { # name, options of sbatch, `--`, options of hark run: a job of three nodes with two tasks each
  local name=$1 options=(); shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  { echo '#!/bin/bash'
    echo "exec $hark run -n 6 --host-store /local/hark --store $shared/$name.store --interval 50ms --host-timeout 2s $* -- $heat2d 256 ${STEPS:-2500}"
  } >"$shared/$name.sh"
  on h1 sbatch --quiet -N3 --ntasks-per-node=2 -J "$name" -o "$shared/$name.out" -e "$shared/$name.err" "${options[@]}" "$shared/$name.sh"
}
over() { [ -z "$(on h1 squeue -h -n "$1")" ]; }
images() { [ "$(ls "$HARK_HOSTS"/h*/local/hark/*/r"$1" 2>/dev/null | grep -c '^[0-9]')" -ge "$2" ]; }
says() { grep -q -- "$2" "$shared/$1.err"; }
left() { on "$1" sh -c 'ls -d /tmp/hark-[0-9]* /dev/shm/hark-* 2>/dev/null; ps -A -o args= | grep -E "^[^ ]*(heat2d|hark) "'; }

submit plain --
holds 'a job: it ends' until_true 60 over plain
is 'a job: the answer' "$(cat right)" "$(cat "$shared/plain.out")"
nothing_left() { [ -z "$(left h2; left h3; left h4)" ]; }
holds 'a job: nothing is left' until_true 20 nothing_left

# `hark run` dies, and not its script: the agents that srun has started wait for who takes over.
cat >"$shared/taken.sh" <<END
#!/bin/bash
go() { exec $hark run -n 6 --store $shared/taken.store --interval 50ms --host-timeout 2s --supervisor-timeout 60s "\$@" -- $heat2d 256 2500; }
go & pid=\$!
until ls $shared/taken.store/r5 2>/dev/null | grep -q '^[2-9]'; do sleep 0.02; printf . >>$shared/pace; done
kill -9 \$pid; wait \$pid 2>/dev/null
go --resume & pid=\$!
while kill -0 \$pid && ! grep -q 'go on with this one' $shared/taken.err; do sleep 0.02; done
head -c 1000000 /dev/zero >>$shared/pace
wait \$pid
END
pace "$shared/pace"
on h1 sbatch --quiet -N3 --ntasks-per-node=2 -J taken -o "$shared/taken.out" -e "$shared/taken.err" "$shared/taken.sh"
holds 'taken over: the job ends' until_true 90 over taken
is 'taken over: the answer' "$(cat right)" "$(cat "$shared/taken.out")"
holds 'taken over: nobody goes back' says taken '^hark: ranks 0-5 of the run before live, and go on with this one$'
holds 'taken over: nothing is left' until_true 20 nothing_left

# Without --no-kill Slurm itself ends a job that loses a node.
pace "$shared/pace"
submit kept --no-kill --
holds 'no-kill: images are on two hosts' until_true 60 goes_on images 4 2
power_cut h4
lets_go
on h1 scontrol update NodeName=h4 State=down Reason=power 2>/dev/null
holds 'no-kill: the job ends' until_true 90 over kept
is 'no-kill: the answer' "$(cat right)" "$(cat "$shared/kept.out")"
holds 'no-kill: the node is said to be dead' says kept '^hark: host h4 died'
power_on h4
slurm_node_on h4

STEPS=100000 submit ended -- --checkpoint-on USR1 --then-stop # as before a time limit: a checkpoint, and the end
holds 'a signal: it runs' until_true 60 images 2 2
on h1 scancel --batch --signal=USR1 --name ended
holds 'a signal: the job ends' until_true 60 over ended
holds 'a signal: a checkpoint is taken' says ended 'the checkpoint that SIGUSR1 asked for is taken'
holds 'a signal: nothing is left' until_true 20 nothing_left
STEPS=100000 submit again -- --resume # goes on with that; what it is to end with takes too long here
cp -r "$shared/ended.store" "$shared/again.store" 2>/dev/null
holds 'cancelled: it runs' until_true 60 images 2 2
on h1 scancel --name again
holds 'cancelled: the job ends' until_true 60 over again
holds 'cancelled: nothing is left' until_true 20 nothing_left
slurm_end
hosts_end
finish
