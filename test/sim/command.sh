#!/bin/bash
# The command sim: figures that are the same again, ends that are the same after failures, what is written, what is wrong said in one
# line. command.sh HARK ZLIB (1: built with it) PATTERNS
hark=$(readlink -f "$1") zlib=$2 patterns=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" sim) words='hark sim'

# Twice the same, but for the wall time; with failures the same ends.
small=(--jitter 20us --restart 200us --detect 50us --checkpoint-cost 50us --checkpoint-every 2 --iterations 8)
for run in "hydee stencil2d --ranks 30 --clusters 5" "scmel random --ranks 11" "coordinated openatom --ranks 20" "hydee leanmd --ranks 9 --digest" \
  "hydee nas-cg --ranks 16 --exact-gate"; do
  set -- $run
  common=(--protocol "$1" --pattern "$2" "${@:3}" "${small[@]}")
  "$hark" sim "${common[@]}" --json calm.json --csv calm.csv --plot calm.svg >out 2>&1 || bad "$run"
  "$hark" sim "${common[@]}" --fail 3@4 --fail 1@7 --json one.json --plot one.svg >out 2>&1 || bad "$run, failures"
  "$hark" sim "${common[@]}" --fail 3@4 --fail 1@7 --json two.json >out 2>&1 || bad "$run, failures"
  grep -v _ms one.json >one; grep -v _ms two.json >two
  if cmp -s one two && [ -s one ]; then good; else bad "$run: not the same twice"; fi
  if [ "$(figure digest calm.json)" = "$(figure digest one.json)" ] && [ -n "$(figure digest one.json)" ]; then good; else bad "$run: another end"; fi
  if [ "$(figure failed one.json)" = 2 ] && [ "$(figure messages calm.json)" = "$(figure wanted one.json)" ]; then good; else bad "$run: figures"; fi
  if [ "$(wc -l <calm.csv)" = 2 ] && [ "$(head -1 calm.csv | tr -cd , | wc -c)" = "$(tail -1 calm.csv | tr -cd , | wc -c)" ]; then good; else bad "$run: csv"; fi
  if grep -q '</svg>' one.svg && grep -q '>3 dies<' one.svg && grep -q '>recovered<' one.svg; then good; else bad "$run: svg"; fi
done
expect 0 '^  control messages  *[0-9]*  [0-9]* at most to one process (\([0-9]*\|recovery\)), [0-9]* to and from \(it\|one ([0-9recovy]*)\)$' \
  --protocol hydee --pattern stencil2d --ranks 30 --clusters 5 --fail 3@2
