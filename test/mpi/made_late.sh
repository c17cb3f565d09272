#!/bin/bash
# Persistent collective calls over a restart from a checkpoint: made before hark_restarted they go on, made after it the program
# ends with a line.
# made_late.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
job=(-n 3 --interval 1ms --wait-for-checkpoints --protocol scmel --kill 1@600)
expect 0 'it goes back to checkpoint' "${job[@]}" -- "$program" 3 early
expect 1 'rank 1: MPI_Start: this persistent collective call was made after hark_restarted, .*: make it before hark_restarted$' \
  "${job[@]}" -- "$program" 3 late
finish
