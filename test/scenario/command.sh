#!/bin/bash
# The commands check and replay: a violation is written, replayed and drawn; what is wrong is said in one line. command.sh HARK
hark=$(readlink -f "$1") here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../shell.sh"
tested=("$hark") words='hark'

sed '/^expect/d' "$here/lv3.hark" >lv3.hark
expect 1 '29 steps: I8: a process waits for ever' check -o v.hark lv3.hark
expect 1 'violated: I8' replay v.hark
sed '/^name/d' lv3.hark >unnamed.hark # is called as its file is
expect 1 'written to unnamed-violation.hark' check unnamed.hark
expect 1 'violated: I8' replay unnamed-violation.hark
sed -i '1i # a note' unnamed-violation.hark
expect 1 'written to unnamed-violation-2.hark' check unnamed-violation.hark
holds 'a scenario that is read is not written over' grep -q 'a note' unnamed-violation.hark
# Each scenario's violation has a file, also of those that are called the same, and beside the figures.
mkdir -p same/{a,b,c}
for at in a b c; do sed "s/^about.*/about in $at/" unnamed.hark >same/$at/called.hark; done
expect 1 'written to called-violation-3.hark: ' check same/{a,b,c}/called.hark
is 'whose violations these are' 'about in a|about in b|about in c' "$(sed -n '/^about/p' called-violation{,-2,-3}.hark | paste -sd'|')"
expect 1 'written to called-violation-2.hark: ' check --json called-violation.hark same/a/called.hark
holds 'the figures' grep -q '"verdict": "violated"' called-violation.hark
# What can not be written is printed: its search may have taken hours.
printed() { # what is said; KiB that a file may have; where; options
  local said=$1 limit=$2 at=$3; shift 3
  (cd "$at" && ulimit -f "$limit" && exec "$hark" check "$@" "$work/plain.hark") 2>&1 </dev/null | cat >out
  is "check $*: status and words" "2 hark check: $said" "${PIPESTATUS[0]} $(grep '^hark' out)"
  sed '1,/^  printed instead, the scenario with its schedule:$/d' out >printed.hark
  expect 1 'violated: I8' replay printed.hark
}
mkdir -p taken/plain-violation.hark
printf 'protocol none\np0: S1\np1: R0\nfails p1\n' >plain.hark
printed 'plain-violation.hark: Is a directory' unlimited taken
printed '-o /dev/full: No space left on device' unlimited . -o /dev/full
printed 'plain-violation.hark: File too large' 0 .
is 'nothing is left of it' '' "$(find . -maxdepth 1 -name 'plain-*')"
printf 'protocol scmel\np0: R R S3\np1: S0\np2: S0\np3: R0 S4\np4: R3 O\nfails p0\nfails p3 nested\n' >two.hark
expect 1 '2 processes may be lost at once here, and scmel with 1 copy of a determinant claims to survive the loss of one' check --walks 2000:1 two.hark
expect 2 '-violation.hark: no such option' replay -violation.hark
# Files are called as they like; a scenario is not.
for odd in '-odd "one' $'\xc3\xa9 e\n' "$(printf '\xc3\xa9%.0s' $(seq 60))"; do
  cp unnamed.hark "./$odd.hark"
  expect 1 '-violation.hark`$' check --json odd.json "./$odd.hark"
  file=$(sed -n 's/^  written to \([^:]*\):.*/\1/p' out)
  expect 1 'violated: I8' replay "$file"
  if [ -z "$(command -v node)" ] || node -e 'JSON.parse(require("fs").readFileSync("odd.json"))'; then good; else bad "$odd: no JSON"; fi
