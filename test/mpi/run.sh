#!/bin/bash
# A program of MPI under hark: without failures, and under several protocols with processes that die. It prints nothing on
# stderr, exits with 0, and prints the same each time.
# run.sh HARK LIBRARY PROGRAM [SIZE...]
# MORE has options of hark run for those runs in which processes die, KILLS which, with LAST for the last rank. ARGUMENTS
# come behind the size. PROTOCOLS are those that suit the program, if not all do; WRAP is a command that runs it. The program or hark says SAID, on stderr behind "hark: ", in one of these runs at least.
hark=$(readlink -f "$1") library=$2 program=$(readlink -f "$3"); shift 3
. "$(dirname "$0")/../shell.sh"

runs() { # what; then arguments of hark run
  local what=$1; shift
  "$hark" run -n "$size" "$@" -- ${WRAP:+$WRAP env LD_PRELOAD="$library"} "$program" "$size" ${ARGUMENTS:-} >out 2>err </dev/null
  local status=$?
  if [ $status = 0 ] && ! grep -v '^hark: ' err | grep -q .; then good; else bad "$what: exit $status"; fi
}

kills=${KILLS:---kill LAST@40 --kill 0@300}
for size in "${@:-4}"; do
  runs "$size processes" --protocol none
  mv out expected
  for protocol in ${PROTOCOLS:-coordinated hydee sendet scmel team camel}; do
    chosen || continue
    runs "$protocol, $size processes, two die" --protocol $protocol ${MORE:-} ${kills//LAST/$((size - 1))}
    is "$protocol, $size processes: the answer" "$(cat expected)" "$(cat out)"
    [ -z "${SAID:-}" ] || cat err >>restarts
  done
done
[ -z "${SAID:-}" ] || holds "it said: $SAID" grep -q "^hark: .*$SAID" restarts
finish
