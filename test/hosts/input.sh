#!/bin/bash
# Standard input reaches rank 0 on another host, and what takes its place when it dies, or its host. The agents are on this machine, so
# it needs no namespaces; a host dies as its agent does. input.sh HARK INPUT [SEEDS]
hark=$(readlink -f "$1") input=$(readlink -f "$2") seeds=${3:-6}
. "$(dirname "$0")/../shell.sh"
export PLACE=$work TMPDIR=$work/t # of the processes and agents that hark run starts
mkdir t
printf 'a slots=2\nb\nc\nd\n' >hosts
launch=(--hostfile hosts --spares 1 --launcher 'env HOST=%h' --host-timeout 1s)
begin() { rm -rf st died; exec timeout 60 "$hark" run -n 4 "${launch[@]}" --store st "$@" 2>err; } # options and program
run() { # what, answer, options and program; input as given
  local what=$1 answer=$2; shift 2
  (begin "$@") >out
  is "$what: status" 0 $?
  cmp -s out "$answer" && good || bad "$what: another answer"
}
deaths() { wc -c <died; }
slowly() { while read -r line; do echo "$line"; done; } # a write for each line

# Lines, by every way to read them.
seq 1 100 >numbers
awk '{ sum += $1; print NR ": " sum }' numbers >answer
awk 'NR == 1 { head = $1; next } { sum += $1 + head; print NR - 1 ": " sum }' numbers >answer.head
turn=0
for way in stdio raw 'stdio head' 'raw head'; do
  answer=answer; case $way in *head) answer=answer.head ;; esac
  for options in 'hydee --interval 0' 'hydee --interval 1ms' 'scmel --interval 1ms' 'coordinated --interval 1ms'; do
    for die in '' ' die=77' ' die=9,50,50'; do
      chosen || continue
      all="--protocol $options -- $input $way$die"
      # shellcheck disable=SC2086
      if [ $((turn++ % 2)) = 0 ]; then run "file: $all" $answer $all <numbers
      else run "pipe: $all" $answer $all < <(slowly <numbers); fi
    done
  done
done
run 'three deaths' answer --protocol coordinated --interval 1ms -- "$input" stdio die=9,50,50 < <(slowly <numbers)
is 'three deaths: they were' 3 "$(deaths)"
run 'its host dies' answer --interval 1ms -- "$input" stdio die=40h <numbers
holds 'its host dies: it is said' grep -q '^hark: host a died' err
holds 'its host dies: a spare one takes over' grep -q 'its processes go to host d' err
run 'its host dies, a pipe' answer.head --interval 1ms --verbose --wait-for-checkpoints -- "$input" raw head die=30,60h < <(slowly <numbers)
holds 'its host dies: a checkpoint was used' grep -q 'back to checkpoint' err

# Rank 0 goes back in its place.
run 'another one dies' answer --protocol coordinated --interval 1ms --verbose --wait-for-checkpoints --kill 1@80 -- "$input" stdio <numbers
holds 'rank 0 goes back in its place' grep -q '^hark: rank 0 goes back as process' err

# `hark run` dies, and another one, with the same input, takes its place.
seq 1 30000 >many
awk '{ sum += $1; print NR ": " sum }' many >answer.many
until_shown() { # so many lines
  local i
  for i in $(seq 2000); do
    [ "$(wc -l <shown)" -ge "$1" ] && return 0
    sleep 0.01
  done
  return 1
}
takes() { # options: a run begins, or takes over; input as given
  exec timeout 100 "$hark" run -n 4 "${launch[@]}" --launcher 'setsid -f env HOST=%h' --host-timeout 3s --supervisor-timeout 20s --interval 20ms --store st \
    "$@" >>shown 2>>err
}
taken_over() { # what, file or pipe, how it reads
  local behind option=
  rm -rf st
  : >shown
  : >err
  for behind in 300 5000 30000; do # lines
    if [ "$2" = file ]; then takes $option -- "$input" "$3" <many & run=$!
    else takes $option -- "$input" "$3" < <(slowly <many 2>said) & run=$!; fi
    option=--resume
    [ $behind != 30000 ] || break
    holds "$1: it runs" until_shown $behind
    kill -KILL "$(pgrep -P $run -x hark)"
    wait $run
  done 2>said
  wait $run
  local status=$?
  # The last one may have been over before it was killed, but for the ends of its processes.
  if grep -q ' had called hark_finalize (MPI_Finalize), and the run ended before they had exited' err; then is "$1: status" 1 $status
  else is "$1: status" 0 $status; fi
  awk '!seen[$0]++' shown >out # what was written and not noted may come again
  cmp -s out answer.many && good || bad "$1: another answer"
  holds "$1: it is" grep -q '^hark: ranks 0-3 of the run before live, and go on with this one$' err
  is "$1: nobody goes back" 0 "$(grep -c '^hark: rank [0-9]* died' err)"
}
taken_over 'taken over, a file' file stdio
taken_over 'taken over, a pipe' pipe raw

