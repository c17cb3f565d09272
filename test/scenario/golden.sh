#!/bin/bash
# Dialogues: `hark replay --story` of each scenario in golden/ prints what stands in the text beside
# it, and the schedule gives its transcript. golden.sh HARK compares; golden.sh --update HARK writes
# the texts anew, to be read before they are committed.
set -u
update=
[ "$1" != --update ] || { update=1; shift; }
hark=$(readlink -f "$1")
. "$(dirname "$0")/../shell.sh"
golden=$(cd "$OLDPWD" && cd "$(dirname "$0")/golden" && pwd) || exit 2

for scenario in "$golden"/*.hark; do
  name=$(basename "$scenario" .hark)
  "$hark" replay --story "$scenario" >"$name.txt" 2>err || bad "replay --story $name (exit $?)"
  [ -z "$update" ] || cp "$name.txt" "$golden/"
  holds "$name.txt is not what hark replay --story prints (golden.sh --update HARK writes it anew)" \
    diff -u "$golden/$name.txt" "$name.txt"
  holds "golden/README.md does not name $name" grep -qF "($name.txt)" "$golden/README.md"
done
finish
