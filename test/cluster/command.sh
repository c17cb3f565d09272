#!/bin/bash
# The command partition: the same clusters again, what is written, what is wrong said in one line.
# command.sh HARK ZLIB SCOTCH METIS JANSSON (1: built with it) DATA
set -u
hark=$(readlink -f "$1") zlib=$2 scotch=$3 metis=$4 jansson=$5 data=$(readlink -f "$6")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0

good() { passed=$((passed + 1)); }
bad() {
  failed=$((failed + 1))
  echo "FAILED $*"
  sed 's/^/    /' out
}

expect() { # exit status, what is said (a pattern; empty: anything), arguments...
  local status=$1 said=$2 r; shift 2
  "$hark" partition "$@" >out 2>&1 </dev/null
  r=$?
  if [ $r = "$status" ] && { [ -z "$said" ] || grep -q -- "$said" out; }; then good; else bad "hark partition $* (exit $r, expected $status and \"$said\")"; fi
}

refused() { # what is said, all of it, behind "hark partition: "; arguments...
  local said=$1 r; shift
  "$hark" partition "$@" >out 2>&1 </dev/null
  r=$?
  if [ $r = 2 ] && [ "$(cat out)" = "hark partition: $said" ]; then good; else bad "hark partition $* (exit $r, expected 2 and \"hark partition: $said\")"; fi
}

is() { # what, found, expected
  if [ "$2" = "$3" ]; then good; else echo "found \"$2\", expected \"$3\"" >out; bad "$1"; fi
}

figure() { sed -n "s/^  \"$1\": \"\{0,1\}\([^,\"]*\).*/\1/p" "$2"; }

matrix() { printf '%%%%MatrixMarket matrix coordinate %s\n%% made here\n'"$2" "$1" >bad.mtx; }

# Two times two ranks that talk to each other; hardly to the others.
printf '%%%%MatrixMarket matrix coordinate integer general\n4 4 6\n1 2 100\n2 1 100\n3 4 100\n4 3 100\n2 3 1\n1 1 9999\n' >two.mtx
printf '0-1\n2-3\n' >two.clusters
expect 0 '^# 4 ranks in 2 clusters of 2: 0.25 % logged, 50.00 % rolled back, cost 6.26 %$' two.mtx
"$hark" partition two.mtx 2>&1 | grep -v '^#' >out; cmp -s out two.clusters && good || bad 'clusters on the terminal'
expect 0 '' two.mtx -o own.clusters --json own.json --svg own.svg
cmp -s own.clusters two.clusters && good || bad 'clusters in a file'
is k "$(figure k own.json)" 2
is share_logged "$(figure share_logged own.json)" 0.002494
is share_rolled_back "$(figure share_rolled_back own.json)" 0.500000
is cost "$(figure cost own.json)" 0.06257357
is sizes "$(grep -c '"sizes": \[2, 2\]' own.json)" 1
is outlines "$(grep -c '<rect class="c"' own.svg)" 2
expect 0 '2 ranks change' two.mtx --improve <(printf '0 2\n1 3\n')
printf '0 1\n2 3\n' >same; expect 0 '^# 0 ranks change' two.mtx --improve same
expect 0 'checkpoints every 297 min, beta 12.4 %' two.mtx --mtbf 1d --checkpoint 30min --restart 0.5h
expect 0 'in 1 cluster of 4' two.mtx --beta 0.1 --min-size 3 --svg one.svg --sweep --plot one.plot.svg
is 'one cluster, in pictures' '1 1' "$(grep -c '>4 ranks in 1 cluster: ' one.svg) $(grep -c 'chosen (red): 1 cluster, ' one.plot.svg)"
expect 0 'in 4 clusters of 1' two.mtx --max-size 1
printf '0 2\n1 3\n' >nodes
expect 0 '^0 2$' two.mtx --nodes nodes --max-size 2
expect 0 '> chosen' two.mtx --sweep --plot sweep.svg
is curves "$(grep -c '<polyline' sweep.svg)" 3
expect 0 '' two.mtx --effort best --backend builtin --cost ordered --seed 7 --threshold 2
expect 0 '' two.mtx --effort paper
# What was run: each message counts once, whoever sent it again; and what is found can be given to a run.
expect 0 '^8 ranks in 2 clusters of 4: 25.00 % logged' "$data/hydee-8.trace" -o run.clusters
[ "$zlib" = 1 ] && for effort in fast best paper; do
  for more in '' '--cost ordered' '--min-size 4 --max-size 20'; do
    # shellcheck disable=SC2086
    for i in 1 2; do "$hark" partition "$data/patterns/npb-lu.B.64.mtx.gz" --effort $effort --seed 3 $more --json $i.json --svg $i.svg \
      -o $i.clusters >$i.out 2>&1 || bad "$effort $more"; done
    sed -i /time_ms/d 1.json 2.json
    for f in out json svg clusters; do cmp -s 1.$f 2.$f && good || bad "$effort $more: twice, not the same $f"; done
    is ranks "$(tr ' ' '\n' <1.clusters | awk -F- 'NF {n += NF == 2 ? $2 - $1 + 1 : 1} END {print n}')" 64
    "$hark" sim --pattern "$data/patterns/npb-lu.B.64.mtx.gz" --iterations 1 --clusters 1.clusters --json sim.json >out 2>&1 || bad "$effort: as clusters"
    case $more in *ordered*) ;; *) is "$effort$more: bytes logged in a simulation" "$(figure logged_bytes sim.json)" "$(figure logged_bytes 1.json)" ;; esac
  done