# The lines are level where nobody gets on: never aslant, but within the width of a sample's own column.
if awk -F'points="' '/polyline class="(done|log)"/ {
    n = split($2, p, /[ ,"]/)
    for (i = 3; i + 1 < n; i += 2) if (p[i] - p[i - 2] > 1 && p[i + 1] != p[i - 1]) aslant++
    lines++
  } END { exit !(lines == 2 && aslant == 0) }' one.svg; then good; else bad "lines aslant"; fi
# Axes have round numbers, 3 to 9 on each, one step apart; where the logs are on the line of the iterations, both are seen.
"$hark" sim --protocol scmel --pattern ring --ranks 16 --iterations 200 --checkpoint-every 0 --plot upon.svg >out 2>&1
for svg in one.svg upon.svg many.svg; do
  [ $svg != many.svg ] || "$hark" sim --pattern ring --ranks 3 --iterations 7777 --plot many.svg >out 2>&1
  for anchor in middle end; do
    sed -n "s/.*text-anchor=\"$anchor\">\([0-9.]*\) [a-z%]*<.*/\1/p" $svg >marks
    if awk 'NR == 2 { step = $1; digit = step; while (digit >= 9.99) digit /= 10; while (digit < 0.999) digit *= 10 }
      NR > 1 && ($1 - last - step > step / 1e6 || last + step - $1 > step / 1e6) { bad = 1 }
      { last = $1 } END { exit !(NR >= 3 && NR <= 9 && !bad && digit ~ /^[125](\.0*)?$/) }' marks; then good; else bad "$svg: marks $(paste -sd' ' marks)"; fi
  done
done
is 'the logs have dashes' 1 "$(grep -c 'polyline.log {[^}]*stroke-dasharray' upon.svg)"
is 'they are drawn upon the iterations' 'done log' "$(sed -n 's/^<polyline class="\([a-z]*\)".*/\1/p' upon.svg | paste -sd' ')"
is 'and lie on them at the end' "$(sed -n 's/^<polyline class="done".* \([0-9.,]*\)".*/\1/p' upon.svg)" "$(sed -n 's/^<polyline class="log".* \([0-9.,]*\)".*/\1/p' upon.svg)"
"$hark" sim --pattern stencil2d --ranks 30 "${small[@]}" --seed 1 --json one.json >out 2>&1
"$hark" sim --pattern stencil2d --ranks 30 "${small[@]}" --seed 2 --json two.json >out 2>&1
if [ "$(figure simulated_ns one.json)" != "$(figure simulated_ns two.json)" ]; then good; else bad "another seed is no other run"; fi
if command -v node >/dev/null; then
  if node -e 'const j = JSON.parse(require("fs").readFileSync("one.json")); process.exit(j.schema === 1 && j.messages > 0 ? 0 : 1)'; then good; else bad "no JSON"; fi
fi

# Reports by a tree: the same end, and no process has more to do when there are more of them.
for ranks in 64 1024; do
  tree=(--pattern stencil2d --ranks $ranks --clusters $((ranks / 16)) --iterations 4 --checkpoint-every 0 --fail $((ranks / 2))@3)
  "$hark" sim "${tree[@]}" --json one.json >out 2>&1 || bad "no tree"
  "$hark" sim "${tree[@]}" --report-tree 2 --json $ranks.json >out 2>&1 || bad "a tree"
  if [ "$(figure digest one.json)" = "$(figure digest $ranks.json)" ] && [ -n "$(figure digest one.json)" ]; then good; else bad "a tree: another end"; fi
  if [ "$(figure control_busiest_at one.json)" = recovery ] && [ "$(figure control_busiest one.json)" -gt $((6 * ranks)) ]; then good; else bad "no tree: busiest"; fi
done
if [ "$(figure control_busiest 1024.json)" -le $(($(figure control_busiest 64.json) + 8)) ]; then good; else bad "a tree: busiest"; fi

# A process to which many send before it receives: what it waits for is found at once, wherever it is among the rest. A walk along all
# that has come would take minutes.
tested=(timeout 60 "$hark" sim)
expect 0 'messages  *[0-9]' --pattern random --ranks 4 --degree 400000 --protocol none --iterations 1
tested=("$hark" sim)

# Failures by chance; several at once; of the recovery process.
expect 0 'recovery 2' --pattern stencil2d --ranks 16 "${small[@]}" --iterations 20 --mtbf 1ms
# Who is still in the checkpoint call that it goes back to makes nothing again: never more than there is. Where there are more
# failures than time between them that is said; the picture of many is no larger than that of few.
expect 0 'iterations made again' --pattern ring --ranks 2 --iterations 12 --mtbf 3ms --seed 114 --json one.json
lost=$(sed -n 's/.*"iterations_lost": \([0-9]*\),$/\1/p' one.json | head -1)
if [ -n "$lost" ] && [ "$lost" -gt 0 ] && [ "$lost" -le 48 ]; then good; else bad "iterations made again: $lost"; fi
expect 1 'the job got no further than .* of 80 iterations: --mtbf 1 ns is too short' --pattern ring --ranks 8 --mtbf 1
expect 0 'recovery 1' --pattern ring --ranks 8 --protocol scmel --mtbf 100us --iterations 5 --restart 20s
expect 0 'failure of' --pattern ring --ranks 8 --mtbf 500us --iterations 200 --plot many.svg
if [ "$(wc -c <many.svg)" -lt 150000 ] && [ "$(grep -c 'class="death"' many.svg)" -gt 100 ]; then good; else bad "a picture of many failures"; fi
expect 0 'failure of recovery' --pattern stencil2d --ranks 16 "${small[@]}" --fail 3@4 --fail recovery@5
# When all are where they had been: behind what was being computed; not at all where the next failure comes first; a death at the
# very beginning has all of its times; the recovery process is in no iteration, and who has ended in the last one.
times() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" one.json | paste -sd' '; }
same() { # what, expected, found
  if [ "$2" = "$3" ]; then good; else bad "$1: expected $2, found $3"; fi
}
expect 0 'caught up' --pattern ring --ranks 4 --protocol scmel --compute 1s --fail 0@1 --iterations 3 --json one.json
same 'a computation made again' 1011000.000 "$(times caught_up_us)"
expect 0 'caught up  *never' --pattern ring --ranks 4 --protocol coordinated --fail 0@8 --fail 0@8 --json one.json
same 'the next failure' null "$(times caught_up_us | cut -d' ' -f1)"
expect 0 'detection  *1000.000 us' --pattern ring --ranks 4 --compute 0 --fail 0@1
expect 0 'in iteration 2$' --pattern ring --ranks 4 --fail 0@2 --fail recovery@5 --json one.json
same 'iterations of failures' '2 null' "$(sed -n 's/.*"iteration": \([^,]*\).*/\1/p' one.json | paste -sd' ')"
same 'detection under sendet' 1000.000 "$("$hark" sim --pattern ring --ranks 4 --protocol sendet --fail 0@2 --json one.json >out && times detect_us)"
"$hark" sim --pattern stencil2d --ranks 13 --iterations 15 --clusters 5 --checkpoint-every 1 --seed 3 --mtbf 3ms --json one.json >out
same 'the last iteration' 15 "$(sed -n 's/.*"iteration": \([0-9]*\),.*/\1/p' one.json | sort -n | tail -1)"
expect 0 'processes rolled back' --pattern ring --ranks 6 --protocol scmel --copies 2 "${small[@]}" --fail 2@3 --fail 3@3

# Multicasts to groups: each is logged once, and what dies in the middle of a tree comes to the same end.
for protocol in scmel camel; do
  expect 0 'of multicasts' --protocol $protocol --pattern openatom --ranks 21 --cells 7 "${small[@]}" --json $protocol.json
  expect 0 'processes rolled back' --protocol $protocol --pattern openatom --ranks 21 --cells 7 "${small[@]}" --fail 11@4 --json $protocol.one.json
done
for json in scmel.one camel camel.one; do
  if [ "$(figure digest scmel.json)" = "$(figure digest $json.json)" ]; then good; else bad "$json: another end"; fi
done
if [ "$(figure logged_multicasts scmel.json)" = $((18 * 8)) ] && [ "$(figure logged_multicasts camel.json)" = $((3 * 8)) ]; then good; else bad "multicasts in the log"; fi

# hydee's, where they are asked for: one in the log for each multicast that leaves the cluster of its root, whatever clusters are in the
# tree; without, one for each of its edges between clusters. The ends are the same, who dies may be a root, between others, a leaf.
for clusters in 3 4 7 21; do
  casts=(--pattern openatom --ranks 21 --cells 7 --clusters $clusters "${small[@]}")
  expect 0 'of multicasts' "${casts[@]}" --json plain.json
  expect 0 'of multicasts' "${casts[@]}" --camel --json hydee.json
  expect 0 'processes rolled back' "${casts[@]}" --camel --fail 7@3 --json root.json
  expect 0 'processes rolled back' "${casts[@]}" --camel --digest --report-tree 2 --fail 11@4 --fail 13@4 --fail recovery@9 --json two.json
  for json in plain hydee root two; do
    is "hydee, $clusters clusters, $json: the end" "$(figure digest scmel.json)" "$(figure digest $json.json)"
  done
  is "hydee, $clusters clusters: messages" "$(figure messages plain.json)" "$(figure messages hydee.json)"
  case $clusters in 3) edges=0 trees=0 ;; 4) edges=4 trees=3 ;; 7) edges=10 trees=3 ;; 21) edges=18 trees=3 ;; esac
  is "hydee, $clusters clusters: multicasts in the log" $((edges * 8)) "$(figure logged_multicasts plain.json)"
  is "hydee, $clusters clusters: with --camel" $((trees * 8)) "$(figure logged_multicasts hydee.json)"
