# What bench.sh and compare.sh share: arguments, rows of figures, counts of instructions, and what else the machine did. To be
# sourced by bash. The file that sources it calls open_figures before it measures, and sets `ms`, the milliseconds of a row.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
MIB=1048576
WINDOW=$((3 * MIB)) # bytes between two checkpoints
COUNTED_MOST=4096   # a longer payload waits until its receiver looks: that cannot be counted

bad_input() { # message
  echo "$(basename "$0"): $1" >&2
  exit 2
}

number() { # what it is of, value, least, most
  [[ $2 =~ ^[0-9]{1,9}$ ]] && [ "$((10#$2))" -ge "$3" ] && [ "$((10#$2))" -le "$4" ] || bad_input "$1: expected a number from $3 to $4, found \"$2\""
}

cleanups=()
clean_up() {
  local command
  for command in "${cleanups[@]}"; do eval "$command"; done
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

open_figures() { # directory
  out=$1 raw=$1/raw.txt errors=$1/errors.txt counts=$1/counts.txt
  mkdir -p "$out" || exit 2
  : >"$raw"
  : >"$errors"
  : >"$counts"
  : >"$out/notes.txt" # lines behind the table
  # Checkpoints of a benchmark are not what is measured: they go to memory where that is possible.
  store=$(mktemp -d -p /dev/shm hark-bench-XXXXXX 2>/dev/null || mktemp -d)
  cleanups+=('rm -rf "$store"')
  "$here/machine.sh" >"$out/machine.txt" # its load is that before the rounds
}

# A figure of a row, or "-" if it could not be measured.
row() { # whose: A or B; on, what, size, name, then the command that prints the figure
  local whose=$1 on=$2 what=$3 size=$4 name=$5 ns; shift 5
  ns=$(timeout 60 "$@" 2>>"$errors") || ns=
  [[ $ns =~ ^[0-9.]+$ ]] || ns=-
  echo "$on $what $size $name $whose $ns" >>"$raw"
}

# Options of `hark run` by the name of a row: none/long, hydee+digest, scmel. Sets `options`.
options_of() { # name
  local protocol=${1%%/*}
  options=(--protocol "${protocol%+digest}")
  [ "$protocol" != "${protocol%+digest}" ] || options+=(--no-digest)
}

carried() { # whose, build, transport, what, size, window, name
  local whose=$1 build=$2 on=$3 what=$4 size=$5 window=$6 name=$7 options
  options_of "$name"
  # An image that is being written would take the processors from what is timed. Builds before 2026-11-29 always wait for it.
  "$build/src/cli/hark" run --help | grep -q -e --wait-for-checkpoints && options+=(--wait-for-checkpoints)
  rm -rf "$store/job"
  row "$whose" "$on" "$what" "$size" "$name" "$build/src/cli/hark" run -n 2 --clusters 2 --transport "$on" --interval 1ms --store "$store/job" \
    "${options[@]}" -- "$build/bench/pingpong" "$what" "$size" "$ms" "$window"
}

# Instructions of one send and one receive. Without checkpoints, so that no count depends on when an image is durable.
count() { # whose, build, transport, size, name
  local whose=$1 build=$2 on=$3 size=$4 name=$5 n options
  [ "$size" -le $COUNTED_MOST ] || return
  options_of "$name"
  n=$(timeout 120 "$here/instructions.py" "$build" --total --no-checkpoints --transport "$on" --size "$size" "${options[@]:2}" \
    "${options[1]}" 2>>"$errors") || n=
  echo "$on ping $size $name $whose ${n:--}" >>"$counts"
}

can_count() { # builds...
  local build
  command -v valgrind >/dev/null || { echo "valgrind is not installed: no instructions are counted" >>"$out/notes.txt"; return 1; }
  for build; do
    [ -x "$build/bench/instructions" ] && continue
    echo "$build/bench/instructions is missing: no instructions are counted (ninja -C $build bench/instructions)" >>"$out/notes.txt"
    return 1
  done
}

# The processors' ticks, and what of them is this shell's and its children's: `times` must run in this shell itself.
look() { # file
  { cat /proc/loadavg; grep '^cpu' /proc/stat; grep Cpus_allowed_list /proc/self/status; times; } >"$1" 2>/dev/null
}

rounds() { # count, function that measures a round and is given its number
  local i
  look "$out/before.txt"
  for ((i = 1; i <= $1; i++)); do
    [ -t 2 ] && printf '\rround %d of %d ' "$i" "$1" >&2
    "$2" "$i"
  done
  look "$out/after.txt"
  [ -t 2 ] && printf '\r' >&2
}
