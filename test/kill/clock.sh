#!/bin/bash
# Programs that send what they read of clocks: a process that is killed reads the same again, and nobody notices. Without the
# journal it is noticed, or the answer is wrong.
# clock.sh HARK CLOCKED
hark=$(readlink -f "$1") clocked=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
kills=(--kill 1@50 --kill 2@150 --kill 1@152 --kill 3@220)

all_right() { # what: of the last run of 4 processes
  is "$1: all processes are right" 4 "$(grep -c '^rank [0-3]: right$' out)"
}

given_again() { # what
  holds "$1: readings were given again" [ "$(figure readings_given figures.json)" -gt 0 ]
}

for protocol in hydee scmel sendet team camel coordinated; do
  for interval in 0 1ms; do
    chosen || continue
    run="--protocol $protocol --interval $interval"
    expect 0 '' -n 4 $run --clusters 2 "${kills[@]}" --json figures.json -- "$clocked" 400 7
    all_right "$run"
    given_again "$run"
    is "$run: kills" 4 "$(grep -c 'died (SIGKILL)' out)"
  done
done

# The same without the journal.
expect 1 '^hark: rank 1 diverged: messages' -n 4 --clusters 4 --interval 0 --kill 1@50 --journal none -- "$clocked" 400
expect 1 '' -n 4 --protocol scmel --interval 0 --kill 1@50 --journal none -- "$clocked" 400
holds 'scmel: its neighbours have heard other readings' grep -q '^rank 0: wrong$' out
expect 0 '' -n 4 --journal none --json figures.json -- "$clocked" 400
all_right 'no journal, no kill'
is 'no journal' '0 0 0' "$(for name in readings readings_given journal_bytes; do figure $name figures.json; done | paste -sd' ')"
expect 0 '' -n 4 --protocol none --json figures.json -- "$clocked" 400
is 'nothing is survived, nothing is kept' 0 "$(figure readings figures.json)"

# 10^6 readings are 16 MB; checkpoints trim them.
expect 0 '' -n 4 --clusters 2 --interval 1ms --kill 1@2000 --json figures.json -- "$clocked" 3200 80
all_right '10^6 readings'
holds '10^6 readings: made' [ "$(figure readings figures.json)" -ge 1000000 ]
holds '10^6 readings: trimmed' [ "$(figure journal_bytes figures.json)" -lt 4000000 ]
expect 0 '' -n 4 --interval 0 --json figures.json -- "$clocked" 320 800
holds 'without checkpoints all are kept' [ "$(figure journal_bytes figures.json)" -gt 16000000 ]

# Files that may not grow: without checkpoints the journal is full at some time, and the run goes on. Checkpoints trim it.
limited() { (ulimit -f 300; exec "$hark" "$@"); } # blocks of 1 KiB
tested=(limited run)
expect 0 'the journal of clock readings is full: if the process is lost before its next checkpoint, it may diverge' \
  -n 2 --interval 0 -- "$clocked" 100 300
is 'full: all are right' 2 "$(grep -c '^rank [01]: right$' out)"
is 'full: a line a process at most' '' "$(grep -o 'rank [01]: the journal' out | sort | uniq -d)"
expect 0 '' -n 2 --clusters 2 --interval 1ms -- "$clocked" 100 300
is 'trimmed: nothing is full' 0 "$(grep -c 'journal' out)"
is 'trimmed: all are right' 2 "$(grep -c '^rank [01]: right$' out)"
tested=("$hark" run)

# Killed with all that belongs to it, and resumed. Each process goes on from a checkpoint of its own, so the others have received
# what it sends again: the readings since that checkpoint must be in the store.
long=(-n 4 --clusters 4 --interval 20ms --store store)
killed() {
  rm -rf store fifo
  mkfifo fifo
  "$hark" run "${long[@]}" --kill 2@1500 -- "$clocked" 5000 >first 2>fifo </dev/null &
  local pid=$! line
  while read -r line; do
    case $line in *'went back'*) kill -KILL $pid; break ;; esac
  done <fifo
  wait $pid 2>/dev/null
}
for i in 1 2 3; do
  killed
  expect 0 '' "${long[@]}" --resume --json figures.json -- "$clocked" 5000
  all_right 'resumed'
  given_again 'resumed'
done
for ((i = 0; i < 20; i++)); do
  killed
  rm -r store/journal
  "$hark" run "${long[@]}" --resume -- "$clocked" 5000 >out 2>&1 </dev/null || break
done
holds 'resumed without the journals' grep -q 'diverged: messages' out

# Alone, and on the command line.
is 'alone' 'rank 0: right' "$("$clocked" 5)"
refused '--journal: expected none, or some of wtime,clock,random with commas between, found "clock,"' --journal clock, -- "$clocked"
refused '--journal: expected none, or some of wtime,clock,random with commas between, found "time"' --journal time -- "$clocked"
finish