done

# Among teams: whatever is outside of the root's is one piece of the tree, and inside of a team nothing is kept. Where groups are teams
# only what is between them is logged, once for each of their messages.
for clusters in 3 4 7 21; do
  for how in "" --team-lost "--copies 2"; do
    casts=(--pattern openatom --ranks 21 --cells 7 --clusters $clusters "${small[@]}" --protocol team --camel $how)
    expect 0 'of multicasts' "${casts[@]}" --json team.json
    expect 0 'processes rolled back' "${casts[@]}" --fail 7@3 --fail 9@5 --json root.json
    for json in team root; do is "team, $clusters clusters $how, $json: the end" "$(figure digest scmel.json)" "$(figure digest $json.json)"; done
    case $clusters in 3) trees=0 ;; *) trees=3 ;; esac
    is "team, $clusters clusters $how: multicasts in the log" $((trees * 8)) "$(figure logged_multicasts team.json)"
  done
done

# Two copies: multicasts take along what is loose. Reductions are messages then.
expect 0 'of multicasts' --pattern openatom --ranks 21 --cells 7 "${small[@]}" --protocol camel --copies 2 --fail 7@3 --json two.json
is "camel, two copies: the end" "$(figure digest scmel.json)" "$(figure digest two.json)"

# Inside a team nothing stays in the log, not even what had to wait there for its determinants.
expect 0 'log at the end, bytes  *0  [1-9]' --protocol team --pattern alltoall --ranks 64 --clusters 1 "${small[@]}"

