#!/bin/bash
# In a pretend host: ends all of Slurm there, with the tasks that it has started, and removes what it has written.
set -u
shopt -s nullglob
while :; do
  left=''
  for process in /proc/[0-9]*; do
    read -r name 2>/dev/null <"$process/comm" || continue
    case $name in
    slurmctld | slurmd | slurmstepd | munged | srun | sbatch | salloc) ;;
    *) continue ;;
    esac
    tasks=()
    # shellcheck disable=SC2207 # numbers
    [ "$name" != slurmstepd ] || tasks=($(cat "$process"/task/*/children 2>/dev/null))
    kill -KILL "${tasks[@]}" "${process#/proc/}" 2>/dev/null
    left=1
  done
  [ -n "$left" ] || break
  sleep 0.01
done
rm -rf /run/munge /run/slurm*.pid /local/slurm*