done

# Fractions, in figures too; a matrix that says nothing.
matrix 'real general' '4 4 5\n1 2 0.4\n2 1 0.4\n3 4 0.4\n4 3 0.4\n2 3 0.001\n'
expect 0 '^# 4 ranks in 2 clusters of 2: 0.06 % logged' bad.mtx --json fractions.json
is 'bytes of fractions' "$(figure bytes fractions.json) $(figure logged_bytes fractions.json)" '1.601 0.001'
matrix 'real general' '2 2 1\n1 2 4e-30\n'
expect 0 '^# 2 ranks in 1 cluster' bad.mtx --json fractions.json
is 'bytes of small fractions' "$(figure bytes fractions.json)" 4e-30
for none in '2 2 0\n' '2 2 2\n1 2 0\n1 1 5\n'; do
  matrix 'integer general' "$none"
  expect 0 '^hark partition: bad.mtx: no rank sends anything to another, so no cluster is better than another$' bad.mtx
  is 'clusters without traffic' "$("$hark" partition bad.mtx 2>/dev/null | grep -v '^#' | tr '\n' ' ')" '0 1 '
done
matrix 'integer general' '1 1 1\n1 1 5\n'
is 'one rank needs nobody' "$("$hark" partition bad.mtx 2>&1 >/dev/null)" ''

# What can be read only once: pipes, FIFOs, standard input.
once() { # what, clusters expected, file
  mkfifo fifo
  "$hark" partition <(cat "$3") >out 2>&1 || bad "$1 from a pipe"
  cat "$3" | "$hark" partition /dev/stdin >in.out 2>&1 || bad "$1 from standard input"
  cat "$3" >fifo & "$hark" partition fifo >fifo.out 2>&1 || bad "$1 from a FIFO"
  wait $!
  rm fifo
  for f in out in.out fifo.out; do if cmp -s <(grep -v '^#' $f) "$2"; then good; else bad "$1: other clusters from what is read once"; fi; done
}
once 'a matrix' two.clusters two.mtx
[ "$zlib" = 1 ] && gzip -kf two.mtx && once 'a compressed matrix' two.clusters two.mtx.gz
grep -v '^#' run.clusters >run.lines
once 'a trace' run.lines "$data/hydee-8.trace"
if [ "$jansson" = 1 ]; then
  echo '{"ranks": 4, "traffic": [[0, 1, 100], [1, 0, 100], [2, 3, 100], [3, 2, 100], [1, 2, 1]]}' >two.json
  once 'figures' two.clusters two.json
