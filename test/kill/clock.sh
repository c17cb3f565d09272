#!/bin/bash
# Programs that send what they read of clocks: a process that is killed reads the same again, and nobody notices. Without the
# journal it is noticed, or the answer is wrong.
# clock.sh HARK CLOCKED ALLOCATOR
hark=$(readlink -f "$1") clocked=$(readlink -f "$2") allocator=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"
export ASAN_OPTIONS="$ASAN_OPTIONS:allocator_release_to_os_interval_ms=-1" # its allocator reads a clock within the program
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

# Clocks and random numbers of the C library, if they are asked for; over sockets too, since what libraries of the transport
# read is none of the program's.
for transport in shm uv; do
  for kind in clock random; do
    for interval in 0 1ms; do
      chosen || continue
      run="--journal clock,random --transport $transport --interval $interval"
      expect 0 '' -n 4 $run --clusters 2 "${kills[@]}" --json figures.json -- "$clocked" 400 2 $kind
      all_right "$run, $kind"
      given_again "$run, $kind"
    done
    expect 1 '^hark: rank 1 diverged: messages' -n 4 --clusters 4 --transport $transport --interval 0 --kill 1@50 -- "$clocked" 400 1 $kind
  done
done
expect 0 '' -n 4 --journal clock --json figures.json -- "$clocked" 100 1 random
is 'random numbers are kept only if it is asked for' 4 "$(figure readings figures.json)"

expect 0 '' -n 4 --journal clock,random --interval 0 --clusters 2 --kill 1@20 --json figures.json -- "$clocked" 30 1 child
all_right 'children that read clocks'
is 'children: only the readings of their parents' $((4 * (30 * 9 + 1))) "$(figure readings figures.json)"
expect 0 '' -n 4 --journal clock --interval 0 --clusters 2 --kill 1@50 --json figures.json -- \
  sh -c 'LD_PRELOAD=$LD_PRELOAD:$0 exec "$@"' "$allocator" "$clocked" 100 1 clock
all_right 'an allocator that reads clocks'
is 'an allocator: only the readings of the program' $((4 * (100 * 8 + 1))) "$(figure readings figures.json)"
expect 1 '^hark: rank [01]: --journal: libhark_journal.so is not in this process: a program that is linked statically' \
  -n 2 --journal clock -- env -u LD_PRELOAD "$clocked" 5
expect 0 '' -n 2 -- env -u LD_PRELOAD "$clocked" 5

# The order of readings depends on the order of messages, what is sent does not. Protocols for programs of that kind cannot tell
# what the journal is worth; the others forget what belongs to another order.
turn=(-n 8 --clusters 8 --journal random --interval 0)
for ((seed = 1; seed <= 100; seed++)); do
  "$hark" run "${turn[@]}" --chaos $seed:3 -- "$clocked" 400 2 turn >out 2>&1 </dev/null || break
done
holds 'the order of readings is another one' grep -Eq '^hark: rank [0-7] diverged: its re-execution reads .* where it read .* before the failure: the order' out
for protocol in scmel coordinated; do
  for ((seed = 1; seed <= 100; seed++)); do
    expect 0 '' "${turn[@]}" --protocol $protocol --chaos $seed:8 --json figures.json -- "$clocked" 400 2 turn
    is "$protocol: another order is no divergence: all are right" 8 "$(grep -c '^rank [0-7]: right$' out)"
    [ "$(figure readings figures.json)" -le $((8 * (400 * 2 + 1))) ] || break # some were forgotten, and made again
  done
  holds "$protocol: what belongs to another order is forgotten" [ $seed -le 100 ]
done

# 10^6 readings are 16 MB; checkpoints trim them. How many are left at the end depends on when the last one was durable, so not
# every run has a late one where the disk is busy.
for ((try = 1; try <= 20; try++)); do
  expect 0 '' -n 4 --clusters 2 --interval 1ms --wait-for-checkpoints --kill 1@2000 --json figures.json -- "$clocked" 3200 80
  all_right '10^6 readings'
  [ "$(figure journal_bytes figures.json)" -ge 4000000 ] || break