# LogGP, through the command: three processes send 1,000 bytes each to a fourth. First bytes are there at o + L = 1200; with headers k = 1032, so
# receptions begin g + 1031 G = 1131 apart, and the last message is taken at 1200 + 2 * 1131 + 1031 + 200. And one to each of three is as long.
printf '%%%%MatrixMarket matrix coordinate integer general\n4 4 3\n2 1 1000\n3 1 1000\n4 1 1000\n' >in.mtx
printf '%%%%MatrixMarket matrix coordinate integer general\n4 4 3\n1 2 1000\n1 3 1000\n1 4 1000\n' >out.mtx
for way in in out; do
  expect 0 '' --pattern $way.mtx --protocol none --iterations 1 --checkpoint-every 0 --compute 0 --latency 1000 --overhead 200 --gap 100 --gap-per-byte 1 --json one.json
  is "LogGP, fan-$way" 4693 "$(figure simulated_ns one.json)"
done

# Matrices: as they are written they are read; with counts; a few ranks more than they have.
expect 0 '' --pattern stencil3d --ranks 27 --bytes 100 --write-matrix a.mtx --write-messages n.mtx
expect 0 '' --pattern a.mtx --write-matrix b.mtx
if [ -s a.mtx ] && cmp -s <(tail -n +3 a.mtx) <(tail -n +3 b.mtx); then good; else bad "another matrix"; fi
"$hark" sim --pattern a.mtx --messages n.mtx "${small[@]}" --fail 5@3 --json m.json >out 2>&1 || bad "a matrix"
if [ "$(figure wanted m.json)" = $((8 * 108)) ] && [ "$(figure ranks m.json)" = 27 ]; then good; else bad "figures of a matrix"; fi
"$hark" sim --pattern <(cat a.mtx) --messages <(cat n.mtx) "${small[@]}" --fail 5@3 --json pipe.json >out 2>&1 || bad "a matrix from a pipe"
is 'a matrix from a pipe' "$(figure digest m.json) $(figure wanted m.json)" "$(figure digest pipe.json) $(figure wanted pipe.json)"
expect 0 '30 processes' --pattern a.mtx --ranks 30 "${small[@]}"
if [ "$zlib" = 1 ]; then
  expect 0 'messages  *13[0-9]* *$' --pattern "$patterns/hpccg.64.mtx.gz" --messages "$patterns/hpccg.64.msgs.mtx.gz" --iterations 1 --fail 7@1
  expect 0 'scmel' --protocol scmel --pattern "$patterns/npb-cg.B.64.p2p.mtx.gz" --iterations 3 --fail 7@2
  gzip -c a.mtx >a.mtx.gz
  head -c 150 a.mtx.gz >cut.mtx.gz
  expect 2 '^hark sim: cut.mtx.gz:[0-9]*: the compressed file is cut off here$' --pattern cut.mtx.gz
  { head -c 60 a.mtx.gz; printf 'xxxxxxxxxxxx'; tail -c +73 a.mtx.gz; } >hurt.mtx.gz
  expect 2 '^hark sim: hurt.mtx.gz:[0-9]*: ' --pattern hurt.mtx.gz
else
  refused "$patterns/hpccg.64.mtx.gz: compressed by gzip, and this hark was built without zlib" --pattern "$patterns/hpccg.64.mtx.gz"
fi

# What is wrong with a matrix.
matrix() { printf '%%%%MatrixMarket matrix coordinate %s\n%% a comment\n%b' "$1" "$2" >bad.mtx; }
matrix 'integer general' '2 3 1\n1 2 5\n'
refused 'bad.mtx:3: expected a square matrix, found 2 rows and 3 columns' --pattern bad.mtx
matrix 'integer general' '2 2 1\n1 2 -5\n'
refused 'bad.mtx:4: expected a whole number from 0, found "1 2 -5"' --pattern bad.mtx
matrix 'real general' '2 2 1\n1 2 -5\n'
refused 'bad.mtx:4: expected a finite value from 0, found "1 2 -5"' --pattern bad.mtx
for value in nan inf 1e999 1e300 -0.5 x ''; do
  matrix 'real general' "2 2 1\n1 2 $value\n"
  refused "bad.mtx:4: expected a finite value from 0, found \"1 2 $value\"" --pattern bad.mtx
