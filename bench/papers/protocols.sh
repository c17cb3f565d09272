#!/bin/bash
# All protocols on the same matrices: what is logged, and what is in logs at one time, what goes along with messages, who goes
# back, how long that takes. protocols.sh HARK FOLDER [RANKS...]: the folder has npb-NAME.B.RANKS.mtx.gz and .msgs.mtx.gz; where it lacks
# one the generator nas-NAME is run, and the name has a star.
set -u
hark=$1 folder=$2; shift 2
. "$(dirname "$0")/common.sh"
[ $# -gt 0 ] || set -- 64 256
protocols="coordinated hydee scmel team camel sendet"
iterations=4

run() { # protocol, options...: figures of one run in $work/one.json
  local protocol=$1; shift
  "$hark" sim --protocol "$protocol" --iterations $iterations --checkpoint-every 2 --json "$work/one.json" "$@" >"$work/out" 2>&1 || {
    echo "$protocol $*:" >&2
    cat "$work/out" >&2
    exit 1
  }
}

last() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$work/one.json" | head -1; }

# The same four failures for all, each in a run of its own, in the fourth iteration: means of the share that goes back and of the
# time from the death until all are where they had been.
after() { # protocol, ranks, options...
  local protocol=$1 ranks=$2 back=0 time=0 k; shift 2
  for k in 1 3 5 7; do
    run "$protocol" "$@" --fail $((k * ranks / 8))@$iterations
    back=$((back + $(figure rolled_back)))
    time=$(awk -v a="$time" -v b="$(last caught_up_us)" 'BEGIN {print a + b}')
  done
  awk -v b="$back" -v n="$ranks" -v t="$time" 'BEGIN {printf "%.2f %.2f", 100 * b / 4 / n, t / 4000}'
}

echo "All protocols on the same traffic. Clusters and teams: blocks of ranks, their number the root of the ranks'. Means of four failures."
for ranks; do
  clusters=$(awk -v n="$ranks" 'BEGIN {printf "%d", sqrt(n)}')
  printf '\n%s processes, %s clusters\n%-4s %-12s %9s %10s %14s %8s %12s\n' "$ranks" "$clusters" NAS protocol 'logged, %' 'at most, %' 'B along a msg' 'back, %' 'recovery, ms'
  for name in bt cg ft lu mg sp; do
    pattern=("$folder/npb-$name.B.$ranks.mtx.gz") counts=$folder/npb-$name.B.$ranks.msgs.mtx.gz shown=${name^^}
    if [ -f "${pattern[0]}" ] && [ -f "$counts" ]; then
      pattern=(--pattern "${pattern[0]}" --messages "$counts")
    else
      pattern=(--pattern nas-$name --ranks "$ranks") shown+='*' starred=1
    fi
    for protocol in $protocols; do
      [ $protocol = coordinated ] && set_of=1 || set_of=$clusters
      run $protocol "${pattern[@]}" --clusters $set_of
      logged=$(share "$(figure logged_bytes)" "$(figure bytes)")
      most=$(share "$(figure log_bytes_peak)" "$(figure bytes)")
      along=$(awk -v b="$(figure piggyback_bytes)" -v m="$(figure messages)" 'BEGIN {printf "%.1f", b / m}')
      rest=$(after $protocol "$ranks" "${pattern[@]}" --clusters $set_of) || exit 1
      printf '%-4s %-12s %9s %10s %14s %8s %12s\n' "$shown" $protocol "$logged" "$most" "$along" $rest
    done
  done
done
[ "${starred:-0}" = 0 ] || printf '\n* by the generator, for %s has no npb-NAME.B.RANKS.mtx.gz with .msgs.mtx.gz\n' "$folder"
