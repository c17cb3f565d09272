#!/bin/bash
# The command balance: maps and figures of small cases, loads that drift, what is written, what is wrong said in one line.
# balance.sh HARK
set -u
hark=$(readlink -f "$1")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
passed=0 failed=0

good() { passed=$((passed + 1)); }
bad() {
  failed=$((failed + 1))
  echo "FAILED $*"
  sed 's/^/    /' out
}

run() { # arguments...
  "$hark" balance "$@" >out 2>&1 </dev/null || bad "hark balance $*"
}

refused() { # what is said, all of it, behind "hark balance: "; arguments...
  local said=$1 r; shift
  "$hark" balance "$@" >out 2>&1 </dev/null
  r=$?
  if [ $r = 2 ] && [ "$(cat out)" = "hark balance: $said" ]; then good; else bad "hark balance $* (exit $r, expected 2 and \"hark balance: $said\")"; fi
}

is() { # what, found, expected
  if [ "$2" = "$3" ]; then good; else bad "$1: found \"$2\", expected \"$3\""; fi
}

figure() { sed -n "s/^  \"$1\": \"\{0,1\}\([^,\"]*\).*/\1/p" "$2"; }
after() { grep '"column": 1,' "$2" | sed "s/.*\"$1\": \([0-9.]*\).*/\1/"; }
matrix() { printf '%%%%MatrixMarket matrix coordinate %s\n%b' "$1" "$2" >"$3"; }

# Eight objects, 0 1 2 3 and 4 5 6 7 in rings of 100 bytes a neighbour, 1 byte from 3 to 4; the load of 7 is 4.
matrix 'integer general' '8 8 9\n1 2 100\n2 3 100\n3 4 100\n4 1 100\n5 6 100\n6 7 100\n7 8 100\n8 5 100\n4 5 1\n' rings.mtx
printf '1\n1\n1\n1\n1\n1\n1\n4\n' >loads.csv
printf '0\n1\n2\n3\n0\n1\n2\n3\n' >map
common=(loads.csv rings.mtx --pes 4 --teams 2)
run "${common[@]}" --strategy none --map map -o same --json none.json
is 'none leaves the map' "$(cat same)" "$(cat map)"
is 'imbalance' "$(after imbalance none.json)" "$(awk 'BEGIN {printf "%.6f", 5 / (11 / 4) - 1}')"
is 'log bytes' "$(after log_bytes none.json)" 401
is 'bytes' "$(figure bytes none.json)" 801
grep -q '^imbalance (max-avg)/avg  *0.8182  *0.8182$' out && good || bad 'no report'
run "${common[@]}" --strategy greedy --map map -o greedy
is 'greedy' "$(tr '\n' ' ' <greedy)" '1 2 3 1 2 3 1 0 '
run "${common[@]}" --strategy refine --slack 0 --map map -o refine --json refine.json
is 'refine moves one' "$(figure moved refine.json) $(after most refine.json)" '1 4'
for strategy in team team+; do
  for backend in builtin scotch metis metis-recursive; do
    if ! "$hark" balance "${common[@]}" --backend $backend >out 2>&1; then
      grep -q "^hark balance: --backend: this hark was built without ${backend%-*}" out && good || bad "$backend"
      continue
    fi
    run "${common[@]}" --strategy $strategy --backend $backend --map map --slack 60 --json $strategy.json -o $strategy.map
    is "$strategy, $backend" "$(after log_bytes $strategy.json) $(wc -l <$strategy.map)" '1 8'
    is "$strategy, $backend: rings are teams" "$(awk '{print int($1 / 2)}' $strategy.map | uniq | wc -l)" 2
    run "${common[@]}" --strategy $strategy --backend $backend --map map --slack 60 --json again.json
    is "$strategy, $backend again" "$(grep -v wall_ms again.json)" "$(grep -v wall_ms $strategy.json)"
  done
done
if command -v node >/dev/null; then
  if node -e 'const j = JSON.parse(require("fs").readFileSync("team.json")); process.exit(j.schema === 1 && j.command === "balance" && j.after.length === 1 && j.before.log_bytes === 401 ? 0 : 1)'; then good; else bad "no JSON"; fi
fi

