#!/bin/bash
# Checkpoints that are incremental and compressed: the answers with kills, who goes back, what is in the store, damage to what
# checkpoints share; options that do not go together. increments.sh HARK FEW-CHANGES
hark=$(readlink -f "$1") program=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'

refused '--incremental needs --store DIR, where the checkpoints are kept' -n 2 --incremental -- true
built=none
for method in lz4 zstd; do
  "$hark" run -n 2 --compress $method -- true >out 2>&1
  if grep -q 'built without' out; then
    expect 2 "hark run: --compress: hark was built without $method, expected none" -n 2 --store st --compress $method -- true
  else
    refused '--compress needs --store DIR, where the checkpoints are kept' -n 2 --compress $method -- true
    built="$built or $method"
  fi
done
refused "--compress: expected $built, found \"gzip\"" -n 2 --store st --compress gzip -- true
expect 2 "option '--compress' needs a value\|--compress" -n 2 --compress
holds 'nothing was made' [ ! -e st ]
compress=; [ "$built" = none ] || compress="--compress $(cut -d' ' -f3 <<<"$built")"

# went_back: all that the recoveries of err were of.
went_back()
{
  sed -nE 's/^hark: recovered in .*: ranks? ([0-9,-]+) went back.*/\1/p' err | tr , '\n' | awk -F- '{ for (r = $1; r <= $NF; r++) print r }' |
    sort -nu | awk 'NR == 1 { first = $1 } { last = $1; n++ } END { print n == last - first + 1 ? first "-" last : n " of " first "-" last }'
}

answer=$("$hark" run -n 4 --protocol none -- "$program" 100 2>err </dev/null)
holds 'an answer' grep -q '^digest ' <<<"$answer"
for protocol in hydee coordinated scmel; do
  for how in --incremental "$compress" "--incremental $compress" "--incremental $compress --wait-for-checkpoints"; do
    [ -n "$how" ] || continue
    chosen || continue
    rm -rf st; what="$protocol $how"
    "$hark" run -n 4 --clusters 2 --protocol $protocol --interval 1ms --store st $how --kill 1@40 --kill 2@70 -- "$program" 100 \
      >out 2>err </dev/null
    is "$what: status" 0 $?
    is "$what: answer" "$answer" "$(cat out)"
    # As with whole checkpoints: the one that died, with its cluster or all. Where the second dies before the first has recovered,
    # one recovery is of both: so it is asked of each death.
    case $protocol in
      hydee) back='1 cluster 0 (ranks 0-1),2 cluster 1 (ranks 2-3)' ;; coordinated) back='1 all ranks,2 all ranks' ;;
      scmel) back='1 it,2 it' ;;
    esac
    is "$what: who goes back" "$back" \
      "$(sed -nE 's/^hark: rank ([0-9]+) died .* deliveries; (.*) go(es)? back to .*/\1 \2/p' err | sort | paste -sd,)"
    case $protocol in hydee|coordinated) back=0-3 ;; scmel) back=1-2 ;; esac
    is "$what: they did" $back "$(went_back)"
    tested=("$hark" store) words='hark store'
    expect 0 ' 0 damaged$' verify st --json verify.json
    is "$what: files being written" 0 "$(ls st/tmp | wc -l)"
    case $how in
      *--wait-for-checkpoints) grep -q ' bytes and [0-9]* in older ones)' out && good || bad "$what: nothing is shared" ;;
      --compress*) ! grep -q 'in older ones' out && good || bad "$what: something is shared" ;;
    esac
    tested=("$hark" run) words='hark run'
  done
done

# A run is killed. Its last two checkpoints share blocks: damage to one of these damages both, and is said with its file.
rm -rf st
"$hark" run -n 2 --protocol coordinated --interval 1ms --store st --incremental $compress -- "$program" 60 "$work/half" >run 2>&1 </dev/null &
run=$!
while [ ! -e half ] && kill -0 $run 2>/dev/null; do :; done
while [ "$("$hark" store list st 2>&1 | grep -c ' in older ones), [0-9]* ([0-9]* bytes and [0-9]* in older ones)')" != 2 ]; do kill -0 $run || break; done
kill -KILL $run; wait $run 2>/dev/null
wait_until flock -n st/lock true # the janitor holds it until all is clean
tested=("$hark" store) words='hark store'
expect 0 ' 0 damaged$' verify st
largest=$(ls -S st/r1/*.blocks | head -1) # three quarters of it are rows that have not changed yet
cp "$largest" kept; printf 'no such bytes' | dd of="$largest" bs=1 seek=$(($(stat -c %s "$largest") * 3 / 4)) conv=notrunc 2>/dev/null
expect 1 "^hark store: image st/r1/[0-9]*: has a block .*, in its file ${largest##*/}$" verify st
is 'all that share it are damaged' "$(ls st/r1 | grep -c '^[0-9]*$')" "$(grep -c '^hark store: image st/r1/' out)"
cp kept "$largest"
mv "$largest" away
expect 1 "^hark store: image st/r1/[0-9]*: lacks its file ${largest##*/}$" verify st
mv away "$largest"
expect 0 ' 0 damaged$' verify st
touch half.go
"$hark" run -n 2 --protocol coordinated --interval 1ms --store st --resume --wait-for-checkpoints -- "$program" 60 "$work/half" >out 2>err </dev/null
is 'resumed' 0 $?
is 'the answer of the resumed run' "$("$hark" run -n 2 --protocol none -- "$program" 60 2>err </dev/null)" "$(cat out)"
expect 0 ' 0 damaged$' verify st
is 'its images are whole, and what they do not refer to is gone' 0 "$(ls st/r*/*.blocks 2>/dev/null | wc -l)"
finish
