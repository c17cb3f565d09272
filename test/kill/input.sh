#!/bin/bash
# Standard input goes to rank 0, and an execution that begins again reads it again.
# input.sh HARK INPUT
hark=$(readlink -f "$1") input=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
export PLACE=$work

seq 1 100 >numbers
awk '{ sum += $1; print NR ": " sum }' numbers >answer
awk 'NR == 1 { head = $1; next } { sum += $1 + head; print NR - 1 ": " sum }' numbers >answer.head
slowly() { while read -r line; do echo "$line"; done; } # a write for each line

ways=("$input stdio" "$input raw" "$input stdio head" "$input raw head")
run() { # what, answer, options and program...; input as given
  local what=$1 answer=$2; shift 2
  rm -f died
  timeout 60 "$hark" run -n 3 "$@" >out 2>err
  is "$what: status" 0 $?
  cmp -s out "$answer" && good || bad "$what: another answer"
}
turn=0
for way in "${ways[@]}"; do
  answer=answer; case $way in *head) answer=answer.head ;; esac
  for protocol in hydee scmel coordinated; do
    for interval in 0 1ms; do
      for kill in '' '--kill 0@1' '--kill 0@9 --kill 2@50' '--kill 1@50' die=77; do
        case $protocol$kill in hydee* | *1@50 | *die*) ;; *) continue ;; esac
        chosen || continue
        case $kill in die*) die=$kill kill='' ;; *) die= ;; esac
        options=(--protocol $protocol --interval $interval $kill -- $way $die)
        if [ $((turn++ % 2)) = 0 ]; then run "file: ${options[*]}" $answer "${options[@]}" <numbers
        else run "pipe: ${options[*]}" $answer "${options[@]}" < <(slowly <numbers); fi
      done
    done
  done
done

# The failures were some: rank 0 went back in its place, and was started again; with checkpoints, not to the beginning.
rm -f died
"$hark" run -n 3 --protocol coordinated --interval 1ms --wait-for-checkpoints --verbose --kill 1@80 -- "$input" stdio <numbers >out 2>err
grep -q '^hark: rank 0 goes back as process' err && good || bad 'rank 0 did not go back in its place'
grep -q 'all ranks go back to checkpoint' err && good || bad 'no checkpoint was used'

# A file that is open already is read from where it is, and others who share it find it there.
{ read -r line; "$hark" run -n 2 -- "$input" stdio; read -r next; echo "next $next"; } <numbers >out 2>err
awk 'NR > 1 { sum += $1; print NR - 1 ": " sum } END { print "next 2" }' numbers >expected
cmp -s out expected && good || bad 'a file from its second line on'

# More than a pipe takes, and no line ends.
head -c 3000000 /dev/urandom >large
timeout 60 "$hark" run -n 2 --protocol none -- "$input" bytes <large >expected 2>err
grep -q '^3000000 bytes' expected && good || bad 'a large file'
rm -f died
timeout 60 "$hark" run -n 2 -- "$input" bytes die=20 <large >out 2>err
cmp -s out expected && [ -e died ] && good || bad 'a large file, with a failure'
rm -f died
cat large | timeout 60 "$hark" run -n 2 -- "$input" bytes die=20 >out 2>err
cmp -s out expected && [ -e died ] && good || bad 'a large pipe, with a failure'

# An endless input is not collected: the program ends, and with it the run.
rm -f died
"$hark" run -n 2 -- "$input" raw die=5 < <(yes 1) >out 2>err &
wait_until [ -e died ]
kill -TERM $!; wait $!; is 'an endless input, ended' 143 $?
printf '1\n2\n' | "$hark" run -n 1 sh -c 'head -c 4; head -c 100000 /dev/zero | wc -c' >out 2>err
is 'a program that reads a part' '1;2;100000' "$(paste -sd';' out)"
timeout 10 "$hark" run -n 1 sh -c 'head -c 70000 | wc -c' </dev/zero >out 2>err
is 'zeros without end' 70000 "$(cat out)"

# As in a conversation: each line is answered before the next one is written; rank 0 dies in between.
rm -f died
coproc talk { exec timeout 60 "$hark" run -n 2 --interval 1ms -- "$input" stdio die=3 2>err; }
said=
for i in 1 2 3 4 5; do
  echo $i >&${talk[1]}
  IFS= read -r line <&${talk[0]}
  said="$said$line;"
done
eval "exec ${talk[1]}>&-"
wait $talk_PID
is 'a conversation: status' 0 $?
is 'a conversation' '1: 1;2: 3;3: 6;4: 10;5: 15;' "$said"
[ -e died ] && good || bad 'nobody died in the conversation'

# A job that is resumed goes on in the input that it is given, where its checkpoint was.
rm -rf st; rm -f died
"$hark" run -n 2 --store st --interval 1ms --checkpoint-on USR1 --then-stop -- "$input" stdio <numbers >first 2>err &
hark_pid=$!
wait_until [ -s first ]
kill -USR1 $hark_pid; wait $hark_pid; status=$?
if [ $status = 75 ]; then # else it had all read already
  "$hark" run -n 2 --store st --resume -- "$input" stdio <numbers >second 2>err
  is 'resumed' 0 $?
  cat first second | cmp -s - answer && good || bad 'resumed: another answer'
else
  is 'it had finished before it was told to stop' 0 $status
fi

# Nothing to read.
for from in /dev/null "$work"; do
  timeout 20 "$hark" run -n 2 -- "$input" raw <"$from" >out 2>err
  is "input from $from" 0 $?
done
grep -q '^hark: cannot read standard input: Is a directory$' err && good || bad 'a directory'
timeout 20 "$hark" run -n 2 -- "$input" raw <&- >out 2>err
is 'no input' 0 $?
is 'nothing is left' '' "$(ls -d "${TMPDIR:-/tmp}"/hark-$hark_pid-* 2>/dev/null)"
finish
