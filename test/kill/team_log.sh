#!/bin/bash
# What waits in the log for its determinants, inside a team, goes, and leaves it then: team_log.sh HARK GATHER
hark=$(readlink -f "$1") gather=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

# One message of each: whether something waits is a matter of who comes when. Eight, none taken before all are sent: something does, unless
# whoever holds determinants for rank 0 is heard in the midst of them, in each of four rounds.
for each in 1 8; do
  for words in 1 40000; do # a frame; more than a ring has
    "$hark" run -n 48 --protocol none -- "$gather" 4 $words $each >out 2>err </dev/null
    answer=$(sort out | cksum)
    for transport in shm uv; do
      for kill in '' '--kill 0@120'; do
        [ $words = 1 ] && [ -n "$kill" ] && continue
        chosen || continue
        what="$each of each, $words words, $transport $kill"
        "$hark" run -n 48 --protocol team --clusters 1 --interval 0 --transport $transport $kill --json one.json -- "$gather" 4 $words $each \
          >out 2>err </dev/null
        is "$what: status" 0 $?
        is "$what: answer" "$answer" "$(sort out | cksum)"
        is "$what: log at the end" 0 "$(figure log_bytes one.json)"
        [ $each = 1 ] || is "$what: something waited" 1 "$(($(figure log_bytes_peak one.json) > 0))"
      done
    done
  done
done
# Determinants that do not fit with a message to a mate, where teams are lost at once (v23).
answer=$("$hark" run -n 4 --protocol none -- "$gather" 4 1 200 2>err </dev/null | sort | cksum)
for transport in shm uv; do
  for kill in '' '--kill 0@300' '--kill 2@3 --kill 0@900'; do
    chosen || continue
    what="teams lost, $transport $kill"
    timeout 120 "$hark" run -n 4 --protocol team --clusters 2 --team-lost --interval 0 --transport $transport $kill -- "$gather" 4 1 200 >out 2>err </dev/null
    is "$what: status" 0 $?
    is "$what: answer" "$answer" "$(sort out | cksum)"
  done
done
finish
