#!/bin/bash
# The small files of a store, beside its images: what a resumed run does when one of them is damaged, or something else.
# store_files.sh HARK OBEDIENT
hark=$(readlink -f "$1") obedient=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=(timeout 60 "$hark" run) words='hark run'
export PLACE=$work
job=(-n 4 --protocol coordinated --interval 20ms --store st --resume -- "$obedient")

stopped() { # a store of a job that is not done
  rm -rf st go far.0
  "$hark" run "${job[@]}" "$@" steps-until=go >out 2>err </dev/null & run=$!
  wait_until is_there far.0
  kill -TERM $run; wait $run
}

stopped
touch go
for file in runs missed lock; do
  [ ! -e st/$file ] || mv st/$file kept
  mkfifo st/$file
  expect 2 "^hark: store st: $file: it is no regular file" "${job[@]}" steps-until=go
  timeout 60 "$hark" store verify st >out 2>&1; is "hark store with a FIFO as $file" 0 $?
  rm st/$file
  [ ! -e kept ] || mv kept st/$file
done
expect 0 '^hark: the job goes on from checkpoint ' "${job[@]}" steps-until=go
finish
