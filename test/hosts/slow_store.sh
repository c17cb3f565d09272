#!/bin/bash
# A store that answers slowly, more so than agents wait for `hark run`: nobody dies of it. slow_store.sh HARK_POINTS EXAMPLES
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2")/heat2d
. "$(dirname "$0")/../shell.sh"
export PLACE=$work
"$hark" run -n 4 -- "$heat2d" 64 2000 >right 2>/dev/null
is 'the answer' 1 "$(grep -c digest right)"
HARK_POINT=aside@supervisor=-2000 timeout 100 "$hark" run -n 4 --hosts a:2,b:2 --launcher 'env HOST=%h' --store st \
  --interval 20ms --host-timeout 1s --kill 3@50 -- "$heat2d" 64 2000 >out 2>err </dev/null
is 'each record takes 2 s: status' 0 $?
holds 'each record takes 2 s: the answer' cmp right out
is 'each record takes 2 s: no agent ends' 0 "$(grep -c 'has not answered for\|host [ab]' err)"
is 'each record takes 2 s: one process dies' 1 "$(grep -c '^hark: rank [0-9] died' err)"
finish