done
matrix 'integer general' '4 4 1\n1 2 5\n'
refused 'bad.mtx:3: expected at most 3 ranks, found 4' --pattern bad.mtx --ranks 3
printf '%%%%MatrixMarket matrix coordinate integer general\n1000000000 1000000000 1\n1 2 5\n' >large.mtx
refused 'large.mtx:2: expected at most 268435456 ranks, found 1000000000' --pattern large.mtx
refused '--exact-gate needs --protocol hydee; this run uses scmel' --pattern ring --ranks 8 --protocol scmel --exact-gate
refused '--team-lost needs --protocol team; this run uses hydee' --pattern ring --ranks 8 --team-lost
refused '-violation.hark: no such option, see `hark help sim`' -violation.hark
refused '-x: no such option, see `hark help sim`' -x
matrix 'integer general' '2 2 2\n1 2 5\n'
refused 'bad.mtx:5: expected 2 entries, the file ends after 1' --pattern bad.mtx
matrix 'integer general' '2 2 1\n1 2 5\n2 1 5\n'
refused 'bad.mtx:5: expected 1 entries, found more' --pattern bad.mtx
matrix 'integer general' '2 2 1\n1 3 5\n'
refused 'bad.mtx:4: expected row and column from 1 to 2, found "1 3 5"' --pattern bad.mtx
matrix 'integer general' '2 2 1\n0 1 5\n'
refused 'bad.mtx:4: expected row and column from 1 to 2, found "0 1 5"' --pattern bad.mtx
matrix 'integer general' '2 2 1\n1 2 5 6\n'
refused 'bad.mtx:4: expected a whole number from 0, found "1 2 5 6"' --pattern bad.mtx
matrix 'integer general' '2 2 2\n1 2 9007199254740992\n1 2 9007199254740992\n'
refused 'bad.mtx: expected 0 or values from 0.5 to 2^53, which are rounded, found one beyond 2^53 in row 1, column 2' --pattern bad.mtx
matrix 'real general' '2 2 2\n2 1 7\n1 2 0.499\n'
refused 'bad.mtx: expected 0 or values from 0.5 to 2^53, which are rounded, found one between 0 and 0.5 in row 1, column 2' --pattern bad.mtx
matrix 'pattern symmetric' '3 3 2\n2 1\n3 2\n'
expect 0 'bytes  *4$' --pattern bad.mtx --iterations 1
matrix 'real general' '3 3 4\n1 2 0.5\n2 1 1.49\n2 3 1.25\n3 2 1\n'
expect 0 'bytes  *4$' --pattern bad.mtx --iterations 1
matrix 'integer general' '2 2\n'
refused 'bad.mtx:3: expected the numbers of rows, columns and entries, found "2 2"' --pattern bad.mtx
matrix 'integer general' '0 0 0\n'
refused 'bad.mtx:3: expected the numbers of rows, columns and entries, found "0 0 0"' --pattern bad.mtx
matrix 'complex general' '2 2 0\n'
refused 'bad.mtx:1: complex values are no numbers of bytes: expected real, integer or pattern' --pattern bad.mtx
echo hello >bad.mtx
refused 'bad.mtx:1: expected %%MatrixMarket matrix coordinate integer general, found "hello"' --pattern bad.mtx
: >bad.mtx
refused 'bad.mtx:1: expected %%MatrixMarket, the file is empty' --pattern bad.mtx
matrix 'integer general' '2 2 1\n1 2 5\n'
refused 'n.mtx:3: expected at most 2 ranks, found 27' --pattern bad.mtx --messages n.mtx
matrix 'integer general' '27 27 1\n1 2 5\n'
refused 'n.mtx: expected entries in the same places as bad.mtx' --pattern bad.mtx --messages n.mtx
refused 'none.mtx: No such file or directory' --pattern none.mtx
matrix 'integer general' '3 3 2\n1 2 5\n3 1 7\n'
printf '%%%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 1\n3 1 0\n' >none.mtx
refused 'none.mtx: expected messages from 2 to 0, where bad.mtx has 7 bytes; found 0' --pattern bad.mtx --messages none.mtx
refused '--csv cannot be combined with --write-messages, with which nothing is simulated' --pattern bad.mtx --write-messages m.mtx --csv m.csv
refused '--fail cannot be combined with --write-matrix, with which nothing is simulated' --pattern bad.mtx --write-matrix m.mtx --fail 99@99
refused '--mtbf cannot be combined with --write-matrix, with which nothing is simulated' --pattern bad.mtx --write-matrix m.mtx --mtbf 1s
refused '--clusters cannot be combined with --write-messages, with which nothing is simulated' --pattern bad.mtx --write-messages m.mtx --clusters nofile
if [ -e m.mtx ]; then bad 'a matrix that was refused'; else good; fi

