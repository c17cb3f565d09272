#!/bin/bash
# Mutants: each patch here puts one fault into a copy of the headers, and something must notice.
#
#   run.sh [--sample SEED:COUNT | --keep | --draw] [MUTANT...]      without arguments: all
#
# --keep: writes test/scenario/errata/MUTANT.hark. --draw: only writes docs/errata/MUTANT.svg, of those that have such a schedule.
#
# The explorer is built against the patched copy and given the scenarios that the patch names (# catch:), then all of
# test/scenario up to a bound, then the unit tests that are built from headers alone, until one of them finds a violation
# or dies. A limit that is reached, or a program that can not finish, is none. What is expected of a patch stands in its
# first lines:
#
#   # NAME: what is wrong            # catch: what finds it fastest: scenarios, atomic:SCENARIO, reduced:SCENARIO or test:NAME
#   # cflags: also for the build     # equivalent: why nothing can find it; then nothing may
#
# A mutant with a schedule in test/scenario/errata: there `hark replay` must show the violation and draw docs/errata/MUTANT.svg
# as it is, and `hark check` of the same program must find nothing against the true headers. docs/errata.md shows every such
# picture. One line for each mutant; the last counts. Exit status 1: some mutant
# survived, an equivalent one was caught, a patch does not apply, a schedule does not show what it is kept for, or a picture is
# missing or another.
# CC: the compiler. REDUCE=--reduce: searches are reduced. JOBS: how many at once (1). MUTANTS: folder for what is built (a temporary one, which goes).
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cc=${CC:-gcc}
case $cc in *ccache*) ;; *) ! command -v ccache >/dev/null || cc="ccache $cc" ;; esac
# LAB_STEP_ALONE: the explorer does not compare post and receive with step, or that would find every fault of step first.
# Mutants of post and receive undo it by their cflags.
flags="-std=c11 -D_GNU_SOURCE -O2 -w -DLAB_STEP_ALONE"
named_states=8000000 few_states=4000 any_states=50000 memory=3G

field() { sed -n "1,8s/^# $2: //p" "$here/$1.patch"; } # of a patch

# The explorer, hark_check, in the folder $1 against its include/; the rest: flags. What protocols are made of is in
# registry.c and in the files that pack and inspect; the others need declarations only.
build() {
  local dir=$1 f o objects=() link; shift
  cd "$dir" || return 1
  for f in registry $(cd "$top/src" && echo check/*.c view/*.c) store/file cli/{check,check_random,check_report,check_stop,options,output,replay,values} ../test/mutants/main; do
    f=${f%.c}
    o=${f##*/}.o
    [ "$f" = cli/check ] && o=cli_check.o
    link=-DHARK_LINK
    [ "$f" = registry ] && link=-Og # nearly all that is compiled for a mutant, and few of them need long searches
    case $f in check/local_block|check/local_twin|check/local_core|check/local_app|check/local_pack|check/describe|check/picture|cli/replay) link= ;; esac
    $cc $flags $link "$@" -Iinclude -I"$top/src" -c "$top/src/$f.c" -o "$o" || return 1
    objects+=("$o")
  done
  ${cc#ccache } "${objects[@]}" -pthread -lxxhash -lm -o hark_check
}

# Scenario $2, at most $3 states, perhaps $4 --atomic; true if it finds a violation or the explorer dies. Then `steps` and
# `what` say more.
violated() {
  local out status
  out=$(timeout 900 "$1/hark_check" check --max-memory $memory --max-states "$3" ${REDUCE:-} $4 -o "$1/found.hark" "$2" 2>&1 </dev/null)
  status=$?
  steps=- what=
  if [ $status -gt 128 ]; then
    what="trap (signal $((status - 128)))"
    return 0
  fi
  if [ $status = 124 ]; then echo "$1: $2: more than 900 s" >&2; return 1; fi
  [ $status = 1 ] || return 1
  steps=$(sed -n 's/^  after \([0-9]*\) steps: .*/\1/p' <<<"$out")
  what=$(sed -n 's/^  after [0-9]* steps: //p' <<<"$out")
  [ -n "$what" ]
}

# The same, and without the mutant it does not: some scenarios are there to be violated.
finds() {
  violated "$@" || return 1
  local with=("$steps" "$what")
  ! violated "$clean" "$2" "$3" "$4" && steps=${with[0]} what=${with[1]}
}

