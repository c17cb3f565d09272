#!/bin/bash
# Objects of MPI over a restart from a checkpoint: each is what it was, or the program ends with a line when it uses it.
# restored.sh HARK PROGRAM FLAVOUR
hark=$(readlink -f "$1") program=$(readlink -f "$2") flavour=$3
. "$(dirname "$0")/../shell.sh"
# Its objects are there until the end, as many programs leave them: that is no leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
tested=("$hark" run) words='hark run'

over() { # exit status, what is said, WHAT, options
  local status=$1 said=$2 what=$3; shift 3
  expect "$status" "$said" -n 3 --interval 1ms --wait-for-checkpoints --stall-limit 20s --kill 1@110 "$@" -- "$program" 3 "$what"
  [ "$status" = 0 ] || holds "$what: it went back to a checkpoint" grep -q 'back to checkpoint' out
}
session=session call=call_late protocols='coordinated hydee'
case $flavour in # the flavours differ in handles: each of the others has one protocol
mpich) protocols=coordinated ;;
openmpi) session= call= protocols=hydee ;;
esac
back='back to checkpoint'
for what in grids grid idup idup_open first infos $session handlers windows epochs types own receive handler attribute; do
  for protocol in $protocols; do
    chosen || continue
    over 0 "$back" $what --protocol $protocol
  done
done
late=', which it made after hark_restarted, and this process went back to a checkpoint, '
over 1 "uses the datatype far${late}which holds no datatypes: make it before hark_restarted\$" type_late --protocol coordinated
over 1 'uses an operation that it made after hark_restarted, .* before hark_restarted$' op_late --protocol coordinated
[ -z "$call" ] || over 1 'MPI_Start: this persistent collective call was made after hark_restarted, ' $call --protocol coordinated
over 1 'MPI_Send: the rank is 77, .*; the error handler for it was made after hark_restarted, ' handler_late --protocol hydee
over 1 'uses the attribute with the keyval 65536 of a communicator, which it set after hark_restarted, ' attribute_late --protocol hydee
over 1 "uses the keyval 65536$late" keyval_late --protocol hydee
over 1 'has a window that the program made after hark_restarted: make windows before it$' window_late --protocol coordinated
finish
