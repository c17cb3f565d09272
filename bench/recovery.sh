#!/bin/bash
# What a recovery of hydee costs the busiest process, and how long it takes, over the number of processes: with all reports to the
# recovery process, and with reports up trees. stencil2d in clusters of 64 ranks; a process in the middle dies in its third iteration, behind
# no checkpoint, so every control frame is one of its recovery. The same figures on every machine. recovery.sh BUILD [MOST [FILE.svg]]
set -u
"$(dirname "$0")/machine.sh"
hark=$(readlink -f "$1")/src/cli/hark most=${2:-1048576} svg=${3:-}
[ -z "$svg" ] || svg=$(realpath -m "$svg")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
fans=(0 2 4 16)

figure() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" one.json; }

printf '%9s' processes
for fan in "${fans[@]}"; do
  [ "$fan" = 0 ] && printf '  %20s' 'no tree' || printf '  %20s' "--report-tree $fan"
done
echo
for ((n = 1024; n <= most; n *= n == 262144 ? 4 : 16)); do
  printf '%9s' "$n"
  for fan in "${fans[@]}"; do
    tree=()
    [ "$fan" = 0 ] || tree=(--report-tree "$fan")
    rm -f one.json
    "$hark" sim --pattern stencil2d --ranks "$n" --clusters $((n / 64)) --checkpoint-every 0 --iterations 4 --fail $((n / 2 + 5))@3 \
      --json one.json "${tree[@]}" >out 2>&1 || { echo; tail -3 out >&2; exit 1; }
    busiest=$(figure control_busiest) ms=$(figure replay_us | awk '{printf "%.3f", $1 / 1000}')
    printf '  %8s %8s ms' "$busiest" "$ms"
    echo "$fan $n $busiest" >>points
  done
  echo
done
[ -z "$svg" ] && exit
# Both axes are logarithmic. Each line has its name beside its last point.
awk -v most="$most" '
  function x(n) { return 70 + 560 * log(n / 1024) / log(most > 1024 ? most / 1024 : 2) }
  function y(m) { return 340 - 300 * log(m / 10) / log(1e6) }
  BEGIN {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 780 400\" width=\"780\" height=\"400\">"
    print "<style>text { font: 12px sans-serif; fill: #333 } .title { font-size: 15px } .grid { stroke: #ddd }"
    print "polyline { fill: none; stroke-width: 2; stroke: #1f5fa8 } polyline.all { stroke: #b5651d }</style>"
    print "<rect width=\"780\" height=\"400\" fill=\"white\"/>"
    print "<text class=\"title\" x=\"70\" y=\"22\">control messages to and from the busiest process, one recovery of hydee</text>"
    for (m = 10; m <= 1e7; m *= 10) {
      printf "<line class=\"grid\" x1=\"70\" y1=\"%.1f\" x2=\"630\" y2=\"%.1f\"/>\n", y(m), y(m)
      printf "<text x=\"62\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n", y(m) + 4, m
    }
    print "<text x=\"350\" y=\"388\" text-anchor=\"middle\">processes</text>"
  }
  { if (!($1 in line)) order[++lines] = $1
    line[$1] = line[$1] sprintf(" %.1f,%.1f", x($2), y($3)); end[$1] = $3; sizes[$2] = 1 }
  END {
    for (n in sizes) printf "<text x=\"%.1f\" y=\"362\" text-anchor=\"middle\">%d</text>\n", x(n), n
    for (i = 1; i <= lines; i++) {
      f = order[i]
      printf "<polyline class=\"%s\" points=\"%s\"/>\n", f == 0 ? "all" : "tree", substr(line[f], 2)
      printf "<text x=\"638\" y=\"%.1f\">%s</text>\n", y(end[f]) + 4, f == 0 ? "no tree" : "--report-tree " f
    }
    print "</svg>"
  }' points >"$svg"
