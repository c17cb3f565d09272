#!/bin/bash
# Many receives posted and many messages untaken, and failures among them: many.sh HARK MANY COUNT
hark=$(readlink -f "$1") many=$(readlink -f "$2") count=$3
. "$(dirname "$0")/../shell.sh"

try() { # count, deaths, protocol, options...
  local count=$1 deaths=$2 protocol=$3; shift 3
  printf '%s\n' "posted: $count" "untaken: $count" "of any source: $count" "of any tag, and probed: $count" \
    "marked: $count" >expected
  "$hark" run -n 2 --clusters 2 --protocol $protocol "$@" -- "$many" "$count" >out 2>err </dev/null
  is "$count, $protocol $*: status" 0 $?
  holds "$count, $protocol $*: answer" cmp expected out
  is "$count, $protocol $*: deaths" "$deaths" "$(grep -c 'died (SIGKILL)' err)"
}

try "$count" 0 none
few=$((count / 20))
for protocol in hydee scmel; do
  # While receives are posted, messages wait, probes are among them, and marked ones; all of it at once.
  try $few 1 $protocol --kill 1@$((few / 2))
  try $few 1 $protocol --kill 1@$((few * 3 / 2))
  try $few 1 $protocol --kill 1@$((few * 13 / 4))
  try $few 2 $protocol --kill 1@$((few * 17 / 4)) --kill 0@$((few / 2))
  try "$count" 3 $protocol --kill 1@$((count / 2)) --kill 1@$((count * 13 / 4)) --kill 1@$((count * 17 / 4))
done

# Messages of communicators are named where nothing moves, and not those inside of calls.
"$hark" run -n 2 --stall-limit 1ms -- "$many" stall >out 2>err </dev/null
is "stall: status" 1 $?
holds "stall: what has come" grep -q 'a message of rank 0 with tag 7 has come, and no receive takes it' err
finish
