#!/bin/bash
# Programs of these tests, a process of which is killed, in surroundings that are not as usual: closed streams, a blocked SIGCHLD, an ignored
# SIGHUP, few descriptors, small files, little shared memory, a wrapper. The answer is the undisturbed one, and nothing is left.
# surroundings.sh HARK FOLDER-OF-PROGRAMS EXAMPLES
hark=$(readlink -f "$1") programs=$(readlink -f "$2") examples=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"
export PLACE=$work
perl=$(command -v perl) || { bad 'no perl'; finish; exit 1; }

answer() { # the command line in a surrounding; its standard output, or where that is closed what --json says
  case $1 in
  plain) shift; "$@" ;;
  closed) shift; "$@" <&- >&- 2>&- ;;
  closed-out) shift; "$@" >&- ;;
  blocked) shift; "$perl" -e 'use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGCHLD, SIGTERM)); exec @ARGV' "$@" ;;
  nohup) shift; "$perl" -e '$SIG{HUP} = "IGNORE"; exec @ARGV' "$@" ;;
  descriptors) shift; (ulimit -n 64; exec "$@") ;;
  files) shift; (ulimit -f 700; exec "$@") ;;
  memory) shift; unshare -m sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"' sh "$@" ;;
  esac
}

lines() { # of a program: each has processes of its own number
  case $1 in
  lap) echo 4 hydee "$programs/lap" 30 ;;
  long) echo 4 hydee "$programs/long" ;;
  any) echo 4 scmel "$programs/long" any ;;
  collect) echo 6 camel "$programs/collect" 6 500 ;;
  partners) echo 6 team "$programs/partners" 20 20000 ;;
  obedient) echo 4 coordinated "$programs/obedient" steps=60 ;;
  master) echo 5 sendet "$examples/heat2d" ;;
  esac
}

unshare -m true 2>/dev/null || { echo 'a mount namespace is not permitted here: /dev/shm of 64 MiB is not tried'; no_namespace=1; }
for program in lap long any collect partners obedient master; do
  read -r n protocol line <<<"$(lines $program)"
  rm -f begun.*; "$hark" run -n "$n" --protocol "$protocol" -- $line >undisturbed 2>err || bad "$program, undisturbed"
  [ -s undisturbed ] || bad "$program has no answer"
  for surrounding in plain closed closed-out blocked nohup descriptors files memory; do
    [ $surrounding = memory ] && [ "${no_namespace:-}" ] && continue
    chosen || continue
    rm -f begun.* json
    answer $surrounding timeout 120 "$hark" run -n "$n" --protocol "$protocol" --kill 1@10 --json json -- $line >out 2>err
    is "$program, $surrounding: status" 0 $?
    case $surrounding in
    closed*) is "$program, $surrounding: printed" '' "$(cat out)" ;;
    *) if cmp -s <(sort out) <(sort undisturbed); then good; else bad "$program, $surrounding: another answer"; fi ;;
    esac
    grep -q '"kind": "SIGKILL"' json && good || bad "$program, $surrounding: nobody was killed"
  done
  rm -f begun.*
  timeout 120 "$hark" run -n "$n" --protocol "$protocol" --kill 1@10 -- sh -c '"$@"; exit $?' sh $line >out 2>err
  is "$program, wrapper: status" 0 $?
  if cmp -s <(sort out) <(sort undisturbed); then good; else bad "$program, wrapper: another answer"; fi
  grep -q 'hark: rank 1 died (SIGKILL) after 10 deliveries' err && good || bad "$program, wrapper: nobody was killed"
done

# With few descriptors a socket to another process can not be made: that is said. How many are few depends on what else has some.
few() { # descriptors: each of twelve processes has a message for each other one
  local words=() r
  for r in 0 1 2 3 4 5 6 7 8 9 10 11; do words+=("send=$r.1"); done
  for r in 0 1 2 3 4 5 6 7 8 9 10 11; do words+=("recv=$r.1"); done
  rm -f err # what the run before has said is not what this one says, which a signal must not reach before it is there
  "$hark" run -n 12 --clusters 12 --transport uv --option answer-ms=500 --option handshake-ms=500 -- \
    sh -c 'ulimit -n $0; exec "$@"' "$1" "$programs/obedient" "${words[@]}" >out 2>err </dev/null &
  local run=$! status
  until ! kill -0 $run 2>/dev/null || grep -qsi 'too many open files' err; do sleep 0.05; done
  grep -q 'has not reached .*: Too many open files' err && said=$1
  kill -INT $run 2>/dev/null
  wait $run
  status=$?
  [ $status = 0 ] || grep -qi 'too many open files' err || bad "$1 descriptors: no line says why (status $status)"
  [ $status = 0 ]
}
said=
for ((n = 14; n < 60; n++)); do few $n && break; done
holds 'few descriptors: enough' [ $n -lt 60 ]
holds 'few descriptors: who is not reached' [ -n "$said" ]
finish
