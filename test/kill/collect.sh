#!/bin/bash
# Collective calls give the same under every protocol and transport, whoever dies; camel keeps less of them: collect.sh HARK COLLECT
hark=$(readlink -f "$1") collect=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"

for ranks in 1 6; do
  for words in 3 9000; do
    "$hark" run -n $ranks --protocol none -- "$collect" 7 $words >out 2>err </dev/null
    is "$ranks ranks, $words words: lines" $ranks "$(grep -c '^rank [0-9]*: [0-9a-f]\{16\}$' out)"
    answer=$(sort out | cksum)
    for transport in shm uv; do
      for protocol in coordinated hydee "hydee --camel" scmel team "team --camel" camel "camel --copies 2" sendet; do
        kills=('')
        [ $ranks = 1 ] || kills=('' '--kill 0@50' '--kill 4@33' '--kill 3@20 --kill 0@90')
        [ "$protocol" = camel ] || { [ $words = 3 ] && continue; kills=("${kills[-1]}"); }
        for kill in "${kills[@]}"; do
          chosen || continue
          "$hark" run -n $ranks --protocol $protocol --transport $transport --interval 1ms $kill -- "$collect" 7 $words >out 2>err </dev/null
          is "$ranks ranks, $words words, $transport $protocol $kill: status" 0 $?
          is "$ranks ranks, $words words, $transport $protocol $kill: answer" "$answer" "$(sort out | cksum)"
        done
      done
    done
  done
done

for protocol in scmel camel; do
  "$hark" run -n 16 --protocol $protocol --interval 0 --json one.json -- "$collect" 4 500 >out 2>err </dev/null
  is "$protocol: status" 0 $?
  eval "${protocol}_log=$(figure log_bytes one.json) ${protocol}_messages=$(figure determinants_created one.json)"
done
is 'camel logs less' 1 "$((camel_log < scmel_log))"
is 'camel makes fewer determinants' 1 "$((camel_messages < scmel_messages))"
finish
