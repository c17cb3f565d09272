#!/bin/bash
# Small programs made by chance, each searched whole and reduced: both come to the same ends. compare.sh HARK [SEED [COUNT [STATES]]]
# Programs are smaller than those of `hark check --random`, so that most can be searched whole; failures are of every kind.
set -u
hark=$(readlink -f "$1") seed=${2:-1} count=${3:-60} states=${4:-250000}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
awk -v seed="$seed" -v count="$count" '
  function below(n) { return int(rand() * n) }
  function pick(list,  a) { return a[1 + below(split(list, a, "|"))] }
  function put(p, op,  at, i) { # at any place
    at = below(length_of[p] + 1)
    for (i = length_of[p]++; i > at; i--) ops[p, i] = ops[p, i - 1]
    ops[p, at] = op
  }
  BEGIN {
    srand(seed)
    for (k = 0; k < count; k++) {
      name = "c" seed "-" k; file = name ".hark"
      ranks = pick("2|2|3"); protocol = pick("coordinated|hydee|scmel|team|team"); points = pick("0|0|1|1|2")
      if (protocol == "team") ranks = 3
      for (p = 0; p < ranks; p++) length_of[p] = 0
      for (n = 1 + below(3); n > 0; n--) {
        a = below(ranks); b = (a + 1 + below(ranks - 1)) % ranks
        ops[a, length_of[a]++] = "S" b
        if (below(5) == 0) ops[b, length_of[b]++] = pick("P|P" a "|L|L" a)
        ops[b, length_of[b]++] = pick("R|R" a "|R" a "|T" a)
      }
      for (p = 0; p < ranks; p++) for (n = points; n > 0; n--) put(p, "C")
      print "name", name > file
      print "protocol", protocol > file
      together = protocol == "hydee" && ranks == 3 && below(2)
      if (together) print "clusters 0-1 2" > file
      if (protocol == "coordinated" && below(3)) { together = 1; print "clusters 0-" ranks - 1 > file }
      lost = protocol == "team" && below(3) == 0
      if (protocol == "team" && (ranks == 3 || lost)) print "clusters 0-1 2" > file
      if (lost) print "teams lost" > file
      one = !lost && (protocol == "scmel" || protocol == "team") && below(2) # copy, and one at a time
      if (!one && !lost && (protocol == "scmel" || protocol == "team")) print "copies 2" > file # for two at once
      if (one || ranks == 3 || protocol == "hydee" || protocol == "coordinated") # where both of two fail, all that outputs rest on is lost
        for (n = below(3); n > 0; n--) put(below(ranks), "O")
      if (below(3) == 0) print "generations 1" > file
      if (below(2)) print "network fifo" > file
      if (below(2)) print "receives nested" > file
      for (p = 0; p < ranks; p++) {
        printf "p%d:", p > file
        for (n = 0; n < length_of[p]; n++) printf " %s", ops[p, n] > file
        print "" > file
      }
      fails = points > 0 ? pick("any|any,any nested|any store,any|any damaged|any decided|two") : pick("any|any,any nested|two")
      if (one) fails = points > 0 ? pick("any|any,any|any store,any|any damaged|any decided|any wave,any") : pick("any|any,any|any,any,any")
      if (lost) fails = pick("any|any,any|any cluster|any cluster,any cluster|any,any cluster")
      if (together && below(3) == 0) fails = "any cluster"
      if (fails == "two") fails = protocol == "hydee" ? "p0,recovery nested" : "p0,p1 nested"
      for (n = split(fails, f, ","); n > 0; n--) print "fails", f[split(fails, f, ",") - n + 1] > file
      close(file)
    }
  }'
"$hark" check --compare --max-states "$states" c"$seed"-*.hark >out 2>&1
compared=$(grep -cE '^  (the same ends as|as in the search of) all' out)
wrong=$(grep -c 'reduced search is wrong' out)
if [ "$wrong" != 0 ] || grep -q violated out || [ "$compared" -lt $((count / 4)) ]; then
  grep -B1 -A1 -E "reduced search is wrong|violated" out
  echo "FAILED compare.sh $hark $seed $count $states: $compared of $count compared, $wrong wrong"
  exit 1
fi
echo "$compared passed, 0 failed"