done
expect 2 '--atomic takes no value, found "1"' check --atomic=1 unnamed.hark
printf 'name ../up "one\nprotocol none\np0: S1\np1: R0\nfails p1\n' >up.hark
expect 1 'written to .._up__one-violation.hark: ' check up.hark
expect 1 'violated: I8' replay .._up__one-violation.hark
expect 1 '  expected: I1' check -o other-v.hark <(sed '$a expect I1' up.hark)
expect 2 '^hark check: -o needs exactly one scenario, found 2$' check -o other-v.hark up.hark up.hark
for to in /nowhere/v .; do expect 2 "^hark check: -o $to: " check -o $to up.hark; done
expect 2 '^hark check: none.hark: No such file' check --json one.json none.hark up.hark up.hark
if [ -z "$(command -v node)" ] || node -e 'JSON.parse(require("fs").readFileSync("one.json"))'; then good; else bad 'no JSON behind a file that is not there'; fi
# What can not be read is said before anything is searched, which may take hours; the others are searched.
"$hark" check --max-states 1000 "$here/st.hark" up.hark none.hark parts-none.hark >out 2>&1
is 'what comes first' 'hark check: none.hark: No such file or directory|hark check: parts-none.hark: No such file or directory|st' \
  "$(head -3 out | sed 's/^st .*/st/' | paste -sd'|')"
expect 2 '^hark check: --failures cannot be combined with --random: ' check --protocol none --random 1:3 --failures 1
expect 2 '^hark check: -o cannot be combined with --random: ' check --protocol none --random 1:3 -o v.hark
# What a protocol has not is refused, not called its fault.
printf 'clusters 0-1 2\np0: S2\np1: R2\np2: S1 R0\nfails any cluster\n' >mates.hark
for protocol in scmel camel sendet; do
  expect 2 "^hark check: mates: fails cluster: expected a protocol under which clusters go back, .* (protocol $protocol)$" check --protocol $protocol mates.hark
done
for protocol in coordinated hydee; do expect 0 '' check --protocol $protocol mates.hark; done
printf 'protocol hydee\nclusters 0-1 2\np0: C C\np1: C\np2:\n' >calls.hark
expect 2 '^hark check: calls: p1: found 1 checkpoint call, expected 2 as p0 has (protocol hydee)$' check calls.hark
sed -i 's/^p1: C/p1: C C/' calls.hark
expect 0 '' check calls.hark
expect 2 '^hark check: calls: p2: found 0 checkpoint calls, expected 2 as p0 has (protocol scmel)$' check --protocol scmel calls.hark
expect 0 '' check --protocol sendet calls.hark
# However many calls there are before, and in whichever part of a branch: a program that can not finish is no fault of a protocol.
for many in 1 4 31 40; do
  calls=$(printf 'C%.0s' $(seq $many))
  printf 'protocol coordinated\nnetwork fifo\np0: %sC S1\np1: %sR0 C\n' $calls $calls >late.hark
  expect 2 'can not finish even without failures and protocol: I8: a process waits for ever' check late.hark
