#!/bin/bash
# fuzz.sh BUILD SECONDS [NAME...]: runs each fuzzer so long, two at a time. What they learn stays in BUILD/learnt. Ends with 1 if
# there is a finding, which is kept in BUILD/found: the same fuzzer with that file as its argument shows it again.
set -eu
cd "$(dirname "$0")/../.."
build=$1 seconds=$2
shift 2
[ -f "$build/build.ninja" ] || CC="ccache clang" CXX="ccache clang++" meson setup "$build" -Dfuzz=true -Dtests=enabled >/dev/null
all=$(ninja -C "$build" -t targets all | grep -oE '^test/fuzz/fuzz-[a-z]+:' | tr -d : | grep -v seeds)
# shellcheck disable=SC2086
ninja -C "$build" $all | tail -1
[ $# -gt 0 ] || set -- $(for f in $all; do echo "${f##*fuzz-}"; done)
build=$(cd "$build" && pwd)

one() {
  local name=$1 dir=test/fuzz/corpus/$1 more=
  [ "$name" = scenario ] && more=test/scenario
  mkdir -p "$build/learnt/$name" "$build/found"
  if ASAN_OPTIONS=allocator_may_return_null=1 "$build/test/fuzz/fuzz-$name" -max_total_time="$seconds" -max_len=1500 -len_control=0 \
    -timeout=25 -rss_limit_mb=2000 -print_final_stats=1 -artifact_prefix="$build/found/$name-" \
    "$build/learnt/$name" "$dir" $more >"$build/learnt/$name.log" 2>&1; then
    echo "$name: $(grep -oE 'executed_units: [0-9]+' "$build/learnt/$name.log" | grep -oE '[0-9]+') inputs, $(
      grep -oE 'INITED cov: [0-9]+' "$build/learnt/$name.log" | grep -oE '[0-9]+') -> $(
      grep -oE 'DONE   cov: [0-9]+' "$build/learnt/$name.log" | grep -oE '[0-9]+') edges, no finding"
  else
    echo "$name: FOUND: $(grep -m1 -oE 'finding: .*|runtime error: .*|ERROR: .*' "$build/learnt/$name.log")"
    echo "  $build/test/fuzz/fuzz-$name $(grep -oE "$build/found/[^ ]*" "$build/learnt/$name.log" | tail -1)"
    return 1
  fi
}
export build seconds
export -f one
printf '%s\n' "$@" | xargs -P 2 -I{} bash -c 'one {}' || exit 1