# A unit test of headers alone; true if it fails.
fails() {
  local dir=$1 name=$2 extra=; shift 2
  local sources=("$top/test/unit/$name.c")
  case $name in
  past|exhaustive|usual|scmel|team|team_multicast|camel|sendet) ;;
  linear) extra=-finstrument-functions ;;
  paper-*) sources=("$top/test/paper/${name#paper-}.c") ;;
  search|search_gate) sources+=("$top/test/unit/world.c") ;;
  scmel_search*)
    sources=("$top/test/unit/scmel_search.c" "$top/test/unit/world.c")
    extra="-DWORLD_RANKS=4 -DWORLD_FRAMES=96 -DWORLD_ITEMS=24 -DWORLD_IMAGES=3"
    case $name in *_tight) extra="$extra -DHARK_SCMEL_ROOM=144u -DHARK_SCMEL_TIGHT" ;; esac ;;
  *) echo "$name: no such test" >&2; return 1 ;;
  esac
  ${cc#ccache } $flags $extra "$@" -I"$dir/include" "${sources[@]}" -lcmocka -o "$dir/test-$name" || return 1
  ! timeout 900 "$dir/test-$name" >"$dir/test-$name.log" 2>&1
}

say() { printf '%-26s %-34s %6s s %5s steps  %s\n' "$@"; }

# The explorer with one mutant, in its folder $2; false if there is none.
mutate() {
  local name=$1 dir=$2
  mkdir -p "$dir" && cp -r "$top/include" "$dir/" || return 1
  if ! (cd "$dir" && patch -p1 -s --no-backup-if-mismatch -F0) <"$here/$name.patch" >"$dir/patch.log" 2>&1; then
    cat "$dir/patch.log" >&2
    say "$name" "the patch does not apply" - - ""
    return 1
  fi
  if ! (build "$dir" $(field "$name" cflags)) >"$dir/build.log" 2>&1; then
    cat "$dir/build.log" >&2
    say "$name" "it does not compile" - - ""
    return 1
  fi
}

# One mutant, and everything about it; false if it is not as it should be.
one() {
  local name=$1 dir=$work/$1 start catch equivalent states f steps=- what= caught= status=0
  mutate "$name" "$dir" || return 1
  start=$SECONDS
  clean=$work/true # without the mutant
  if [ -n "$(field "$name" cflags)" ]; then
    clean=$dir/true
    mkdir "$clean" && cp -r "$top/include" "$clean/"
    (build "$clean" $(field "$name" cflags)) >"$dir/build.log" 2>&1 || { cat "$dir/build.log" >&2; return 1; }
  fi
  equivalent=$(field "$name" equivalent)
  for catch in $(field "$name" catch); do
    [ -z "$caught" ] || break
    case $catch in
    test:*) ! fails "$dir" "${catch#test:}" $(field "$name" cflags) || { caught=$catch; steps=- what=; } ;;
    atomic:*) ! finds "$dir" "$top/test/scenario/${catch#atomic:}.hark" $named_states --atomic || caught=$catch ;;
    reduced:*) ! finds "$dir" "$top/test/scenario/${catch#reduced:}.hark" $named_states --reduce || caught=$catch ;;
    *) ! finds "$dir" "$top/test/scenario/$catch.hark" $named_states "" || caught=$catch ;;
    esac
  done
  for states in $few_states $([ -n "$equivalent" ] && echo $((any_states / 5)) || echo $any_states); do
    for f in "$top"/test/scenario/*.hark; do
      [ -z "$caught" ] || break 2
      ! finds "$dir" "$f" $states "" || caught=$(basename "$f" .hark)
    done
  done
  if [ -z "$caught" ]; then
    for f in past exhaustive linear scmel team team_multicast camel sendet paper-{scmel,camel,hydee,teams} $SLOW; do
      if fails "$dir" $f $(field "$name" cflags); then caught=test:$f steps=- what=; break; fi
    done
  fi
  case "$steps $what" in
  -*|' '*) ;;
  *'the steps never end') ;; # no schedule ends there: it leads to where every way goes on for ever
  *)
    if ! "$dir/hark_check" replay --quiet "$dir/found.hark" 2>&1 | grep -qxF "violated: $what"; then
      say "$name" "$caught" - "$steps" "the schedule that was written does not show: $what"
      return 1
    fi ;;
  esac
  case "$caught:$equivalent" in
  :) say "$name" "SURVIVED" $((SECONDS - start)) - ""; echo survived >"$dir/verdict"; return 1 ;;
  :*) say "$name" "equivalent" $((SECONDS - start)) - "$equivalent"; echo equivalent >"$dir/verdict" ;;
  *:) say "$name" "$caught" $((SECONDS - start)) "$steps" "$what"; echo caught >"$dir/verdict" ;;
  *) say "$name" "$caught" $((SECONDS - start)) "$steps" "said to be equivalent: $what"; return 1 ;;
  esac
  f=$top/test/scenario/errata/$name.hark
  if [ "$keep" = --keep ] && [ "$steps" != - ]; then
    sed "1,2c name $name\nabout $(sed -n '1s/^# [^:]*: //p' "$here/$name.patch")." "$dir/found.hark" >"$f" || return 1
  fi
  [ ! -f "$f" ] || shows "$name" "$f" "$dir" || status=1
  return $status
}

# A schedule that is kept: under the mutant it comes to a violation, step by step with its transcript; without the fault
# its program comes to none.
shows() {
  local found
  found=$("$3/hark_check" replay --quiet --svg "$3/$1.svg" "$2" 2>&1)
  if ! grep -q "^violated: " <<<"$found" || grep -q "^hark replay:" <<<"$found"; then
    echo "$1: its schedule in errata/ does not show it:"
    echo "$found"
    return 1
  fi
  if violated "$clean" "$2" $named_states "$(sed -n "s/^# catch: atomic:.*/--atomic/p; s/^# catch: reduced:.*/--reduce/p" "$here/$1.patch")"; then
    echo "$1: the program in errata/ is violated without the mutant too: $what"
    return 1
  fi
  if ! cmp -s "$3/$1.svg" "$top/docs/errata/$1.svg"; then
    echo "$1: docs/errata/$1.svg is another picture: make errata"
    return 1
  fi
}

