#!/bin/bash
# What copies of checkpoints on other hosts cost, and codes over sets of hosts: for how long a checkpoint stops its program, how much time there is from one to the
# next when each begins as soon as the one before is decided, and how many bytes hosts send for each. Three pretend hosts of this machine
# (test/hosts/hosts.sh), a process on each, all of whose memory of MIB megabytes changes between two checkpoints. copies.sh BUILD [MIB [COUNT]]
set -u
hark=$(readlink -f "$1")/src/cli/hark stall=$(readlink -f "$1")/bench/stall mib=${2:-16} count=${3:-15}
here=$(cd "$(dirname "$0")/../test/hosts" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed || exit 77
"$(dirname "$0")/machine.sh"
export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")"
hosts_begin 3 || exit 2
shared=$HARK_HOSTS/shared
printf 'h[1-3] slots=1\n' >"$shared/hosts"
sent() { # by all hosts
  local h
  for h in h1 h2 h3; do on $h cat /proc/net/dev; done | awk -F'[: ]+' '$2 != "lo" && NF > 10 { sum += $11 } END { printf "%.0f\n", sum }'
}
median() { sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

printf '%-34s %9s %9s %12s %12s\n' '' 'memcpy' 'stall' 'to the next' 'MiB sent of'
printf '%-34s %9s %9s %12s %12s\n' '' 'ms' 'ms' 'ms' "$mib MiB"
row() { # name, options...
  local name=$1 before after begun taken; shift
  rm -rf "$shared/store" "$HARK_HOSTS"/h*/local/hark
  before=$(sent) begun=${EPOCHREALTIME/[.,]/}
  on h1 "$hark" run -n 3 --hostfile "$shared/hosts" --launcher "$here/on.sh %h" --interval 1ms --host-timeout 30s --stall-limit 60s \
    --json "$shared/json" --host-store /local/hark "$@" -- "$stall" "$mib" "$count" >"$shared/out" 2>"$shared/err" </dev/null || { cat "$shared/err" >&2; exit 1; }
  after=$(sent)
  taken=$(awk -F'[:,]' '/"checkpoints"/ { print $2; exit }' "$shared/json") # of all three
  [ "$name" = '' ] && return # the first warms up
  awk -v name="$name" -v copy="$(awk '{ print $1 / 1e6 }' "$shared/out" | median)" -v stall="$(awk '{ print $2 / 1e6 }' "$shared/out" | median)" \
    -v all=$(((${EPOCHREALTIME/[.,]/} - begun) / 1000)) -v n="$taken" -v sent=$((after - before)) \
    'BEGIN { printf "%-34s %9.1f %9.1f %12.1f %12.1f\n", name, copy, stall, 3 * all / n, sent / n / 1048576 }'
}
row '' --host-copies 1
row '--host-copies 1 (no copies)' --host-copies 1
row '--host-copies 2' --host-copies 2
row '--host-copies 3' --host-copies 3
row '--host-code 2+1' --host-code 2+1
row '--host-copies 2, the store each 1 s' --host-copies 2 --store "$shared/store" --store-interval 1s
hosts_end