done
printf 'protocol hydee\nclusters 0-1\np0: T1[C|C] S1\np1: R0 C\n' >parts.hark
expect 2 'can not finish even without failures and protocol: I8: a process waits for ever' check parts.hark
printf 'protocol hydee\nclusters 0-1\np0: T1[C S1|S1 C]\np1: C R0\nfails any\n' >parts.hark
expect 0 ' ok ' check parts.hark
printf 'protocol hydee\nclusters 0-1\np0: T1[C|CC] S1\np1: C R0\n' >parts.hark
expect 2 '^hark check: parts: p0: found a branch whose parts have not as many checkpoint calls, expected as many (protocol hydee)$' check parts.hark
sed -i 's/0-1/0 1/' parts.hark
expect 0 ' ok ' check parts.hark
printf 'reports tree 2\np0: S1\np1: R0\nfails p0\n' >tree.hark
for protocol in sendet hydee scmel; do expect 0 '' check --protocol $protocol tree.hark; done
printf 'protocol team\ncopies 2\nteams lost\np0: S1\np1: R0\n' >copies.hark
expect 2 '^hark check: copies: teams lost: expected copies 1 (protocol team)$' check copies.hark
printf 'protocol hydee\ngate exact\nreports tree 2\np0: S1\np1: R0\n' >both.hark
expect 2 '^hark check: both: reports tree: expected no gate exact (protocol hydee)$' check both.hark
expect 0 '' check --protocol scmel both.hark
# A multicast is drawn to where it is taken, and not for a message of its channel.
printf 'protocol hydee\ntree r0\np0: M S1\np1: B R0\nschedule\np0 M\np1 gets APP 1 from p0\np0 S1\np1 B\np1 gets APP 1 from p0\np1 R0\n' >cast.hark
expect 0 '' replay --svg cast.svg cast.hark
is 'the multicast and the message' 'step 1 to 4 step 3 to 6' "$(sed -n 's/.*<title>[^<]*\(step [0-9 to]*\)<.*/\1/p' cast.svg | tr '\n' ' ' | sed 's/ $//')"
expect 0 'none: .* 0 violated' check --protocol none --random 1:30 --max-states 5000
expect 0 'none: .* 0 violated' check --protocol none --random 1:30 --max-states 5000 --json random.json
is 'programs in the figures' "$(sed -n 's/^none: \([0-9]*\) programs.*/\1/p' out)" "$(sed -n 's/.*"programs": \([0-9]*\),.*/\1/p' random.json)"
expect 1 'violated: I8' replay --svg v.svg v.hark
# A checkpoint is drawn with its number at each process that takes it.
expect 0 '' replay --svg checkpoint.svg "$here/golden/coordinated.hark"
is 'numbers of checkpoints' '1 1' "$(sed -n 's/.*class="number" x="[0-9]*\.[0-9]*"[^>]*>\([0-9]*\)<.*/\1/p' checkpoint.svg | paste -sd' ')"
# A schedule that comes to its end has not shown what it is kept for.
printf 'name quiet\nprotocol none\np0: S1\np1: R0\nexpect I8\nschedule\np0 S1\n' >quiet.hark
expect 1 '^not violated: expected I8$' replay quiet.hark
sed -i 's/^expect I8/expect ok/' quiet.hark
expect 0 '' replay quiet.hark
grep -q '>after step 29: I8: a process waits for ever</text>' v.svg && grep -q '</svg>' v.svg && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED: no picture"; }
expect 0 'p2: incarnation 0' replay --step 20 v.hark
expect 0 'Phase=2' replay --state --step 5 v.hark
expect 1 'I8: a process waits for ever' check --reduce -o reduced.hark lv3.hark
expect 1 'violated: I8' replay reduced.hark
expect 1 'as in the search of all' check --compare lv3.hark
expect 0 'the same ends as all of its' check --compare "$here/v1.hark"
expect 2 'reduce cannot be combined with --atomic' check --reduce --atomic lv3.hark
expect 2 'compare cannot be combined with --walks' check --compare --walks 3 lv3.hark
sed 's/^p0 T2$/p0 T1/' v.hark >other.hark
expect 1 'possible now: ' replay other.hark
sed 's/^= HANDUP$/= HOLD/' v.hark >golden.hark
expect 1 'expected "HOLD", found "HANDUP"' replay --quiet golden.hark
for g in "$here"/golden/*.hark; do
  case $g in */none.hark) end='violated: I8' ;; *) end=RECOVERED ;; esac
  expect 0 "$end" replay "$g"
