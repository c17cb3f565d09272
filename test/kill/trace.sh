#!/bin/bash
# Every line of a process in the trace of a run, under HydEE: trace.sh HARK LAP
hark=$(readlink -f "$1") lap=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

# A token goes round four processes in two clusters. A process is in the phase of what it has delivered, one more if that came from the other
# cluster; what goes to the other cluster is logged, in the phase of the process that posts it.
# `killed`: process 2 dies at the second delivery, and 2 and 3 go back to the beginning.
phase_of() { echo $((2 * $2 - 1 + ($1 >= 2))); } # of a process, in a lap

incarnation() { # of process $1, in the eyes of one that has to do with it in lap $2, which has gone back if $3
  if [ $killed = yes ] && [ "$1" -ge 2 ] && { [ -n "$3" ] || [ "$2" -ge "$4" ]; }; then echo "$1.1"; else echo "$1.0"; fi
}

takes() { # process, its incarnation, from, lap, phase, whether the two of the cluster have gone back
  echo "$1.$2 arrive from=$(incarnation "$3" "$4" "$6" 2) ctx=0 ssn=$4 bytes=8"
  echo "$1.$2 deliver from=$(incarnation "$3" "$4" "$6" 2) ctx=0 ssn=$4 phase=$5 bytes=8"
}

sends() { # process, its incarnation, to, lap, whether the two of the cluster have gone back
  local phase
  phase=$(phase_of "$1" "$4")
  if [ -n "$5" ] && [ "$1" = 3 ] && [ "$4" = 1 ]; then echo "$1.$2 suppress to=$3 ctx=0 ssn=$4 phase=$phase"
  else echo "$1.$2 transmit to=$(incarnation "$3" "$4" "$5" 3) ctx=0 ssn=$4 phase=$phase bytes=8"; fi
  [ $(($1 % 2)) = 0 ] || echo "$1.$2 send to=$3 ctx=0 ssn=$4 phase=$phase bytes=8 logged"
}

expected() { # of process $1
  local r=$1 inc=0 back='' l
  local next=$(((r + 1) % 4))
  echo "$r.0 start phase=1"
  if [ $killed = yes ] && [ "$r" -ge 2 ]; then
    takes $r 0 $((r - 1)) 1 2 ''
    sends $r 0 $next 1 ''
    if [ "$r" = 2 ]; then takes 2 0 1 2 4 ''; echo "2.0 kill"
    else echo "3.0 rollback id=0"; fi
    echo "$r.1 restart id=0 phase=1"
    inc=1 back=yes
  fi
  for l in 1 2 3; do
    [ "$r" = 0 ] || takes $r $inc $((r - 1)) $l "$(phase_of $r $l)" "$back"
    sends $r $inc $next $l "$back"
    [ "$r" != 0 ] || takes 0 0 3 $l $((2 * l + 1)) ''
    if [ $killed = yes ] && [ "$r" = 1 ] && [ $l = 2 ]; then
      for l in 1 2; do echo "1.0 replay to=2.1 ctx=0 ssn=$l phase=$(phase_of 1 $l) bytes=8"; done
    fi
  done
  echo "$r.$inc finish"
}

for transport in shm uv; do
  for killed in no yes; do
    "$hark" run -n 4 --protocol hydee --clusters 2 --transport $transport --trace trace --json json $([ $killed = no ] || echo --kill 2@2) -- "$lap" 3 \
      >out 2>err </dev/null
    is "$transport, killed: $killed: status" 0 $?
    # the parts of a recovery, one after the other, are within the run
    [ $killed = no ] || awk -F'[:,]' '/"detect_ms"/ {sum = $2 + $4 + $6; parts = $2 > 0 && $4 > 0 && $6 >= 0} /"elapsed_ms"/ {all = $2}
      END {exit !(parts && sum < all)}' json && good || bad "$transport: parts of the recovery: $(grep _ms json)"
    cut -d' ' -f2- trace >lines
    for r in 0 1 2 3; do # each keeps an order of its own; when a recovery is over, each hears at some time
      is "$transport, killed: $killed: process $r" "$(expected $r)" "$(grep "^$r\." lines | grep -v ' recovered$' | sed '/ arrive /s/ phase=0//')"
    done
    is "$transport, killed: $killed: recoveries" "$([ $killed = no ] || echo 's.0 failed re=1 down=2-3 s.0 recovered')" "$(echo $(grep '^s' lines))"
  done
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
