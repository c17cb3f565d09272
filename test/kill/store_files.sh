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
expect 0 '^hark: the job goes on from ' "${job[@]}" steps-until=go
expect 0 'the job in it has finished already; there is nothing to do' "${job[@]}" steps-until=go

# A record that is damaged, the last or all; a record that is not there.
rm -rf st go far.0 up.0
half=(-n 2 --protocol coordinated --interval 0 --store st --resume --checkpoint-on USR1 --then-stop -- "$obedient" make=up steps-until=go)
for round in 1 2; do
  "$hark" run "${half[@]}" >out 2>err </dev/null & run=$!
  wait_until is_there up.0
  kill -USR1 $run; wait $run; is "stopped behind checkpoint $round" 75 $?
  rm up.0
done
touch go
cp -a st whole
newest=$(ls st/service/r0 | sort -n | tail -1)
: >st/service/r0/"$newest"
timeout 60 "$hark" store verify st >out 2>&1; is 'hark store: the newest record is damaged' 1 $?
holds 'that is said' grep -q "^hark store: st: image .*st/service/r0/$newest: is not an image" out
expect 0 "^hark: image .*st/service/r0/$newest: is not an image; the older record is used" "${half[@]}"
# The positions of what was shown: what is damaged is not believed, and nothing that is not shown is lost.
for bytes in 1 64; do
  rm -rf st; cp -a whole st
  head -c $bytes /dev/zero | tr '\0' X | dd of=st/output conv=notrunc 2>/dev/null
  expect 0 '^hark: store st: output: it does not say what was shown; lines may come again$' "${half[@]}"
  holds "all is shown, $bytes damaged" grep -q '^sum ' out
done
for damage in service 'service/r0/*'; do
  rm -rf st; cp -a whole st; eval "rm -r st/$damage"
  for round in 1 2; do # also when it was refused before
    expect 2 '^hark: store st: there are checkpoints, and no record of the job (service/r0), without which it can not go on; expected both, or a new store$' "${half[@]}"
  done
done

# Images that are not needed any more, of processes that were killed before they removed them, and such as were written and not decided.
for protocol in coordinated hydee scmel sendet; do
  rm -rf st go up.0 kept
  left=(-n 2 --protocol $protocol --interval 0 --store st --resume --checkpoint-on USR1 --then-stop -- "$obedient" make=up steps-until=go)
  for round in 1 2 3 4; do
    "$hark" run "${left[@]}" >out 2>err </dev/null & run=$!
    wait_until is_there up.0
    kill -USR1 $run; wait $run; is "$protocol, stopped behind checkpoint $round" 75 $?
    rm up.0
    [ $round != 1 ] || cp -a st kept
  done
  first=$(ls kept/r1) last=$(ls st/r1 | sort -n | tail -n 2)
  cp -n kept/r1/"$first" st/r1
  cp st/r1/"$(echo "$last" | tail -n 1)" st/r1/1000000000
  touch go
  expect 0 '^hark: the job goes on from ' "${left[@]}"
  is "$protocol: an image of no decision" '' "$(ls st/r1 | grep -x 1000000000)"
  is "$protocol: the last two" "$last" "$(ls st/r1 | sort -n | tail -n 2)"
  [ $protocol = sendet ] || is "$protocol: no others" 2 "$(ls st/r1 | wc -l)" # by the line older ones may be needed: nobody has said otherwise in runs as short
done

# How long a recovery took whose processes had died with the run before: no longer than the run that made it.
rm -rf st go up.0
line=(-n 4 --protocol sendet --interval 0 --store st --resume --checkpoint-on USR1 --then-stop -- "$obedient" make=up steps-until=go)
for round in 1 2; do
  "$hark" run "${line[@]}" >out 2>err </dev/null & run=$!
  wait_until is_there up.0
  kill -USR1 $run; wait $run; is "sendet, stopped behind checkpoint $round" 75 $?
  rm up.0
done
touch go
: >st/r0/"$(ls st/r0 | sort -n | tail -1)"
began=$(date +%s%3N)
expect 0 'back too, by the recovery line$' "${line[@]}"
took=$(sed -n 's/^hark: recovered in \([0-9]*\)\.[0-9] ms: .*/\1/p' out)
holds "a recovery that took ${took:-unknown} ms" [ "${took:-unknown}" -le $(($(date +%s%3N) - began)) ]

# A job that fails when it is done: also for a run that resumes it.
rm -rf st
for round in 1 2; do
  "$hark" run --store st --resume -n 2 -- "$obedient" steps=3 status=5 >out 2>&1 </dev/null
  is "a job that fails after its end, run $round" 1 $?
done
is 'why' 'hark: store st: the job in it has finished already, and ended with status 1 after that; there is nothing to do' "$(cat out)"

# A run that is ended when its job is done and its processes have not exited: what they do then may be missing, and a run that resumes
# the job does not end as if it were there. Of a run whose processes have exited it is known that they have.
for signal in TERM KILL; do
  rm -rf st finished.0 finished.1 go
  "$hark" run --store st -n 2 -- "$obedient" steps=3 linger=go >out 2>&1 </dev/null & run=$!
  wait_until is_there finished.0
  wait_until is_there finished.1
  kill -$signal $run; wait $run
  for round in 1 2; do
    expect 1 '^hark: store st: all processes of the job in it had called hark_finalize (MPI_Finalize), and the run ended before they had exited, so what they do after that may not be done, and can not be repeated; look at the results, or run the job again with a new store$' --store st --resume -n 2 -- "$obedient" steps=3 linger=go
  done
done
touch go
rm -rf st
expect 0 '' --store st -n 2 -- "$obedient" steps=3 linger=go
is 'it has ended well' '' "$(ls st/status 2>/dev/null)"
expect 0 'the job in it has finished already; there is nothing to do$' --store st --resume -n 2 -- "$obedient" steps=3 linger=go
# Bytes that say nothing of how it ended.
for bytes in '' running garbage 256; do
  printf %s "$bytes" >st/status
  expect 1 'and the run ended before they had exited' --store st --resume -n 2 -- "$obedient" steps=3 linger=go
done

# The end of a job that can not be written down.
rm -rf st up.0 up.1 go
"$hark" run --store st -n 2 -- "$obedient" make=up await=go >out 2>&1 </dev/null & run=$!
wait_until is_there up.0
wait_until is_there up.1
rm -r st/service/r0; echo >st/service/r0
touch go
wait $run; is 'the end can not be written down' 0 $?
holds 'it is said' grep -q '^hark: .*: Not a directory; the job is done, but its store does not say so: with --resume it would be done again' out
finish
