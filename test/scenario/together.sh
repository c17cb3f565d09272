#!/bin/bash
# Programs made by chance whose processes all go back together, and say what depends on all that they took, saw and missed: none of them can be
# violated, for nobody is left who knows of what is undone. together.sh HARK [SEED [COUNT [STATES]]]
set -u
hark=$(readlink -f "$1") seed=${2:-1} count=${3:-100} states=${4:-20000}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
cd "$work" || exit 2
awk -v seed="$seed" -v count="$count" '
  function below(n) { return int(rand() * n) }
  function pick(list,  a) { return a[1 + below(split(list, a, ","))] }
  function say(p, op) { ops[p, length_of[p]++] = op }
  function put(p, op,  at, i) { # at any place
    at = below(length_of[p] + 1)
    for (i = length_of[p]++; i > at; i--) ops[p, i] = ops[p, i - 1]
    ops[p, at] = op
  }
  function message(a, b,  c) { # from a to b, who may tell another what it found
    c = (b + 1 + below(ranks - 1)) % ranks
    say(a, "S" b)
    if (below(5) == 0) say(b, pick("P,P" a ",L,L" a))
    how = pick("R,R" a ",T" a ",T" a ",T" a " W" a ",branch")
    say(b, how == "branch" ? "T" a "[S" c " | S" c "]" : how)
    if (how == "branch") say(c, "R" b)
  }
  BEGIN {
    srand(seed)
    for (k = 0; k < count; k++) {
      name = "t" seed "-" k; file = name ".hark"
      ranks = pick("2,3"); protocol = pick("coordinated,coordinated,hydee,team"); points = pick("0,0,1,1,2")
      for (p = 0; p < ranks; p++) length_of[p] = 0
      for (n = 1 + below(4); n > 0; n--) { a = below(ranks); message(a, (a + 1 + below(ranks - 1)) % ranks) }
      print "name " name "\nprotocol " protocol "\ncontent history\nclusters 0-" ranks - 1 > file
      if (below(4) == 0) {
        say(0, "M")
        for (p = 1; p < ranks; p++) put(p, "B")
        print "tree r" substr("00", 1, ranks - 1) > file
      }
      for (p = 0; p < ranks; p++) for (n = points; n > 0; n--) put(p, pick("C,C,c"))
      if (below(2)) print "network fifo" > file
      if (below(2)) print "receives nested" > file
      if (protocol != "coordinated" && below(2)) print "waves all" > file
      if (below(3) == 0) print "generations 1" > file
      for (p = 0; p < ranks; p++) {
        printf "p%d:", p > file
        for (n = 0; n < length_of[p]; n++) printf " %s", ops[p, n] > file
        print "" > file
      }
      kinds = ",,nested,cluster,cluster,during" (points ? ",wave,decided,damaged,store" : "")
      for (n = pick("1,1,2,2,3"); n > 0; n--) print "fails", pick("any,any,p0,p1"), pick(kinds) > file
      close(file)
    }
  }'
passed=0 failed=0
for file in t"$seed"-*.hark; do
  "$hark" check --max-states "$states" -o way "$file" >out 2>&1 </dev/null
  if grep -qE '^t[0-9-]+ +[a-z]+ +(ok|limit) ' out; then passed=$((passed + 1)); continue; fi
  grep -q 'can not finish even without failures' out && continue # no program
  failed=$((failed + 1))
  echo "FAILED hark check --max-states $states $file (of seed $seed)"
  cat out "$file"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt $((count / 3)) ]
