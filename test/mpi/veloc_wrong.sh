#!/bin/bash
# Faults of programs that were prepared for VELOC: each is a line, and the job ends. veloc_wrong.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2"); shift 2
. "$(dirname "$0")/../shell.sh"

wrong() { # exit status of a process, what is said, fault, options...
  local status=$1 said=$2 fault=$3; shift 3
  "$hark" run -n 2 "$@" -- "$program" 2 "$fault" >out 2>err </dev/null
  is "$fault: exit status of the job" 1 $?
  [ "$status" = none ] || holds "$fault: exit status" grep -q "^hark: rank [01] exited with status $status$" err
  if grep -qE "^hark: rank [01]:? $said" err; then good; else bad "$fault: it does not say \"$said\""; fi
}
call() { wrong 3 "$@"; }
again() { wrong "$@" --interval 1ms --wait-for-checkpoints --kill 1@50 --protocol coordinated; }

call 'VELOC_Checkpoint: call VELOC_Init first$' no-init
call 'VELOC_Checkpoint: checkpoint state: none of the 0 protected regions belongs to it: call VELOC_Mem_protect first$' nothing
call 'VELOC_Mem_protect: region 1: its address is NULL$' null
call 'VELOC_Route_file: a.dat: call it between VELOC_Checkpoint_begin and _end, or VELOC_Restart_begin and _end$' file
call 'VELOC_Checkpoint: the version is -1, and must not be negative$' version
call 'VELOC_Checkpoint: the name of a checkpoint has 1 to 1023 letters$' name
call 'VELOC_Checkpoint_mem: call VELOC_Checkpoint_begin first$' begin
call 'VELOC_Checkpoint: a checkpoint is not ended: call VELOC_Checkpoint_end first$' nested
call 'VELOC_Checkpoint_selective: the mode is 7, and may be ALL, SOME or REST: 0, 1 or 2$' mode
call 'VELOC_Checkpoint_end: call VELOC_Checkpoint_begin first$' end
wrong 1 'VELOC_Checkpoint_end: checkpoint state, version 1, failed in the program: the other processes can not have it without this one, so the job ends$' failed
call 'VELOC_Restart_begin: this process does not start again from a checkpoint$' restart

again 3 'VELOC_Restart_begin: there is no checkpoint state, version [0-9]+: this process starts again from state, version [0-9]+$' other-version
again 3 'VELOC_Recover_mem: region 3 is protected with 36 bytes, and the checkpoint has 40$' small
again 3 'VELOC_Recover_mem: region 3 of checkpoint state is not protected: call VELOC_Mem_protect first$' unprotected
again 3 'VELOC_Route_file: a.dat: checkpoint state, version [0-9]+, has no file$' no-file
# It has not taken its memory back: it must not go on.
for fault in ignored between; do
  again none 'begins its program again, and does not communicate before .* it must take its memory back at the same place .*VELOC_Restart' $fault
done
finish