done
expect 0 '^   1\.  p0 sends message 1 to p1\.$' replay --story "$here/golden/none.hark"
expect 0 '^Violated: I8: a process waits for ever\.$' replay --story "$here/golden/none.hark"
expect 0 '^The schedule ends here; more can happen\.$' replay --story --step 4 "$here/golden/hydee.hark"
expect 2 'it has no schedule; .hark check. writes one' replay lv3.hark
# What is sent while a process is down is compared with its image when it restarts.
steps='p1 S0,p0 gets APP 1 from p1,p0 T1,p0 S1,p1 gets APP 1 from p0,p1 R0,p1 C,p1 stored 1,p1 answered,p0 fails,p0 restarts,p1 fails,p0 T1,p0 S1'
printf 'protocol hydee\ncontent history\np0: T1 S1\np1: S0 R0 C\nfails p0\nfails p1 nested\nschedule\n%s\n' "${steps//,/$'\n'}" >image.hark
expect 0 '14  p0 S1' replay image.hark
echo 'p1 restarts' >>image.hark
expect 1 '^violated: I1: a process has delivered what its sender does not say any more$' replay image.hark
# A violation that is found while it is found, too, that a step does not commute: the way is that of the search without it.
expect 1 'violated *.* states' check --reduce -o way.hark <(printf 'name way\nprotocol none\nnetwork fifo\np0: S1 S1\np1: R T0\nfails p0\n')
expect 1 '^violated: I' replay way.hark
expect 0 'no way to it: it had to be searched for again, and a limit was reached first' check --reduce --max-states 10000 -o none.hark "$here/cycle.hark"
[ ! -e none.hark ] && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED: a way that there is none of"; }
# A program that reduces runs under its protocol alone, too; where there are many states without failures, its ends are those of a reduced
# search, in which a multicast overtakes a message.
expect 0 ' ok ' check --max-states 500 <(printf 'name overtaken\nprotocol camel\ntree 1r1\np0: B T1 A\np1: S0 M A Q\np2: B A\n')
for program in 'p0: S1 C M A Q\np1: B C R0 A\n' 'p0: A Q R1\np1: A\n'; do
  expect 2 'the program can not finish even without failures: I8: a process waits for ever' check -o stuck.hark <(printf "name stuck\nprotocol camel\ntree r0\n$program")
  expect 1 'violated: I8: a process waits for ever' replay stuck.hark
done
# Where what is said depends on what was taken, the program may be to blame; where it does not, only the protocol is.
free='protocol hydee\np0: S2 S2 R2\np1: S2\np2: R R S0\nfails p2\n'
expect 1 'DIVERGED: a process sends again something else than it sent$' check -o free.hark <(printf "name free\ncontent history\n$free")
expect 0 ' ok ' check <(printf "name free\n$free")
expect 2 'the program can not finish even without failures and protocol: I8: a process waits for ever: p0 at R1$' check <(sed '/^expect/d' "$here/stuck.hark")
expect 2 ': p0 at R, p2 at W1$' check <(printf 'name left\nprotocol hydee\np0: S1 R\np1: T0 W0\np2: T1 W1\n')
expect 0 ' ok  *100 walks to an end .* steps/s$' check --walks 100:7 --jobs 2 "$here/og.hark"
expect 0 ' ok  *1000 walks to an end .* steps/s$' check --walks 1000 "$here/td.hark" # of which some go on from an end with a failure
expect 3 'not searched whole: the limit of states (--max-states) was reached; nothing wrong as far as it went$' check --max-states 1000 "$here/st.hark"
expect 3 'not searched whole: the limit of memory, 8 MiB (--max-memory), was reached; nothing wrong as far as it went$' check --max-memory 8M "$here/st.hark"
# A script can tell a search that was cut off; and what is wrong counts more.
expect 3 '"verdict": "limit".*"limit": "states"' check --max-states 1000 --json /dev/stdout "$here/st.hark"
expect 3 '"max_memory": 8388608, .*' check --max-memory 8M --json /dev/stdout "$here/st.hark"
expect 1 'not searched whole' check --max-states 1000 "$here/st.hark" <(printf 'name wrong\nprotocol none\np0: S1\np1: R0\nfails p1\n')
expect 2 'not searched whole' check --max-states 1000 "$here/st.hark" no-such
expect 0 'not searched whole' check --max-states 1000 <(sed 's/^expect.*/expect limit/' "$here/st.hark")
expect 3 'not searched whole' check --max-states 1000 <(sed 's/^expect.*/expect I8/' "$here/st.hark")
expect 3 ', 0 violated, .*, [1-9][0-9]* not to the end$' check --protocol hydee --random 1:20 --max-states 500
for how in '' '--reduce' '--compare' '--jobs 2' '--walks 10' '--walks 10 --jobs 2'; do
  # shellcheck disable=SC2086
  expect 2 '^hark check: --max-memory: expected at least [0-9]*M for st, found less$' check --max-memory 1K $how "$here/st.hark"
  # shellcheck disable=SC2086
  expect "$(case $how in *walks*) echo 0 ;; *) echo 3 ;; esac)" '' check --max-memory "$(sed -n 's/.*at least \([0-9]*M\) .*/\1/p' out)" $how "$here/st.hark"