done
holds '10^6 readings: made' [ "$(figure readings figures.json)" -ge 1000000 ]
holds '10^6 readings: trimmed' [ $try -le 20 ]
expect 0 '' -n 4 --interval 0 --json figures.json -- "$clocked" 3200 80
holds 'without checkpoints all are kept' [ "$(figure journal_bytes figures.json)" -gt 16000000 ]

# A program that waits reads the clock all the time. How often it has read the same is counted, and it sends a digest of all.
for protocol in hydee scmel sendet coordinated; do
  for interval in 0 1ms 50ms; do
    chosen || continue
    run="--protocol $protocol --interval $interval"
    expect 0 '' -n 4 $run --clusters 2 --kill 1@30 --kill 2@60 --kill 1@62 --kill 3@101 --json figures.json -- "$clocked" 60 1 wait
    all_right "waits, $run"
    given_again "waits, $run"
    is "waits, $run: kills" 4 "$(grep -c 'died (SIGKILL)' out)"
  done
done
# Which of them are the same depends on how fast it reads; one by itself has 16 bytes.
for ((try = 1; try <= 20; try++)); do
  expect 0 '' -n 2 --interval 0 --json figures.json -- "$clocked" 60 1 wait
  readings=$(figure readings figures.json) bytes=$(figure journal_bytes figures.json)
  [ $((bytes / 14)) -ge "$readings" ] || break
done
holds "waits: it is counted ($readings readings, $bytes bytes)" [ $try -le 20 ]

# Files that may not grow: without checkpoints the journal is full at some time, and the run goes on. Checkpoints trim it.
limited() { (ulimit -f 300; exec "$hark" "$@"); } # blocks of 1 KiB
tested=(limited run)
expect 0 'the journal of clocks and files is full: if the process is lost before its next checkpoint, it may diverge' \
  -n 2 --interval 0 -- "$clocked" 100 300
is 'full: all are right' 2 "$(grep -c '^rank [01]: right$' out)"
is 'full: a line a process at most' '' "$(grep -o 'rank [01]: the journal' out | sort | uniq -d)"
expect 0 '' -n 2 --clusters 2 --interval 1ms --wait-for-checkpoints -- "$clocked" 100 300
is 'trimmed: nothing is full' 0 "$(grep -c 'journal' out)"
is 'trimmed: all are right' 2 "$(grep -c '^rank [01]: right$' out)"
tested=("$hark" run)

# Killed with all that belongs to it, and resumed. Each process goes on from a checkpoint of its own, so the others have received
# what it sends again: the readings since that checkpoint must be in the store.
long=(-n 4 --clusters 4 --interval 20ms --wait-for-checkpoints --store store)
killed() {
  rm -rf store fifo
  mkfifo fifo
  "$hark" run "${long[@]}" --kill 2@1500 -- "$clocked" 5000 >first 2>fifo </dev/null &
  local pid=$! line
  while read -r line; do
    case $line in *'went back'*) break ;; esac
  done <fifo
  while [ "$(ls store/r1 2>/dev/null | grep -cE '^[0-9]+$')" -lt 2 ] && kill -0 $pid; do :; done
  kill -KILL $pid
  wait $pid 2>/dev/null
}
for i in 1 2 3; do
  killed
  expect 0 '' "${long[@]}" --resume --json figures.json -- "$clocked" 5000
  all_right 'resumed'
  given_again 'resumed'
done
for ((i = 0; i < 20; i++)); do # the newest may not have been the process's checkpoint yet: then the older one is, and nothing is missed
  killed
  newest=$(ls store/r1 | grep -E '^[0-9]+$' | sort -n | tail -n 1)
  : >"store/r1/$newest"
  expect 0 '' "${long[@]}" --resume --json figures.json -- "$clocked" 5000
  all_right 'resumed, the newest checkpoint is damaged'
  given_again 'resumed, the newest checkpoint is damaged'
  grep -q 'the older checkpoint [0-9]* is used' out && break
done
holds 'resumed from an older checkpoint' [ $i -lt 20 ]
killed
expect 2 'the store belongs to a job with the default journal, this one has journal=wtime,clock$' "${long[@]}" --resume --journal clock -- "$clocked" 5000
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
