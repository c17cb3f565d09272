#!/bin/bash
# Under camel what all processes get is logged once, and contributions to a reduction at two places, not once
# for each message.
# groups.sh HARK PROGRAM
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
for protocol in scmel camel; do
  expect 0 '' -n 16 --protocol $protocol --json $protocol.json -- "$program" 16
done
camel=$(figure log_bytes camel.json) scmel=$(figure log_bytes scmel.json)
holds "$camel bytes are logged under camel, $scmel under scmel" [ $((camel * 2)) -lt "$scmel" ]
for size in 4 7; do
  expect 0 'went back' -n $size --protocol camel --kill $((size - 1))@5 --kill 0@7 -- "$program" $size
done
finish