done
expect 2 '^hark check: --max-memory: expected at least [0-9]*M for these programs, found less$' check --protocol hydee --max-memory 1K --jobs 2 --random 1:10
is 'how often it is said' 1 "$(grep -c 'at least' out)"
expect 1 'expected: I7' check <(sed 's/^expect.*/expect I7/' "$here/v1.hark")
expect 0 '"verdict": "ok"' check --json /dev/stdout "$here/v1.hark"
expect 2 'no-such: No such file' check no-such
printf 'p0: S1\np1: X0\n' >bad.hark
expect 2 '^hark check: bad.hark:2:5: ' check bad.hark
expect 2 '^hark replay: bad.hark:2:5: ' replay bad.hark
expect 2 'expected 0 to 8' check --failures 9 lv3.hark
expect 2 'expected bytes such as' check --max-memory lots lv3.hark
expect 2 '^hark check: --protocol: expected none, .*hydee.* or .*, found "walk"$' check --protocol walk lv3.hark
expect 2 '--random needs --protocol' check --random 1:10
expect 2 '^hark check: --copies needs --protocol scmel, team.* this run uses hydee$' check --protocol hydee --copies 2 lv3.hark
expect 2 '^hark check: --copies needs --protocol scmel, team.* this run uses none$' check --protocol none --copies 2 --random 1:10
expect 2 '^hark check: --copies needs --protocol scmel, team.* this run uses hydee$' check --copies 2 lv3.hark
expect 2 'expected SEED:COUNT' check --protocol hydee --random 1
expect 2 '--random cannot be combined with a scenario' check --protocol hydee --random 1:1 lv3.hark
expect 2 '^hark check: --jobs: expected 1 to 64, found "0"$' check --jobs 0 lv3.hark
expect 2 'jobs: expected 1 to 64, found "65"' check --jobs 65 lv3.hark
expect 2 'jobs: expected 1 to 64, found "2x"' check --jobs 2x lv3.hark
expect 2 'usage: hark check' check
expect 2 'usage: hark replay' replay
# Where three checkpoints are kept, both of two can be damaged, one after the other; where two are, only one.
states_of() { "$hark" check --json /dev/stdout "$1" | sed -n 's/.*"states": \([0-9]*\).*/\1/p'; }
both=$(states_of "$here/scmel-damaged-both.hark") one=$(states_of <(sed '/^generations/d' "$here/scmel-damaged-both.hark"))
[ "${both:-0}" -gt "${one:-0}" ] && [ "${one:-0}" -gt 0 ] && passed=$((passed + 1)) ||
  { failed=$((failed + 1)); echo "FAILED: ${both:-no} states where both checkpoints can be damaged, ${one:-none} where one can"; }