fi
is 'a fault in a pipe' "$(printf '%%%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 x\n' | "$hark" partition /dev/stdin 2>&1)" \
  'hark partition: /dev/stdin:3: expected a whole number from 0, found "1 2 x"'
refused '.: Is a directory' .

# Backends.
for b in "scotch $scotch" "metis $metis" "metis-recursive $metis"; do
  set -- $b
  if [ "$2" = 1 ]; then for e in fast best paper; do expect 0 'in 2 clusters' two.mtx --backend "$1" --effort $e; done
  else refused "--backend $1: this hark was built without it" two.mtx --backend "$1"; fi
done
refused '--backend: expected builtin, scotch, metis or metis-recursive, found "patoh"' two.mtx --backend patoh

# What is wrong with the input.
matrix 'integer general' '4 3 0\n'
refused 'bad.mtx:3: expected a square matrix, found 4 rows and 3 columns' bad.mtx
for value in -1 nan; do
  matrix 'real general' "2 2 1\n1 2 $value\n"
  refused "bad.mtx:4: expected a finite value from 0, found \"1 2 $value\"" bad.mtx
done
: >bad.mtx
refused 'bad.mtx:1: expected %%MatrixMarket, the file is empty' bad.mtx
refused 'none.mtx: No such file or directory' none.mtx
if [ $jansson = 1 ]; then
  "$hark" sim --pattern stencil2d --ranks 30 --iterations 2 --json sim.json >/dev/null
  "$hark" sim --pattern stencil2d --ranks 30 --write-matrix sim.mtx >/dev/null
  "$hark" partition sim.mtx -o matrix.clusters 2>/dev/null
  expect 0 '^30 ranks in ' sim.json -o figures.clusters
  cmp -s matrix.clusters figures.clusters && good || bad 'the figures of hark sim come to other clusters than its matrix'
  of='expected figures of hark run or hark sim with `ranks` and `traffic`'
  refused "own.json: $of" own.json
  for text in '{"ranks": 2}' '{"traffic": []}' '{"ranks": 2, "traffic": {}}' '{"ranks": 0, "traffic": []}'; do
    echo "$text" >bad.json
    refused "bad.json: $of" bad.json
  done
  for row in '[0, 2, 1]' '[0, 1, -1]' '[0, 1]' '[0, 1, 1.5]' '[0, 1, 9007199254740993]' 5; do
    echo "{\"ranks\": 2, \"traffic\": [[0, 1, 7], $row]}" >bad.json
    refused 'bad.json: traffic, entry 2: expected [from, to, bytes] of ranks below 2' bad.json
  done
  printf '{"ranks": 2,\n"traffic": [[0, 1' >bad.json
  expect 2 '^hark partition: bad.json:2: ' bad.json
else
  refused 'own.json: hark was built without jansson: expected a matrix (--write-matrix of hark run, hark sim) or a trace (hark run --trace)' own.json
