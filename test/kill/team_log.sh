#!/bin/bash
# What waits in the log for its determinants, inside a team, leaves it when it goes: team_log.sh HARK GATHER
set -u
hark=$(readlink -f "$1") gather=$(readlink -f "$2")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0 waited=0

is() { # what, expected, found
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s: expected "%s", found "%s"\n' "$1" "$2" "$3"
  fi
}

figure() { sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" one.json; }

for words in 1 40000; do # a frame; more than a ring has
  "$hark" run -n 48 --protocol none -- "$gather" 4 $words >out 2>err </dev/null
  answer=$(sort out | cksum)
  for transport in shm uv; do
    for kill in '' '--kill 0@120'; do
      [ $words = 1 ] && [ -n "$kill" ] && continue
      what="$words words, $transport $kill"
      "$hark" run -n 48 --protocol team --clusters 1 --interval 0 --transport $transport $kill --json one.json -- "$gather" 4 $words >out 2>err </dev/null
      is "$what: status" 0 $?
      is "$what: answer" "$answer" "$(sort out | cksum)"
      is "$what: log at the end" 0 "$(figure log_bytes)"
      waited=$((waited + ($(figure log_bytes_peak) > 0)))
    done
  done
done
is 'something waited' 1 "$((waited > 0))"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
