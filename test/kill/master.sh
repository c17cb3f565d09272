#!/bin/bash
# A program whose sends depend on who is quicker: the protocols for it give its answer whoever dies; the others give it, or say what
# to do, and never another one. master.sh HARK MASTER
hark=$(readlink -f "$1") master=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
answer=$("$hark" run -n 6 --protocol none -- "$master" 2>err)
is 'undisturbed' "master: 800 tasks, sum 2de58b0b6452023a" "$answer"
for protocol in scmel team camel coordinated; do
  for kill in 0@300 3@40 0@17 5@100; do
    chosen || continue
    timeout 60 "$hark" run -n 6 --protocol $protocol --interval 5ms --kill $kill -- "$master" >out 2>err
    is "$protocol, $kill: status" 0 $?
    is "$protocol, $kill" "$answer" "$(cat out)"
  done
done
for protocol in hydee sendet; do
  for kill in 0@100 0@300 0@500; do
    chosen || continue
    timeout 60 "$hark" run -n 6 --protocol $protocol --interval 0 --kill $kill -- "$master" >out 2>err
    if [ $? = 0 ]; then is "$protocol, $kill" "$answer" "$(cat out)"
    elif [ -s out ]; then bad "$protocol, $kill: another answer before it is said: $(cat out)"
    elif grep -q 'hark: .*diverged' err &&
      grep -q "^hark: under $protocol a process must send the same again in whatever order messages come; .* use --protocol scmel (see .hark help protocols.); if a clock or random numbers do, --journal; " err; then good
    else bad "$protocol, $kill: neither the answer nor what to do"; fi
  done
done
finish
