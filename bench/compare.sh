#!/bin/bash
# Two builds in one run: compare.sh [OPTION]... A B. A and B are build directories, or git revisions, which are built for release in
# temporary worktrees. Each round measures each row by both, in turns which comes first. For each row: the medians and
# their ratio, whether the difference is beyond the noise, and the instructions of both.
#   --rounds N           9; fewer than 8 cannot show a difference
#   --milliseconds MS    of each row in each round, 100
#   --limit PERCENT      of the processors that other work and the host may take, 10
#   --transport T        shm
#   --sizes "BYTES..."   "8 1024 65536 1048576"
#   --protocols "P..."   "none hydee hydee+digest scmel"
#   --no-instructions    times only
#   --json FILE          the figures
# Exit status: 0 good, whatever the difference; 1 a build failed, or a row could not be measured; 2 bad arguments; 3 not
# good: the machine was busy (the last line).
set -u
. "$(dirname "$0")/common.sh"
count_of_rounds=9 ms=100 limit=10 transport=shm sizes="8 1024 65536 $MIB" protocols="none hydee hydee+digest scmel" instructions=yes json=
while [ $# -gt 0 ]; do
  case $1 in
  --no-instructions) instructions=no; shift; continue ;;
  --rounds | --milliseconds | --limit | --transport | --sizes | --protocols | --json) [ $# -ge 2 ] || bad_input "$1: expected a value behind it" ;;
  --*) bad_input "$1: no such option; bench/compare.sh lists them in its first lines" ;;
  *) break ;;
  esac
  case $1 in
  --rounds) number "$1" "$2" 1 1000; count_of_rounds=$2 ;;
  --milliseconds) number "$1" "$2" 1 60000; ms=$2 ;;
  --limit) number "$1" "$2" 0 100; limit=$2 ;;
  --transport) transport=$2 ;;
  --sizes) sizes=$2; for size in $sizes; do number "$1" "$size" 1 $((64 * MIB)); done ;;
  --protocols) protocols=$2 ;;
  --json) json=$2 ;;
  esac
  shift 2
done
[ $# = 2 ] || bad_input "expected two build directories or git revisions, found $# arguments"
case $transport in
shm | uv) ;;
*) bad_input "--transport: expected shm or uv, found \"$transport\"" ;;
esac
known=$(sh "$here/../include/protocols.sh" "$here/../include/hark/registry.h")
for name in $protocols; do
  [[ " ${known//$'\n'/ } " == *" ${name%+digest} "* ]] || bad_input "--protocols: expected some of ${known//$'\n'/ }, or one with +digest behind it, found \"$name\""
done
[ -n "${sizes// /}" ] && [ -n "${protocols// /}" ] || bad_input "--sizes and --protocols: expected at least one of each"
[ -z "$json" ] || : 2>/dev/null >"$json" || bad_input "--json: cannot write $json"
work=$(mktemp -d) || exit 2
open_figures "$work/figures"
cleanups+=('rm -rf "$work"')

targets="src/cli/hark bench/pingpong bench/instructions"
built() { # A or B, revision: builds it, sets `build`
  local tree=$work/$1
  command -v ccache >/dev/null && export CC="${CC:-ccache cc}"
  echo "$1: building $2" >&2
  cleanups=('git -C "$here" worktree remove --force "$work/'"$1"'" 2>/dev/null' "${cleanups[@]}") # before its directory goes
  git -C "$here" worktree add -q --detach "$tree" "$2" >"$work/log" 2>&1 && meson setup "$tree/build" "$tree" --buildtype=release >"$work/log" 2>&1 &&
    ninja -C "$tree/build" $targets >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; echo "compare.sh: $2 does not build" >&2; exit 1; }
  build=$tree/build
}

# A directory is never built again: the sources beside it may be newer than what is to be compared.
find_build() { # A or B, what was given: sets `build`
  local program
  if [ -f "$2/build.ninja" ]; then
    build=$2
    for program in src/cli/hark bench/pingpong; do
      [ -x "$build/$program" ] || bad_input "$build/$program is missing: run ninja -C $build $targets"
    done
  elif git -C "$here" rev-parse -q --verify "$2^{commit}" >/dev/null 2>&1; then
    built "$1" "$2"
  else
    bad_input "$2: expected a build directory (made by meson) or a git revision, and it is neither"
  fi
}

find_build A "$1"; build_a=$build
find_build B "$2"; build_b=$build
for whose in A B; do
  [ $whose = A ] && build=$build_a name=$1 || build=$build_b name=$2
  "$here/report.py" build $whose "$name" "$build" >>"$out/builds.txt"
done

each() { # function of whose, build, size, protocol; then which of the two is first
  local size name
  for size in $sizes; do
    for name in $protocols; do
      if [ "$2" = A ]; then
        "$1" A "$build_a" "$size" "$name"; "$1" B "$build_b" "$size" "$name"
      else
        "$1" B "$build_b" "$size" "$name"; "$1" A "$build_a" "$size" "$name"
      fi
    done
  done
}
time_of() { carried "$1" "$2" "$transport" ping "$3" $WINDOW "$4"; }
count_of() { count "$1" "$2" "$transport" "$3" "$4"; }
round() {
  if [ $(($1 % 2)) = 1 ]; then each time_of A; else each time_of B; fi
}

[ $instructions = yes ] && can_count "$build_a" "$build_b" && each count_of A
rounds "$count_of_rounds" round
"$here/report.py" compare "$out" "$limit" ${json:+"$json"}
