#!/bin/bash
# Clusters that follow what is sent: the same answer, whoever dies, also behind a change, and when the job is resumed:
# recluster.sh HARK PARTNERS
hark=$(readlink -f "$1") partners=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
follows=(-n 8 --recluster --clusters 2 --interval 1ms)

declare -A answers
answer_of() { # rounds: sets answer
  [ "${answers[$1]:-}" ] || {
    "$hark" run -n 8 --protocol none -- "$partners" "$1" 2000 >out 2>err </dev/null
    is "undisturbed, $1 rounds: lines" 8 "$(grep -c '^rank [0-9]*: [0-9a-f]\{16\}$' out)"
    answers[$1]=$(sort out | cksum)
  }
  answer=${answers[$1]}
}

trace() { awk '$3 == "cluster" { printf "%s %s %s;", $2, $4, $5 }' "$1" | sed -E 's/\.[0-9]+ id=[0-9]+ to=/>/g'; }
first='"reclusterings": \[{"checkpoint": [0-9]*, "clusters": \["0 4", "1 5", "2 6", "3 7"\]}' then='"clusters": \["0-1\( 4-5\|"\)'

# On a busy machine a job of few rounds is over before it is asked again who should be together; then one of more.
for transport in shm uv; do
  for kill in '' '--kill 3@20' '--kill 3@50 --kill 6@70' '--kill 0@60 --kill recovery@30 --kill 7@75' '--chaos 5:3'; do
    chosen || continue
    for rounds in 40 160 640 2560; do
      answer_of $rounds
      "$hark" run "${follows[@]}" --transport $transport --json figures.json --trace run.trace $kill -- "$partners" $rounds 2000 >out 2>err </dev/null
      is "$transport $kill: status" 0 $?
      is "$transport $kill: answer" "$answer" "$(sort out | cksum)"
      grep -q "$first" figures.json && grep -q "$then" figures.json && break
    done
    holds "$transport $kill: who are partners first are together" grep -q "$first" figures.json
    is "$transport $kill: as the trace has it" '1>1;2>2;3>3;4>0;5>1;6>2;7>3;' "$(trace run.trace | cut -c 1-28)"
    holds "$transport $kill: then the others" grep -q "$then" figures.json
  done
done

# Killed with all that belongs to it when the clusters have changed, and resumed; also from an image that can not be read.
for damage in no yes; do
  rm -rf store fifo
  mkfifo fifo
  "$hark" run "${follows[@]}" --store store -- "$partners" 400 2000 >first 2>fifo </dev/null &
  pid=$!
  while read -r line; do
    case $line in *'from checkpoint'*) kill -KILL $pid; break ;; esac
  done <fifo
  wait $pid 2>/dev/null
  newest=$(ls store/r4 | grep -E '^[0-9]+$' | sort -n | tail -n 1)
  [ $damage = no ] || printf 'no image' >"store/r4/$newest"
  "$hark" run "${follows[@]}" --store store --resume --kill 4@300 -- "$partners" 400 2000 >second 2>err </dev/null
  is "resumed, damaged $damage: status" 0 $?
  sort -u first second >out
  "$hark" run -n 8 --protocol none -- "$partners" 400 2000 2>/dev/null </dev/null | sort >expected
  holds "resumed, damaged $damage: answer" cmp expected out
  [ $damage = no ] || holds 'resumed: it says so' grep -q 'older checkpoint' err
done

# The image at which the clusters changed can not be read, of one whose cluster is not the first: all go back behind the change.
rm -rf store fifo
mkfifo fifo
"$hark" run -n 8 --recluster --clusters 2 --interval 300ms --store store --verbose -- "$partners" 700 2000 >out 2>fifo </dev/null &
pid=$! changed= victim=
while read -r line; do
  echo "$line"
  case $line in
    *'rank 5 is process'*) victim=${line##* } ;;
    *'from checkpoint'*)
      [ -z "$changed" ] || continue
      changed=${line#*from checkpoint }
      changed=${changed%% *}
      wait_until is_there "store/r5/$changed"
      printf 'no image' >"store/r5/$changed"
      kill -KILL "$victim"
      ;;
  esac
done <fifo >err
wait $pid
is 'behind the change: status' 0 $?
"$hark" run -n 8 --protocol none -- "$partners" 700 2000 2>/dev/null </dev/null | sort >expected
sort out >sorted
holds 'behind the change: answer' cmp expected sorted
holds 'behind the change: all go back' grep -q 'all ranks go back, for the clusters have changed' err

"$hark" run "${follows[@]}" --store kept -- "$partners" 4 100 >out 2>err </dev/null
is 'stored: status' 0 $?
expect 2 '--recluster needs --protocol hydee; this run uses team' --recluster --protocol team -- "$partners"
expect 2 'cannot be combined with --camel' --recluster --camel -- "$partners"
expect 2 'cannot be combined with --exact-gate' --recluster --exact-gate -- "$partners"
expect 2 'expected at most 4096 processes, found 5000' --recluster -n 5000 -- "$partners"
finish