fi
sed 's/^\(end records=[0-9]*\)$/\1 lost=5/' "$data/hydee-8.trace" >lost.trace
holds 'a trace that has lost records' grep -q ' lost=5$' lost.trace
refused 'lost.trace: expected a whole trace, found one that lost 5 records' lost.trace
printf 'hark-trace 1 ranks=2\n' >bad.trace
expect 2 '^hark partition: .*bad.trace:1: expected' bad.trace
matrix 'integer general' '300 300 129\n'"$(for i in $(seq 1 129); do printf '%d 300 9007199254740992\\n' "$i"; done)"
expect 0 '^# 300 ranks in' bad.mtx --json sums.json # more than 2^60 bytes
is 'more bytes than 2^60' "$(figure bytes sums.json)" 1161928703861460000
printf '0-1\n3\n' >nodes
refused 'nodes: expected every rank once, rank 2 is in no node' two.mtx --nodes nodes
refused 'nodes: expected every rank once, rank 2 is in no cluster' two.mtx --improve nodes
printf '0-4\n' >nodes
refused 'nodes:1: expected ranks below 4, found 4' two.mtx --nodes nodes
printf '0\n99999999999999999999-3\n' >nodes
refused 'nodes:2: expected ranks below 4, found 99999999999999999999' two.mtx --nodes nodes
printf '0-%s\n' "$(printf '1%.0s' $(seq 50))" >nodes
refused "nodes:1: expected ranks below 4, found $(printf '1%.0s' $(seq 40))..." two.mtx --nodes nodes
refused 'none: No such file or directory' two.mtx --nodes none
printf '0-2\n3\n' >nodes
refused 'clusters of at most 2 ranks: a node has 3' two.mtx --nodes nodes --max-size 2
refused 'clusters of at least 3 and at most 2 ranks: there are none' two.mtx --min-size 3 --max-size 2
refused '4 ranks can not be clusters of 3 to 3' two.mtx --min-size 3 --max-size 3
refused 'clusters of at least 5 and at most 4 ranks: there are none' two.mtx --min-size 5
printf '0-2\n3\n' >nodes
refused 'found no clusters of 2 to 3 ranks' two.mtx --nodes nodes --min-size 2 --max-size 3

# What is wrong with the options.
refused 'usage: hark partition MATRIX [OPTION]...'
refused 'expected one matrix, found "b" too' two.mtx b
refused '--faster: no such option, see `hark help partition`' two.mtx --faster
refused '--seed needs a value' two.mtx --seed
refused '--cost: expected team or ordered, found "half"' two.mtx --cost half
refused '--effort: expected fast, best or paper, found "all"' two.mtx --effort all
for value in nan inf -1 1e9 '' 5x 0x17 0X1p3; do refused "--alpha: expected per cent such as 12.4, found \"$value\"" two.mtx --alpha "$value"; done
refused '--min-size: expected a number from 1 to 1073741824, found "0"' two.mtx --min-size 0
refused '--max-size: expected a number from 1 to 1073741824, found "99999999999"' two.mtx --max-size 99999999999
refused '--mtbf: expected a time such as 90s, 30min, 12h or 1d, found "0x10s"' two.mtx --mtbf 0x10s
nowhere='a longer time between failures, or shorter times of a checkpoint and a restart'
refused "--mtbf, --checkpoint, --restart: expected times by which beta is at most 100 %, found 14749437.9 %: $nowhere" \
  two.mtx --mtbf 1s --checkpoint 1d --restart 1d
refused "--mtbf, --checkpoint, --restart: expected times by which beta is at most 100 %, found 103.5 %: $nowhere" \
  two.mtx --mtbf 7s --checkpoint 15s --restart 0s
expect 0 'beta 96.8 %' two.mtx --mtbf 8s --checkpoint 15s --restart 0s
refused '--mtbf: expected a time such as 90s, 30min, 12h or 1d, found "5 days"' two.mtx --mtbf '5 days'
refused '--mtbf, --checkpoint and --restart need each other' two.mtx --mtbf 1d
refused '--mtbf, --checkpoint: expected times above 0' two.mtx --mtbf 0s --checkpoint 1s --restart 1s
refused '--beta cannot be combined with --mtbf, --checkpoint and --restart, from which it is computed' two.mtx --beta 5 --mtbf 1d --checkpoint 1h --restart 1h
refused '--plot needs --sweep, whose figures it draws' two.mtx --plot x.svg
echo kept >kept
for option in -o --json --svg --plot; do refused "$option no/where: No such file or directory" none.mtx --sweep $option no/where; done
refused '--plot no/where: No such file or directory' none.mtx --sweep -o kept --json new --plot no/where
if [ "$(cat kept)" = kept ] && [ ! -e new ]; then good; else bad 'files of a command that did nothing'; fi
expect 0 '^usage: hark partition MATRIX' --help
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
