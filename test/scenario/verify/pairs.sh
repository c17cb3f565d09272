#!/bin/bash
# A program of two failures that is too large for one search, by pairs: who fails first and who second, in place of `fails any` and `fails any
# nested`. Their union is all there is. The row of verify.sh for each pair as it ends, then a Markdown table of states, and what all come to;
# ends with 1 if one is violated or does not come to its end. pairs.sh HARK FILE [MEMORY [JOBS]], MEMORY for each search
set -u
hark=$1 file=$2 memory=${3:-12G} jobs=${4:-2}
verify=$(dirname "$0")/verify.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
[ "$(sed -n 's/^fails //p' "$file" | paste -sd,)" = "any,any nested" ] ||
  { echo "pairs.sh: $file: expected fails any, then fails any nested" >&2; exit 2; }
ranks=$(grep -c '^p[0-9]*:' "$file")

pair() { # first, then
  local one=$work/$1-$2
  sed "s/, in pairs//; s/^fails any\$/fails p$1/; s/^fails any nested\$/fails p$2 nested/" "$file" >"$one.hark"
  "$verify" "$hark" "$memory" "$one.hark" | tail -n +3 | tee "$work/row-$1-$2"
}
export -f pair
export hark file memory work verify

for ((i = 0; i < ranks; i++)); do for ((j = 0; j < ranks; j++)); do echo "$i $j"; done; done | xargs -P "$jobs" -L 1 bash -c 'pair "$0" "$1"'
printf '| first, then |'; printf ' p%s |' $(seq 0 $((ranks - 1))); printf '\n|-|'; printf -- '-:|%.0s' $(seq "$ranks"); echo
for ((i = 0; i < ranks; i++)); do
  printf '| p%s |' "$i"
  for ((j = 0; j < ranks; j++)); do awk -F ' [|] ' '{n = $5} END {printf " %s |", NR ? n : "-"}' "$work/row-$i-$j"; done
  echo
done
cat "$work"/row-* | awk -F ' [|] ' -v n=$((ranks * ranks)) '
  {sum += $5; if ($NF == "ok |") ok++}
  END {printf "%d of %d pairs ok, %.0f states\n", ok, n, sum; exit ok != n}'
