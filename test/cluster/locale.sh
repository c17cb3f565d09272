#!/bin/bash
# Where numbers have commas: matrices are read as elsewhere by a program of that locale, and the command writes the same files.
# locale.sh TEST-MATRIX HARK
matrix=$(readlink -f "$1") hark=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
localedef -i de_DE -f UTF-8 "$PWD/de_DE.UTF-8" >out 2>&1
holds 'a locale with commas (package locales)' [ -d de_DE.UTF-8 ]
export LOCPATH=$PWD
holds 'matrices' env LC_ALL=de_DE.UTF-8 HARK_TEST_COMMA=1 "$matrix"

printf '%%%%MatrixMarket matrix coordinate real general\n4 4 6\n1 2 1234.75\n2 1 3.5e3\n3 4 0.5\n4 3 2000.25\n2 3 .5\n1 4 1\n' >real.mtx
printf '1,2\n1,1\n1,1\n1,5\n' >loads.csv
all() { # locale: what each command writes, without times
  local l=$1
  mkdir "$l.files" && cd "$l.files" || return
  env LC_ALL="$l" "$hark" partition ../real.mtx --sweep --plot plot.svg --svg matrix.svg --json partition.json --alpha 12.5 \
    --mtbf 1d --checkpoint 0.5h --restart 1.5min >partition 2>&1 &&
    env LC_ALL="$l" "$hark" balance ../loads.csv ../real.mtx --pes 2 --teams 2 --slack 0.5 --json balance.json --csv balance.csv \
      --plot balance.svg >balance 2>&1 &&
    env LC_ALL="$l" "$hark" sim --pattern ../real.mtx --iterations 3 --fail 1@1 --json sim.json --csv sim.csv --plot sim.svg >sim 2>&1 &&
    sed -i '/time_ms/d; /wall_ms/d; /seconds/d; /memory/d' ./*.json && cd ..
}
holds 'in C' all C
holds 'in German' all de_DE.UTF-8
for f in partition balance partition.json balance.json balance.csv plot.svg matrix.svg balance.svg sim.svg; do
  holds "the same $f" cmp C.files/$f de_DE.UTF-8.files/$f
done
holds 'figures with points' grep -q '"alpha": 0.125' de_DE.UTF-8.files/partition.json
finish