# Threads: as many states, steps, ends and so on ($1: the first of the figures to compare) for one as for several.
same() {
  local first=$1 jobs; shift
  for jobs in 1 2 3; do
    "$hark" check --jobs $jobs --json $jobs.json "$@" >out 2>&1 </dev/null
    sed -n "s/.*\"\($first\".*\), \"seconds\".*/\1/p" $jobs.json >$jobs.figures
  done
  if [ -s 1.figures ] && cmp -s 1.figures 2.figures && cmp -s 1.figures 3.figures; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  echo "FAILED hark check --jobs 1, 2, 3 $*"
  cat [123].figures
}

same states "$here/v1.hark"
same states "$here/og.hark"
same states --max-states 20100 "$here/og.hark" # in many rounds, because the limit is near
same states --atomic "$here/fig4-c2.hark"
same states "$here/scmel-v10.hark"
same finals --reduce "$here/og.hark"
for scenario in og camel-one scmel-a scmel-damaged-both team-reduce-rack; do # what other threads relied on does not hold
  expect 0 'the same ends as all of its' check --jobs 2 --compare "$here/$scenario.hark"
done
expect 1 'after 29 steps: I8: a process waits for ever' check --jobs 3 -o threads.hark lv3.hark
expect 1 'violated: I8' replay threads.hark
expect 1 'I8: a process waits for ever' check --jobs 3 --reduce -o threads.hark lv3.hark
expect 1 'violated: I8' replay threads.hark
expect 3 'not searched whole: the limit of states (--max-states) was reached; nothing wrong as far as it went$' check --jobs 3 --max-states 1000 "$here/st.hark"
expect 3 'not searched whole: the limit of memory, 8 MiB (--max-memory), was reached; nothing wrong as far as it went$' check --jobs 3 --max-memory 8M "$here/st.hark"

# Processes: the same sums, the same walk; nobody is left, whoever dies.
sums() {
  local jobs
  for jobs in 1 3; do "$hark" check --jobs $jobs "$@" >$jobs.sums 2>&1 </dev/null; done
  if grep -q ' programs (.* states, ' 1.sums && cmp -s 1.sums 3.sums; then passed=$((passed + 1)); return; fi
  failed=$((failed + 1))
  echo "FAILED hark check --jobs 1, 3 $*"
  cat [13].sums
}

sums --protocol hydee --max-states 2000 --random 1:20
sums --protocol scmel --walks 30 --random 1:20
same states --walks 100:5 "$here/st.hark"
expect 1 'I8: a process waits for ever' check --walks 50 -o walk.hark lv3.hark
expect 1 'I8: a process waits for ever' check --walks 50 --jobs 3 -o walk-3.hark lv3.hark
cmp -s walk.hark walk-3.hark && passed=$((passed + 1)) || { failed=$((failed + 1)); echo "FAILED: another walk"; }

mkfifo fifo
started() { # processes of a check that would take for ever; who is one of them, once there are all three
  "$hark" check --protocol hydee --jobs 3 --walks 100 --random 1:1000000000 >fifo 2>&1 </dev/null &
  pid=$!
  exec 3<fifo
  one=
  while kill -0 $pid 2>/dev/null && [ -z "$one" ]; do
    read -r one _ three < <(cat /proc/$pid/task/$pid/children)
    [ -n "$three" ] || one=
  done
}

started
kill -9 "$one"
cat <&3 >out # until nobody can write any more
wait $pid
if [ $? = 2 ] && grep -q 'one of the processes died of signal 9' out; then passed=$((passed + 1)); else
  failed=$((failed + 1))
  echo "FAILED: a process has died:"
  cat out
fi
started
kill -9 $pid
wait $pid 2>/dev/null
status=$?
cat <&3 >out
if [ $status = 137 ] && [ ! -s out ]; then passed=$((passed + 1)); else
  failed=$((failed + 1))
  echo "FAILED: the first has died:"
  cat out
fi

