#!/bin/bash
# Every configuration of this folder, to its end or to MEMORY: a Markdown table on standard output; those that say so in their first line are
# reduced, and those that are to be searched in pairs left to pairs.sh. verify.sh HARK [MEMORY [FILE...]]
set -u
hark=$1 memory=${2:-8G}; shift; shift $(($# < 1 ? $# : 1))
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT # hark check says how far it got, and ends with 3
[ $# -gt 0 ] || set -- "$here"/*.hark
worst=0
echo "| configuration | protocol | fails | control | states | steps | depth | seconds | states/s | bytes/state | verdict |"
echo "|-|-|-|-|-:|-:|-:|-:|-:|-:|-|"
for file; do
  grep -q '^# .*in pairs' "$file" && { echo "$file: by pairs.sh" >&2; continue; }
  name=$(basename "$file" .hark) with= control="each frame"
  case $name in atomic-*) with=--atomic control="at once" ;; esac
  grep -q '^# with --reduce' "$file" && with=--reduce control="each frame, reduced"
  rm -f "$work/json"
  "$hark" check $with --max-memory "$memory" --json "$work/json" -o "$work/violation.hark" "$file" >"$work/out" 2>&1
  case $? in
    0) ;;
    3) sed -n "s|^  not searched whole|$name&|p" "$work/out" >&2 ;; # as far as MEMORY goes: its row says so
    *) worst=1; cat "$work/out" >&2 ;;
  esac
  [ -s "$work/json" ] || { worst=1; echo "$file: no figures" >&2; continue; }
  fails=$(sed -n 's/^fails //p' "$file" | paste -sd, | sed 's/,/, /g')
  awk -v fails="$fails" -v control="$control" '
    function get(key,  s) { s = $0; if (!sub(".*\"" key "\": \"?", "", s)) return ""; sub("[\",}].*", "", s); return s }
    /"verdict"/ {
      verdict = get("verdict"); if (verdict == "limit") verdict = "none found; not to the end"
      if (verdict == "violated") verdict = get("violated")
      s = get("seconds"); n = get("states")
      printf "| %s | %s | %s | %s | %s | %s | %s | %.1f | %.0f | %.0f | %s |\n", get("name"), get("protocol"), fails, control, n, get("steps"),
        get("depth"), s, (s > 0 ? n / s : 0), (n > 0 ? get("bytes") / n : 0), verdict
    }' "$work/json"
done
exit $worst
