#!/bin/bash
# Date, commit and machine, in a line: every command that makes a table of figures prints it first,
# since figures without them cannot be compared. machine.sh
set -u
here=$(dirname "$0")
commit=$(git -C "$here" rev-parse --short HEAD 2>/dev/null) || commit=unknown
[ -z "$(git -C "$here" status --porcelain -uno 2>/dev/null)" ] || commit="$commit with changes"
model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo 2>/dev/null | head -1)
memory=$(awk '/^MemTotal/ {printf "%.0f GiB", $2 / 1048576}' /proc/meminfo 2>/dev/null)
load=$(cut -d ' ' -f 1 /proc/loadavg 2>/dev/null)
compiler=$(${CC:-cc} --version 2>/dev/null | head -1)
echo "$(date +%F), commit $commit, $(nproc) x ${model:-$(uname -m)}, ${memory:-memory unknown}," \
  "load ${load:-unknown} before, $(uname -sr), ${compiler:-no compiler}"
