#!/bin/bash
# A program of MPI under hark: without failures, and under several protocols with processes that die. It prints nothing on
# stderr, exits with 0, and prints the same each time.
# run.sh HARK LIBRARY PROGRAM [SIZE...]
hark=$1 library=$2 program=$3; shift 3
. "$(dirname "$0")/../shell.sh"

runs() { # what; then arguments of hark run
  local what=$1; shift
  "$hark" run -n "$size" "$@" -- env LD_PRELOAD="$library" "$program" "$size" >out 2>err </dev/null
  local status=$?
  if [ $status = 0 ] && ! grep -v '^hark: ' err | grep -q .; then good; else bad "$what: exit $status"; fi
}

for size in "${@:-4}"; do
  runs "$size processes" --protocol none
  mv out expected
  for protocol in coordinated hydee sendet scmel team camel; do
    chosen || continue
    runs "$protocol, $size processes, two die" --protocol $protocol --kill $((size - 1))@40 --kill 0@300
    is "$protocol, $size processes: the answer" "$(cat expected)" "$(cat out)"
  done
done
finish
