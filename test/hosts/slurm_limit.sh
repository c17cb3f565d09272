#!/bin/bash
# The script of docs/hosts.md in Slurm, to its time limit: before it a signal comes, a checkpoint is taken, the job ends with status 75,
# queues again, and goes on from there, until the answer is there. Some minutes: Slurm's shortest limit is one. slurm_limit.sh HARK EXAMPLES
set -u
hark=$(readlink -f "$1") examples=$(readlink -f "$2")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/slurm.sh"
hosts_enter "$@"
slurm_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")"
hosts_begin 5 2>err
SLURM_EXPIRE=10 slurm_begin each 2>>err
is 'a node each host: begins' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared

# As many steps as take at least 80 s here, so that one minute is not enough: what takes a thousand, on one host, is what it takes at least.
begin=${EPOCHREALTIME/[.,]/}
"$hark" run -n 6 -- "$examples/heat2d" 256 2000 >/dev/null 2>&1
steps=$((2000 * 80000000 / (${EPOCHREALTIME/[.,]/} - begin)))
"$hark" run -n 6 --protocol none -- "$examples/heat2d" 256 $steps >right 2>/dev/null &
sed -n '/^```bash$/,/^```$/p' "$here/../../docs/hosts.md" | sed '/^```/d' >"$shared/documented"
holds 'the script is in docs/hosts.md' grep -q '^#SBATCH .*--requeue' "$shared/documented"
# For the nodes and the programs that there are; the signal comes half a minute before it is asked for.
sed -e 's/--nodes=5/--nodes=4 --time=1/' -e 's/@120/@10/' -e 's/-n 8/-n 6 --interval 1s --verbose/' -e "s|^hark run|$hark run|" -e "s|\$HOME/job|$shared/store|" \
  -e "s|\./program|$examples/heat2d 256 $steps|" "$shared/documented" >"$shared/script"
on h1 sbatch --quiet -J limit -o "$shared/out" -e "$shared/err" "$shared/script" >err 2>&1
is 'sbatch' 0 $?
submitted=$SECONDS
state() { on h1 squeue -h -n limit -o '%T %r %S' 2>/dev/null; }
times() { grep -c 'the checkpoint that SIGUSR1 asked for is taken' "$shared/err" 2>/dev/null; }
stopped() { [ "$(times)" -ge 1 ]; }
over() { [ -z "$(state)" ]; }
holds 'the signal comes, and a checkpoint is taken' until_true 90 stopped
cp "$shared/err" err
queued() { state | grep -q '^PENDING'; }
holds 'it is queued again' until_true 60 queued
echo "queued again: $(state)"
running() { state | grep -q '^RUNNING'; }
begin=$SECONDS
holds 'it runs again' until_true 300 running
echo "it runs again after $((SECONDS - begin)) s"
holds 'it ends' until_true 900 over
cp "$shared/err" err
wait
is 'the answer' "$(cat right)" "$(cat "$shared/out")"
echo "checkpoints by the signal, with status 75: $(times); all of it took $((SECONDS - submitted)) s"
restarts=$(on h1 scontrol show job "$(on h1 scontrol show jobs | sed -n 's/^JobId=\([0-9]*\) JobName=limit$/\1/p')" | grep -oE 'Restarts=[0-9]*|JobState=[A-Z]*|ExitCode=[0-9:]*' | paste -sd' ')
is 'the job, as Slurm says it' "JobState=COMPLETED Restarts=$(times) ExitCode=0:0" "$restarts"
[ -z "${VERBOSE:-}" ] || cat "$shared/err"
slurm_end
hosts_end
finish