# What is wrong with the options.
refused 'usage: hark sim --pattern NAME|FILE [OPTION]...'
refused '--pattern: expected a file *.mtx or *.mtx.gz, a trace of hark run, or the name of a pattern (hark help sim), found "walk"' --pattern walk --ranks 4
refused 'ring: expected --ranks with it' --pattern ring
refused 'nas-bt: expected a square number of ranks, found 1000' --pattern nas-bt --ranks 1000
refused 'nas-sp: expected a square number of ranks, found 8' --pattern nas-sp --ranks 8
for name in cg mg ft lu; do
  refused "nas-$name: expected a power of two as number of ranks, found 48" --pattern nas-$name --ranks 48
done
refused '--messages: pattern ring has no use for it' --pattern ring --ranks 4 --messages n.mtx
refused 'leanmd: expected 1 to 512 cells on a side, found 513' --pattern leanmd --ranks 4 --cells 513
refused 'leanmd: expected pairs of cells 0 to 2 away, found 2,3,1' --pattern leanmd --ranks 4 --away 2,3,1
refused '--away: expected three numbers such as 2,2,1, found "2,2"' --pattern leanmd --ranks 4 --away 2,2
refused 'openatom: expected groups of 1 to 4 processes, found 5' --pattern openatom --ranks 4 --cells 5
refused '--ranks: expected 1 to 268435456, found "0"' --pattern ring --ranks 0
refused '--ranks: expected 1 to 268435456, found "many"' --pattern ring --ranks many
refused '--iterations: expected 1 to 1000000000, found "0"' --pattern ring --ranks 4 --iterations 0
refused '--bytes: expected a number such as 8192 or 8K, up to 1099511627776, found "8X"' --pattern ring --ranks 4 --bytes 8X
refused '--latency: expected a time such as 100, 5us, 3ms or 1s, up to 1000000s, found "5 us"' --pattern ring --ranks 4 --latency '5 us'
refused '--latency: expected a time such as 100, 5us, 3ms or 1s, up to 1000000s, found "99999999999s"' --pattern ring --ranks 4 --latency 99999999999s
refused '--gap-per-byte: expected ns a byte such as 0.25, up to 1000000, found "0.1234"' --pattern ring --ranks 4 --gap-per-byte 0.1234
refused '--protocol: expected none, coordinated, hydee, scmel, team, camel or sendet, found "walk"' --pattern ring --ranks 4 --protocol walk
refused '--protocol: expected none, coordinated, hydee, scmel, team, camel or sendet, found "recovery"' --pattern ring --ranks 4 --protocol recovery
refused '--clusters: expected 1 to 4, or a file, found "5"' --pattern ring --ranks 4 --clusters 5
refused '--clusters nofile: No such file or directory' --pattern ring --ranks 4 --clusters nofile
printf '0-1\n3\n' >clusters
refused 'clusters: expected every rank once, rank 2 is in no cluster' --pattern ring --ranks 4 --clusters clusters
printf '0 2\n3 1\n' >clusters
expect 0 'in 2 clusters' --pattern ring --ranks 4 --clusters clusters
refused '--fail: expected RANK@ITERATION, from 1, or recovery@FRAME, found "3"' --pattern ring --ranks 4 --fail 3
refused '--fail: expected RANK@ITERATION, from 1, or recovery@FRAME, found "3@0"' --pattern ring --ranks 4 --fail 3@0
refused '--fail: expected ranks below 4, found 4' --pattern ring --ranks 4 --fail 4@2
refused '--fail: expected iterations 1 to 10, found 11' --pattern ring --ranks 4 --fail 3@11
refused '--fail: protocol none survives no failure' --pattern ring --ranks 4 --protocol none --fail 3@2
refused '--mtbf: protocol none survives no failure' --pattern ring --ranks 4 --protocol none --mtbf 1s
refused '--fail: protocol scmel has no recovery process' --pattern ring --ranks 4 --protocol scmel --fail recovery@2
refused '--report-tree: expected 2 to 1024, found "1"' --pattern ring --ranks 4 --report-tree 1
refused '--report-tree needs --protocol hydee; this run uses scmel' --pattern ring --ranks 4 --protocol scmel --report-tree 2
refused '--report-tree cannot be combined with --exact-gate' --pattern ring --ranks 4 --exact-gate --report-tree 2
for protocol in none coordinated scmel camel sendet; do
  refused "--camel needs --protocol hydee or team; this run uses $protocol" --pattern openatom --ranks 4 --cells 2 --protocol $protocol --camel
