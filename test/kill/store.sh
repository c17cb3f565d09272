#!/bin/bash
# `hark store`: what is in a store, of a job that runs, was killed, has finished; damage of each file in turn. store.sh HARK OBEDIENT
hark=$(readlink -f "$1") obedient=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" store) words='hark store'
export PLACE=$work

refused 'expected list or verify, found ""'
refused 'expected list or verify, found "show"' show here
refused 'expected one directory: hark store list DIR' list
refused 'expected one directory: hark store verify DIR' verify a b
refused 'store nowhere: No such file or directory' list nowhere
mkdir empty; refused 'store empty: has no job file: not a store of hark' verify empty
echo text >file; refused 'store file: Not a directory' list file
expect 0 'usage: hark store list DIR' --help

echo untouched >input # a run without a store keeps no record of its output, there least of all
"$hark" run -n 2 -- "$obedient" steps=2 print=text <>input >out 2>&1
is 'status without a store' 0 $?
is 'standard input without a store' untouched "$(cat input)"

is_far() { [ -e far.0 ] || ! kill -0 $run 2>/dev/null; }
for protocol in hydee coordinated scmel sendet; do
  rm -rf st go up.* far.*; what="$protocol:"
  "$hark" run -n 4 --clusters 2 --protocol $protocol --interval 0 --store st --checkpoint-on USR1 -- "$obedient" make=up steps-until=go >run 2>&1 &
  run=$!
  for round in 1 2; do # two checkpoints, so that one of them can be damaged
    wait_until is_there up.0
    kill -USR1 $run
    wait_until is_said 'asked for is taken' run $round
  done
  expect 0 "^st: job hark-.* of 4 processes, not finished, in use by a run$" list st
  "$hark" store list st >out 2>&1 <&- # no descriptor of its own is taken for none
  grep -q ', in use by a run$' out && good || bad "$what in use, without standard input"
  kill -KILL $run; wait $run 2>/dev/null
  wait_until flock -n st/lock true # the janitor holds it until all is clean
  expect 0 "^st: job hark-.* of 4 processes, not finished$" list st
  expect 0 "^  protocol  $protocol$" verify st --json verify.json
  grep -q "^  program   $obedient make=up steps-until=go$" out && good || bad "$what program"
  grep -q '^8 checkpoints, .* 0 damaged$' out && good || bad "$what 8 checkpoints"
  grep -q 'from checkpoint' out && good || bad "$what from checkpoint"
  if command -v node >/dev/null; then
    node -e 'const j = JSON.parse(require("fs").readFileSync("verify.json"));
      process.exit(j.schema === 1 && j.images === 8 && j.damaged === 0 && j.resumable && j.processes.length === 4 &&
        j.processes.every(p => p.checkpoints.length === 2 && p.checkpoints.every(c => c.whole && c.bytes > 0)) ? 0 : 1)' && good || bad "$what JSON"
  fi
  # The newest image of rank 1: who goes back with it falls back, and that is what a resumed run does.
  newest=$(ls st/r1 | sort -n | tail -1) older=$(ls st/r1 | sort -n | head -1)
  cp st/r1/"$newest" kept; printf X | dd of=st/r1/"$newest" bs=1 seek=150 conv=notrunc 2>/dev/null
  expect 1 "1 damaged" verify st
  grep -q "1.*: from checkpoint $older, a newer one is damaged" out && good || bad "$what falls back"
  grep -q "hark store: image st/r1/$newest: has a wrong checksum" out && good || bad "$what the image is named"
  cp st/r1/"$older" kept.older; printf X | dd of=st/r1/"$older" bs=1 seek=150 conv=notrunc 2>/dev/null
  expect 1 'can not go on, no checkpoint is whole\|from the beginning, for its checkpoints are damaged' verify st
  cp kept st/r1/"$newest"; cp kept.older st/r1/"$older"
  expect 0 ' 0 damaged' verify st
  rm -f far.0
  "$hark" run -n 4 --clusters 2 --protocol $protocol --interval 0 --store st --resume -- "$obedient" make=up steps-until=go >out 2>&1 &
  run=$!
  wait_until is_far
  touch go; wait $run; is "$what resumed" 0 $?
  expect 0 '^st: job hark-.* of 4 processes, finished$' verify st
done

# Without its record the images can still be looked at; a damaged job file is said.
for record in st/service/r0/*; do printf X | dd of="$record" bs=1 seek=100 conv=notrunc 2>/dev/null; done
expect 1 'of which there is no record$' verify st
expect 0 '^  0' list st
rm -r st/service; expect 1 'hark store: st: there is no record of a run in it' verify st
printf X | dd of=st/job bs=1 seek=30 conv=notrunc 2>/dev/null
expect 2 '^hark store: store st/job: ' list st
finish
