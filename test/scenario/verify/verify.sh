#!/bin/bash
# Every configuration of this folder, to its end or to MEMORY: a Markdown table on standard output; those that say so in their first line are
# reduced. `# with --reduce, each pair`: two failures are searched one pair of processes after the other, for all at once are too many states:
# who fails first and who second, every way; the row adds up. verify.sh HARK [MEMORY [FILE...]]
set -u
hark=$1 memory=${2:-8G}; shift; shift $(($# < 1 ? $# : 1))
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- "$here"/*.hark
worst=0
echo "| configuration | protocol | fails | control | states | steps | depth | seconds | states/s | bytes/state | verdict |"
echo "|-|-|-|-|-:|-:|-:|-:|-:|-:|-|"

pairs() { # of the scenario $1: a file each, first and second
  local p q all=$(sed -n 's/^\(p[0-9]*\):.*/\1/p' "$1")
  for p in $all; do
    for q in $all; do
      sed "s/^name .*/&-$p-$q/; s/^fails any$/fails $p/; s/^fails any nested$/fails $q nested/" "$1" >"$work/$p-$q.hark"
      echo "$work/$p-$q.hark"
    done
  done
}

for file; do
  name=$(basename "$file" .hark) with= control="each frame" searches=("$file")
  case $name in atomic-*) with=--atomic control="at once" ;; esac
  grep -q '^# with --reduce' "$file" && with=--reduce control="each frame, reduced"
  fails=$(sed -n 's/^fails //p' "$file" | paste -sd, | sed 's/,/, /g')
  if grep -q '^# with --reduce, each pair' "$file"; then
    control="each frame, reduced, each pair"
    [ "$fails" = "any, any nested" ] || { echo "verify.sh: $file: each pair: expected \"fails any\" and \"fails any nested\", found \"$fails\"" >&2; exit 2; }
    mapfile -t searches < <(pairs "$file")
  fi
  "$hark" check $with --max-memory "$memory" --json "$work/json" -o "$work/violation.hark" "${searches[@]}" >"$work/out" 2>&1 || {
    worst=1
    cat "$work/out" >&2
  }
  awk -v name="$name" -v fails="$fails" -v control="$control" '
    function get(key,  s) { s = $0; if (!sub(".*\"" key "\": \"?", "", s)) return ""; sub("[\",}].*", "", s); return s }
    /"verdict"/ {
      v = get("verdict"); if (v == "limit") v = "none found; not to the end"
      if (v == "violated") v = get("violated")
      if (verdict == "" || verdict == "ok" || v != "ok" && verdict ~ /not to the end/) verdict = v
      if (get("depth") + 0 > depth) depth = get("depth") + 0
      s += get("seconds"); n += get("states"); steps += get("steps"); protocol = get("protocol")
      if (get("bytes") + 0 > bytes) { bytes = get("bytes") + 0; of = get("states") } # of the largest of them
    }
    END {
      printf "| %s | %s | %s | %s | %.0f | %.0f | %d | %.1f | %.0f | %.0f | %s |\n", name, protocol, fails, control, n, steps, depth, s,
        (s > 0 ? n / s : 0), (of > 0 ? bytes / of : 0), verdict
    }' "$work/json"
done
exit $worst