done
refused '--camel cannot be combined with --exact-gate' --pattern openatom --ranks 4 --cells 2 --exact-gate --camel
refused '--walk: no such option, see `hark help sim`' --pattern ring --walk
refused '--ranks needs a value' --pattern ring --ranks
refused 'expected options only, found "x"' --pattern ring --ranks 4 x
refused '--degree: pattern ring has no use for it' --pattern ring --ranks 4 --degree 3
refused '--bytes: pattern leanmd has no use for it' --pattern leanmd --ranks 4 --bytes 8
refused '--planes: pattern nas-cg has no use for it' --pattern nas-cg --ranks 4 --planes 3
refused '--atoms: pattern openatom has no use for it' --pattern openatom --ranks 4 --cells 2 --atoms 3
for protocol in none coordinated hydee sendet; do
  refused "--copies needs --protocol scmel, team or camel; this run uses $protocol" --pattern ring --ranks 4 --protocol $protocol --copies 2
done
refused '--team-lost cannot be combined with --copies 2: it is for one copy of each determinant' --pattern ring --ranks 4 --protocol team --team-lost --copies 2
refused '--digest takes no value, found "1"' --pattern ring --digest=1 --ranks 4
refused '.: Is a directory' --pattern .
for sum in '--iterations 20000 --compute 1000000s' '--gap-per-byte 1000000 --bytes 1T'; do
  expect 1 'sim: this would take more than 146 years of simulated time, beyond what is counted$' --pattern ring --ranks 2 $sum
done
matrix 'integer general' '2 2 1\n1 2 9007199254740992\n'
huge=(--pattern bad.mtx --checkpoint-every 0 --gap-per-byte 0)
expect 1 '^hark sim: messages of more than 2^63 bytes in all, beyond what is counted: expected fewer iterations or shorter messages$' \
  "${huge[@]}" --protocol scmel --iterations 1024
for protocol in none scmel; do expect 0 ' 9214364837600034816' "${huge[@]}" --protocol $protocol --iterations 1023; done
# What can not be printed is said, and no file gets it that happens to be opened as its number.
og=$patterns/../../scenario/og.hark
for line in 'sim --pattern ring --ranks 4' 'sim --help' 'help check' --version "check $og"; do
  "$hark" $line >/dev/full 2>err
  same "hark $line, no room" '2 1' "$? $(grep -c '^hark.*: standard output: ' err)"
done
"$hark" check --json closed.json "$og" >&- 2>err
same 'standard output is closed' '2 {"schema": 1' "$? $(head -c 12 closed.json)"
"$hark" check --json closed.json nofile.hark >out 2>&-
same 'standard error is closed' '2 {"schema": 1' "$? $(head -c 12 closed.json)"
if grep -q hark: closed.json; then bad 'words in a file'; else good; fi
# Before anything is run; what is there is left as it was.
echo kept >kept
for option in --json --csv --plot --write-matrix --write-messages; do
  refused "$option /nowhere/x: No such file or directory" --pattern ring --ranks 4 $option /nowhere/x
  refused "$option .: Is a directory" --pattern ring --ranks 4 $option .
done
refused '--plot /nowhere/x: No such file or directory' --pattern ring --ranks 4 --json kept --csv new --plot /nowhere/x
if [ "$(cat kept)" = kept ] && [ ! -e new ]; then good; else bad "files of a run that was none"; fi
ln -s later link
refused '--plot /nowhere/x: No such file or directory' --pattern ring --ranks 4 --json link --plot /nowhere/x
if [ -h link ] && [ ! -e later ]; then good; else bad "a link to what is not there"; fi
expect 0 '' --pattern ring --ranks 4 --json link
if [ -h link ] && [ "$(figure ranks later)" = 4 ]; then good; else bad "what a link names is not written"; fi