# The picture of a schedule under its mutant.
draw() {
  mutate "$1" "$work/$1" || return 1
  "$work/$1/hark_check" replay --quiet --svg "$top/docs/errata/$1.svg" "$top/test/scenario/errata/$1.hark"
  [ $? = 1 ] || { echo "$1: its schedule in errata/ does not show it"; return 1; }
}

# Every schedule has its picture, docs/errata.md shows it, and there are no others.
pictured() {
  local f name status=0
  for f in "$top"/test/scenario/errata/*.hark; do
    name=$(basename "$f" .hark)
    [ -f "$top/docs/errata/$name.svg" ] || { echo "$name: there is no docs/errata/$name.svg: make errata"; status=1; }
    grep -qF "](errata/$name.svg)" "$top/docs/errata.md" || { echo "$name: docs/errata.md does not show errata/$name.svg"; status=1; }
  done
  for f in "$top"/docs/errata/*.svg; do
    name=$(basename "$f" .svg)
    [ -f "$top/test/scenario/errata/$name.hark" ] || { echo "$name: docs/errata/$name.svg is of no schedule"; status=1; }
  done
  return $status
}

if [ "${1:-}" = --one ]; then
  work=$2 keep=$3
  if [ "$keep" = --draw ]; then draw "$4"; else one "$4"; fi
  exit
fi

sample= keep=
case ${1:-} in
--sample) sample=$2; shift 2 ;;
--keep|--draw) keep=$1; shift ;;
-*) sed -n '4s/^# *//p' "$0" >&2; exit 2 ;;
esac
names=("$@")
if [ ${#names[@]} = 0 ]; then
  for f in "$here"/*.patch; do
    f=$(basename "$f" .patch)
    [ "$keep" = --draw ] && [ ! -f "$top/test/scenario/errata/$f.hark" ] || names+=("$f")
  done
fi
if [ -n "$sample" ]; then # of those that a scenario catches
  mapfile -t names < <(cd "$here" && grep -L '^# equivalent:' *.patch | xargs grep -l '^# catch: [^:]*$' | sed 's/\.patch$//' |
    awk -v seed="${sample%:*}" 'BEGIN {srand(seed)} {print rand() "\t" $0}' | sort -n | head -n "${sample#*:}" | cut -f2)
fi
if [ -n "${MUTANTS:-}" ]; then
  mkdir -p "$MUTANTS"
  work=$(cd "$MUTANTS" && pwd)
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
rm -rf "$work/true"
mkdir "$work/true" && cp -r "$top/include" "$work/true/" || exit 1
if ! (build "$work/true") >"$work/build.log" 2>&1; then cat "$work/build.log" >&2; exit 1; fi
for n in "${names[@]}"; do
  [ -f "$here/$n.patch" ] || { echo "$n: no such mutant" >&2; exit 2; }
  rm -rf "${work:?}/$n"
done
printf '%s\n' "${names[@]}" | SLOW=${SLOW-} xargs -P "${JOBS:-1}" -I{} "$0" --one "$work" "$keep" {}
bad=$?
[ "$keep" != --draw ] || exit $bad
pictured || bad=1
count() { grep -lx "$1" "${names[@]/#/$work/}" --include=verdict -r 2>/dev/null | wc -l; }
echo "$(count caught) caught, $(count survived) survived, $(count equivalent) equivalent"
[ $bad = 0 ]
