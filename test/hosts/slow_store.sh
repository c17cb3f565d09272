#!/bin/bash
# A store that answers slowly, more so than agents wait for `hark run`: nobody dies of it. slow_store.sh HARK_POINTS EXAMPLES
hark=$(readlink -f "$1") heat2d=$(readlink -f "$2")/heat2d
. "$(dirname "$0")/../shell.sh"
export PLACE=$work
"$hark" run -n 4 -- "$heat2d" 64 2000 >right 2>/dev/null
is 'the answer' 1 "$(grep -c digest right)"
run() { # how long each record takes (ms), options
  local ms=$1; shift
  HARK_POINT=aside@supervisor=-$ms timeout 100 "$hark" run -n 4 --hosts a:2,b:2 --launcher 'env HOST=%h' --store "st$ms${*//[^a-z]}" \
    --interval 20ms --host-timeout 1s "$@" -- "$heat2d" 64 2000 >out 2>err </dev/null
  is "$ms ms $*: status" 0 $?
  holds "$ms ms $*: the answer" cmp right out
  is "$ms ms $*: no agent ends" 0 "$(grep -c 'has not answered for\|host [ab]' err)"
}
run 2000
is 'slow: nobody dies' 0 "$(grep -c died err)"
run 2000 --kill 3@50
is 'slow, a process dies: one' 1 "$(grep -c '^hark: rank [0-9] died' err)"
finish