# Fractions of bytes, and what is read once: the same maps.
sed '3,$s/\(.*\) \([0-9]*\)$/\1 \2e-3/; 1s/integer/real/' rings.mtx >fractions.mtx
for strategy in team team+; do
  run "${common[@]}" --strategy $strategy --map map --slack 60 -o whole.map
  run loads.csv fractions.mtx --pes 4 --teams 2 --strategy $strategy --map map --slack 60 -o fractions.map --json fractions.json
  is "$strategy: the same map" "$(cat fractions.map)" "$(cat whole.map)"
  is "$strategy: bytes" "$(figure bytes fractions.json) $(after log_bytes fractions.json)" '0.801 0.001'
  run loads.csv <(cat rings.mtx) --pes 4 --teams 2 --strategy $strategy --map map --slack 60 -o pipe.map
  is "$strategy: the same map from a pipe" "$(cat pipe.map)" "$(cat whole.map)"
done
run loads.csv fractions.mtx --pes 4 --teams 2 --strategy none --map map
grep -q '^bytes logged  *0.401  *0.401$' out && good || bad 'bytes logged'
for move in 0 1 2; do # bytes, of a matrix of a thousandth of them
  run "${common[@]}" --strategy team+ --map map --slack 60 --move-bytes ${move}000 -o whole.map
  run loads.csv fractions.mtx --pes 4 --teams 2 --strategy team+ --map map --slack 60 --move-bytes $move -o move.map --json move.json
  is "a move of $move bytes" "$(cat move.map) $(figure move_bytes move.json)" "$(cat whole.map) $move"
done
refused '--move-bytes: expected less, for fractions.mtx has fractions of 10^-3 bytes' loads.csv fractions.mtx --pes 4 --teams 2 \
  --strategy team+ --move-bytes 16T
matrix 'pattern symmetric' '8 8 8\n2 1\n3 2\n4 3\n4 1\n6 5\n7 6\n8 7\n8 5\n' pattern.mtx
run loads.csv pattern.mtx --pes 4 --teams 2 --json pattern.json
is 'a pattern' "$(figure bytes pattern.json)" 16

# The sum of many columns is more than 2^64 units of the matrix.
for ((i = 0; i < 8; i++)); do seq -s, 10 $((10 + 39)); done >many.csv
matrix 'integer general' '8 8 2\n1 2 500000000000000000\n2 1 500000000000000000\n' large.mtx
run many.csv large.mtx --pes 4 --teams 4 --strategy none --map map --json large.json
holds_large() { # of 40 columns of 10^18 bytes each
  is 'bytes of many columns' "$(figure bytes large.json)" 40000000000000000000
  is 'the same, printed' "$(sed -n 's/^bytes logged: .* of \([0-9]*\) (.*/\1/p' out)" 40000000000000000000
}
holds_large

# Loads that change places: what is measured in a column makes the map of the next.
for ((i = 0; i < 8; i++)); do echo "10,10,$((i % 4 ? 10 : 20)),$((i % 4 ? 10 : 20)),$((i % 4 ? 10 : 40))"; done >drift.csv
drift=(drift.csv rings.mtx --pes 4 --teams 2 --strategy greedy)
run "${drift[@]}" --every 2 --csv d.csv --json d.json --plot d.svg
is 'columns' "$(wc -l <d.csv) $(head -1 d.csv)" '6 column,mean,most,none,imbalance,edge_cut,log_bytes,balanced,moved'
is 'balanced in columns' "$(awk -F, '$8 == 1 {printf "%s ", $1}' d.csv)" '3 5 '
is 'not balanced yet' "$(sed -n 4p d.csv | cut -d, -f 3,4)" '40,30' # by loads that were all the same: 0 and 4 are on one PE
is 'balanced' "$(sed -n 6p d.csv | cut -d, -f 2-4)" '35.0,50,50' # 20 + 10 had been right
is 'time' "$(figure time d.json) $(figure time_none d.json)" "$((20 + 20 + 40 + 40 + 50)) $((20 + 20 + 30 + 30 + 50))"
grep -q '</svg>' d.svg && grep -q ' moved<' d.svg && [ "$(grep -c '<polyline' d.svg)" = 3 ] && good || bad 'svg'
run "${drift[@]}" --json e.json
is 'balanced before each column but the first' "$(figure balancings e.json) $(figure every e.json)" '4 1'