# More than all buffers take, and no line ends; the end is where it was.
head -c 5000000 /dev/urandom >large
timeout 60 "$hark" run -n 4 --protocol none --clusters 4 -- "$input" blocks <large >expected 2>err
holds 'a large file here' grep -q '^5000000 bytes, [0-9]*$' expected
run 'a large file' expected --interval 1ms -- "$input" blocks die=40,80h,120 <large
is 'a large file: deaths' 3 "$(deaths)"
run 'a large pipe' expected --interval 1ms -- "$input" blocks die=40,80h,120 < <(cat large)
is 'a large pipe: deaths' 3 "$(deaths)"
blocks=420 random=1
for seed in $(seq "$seeds"); do # three deaths anywhere, of rank 0 or its host, and of others by chance
  places=
  for i in 1 2 3; do
    random=$(((random * 1103515245 + 12345 + seed) % 2147483648))
    places=$places,$((random / 1024 % blocks))$([ $((random / 65536 % 4)) != 0 ] || echo h)
  done
  # shellcheck disable=SC2086
  set -- --interval $((seed % 3))ms --chaos "$seed:2" -- "$input" blocks "die=${places#,}"
  if [ $((seed % 2)) = 0 ]; then run "seed $seed, file: $*" expected "$@" <large
  else run "seed $seed, pipe: $*" expected "$@" < <(cat large); fi
done

# An input without end is not collected, be it read or not.
total=20000000
{ (begin -- "$input" idle) >out; is 'it reads nothing: status' 0 $?; wc -c >rest; } < <(head -c $total /dev/zero)
[ $((total - $(cat rest))) -le 400000 ] && good || bad "it reads nothing: $(cat rest) bytes are left of $total"
(begin -- sh -c "head -c 70000 >/dev/null; exec $input idle") </dev/zero >out
is 'zeros without end' 0 $?

# As in a conversation: each line is answered before the next one is written; rank 0 dies in between.
coproc talk { begin --interval 1ms -- "$input" stdio die=3,5; }
said=
for i in 1 2 3 4 5 6; do
  echo $i >&"${talk[1]}"
  IFS= read -r line <&"${talk[0]}"
  said="$said$line;"
done
eval "exec ${talk[1]}>&-"
# shellcheck disable=SC2154
wait "$talk_PID"
is 'a conversation: status' 0 $?
is 'a conversation' '1: 1;2: 3;3: 6;4: 10;5: 15;6: 21;' "$said"
is 'a conversation: deaths' 2 "$(deaths)"

# A job that is resumed goes on in the input that it is given, where its checkpoint was.
trap '' PIPE
coproc stop { begin --interval 1ms --checkpoint-on USR1 --then-stop -- "$input" stdio; }
exec {to}>&"${stop[1]}" {from}<&"${stop[0]}"
stop_pid=$stop_PID
: >first
for i in $(seq 1000); do
  echo $i >&"$to" && IFS= read -r line <&"$from" || break
  echo "$line" >>first
  [ $i != 50 ] || kill -USR1 "$(pgrep -P "$stop_pid" -x hark)"
done 2>/dev/null
exec {to}>&- {from}<&-
wait "$stop_pid"; is 'stopped by its checkpoint' 75 $?
seq 1000 | awk '{ sum += $1; print NR ": " sum }' >expected
timeout 60 "$hark" run -n 4 "${launch[@]}" --store st --resume -- "$input" stdio < <(seq 1000) >second 2>err
is 'resumed: status' 0 $?
holds 'resumed: it went on' test "$(wc -l <second)" -lt 951
cat first second | cmp -s - expected && good || bad 'resumed: another answer'

(begin -- "$input" blocks) </dev/null >out
is 'nothing to read' "0 0 bytes, 0" "$? $(cat out)"
is 'nothing is left' '' "$(ls t)"
finish
