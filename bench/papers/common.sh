# What the scripts of this folder share: date, commit and machine; a run of hark sim, and its shares. The script sets `hark`.
"$(dirname "$0")/../machine.sh"
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

figure() { sed -n "s/^  \"$1\": \([0-9.]*\).*/\1/p" "$work/one.json"; }

simulate() { # options...
  "$hark" sim --protocol hydee --iterations 3 --checkpoint-every 2 --json "$work/one.json" "$@" >"$work/out" 2>&1 || {
    cat "$work/out" >&2
    exit 1
  }
}

share() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", b ? 100 * a / b : 0}'; }

# Per cent of bytes and of messages logged, and of the processes that roll back: one process of each cluster dies in a run of its
# own, and each run counts as often as there are processes in that cluster.
shares() { # clusters, pattern options...
  local clusters=$1 ranks cluster sum=0 squares=0 back; shift
  simulate --clusters "$clusters" "$@"
  ranks=$(figure ranks)
  set -- "$(share "$(figure logged_bytes)" "$(figure bytes)")" "$(share "$(figure logged)" "$(figure messages)")" "$@"
  for ((cluster = 0; cluster < clusters; cluster++)); do
    simulate --clusters "$clusters" "${@:3}" --fail $(((2 * cluster + 1) * ranks / (2 * clusters)))@3
    back=$(figure rolled_back)
    sum=$((sum + back)) squares=$((squares + back * back))
  done
  [ "$sum" = "$ranks" ] || { echo "of $ranks processes $sum went back once" >&2; exit 1; }
  echo "$1 $2 $(share $squares $((ranks * ranks)))"
}

declare -A matrix counts
matrices() { # NAME=BYTES.mtx[,MESSAGES.mtx]...
  local name file
  for name in "$@"; do
    file=${name#*=} name=${name%%=*}
    matrix[$name]=${file%%,*}
    [ "$file" = "${file%%,*}" ] || counts[$name]=${file#*,}
  done
}

measured() { # name, clusters: as shares, of the matrix given for it; or nothing
  [ -n "${matrix[$1]:-}" ] || return 0
  shares "$2" --pattern "${matrix[$1]}" ${counts[$1]:+--messages "${counts[$1]}"}
}