# A signal ends it with the figures so far. It is sent when it is caught; it is not where it was ignored.
caught() { # pid, number of the signal
  local mask
  [ "$(readlink /proc/"$1"/exe)" = "$hark" ] || return 2 # before, a shell
  mask=$(sed -n 's/^SigCgt:\t*//p' /proc/"$1"/status 2>/dev/null) || return 2
  [ $((0x${mask:-0} >> ($2 - 1) & 1)) = 1 ]
}
ends_by() { # signal, its number, what is said, arguments: of a search that would take for ever
  local signal=$1 number=$2 said=$3 status; shift 3
  env --default-signal="$signal" "$hark" "$@" >out 2>&1 </dev/null &
  pid=$!
  until caught $pid "$number"; do kill -0 $pid 2>/dev/null || break; done
  kill -s "$signal" $pid
  wait $pid
  status=$?
  if [ $status = 3 ] && grep -q -- "$said" out; then good; else bad "hark $*: SIG$signal (exit $status, expected 3 and \"$said\")"; fi
}
long="$here/verify/og-2.hark"
for how in '' '--reduce' '--compare' '--jobs 2' '--walks 1000000000' '--walks 1000000000 --jobs 2'; do
  # shellcheck disable=SC2086
  ends_by TERM 15 '^  not searched whole.*: stopped by SIGTERM; nothing wrong as far as it went$' check $how "$long"
done
ends_by INT 2 '^stopped by SIGINT: 2 more not searched$' check --json stopped.json "$long" "$here/v1.hark" "$here/v1.hark"
is 'why it was not whole' stopped "$(sed -n 's/.*"limit": "\([a-z ]*\)".*/\1/p' stopped.json)"
ends_by TERM 15 '^  not searched whole: stopped by SIGTERM' check --protocol hydee --random 1:1000000000 --json random-stopped.json
is 'that it was stopped' true "$(sed -n 's/.*"stopped": \([a-z]*\).*/\1/p' random-stopped.json)"
ends_by TERM 15 '^  not searched whole: stopped by SIGTERM' check --protocol hydee --random 1:1000000000 --walks 100 --jobs 3
env --ignore-signal=INT "$hark" check "$long" >out 2>&1 </dev/null &
pid=$!
until caught $pid 15; do kill -0 $pid 2>/dev/null || break; done
caught $pid 2 && bad 'SIGINT is caught where it was ignored' || good
kill -TERM $pid
wait $pid
is 'the status behind it' 3 $?

# On a terminal there is a line of progress every second, and how much memory it may take is said.
on_terminal() { # what is to be in the line, arguments
  local said=$1 line='' script status; shift
  script -qec "exec '$hark' $*" /dev/null >fifo </dev/null &
  script=$!
  exec 3<fifo
  while [[ $line != *"$said"* ]] && read -r -N 1 -u 3 letter; do line+=$letter; done
  read -r pid _ </proc/$script/task/$script/children
  kill -TERM "$pid"
  line+=$(cat <&3)
  wait $script
  status=$?
  printf '%s\n' "$line" >out
  if [ $status = 3 ] && [[ $line == *"stopped by SIGTERM"* ]]; then good; else bad "hark $* on a terminal (exit $status)"; fi
}
on_terminal 'states/s, ' check "$long"
grep -qE '^hark check: up to [0-9.]+ [MG]iB of memory, three quarters of what is available; see --max-memory' out && good || bad 'the memory it may take'
grep -qE 'og-2: [0-9]+ states, [0-9]+ to do, depth [0-9]+, [0-9]+ states/s, ' out && good || bad 'the line of progress'
on_terminal 'walks/s, ' check --walks 1000000000 --jobs 2 --max-memory 1G "$long"
grep -q 'up to' out && bad 'the memory it may take, which was said' || good
on_terminal 'states/s, ' check --protocol hydee --random 1:1000000000 --jobs 2
grep -qE '[0-9]+ of 1000000000 programs, [0-9]+ states, depth [0-9]+, [0-9]+ states/s, ' out && good || bad 'the line of progress'

finish