# What is wrong with the files.
matrix 'integer general' '8 7 0\n' bad.mtx
refused 'bad.mtx:2: expected a square matrix, found 8 rows and 7 columns' loads.csv bad.mtx --pes 4 --teams 2
matrix 'integer general' '8 8 1\n1 2 -3\n' bad.mtx
refused 'bad.mtx:3: expected a whole number from 0, found "1 2 -3"' loads.csv bad.mtx --pes 4 --teams 2
matrix 'real general' '8 8 1\n1 2 nan\n' bad.mtx
refused 'bad.mtx:3: expected a finite value from 0, found "1 2 nan"' loads.csv bad.mtx --pes 4 --teams 2
: >bad.mtx
refused 'bad.mtx:1: expected %%MatrixMarket, the file is empty' loads.csv bad.mtx --pes 4 --teams 2
refused 'none.mtx: No such file or directory' loads.csv none.mtx --pes 4 --teams 2
refused 'none.csv: No such file or directory' none.csv rings.mtx --pes 4 --teams 2
head -7 loads.csv >bad.csv
refused 'bad.csv: expected a line for each of the 8 objects of rings.mtx, found 7' bad.csv rings.mtx --pes 4 --teams 2
for value in -1 nan 0.5 x; do
  sed "3s/.*/$value/" loads.csv >bad.csv
  refused "bad.csv:3: expected whole numbers from 0 to 9007199254740992, found \"$value\"" bad.csv rings.mtx --pes 4 --teams 2
done
: >bad.csv
refused 'bad.csv:1: expected a line of numbers for each object, the file has none' bad.csv rings.mtx --pes 4 --teams 2
sed '4s/.*/4/' map >bad.map
refused 'bad.map:4: expected whole numbers from 0 to 3, found "4"' "${common[@]}" --map bad.map
sed 's/$/,0/' map >bad.map
refused 'bad.map:1: expected 1 number in each line, found 2' "${common[@]}" --map bad.map

# What is wrong with the options.
refused 'usage: hark balance LOADS.csv COMM.mtx --pes N --teams K [OPTION]...' loads.csv
refused 'usage: hark balance LOADS.csv COMM.mtx --pes N --teams K [OPTION]...' "${common[@]}" more
refused '--pes and --teams are required' loads.csv rings.mtx --pes 4
refused '--teams: expected 1 to 4, as there are PEs, found 5' loads.csv rings.mtx --pes 4 --teams 5
refused '--teams: expected a number that divides the 4 PEs, found 3' loads.csv rings.mtx --pes 4 --teams 3
refused '--teams: expected 1 to 268435456, found "0"' loads.csv rings.mtx --pes 4 --teams 0
refused '--pes: expected 1 to 268435456, found "-4"' loads.csv rings.mtx --pes -4 --teams 2
refused '--strategy: expected none, greedy, refine, team or team+, found "best"' "${common[@]}" --strategy best
refused '--backend: expected builtin, scotch, metis or metis-recursive, found "patoh"' "${common[@]}" --backend patoh
refused '--slack: expected per cent from 0 to 100 such as 3 or 0.5, found "0.55"' "${common[@]}" --slack 0.55
refused '--slack: expected per cent from 0 to 100 such as 3 or 0.5, found "100.1"' "${common[@]}" --slack 100.1
refused '--move-bytes: expected a number such as 8192 or 8K, found "8X"' "${common[@]}" --move-bytes 8X
refused '--every: expected 1 to 1000000000, found "0"' "${common[@]}" --every 0
refused '--every: expected loads of several columns, found 1 in loads.csv' "${common[@]}" --every 2
refused '--plot: expected loads of several columns, found 1 in loads.csv' "${common[@]}" --plot x.svg
"$hark" balance "${common[@]}" -o none/map 2>out >/dev/null
is 'a map that can not be written' "$? $(cat out)" '2 hark balance: -o none/map: No such file or directory'
refused '--many: no such option, see `hark help balance`' "${common[@]}" --many
refused '--seed needs a value' "${common[@]}" --seed

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
