#!/bin/sh
# The version script of a shared library: exported is what its static library defines and a header declares; all else
# stays inside.
# exports.sh NM NODE LIBRARY.a HEADERS > SCRIPT
set -eu
names=$("$1" -g -P "$3" | awk '$2 ~ /^[A-TV-Z]$/ { print $1 }')
echo "$2 {"
echo "global:"
echo "$names" | awk '
  NR == FNR { defined[$1]; next }
  { while (match($0, /hark_[a-z0-9_]+ *\(/)) {
      name = substr($0, RSTART, RLENGTH); sub(/ *\($/, "", name)
      if (name in defined && !(name in seen)) { seen[name]; print "  " name ";" }
      $0 = substr($0, RSTART + RLENGTH) } }' - "$4"/*.h "$4"/*/*.h
echo "local:"
echo "  *;"
echo "};"
