#!/bin/bash
# What a replay puts off comes before what its sender sent later, also to a receive that waits: behind.sh HARK BEHIND
hark=$(readlink -f "$1") behind=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

for way in scmel "scmel --copies 2" camel "team --clusters 3"; do
  for transport in shm uv; do
    for look in "" look; do
      rm -rf place; mkdir place
      PLACE=$PWD/place "$hark" run -n 3 --protocol $way --transport $transport --interval 1ms -- "$behind" $look >out 2>err </dev/null
      is "$way, $transport $look: status" 0 $?
      is "$way, $transport $look: answer" "${look:+sees 1 }received 2 1 3" "$(tr '\n' ' ' <out | sed 's/ $//')"
      holds "$way, $transport $look: rank 0 was there again" test -e place/again
    done
  done
done
finish
