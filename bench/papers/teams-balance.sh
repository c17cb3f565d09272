#!/bin/bash
# The team load balancer's experiments: BT-MZ, LBTest, Table II. teams-balance.sh HARK OBJECTS [PICTURE.svg]: of LBTest. What
# differs: README.md.
set -u
"$(dirname "$0")/../machine.sh"
hark=$(readlink -f "$1") objects=$(readlink -f "$2") picture=${3:+$(realpath "$3")}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

figure() { sed -n "s/^  \"$1\": \([0-9.]*\).*/\1/p" one.json; }
after() { grep '"column": 1,' one.json | sed "s/.*\"$1\": \([0-9.]*\).*/\1/"; }
backends() { # of this hark
  for backend in builtin scotch metis; do
    "$hark" balance uncorrelated.csv uncorrelated.mtx --pes 64 --teams 8 --backend $backend >/dev/null 2>&1 && echo $backend
  done
}
balance() { # name, strategy, backend, more options...
  "$hark" balance "$1.csv" "$1.mtx" --pes 64 --teams 8 --strategy "$2" --backend "$3" --json one.json "${@:4}" >out 2>&1 || {
    cat out >&2
    exit 1
  }
}

for name in bt-mz lbtest uncorrelated correlated; do
  "$objects" $name || exit 1
done
echo 'E. Meneses, L. V. Kale, G. Bronevetsky: Dynamic Load Balance for Optimized Message Logging, Cluster 2011, section V.'
echo 'BT-MZ, class C: 256 zones on 64 PEs in 8 teams. Paper: I 2.52 without balancing, 0.32 with TeamLB; its time 2.12 times less,'
echo '1.02 times that of GreedyLB; edge cut 0.26; logs 56.73 % of GreedyLB. Objects a team: 19 to 53.'
printf '%-8s %-8s %8s %8s %10s %8s %10s %8s %10s\n' strategy backend I fullest 'to greedy' cut 'to greedy' moved 'a team'
balance bt-mz greedy builtin
greedy=$(after most) greedy_log=$(after log_bytes)
for strategy in none greedy refine team team+; do
  for backend in $(backends); do
    case $strategy-$backend in team*|*-builtin) ;; *) continue ;; esac
    balance bt-mz $strategy $backend
    case $strategy in team*) shown=$backend ;; *) shown=- ;; esac
    printf '%-8s %-8s %8.4f %8d %10.4f %8.4f %10.4f %8d %10s\n' $strategy $shown "$(after imbalance)" "$(after most)" \
      "$(awk -v a="$(after most)" -v b="$greedy" 'BEGIN {print a / b}')" "$(after edge_cut)" \
      "$(awk -v a="$(after log_bytes)" -v b="$greedy_log" 'BEGIN {print a / b}')" "$(figure moved)" \
      "$(after team_objects_least)-$(after team_objects_most)"
  done
done

echo
echo 'LBTest: 4,096 objects on 64 PEs in 8 teams, 50,000 iterations, balanced every 10,000. Paper: 1.23 times faster.'
printf '%-8s %-8s %8s %8s   %s\n' strategy backend faster cut 'I before > after each balancing (objects moved)'
line() { # strategy, backend, more options...
  balance lbtest "$1" "$2" --every 10 --csv one.csv "${@:3}"
  printf '%-8s %-8s %8.3f %8.4f  ' "$1" "$(case $1 in team*) echo "$2" ;; *) echo - ;; esac)" "$(figure speedup)" \
    "$(awk -v a="$(figure log_bytes)" -v b="$(figure bytes)" 'BEGIN {print a / b}')"
  awk -F, 'NR > 1 {if ($8) printf " %.3f > %.3f (%d)", before, $5, $9; before = $5} END {print ""}' one.csv
}
for strategy in greedy refine; do
  line $strategy builtin
done
for backend in $(backends); do
  line team $backend
  line team+ $backend
done
echo 'team+ with --move-bytes 10M, about what an object sends in 1,000 iterations:'
line team+ builtin --move-bytes 10M ${picture:+--plot "$picture"}

echo
echo 'Table II: NPB-CG topology, 256 objects on 64 PEs in 8 teams. Paper: 115.09 s and cut 0.47 uncorrelated, 118.90 s and 0.53'
echo 'correlated: 1.033 times as long.'
printf '%-8s %-8s | %8s %8s | %8s %8s | %8s\n' strategy backend I cut I cut longer
for strategy in greedy team team+; do
  for backend in $(backends); do
    case $strategy-$backend in team*|*-builtin) ;; *) continue ;; esac
    balance uncorrelated $strategy $backend
    most=$(after most)
    printf '%-8s %-8s | %8.4f %8.4f |' $strategy "$(case $strategy in team*) echo $backend ;; *) echo - ;; esac)" \
      "$(after imbalance)" "$(after edge_cut)"
    balance correlated $strategy $backend
    printf ' %8.4f %8.4f | %8.3f\n' "$(after imbalance)" "$(after edge_cut)" \
      "$(awk -v a="$(after most)" -v b="$most" 'BEGIN {print a / b}')"
  done
done