# A failure that does not happen is no failure.
expect 0 '^hark sim: --fail recovery@1000 did not happen: the recovery process received too few frames$' --pattern ring --ranks 4 --fail 2@3 --fail recovery@1000
expect 0 '' --pattern ring --ranks 4 --fail 2@3 --fail 2@3 --fail recovery@2
if grep -q 'did not happen' out; then bad "it did happen"; else good; fi
expect 0 '^hark sim: --fail recovery@2 did not happen: ' --pattern ring --ranks 4 --fail 2@3 --fail recovery@2 --fail recovery@2

# Of a file whose name is long the middle is left out, never what is wrong with it, whoever reads it.
deep=$work/$(printf 'folder-with-a-name-%04d/' $(seq 25))
mkdir -p "$deep"
printf '0-1\n3\n' >"$deep/clusters.of.a.job"
printf '%%%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 x\n' >"$deep/matrix.mtx"
cp "$deep/matrix.mtx" "$deep/counts.mtx"
echo 'hark-trace 1 x' >"$deep/run.trace"
echo '{"ranks": 2, "traffic": 3}' >"$deep/figures.json"
printf '1\nx\n' >"$deep/loads.csv"
printf '%%%%MatrixMarket matrix coordinate integer general\n4 4 1\n1 2 5\n' >four.mtx
long_path() { # the end of the path; what is said behind it; the command
  local name=$1 said=$2; shift 2
  "$hark" "$@" >out 2>&1
  is "$*" 2 $?
  if [ "$(wc -l <out)" = 1 ] && [ "$(wc -c <out)" -lt 300 ] && grep -q "^hark $1: [^ ]*/…/[^ ]*/$name$said\$" out; then good; else bad "$*"; fi
}
long_path clusters.of.a.job ': expected every rank once, rank 2 is in no cluster' sim --pattern ring --ranks 4 --clusters "$deep/clusters.of.a.job"
long_path clusters.of.a.job ': expected every rank once, rank 2 is in no cluster' partition four.mtx --improve "$deep/clusters.of.a.job"
long_path clusters.of.a.job ': expected every rank once, rank 2 is in no node' partition four.mtx --nodes "$deep/clusters.of.a.job"
long_path clusters.of.a.job ': expected every rank once, rank 2 is in no cluster' run -n 4 --clusters "$deep/clusters.of.a.job" -- true
for command in 'sim --pattern' partition; do
  long_path matrix.mtx ':3: expected a whole number from 0, found "1 2 x"' $command "$deep/matrix.mtx"
  long_path run.trace ":1: expected .*, found '.*'" $command "$deep/run.trace"
done
long_path run.trace ":1: expected .*, found '.*'" trace "$deep/run.trace" --svg x.svg
long_path counts.mtx ':3: expected a whole number from 0, found "1 2 x"' sim --pattern four.mtx --messages "$deep/counts.mtx"
long_path none.mtx ': No such file or directory' sim --pattern "$deep/none.mtx"
long_path none.mtx ': No such file or directory' sim --pattern four.mtx --messages "$deep/none.mtx"
long_path none ': No such file or directory' partition "$deep/none"
long_path figures.json ': \(expected figures of hark run\|hark was built without jansson\).*' partition "$deep/figures.json"
long_path loads.csv ':2: expected .*' balance "$deep/loads.csv" four.mtx --pes 2 --teams 1
long_path matrix.mtx ':3: expected a whole number from 0, found "1 2 x"' balance "$deep/loads.csv" "$deep/matrix.mtx" --pes 2 --teams 1

# One process; a name of any bytes, however long.
expect 0 'hydee, ring, 1 process in 1 cluster, 1 iteration$' --pattern ring --ranks 1 --iterations 1
long=$(printf 'x%.0s' $(seq 150))
for name in 'a<&>"b' $'\xff\xc3\xa9' "$long"; do
  cp a.mtx "$name.mtx"
  expect 0 '' --pattern "$name.mtx" --plot odd.svg --json odd.json
  if ! command -v rsvg-convert >/dev/null; then echo 'no rsvg-convert: pictures are not looked at'
  elif rsvg-convert odd.svg >odd.png 2>err; then good; else bad "$name: no picture"; fi
  if [ -z "$(command -v node)" ] ||
    node -e 'JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(require("fs").readFileSync("odd.json")))'; then good; else bad "$name: no JSON"; fi
done
length=$(sed -n 's/.*class="title"[^>]*>\(.*\)<.*/\1/p' odd.svg | wc -m)
if [ "$length" -ge 111 ] && [ "$length" -le 113 ]; then good; else bad "the title is as long as the name"; fi
"$hark" help sim >out 2>&1
if grep -q 'stencil2d' out && grep -q -- '--gap-per-byte' out; then good; else bad "help"; fi

finish
