#!/bin/bash
# Small programs made by chance, of every kind and right or not: searched whole and reduced they come to the same, and the way to a
# violation shows it. odd.sh HARK [SEED [COUNT [STATES [OPTION...]]]]
set -u
hark=$(readlink -f "$1") seed=${2:-1} count=${3:-100} states=${4:-20000}; shift; shift $(($# < 3 ? $# : 3))
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
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
  function message(a, b,  c, branch) { # from a to b, who may look for it, and then do one thing or another
    c = (b + 1 + below(ranks - 1)) % ranks
    say(a, "S" b)
    if (below(5) == 0) say(b, pick("P,P" a ",L,L" a))
    how = pick("any,named,named,named,test,wait,wait,branch,branch")
    if (how == "any") say(b, "R")
    if (how == "named") say(b, "R" a)
    if (how == "test" || how == "wait") say(b, "T" a)
    if (how == "wait") {
      if (below(2)) say(b, "O")
      say(b, "W" a)
    }
    if (how != "branch") return
    branch = pick("O |,| O,S | S,S O | S,O S | S,C | C")
    if (branch ~ /C/) calls = 1
    gsub("S", "S" c, branch)
    say(b, "T" a "[" branch "]")
    if (branch ~ /S/) say(c, pick("R" b ",R"))
  }
  function group(  p, q, n, root, tree, member) { # a tree of some of them, with multicasts and reductions
    root = below(ranks); member[0] = root; n = 1
    for (p = 0; p < ranks; p++) parent[p] = p == root ? "r" : "."
    for (p = 0; p < ranks; p++) if (p != root && below(6)) { parent[p] = member[below(n)]; member[n++] = p }
    for (p = 0; p < ranks; p++) tree = tree parent[p]
    print "tree", tree > file
    if (below(3)) for (q = 0; q < n; q++) put(member[q], member[q] == root ? "M" : "B")
    if (!reduces || below(3)) return 0
    for (q = 0; q < n; q++) put(member[q], "A")
    say(root, "Q")
    return 1
  }
  BEGIN {
    srand(seed)
    for (k = 0; k < count; k++) {
      file = "o" seed "-" k ".hark"; calls = 0
      protocol = pick("coordinated,hydee,hydee,scmel,team,team,camel,sendet,none")
      ranks = protocol == "team" ? 3 : pick("2,2,3,3,4")
      print "name o" seed "-" k "\nprotocol " protocol > file
      for (p = 0; p < ranks; p++) length_of[p] = 0
      for (n = 1 + below(3); n > 0; n--) { a = below(ranks); message(a, below(12) ? (a + 1 + below(ranks - 1)) % ranks : a) }
      for (n = below(3); n > 0; n--) put(below(ranks), "O")
      points = calls ? 0 : pick("0,0,0,1,1,2")
      for (p = 0; p < ranks; p++) for (n = points; n > 0; n--) put(p, pick("C,C,C,c"))
      reduces = protocol == "camel" || protocol == "team"
      reduced = below(4) == 0 ? group() : 0
      if (protocol == "hydee" || protocol == "team" || protocol == "coordinated")
        print "clusters", ranks == 2 ? pick("0-1,0 1") : (ranks == 3 ? pick("0-1 2,0 1-2,0-1 2,0-2") : pick("0-1 2-3,0-1 2 3,0-3")) > file
      lost = protocol == "team" && below(4) == 0
      if (lost) print "teams lost" > file
      if (points && protocol == "team" && below(3) == 0) print "waves all" > file
      if (protocol == "hydee") {
        gate = below(4)
        if (gate == 0) print "gate exact" > file
        if (gate == 1) print "reports tree 2" > file
      }
      if (protocol ~ /scmel|team|camel/ && !lost && !reduced && below(3) == 0) print "copies 2" > file
      if (below(3) == 0) print "generations 1" > file
      if (below(2)) print "network fifo" > file
      if (below(2)) print "receives nested" > file
      if (below(5) == 0) print "content", pick("history,fixed") > file
      for (p = 0; p < ranks; p++) {
        printf "p%d:", p > file
        for (n = 0; n < length_of[p]; n++) printf " %s", ops[p, n] > file
        print "" > file
      }
      kinds = ",,,nested,during"
      if (points) kinds = kinds ",wave,decided,damaged,store"
      if (protocol ~ /coordinated|hydee|team/) kinds = kinds ",cluster,cluster"
      for (n = pick("1,1,1,2,2,3"); n > 0; n--) print "fails", protocol ~ /hydee|sendet/ && below(8) == 0 ? "recovery " pick(",nested,during") : pick("any,any,p" below(ranks)) " " pick(kinds) > file
      close(file)
    }
  }'
passed=0 failed=0 wrong=0 refused=0
for file in o"$seed"-*.hark; do
  rm -f way
  "$hark" check --compare --max-states "$states" -o way "$@" "$file" >out 2>&1 </dev/null
  status=$?
  if [ $status -gt 3 ] || grep -qE 'reduced search is wrong|runtime error|Sanitizer' out; then :
  elif grep -qE '^  (the same ends as|as in the search of) all' out; then
    passed=$((passed + 1))
    if [ ! -s way ] || ! grep -q 'as in the search' out; then continue; fi
    wrong=$((wrong + 1))
    "$hark" replay --quiet way >replayed 2>&1; [ $? = 1 ] && grep -q '^violated: ' replayed && continue
    cat replayed
  elif grep -qE 'the limit of|can not finish' out; then continue
  else
    refused=$((refused + 1))
    continue
  fi
  failed=$((failed + 1))
  echo "FAILED hark check --compare --max-states $states $* $file (of seed $seed)"
  cat out "$file"
done
echo "$passed of $count searched whole and reduced, $wrong of them violated; $refused are no programs of theirs"
if [ $passed -lt $((count / 4)) ] || [ $wrong = 0 ] || [ $refused -gt $((count / 4)) ]; then failed=$((failed + 1)); echo "FAILED: too few to compare"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
