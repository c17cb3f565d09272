#!/bin/bash
# What a user does: hark run finds the library for the program by itself; the program reads, and may end the job.
# whole.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

seq 1 50 >numbers
for options in '' '--kill 0@30' '--kill 1@40 --kill 3@60 --protocol coordinated' '--kill 0@3 --protocol scmel'; do
  for from in file pipe; do
    if [ $from = file ]; then "$hark" run -n 4 $options "$program" <numbers >out 2>err
    else "$hark" run -n 4 $options "$program" < <(cat numbers) >out 2>err; fi
    is "$from, $options: status" 0 $?
    is "$from, $options: the sum" 12750 "$(cat out)"
  done
done
echo 1 | "$hark" run -n 4 "$program" abort >out 2>err
is 'aborted: status' 10 $?
is 'aborted: said' 'hark: rank 1 aborted the job with status 10' "$(cat err)"
echo 0 | "$hark" run -n 4 "$program" abort >out 2>err
is 'aborted with 0: status' 1 $?
finish
