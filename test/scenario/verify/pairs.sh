#!/bin/bash
# A program of two failures that is too large for one search, by pairs: who fails first and who second, in place of `fails any` and `fails any
# nested`. Their union is all there is. A line for each pair as it ends, then a Markdown table of states, and what all come to; ends with 1 if one
# is violated or does not come to its end. pairs.sh HARK FILE [MEMORY [JOBS]], MEMORY for each search
set -u
hark=$1 file=$2 memory=${3:-12G} jobs=${4:-2}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
[ "$(grep -c '^fails any' "$file")" = 2 ] && grep -q '^fails any$' "$file" && grep -q '^fails any nested$' "$file" ||
  { echo "pairs.sh: $file: expected fails any and fails any nested" >&2; exit 2; }
ranks=$(grep -c '^p[0-9]*:' "$file")

pair() { # first, then
  local name=p$1-p$2 with=
  sed "s/^fails any\$/fails p$1/; s/^fails any nested\$/fails p$2 nested/" "$file" >"$work/$name.hark"
  grep -q '^# with --reduce' "$file" && with=--reduce
  "$hark" check $with --max-memory "$memory" --json "$work/$name.json" -o "$work/$name.violation" "$work/$name.hark" >"$work/$name.out" 2>&1 ||
    cat "$work/$name.out" "$work/$name.violation" 2>/dev/null
  [ -s "$work/$name.json" ] || { echo "p$1 then p$2: no figures"; return; }
  awk -v pair="$1 $2" '
    function get(key,  s) { s = $0; if (!sub(".*\"" key "\": \"?", "", s)) return ""; sub("[\",}].*", "", s); return s }
    /"verdict"/ { print pair, get("verdict"), get("states"), get("steps"), get("depth"), get("seconds") }' "$work/$name.json" |
    tee "$work/$name.line" | awk '{print "p" $1 " then p" $2 ": " $3 ", " $4 " states, " $5 " steps, depth " $6 ", " $7 " s"}'
}
export -f pair
export hark file memory work

for ((i = 0; i < ranks; i++)); do for ((j = 0; j < ranks; j++)); do echo "$i $j"; done; done | xargs -P "$jobs" -L 1 bash -c 'pair "$0" "$1"'
cat "$work"/*.line 2>/dev/null | awk -v n="$ranks" -v OFS='' '
  {states[$1, $2] = $4; sum += $4; if ($3 == "ok") ok++}
  END {
    printf "| first, then |"; for (j = 0; j < n; j++) printf " p%d |", j
    printf "\n|-|"; for (j = 0; j < n; j++) printf "-:|"
    for (i = 0; i < n; i++) {printf "\n| p%d |", i; for (j = 0; j < n; j++) printf " %s |", (i, j) in states ? states[i, j] : "-"}
    printf "\n%d of %d pairs ok, %.0f states\n", ok, n * n, sum
    exit ok != n * n
  }'
