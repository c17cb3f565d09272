#!/bin/bash
# `hark run` on four pretend hosts and a spare one, and one fault after the other at random moments: each run must give the answer of
# a run without failures, and only those go back who must. Prints a table of what came out, in Markdown.
#
#   faults.sh HARK EXAMPLES [OPTIONS]
#     --kinds "KIND ..."      see below; default: all
#     --rounds N              runs of each kind (1)
#     --seed S                of the first round; the next one has the next number (1)
#     --programs "NAME ..."   of EXAMPLES: heat2d, cg, mpi_jacobi (an MPI program, built with hark's mpi.h)
#     --protocols "NAME ..."  hydee coordinated scmel camel
#     --slots N               processes of each host (2)
#     --size PERCENT          how long the programs run (100)
#     --keep DIR              keeps here what runs that went wrong have said, and runs.tsv, a line for each run
#   faults.sh --table FILE... the table of all runs in such files
#
# A seed chooses the program, the protocol, who is hit and when, so the same choice can be made again; when the fault comes in the
# course of the program depends on the machine too. Faults come after all processes have begun.
set -u
if [ "${1:-}" != --table ]; then
  hark=$(readlink -f "$1") examples=$(readlink -f "$2")
  here=$(cd "$(dirname "$0")" && pwd)
  . "$here/hosts.sh"
  hosts_enter "$@"
  hosts_allowed || exit 77
  shift 2
fi

# Of each kind: where checkpoints are (own: on the hosts' disks, shared: for all, both), --host-timeout, what may come out (right; or line:
# also an end that is said, since all who had an image are gone), and what it is.
kinds_known='process agent early power twice two two-own soon soon-own blink1 blink3 blink10 cut1 cut3 cut10 deaf mute edge flap pair loss partition freeze reboot back super takeover'
about() {
  case $1 in
  process) echo 'own 5s right a process is killed' ;;
  agent) echo 'own 2s right an agent is killed' ;;
  early) echo 'own 2s line a host loses power before all processes have begun: right, or ends with a line' ;;
  power) echo 'own 2s right a host loses power' ;;
  twice) echo 'own 2s right two hosts lose power, the second after a checkpoint' ;;
  two) echo 'shared 2s right two hosts lose power at once, checkpoints on a shared file system' ;;
  two-own) echo 'own 2s line the same, checkpoints on two hosts each: right, or ends with a line' ;;
  soon) echo 'shared 2s right two hosts lose power, the second up to 4 s later, checkpoints on a shared file system' ;;
  soon-own) echo 'own 2s line the same, checkpoints on two hosts each: right, or ends with a line' ;;
  blink1) echo 'own 5s right a link is cut for 1 s, timeout 5 s' ;;
  blink3) echo 'own 10s right a link is cut for 3 s, timeout 10 s' ;;
  blink10) echo 'own 30s right a link is cut for 10 s, timeout 30 s' ;;
  cut1) echo 'own 500ms right a link is cut for 1 s, timeout 0.5 s' ;;
  cut3) echo 'own 1s right a link is cut for 3 s, timeout 1 s' ;;
  cut10) echo 'own 2s right a link is cut for 10 s, timeout 2 s' ;;
  deaf) echo 'own 2s right nothing comes to a host' ;;
  mute) echo 'own 2s right nothing comes from a host' ;;
  edge) echo 'own 2s right a link is cut, or one way of it, for 1.5 to 3 s, timeout 2 s' ;;
  flap) echo 'own 5s right a link is cut ten times for 0.1 to 0.5 s, timeout 5 s' ;;
  pair) echo 'own 5s right two hosts do not reach each other for 5 s, but that of hark run' ;;
  loss) echo 'own 5s right 20 % of packets of a host lost, 50 ms late, for 3 to 6 s' ;;
  partition) echo 'shared 2s right two hosts are cut off together, checkpoints on a shared file system' ;;
  freeze) echo 'shared 2s right all processes of a host stand still for 4 s, timeout 2 s' ;;
  reboot) echo 'own 2s right a host loses power, and has it again at once' ;;
  back) echo 'own 1s right a host is cut off, comes back as a spare one, and another one loses power' ;;
  super) echo 'both 2s right the host of hark run loses power; resumed on another one' ;;
  takeover) echo 'both 2s right the host of hark run loses power, on which nothing else runs; another hark run takes its place' ;;
  *) return 1 ;;
  esac
}

# ---- the table --------------------------------------------------------------------------------------------------------------------

table() { # files
  local kind rest what
  echo '| fault | runs | right | only who must went back | processes killed | went back | seconds until recovered: least, median, most |'
  echo '|---|-:|-:|-:|-:|-:|-:|'
  for kind in $kinds_known; do
    rest=$(about "$kind") what=$(cut -d' ' -f4- <<<"$rest")
    cat "$@" | awk -F'\t' -v kind="$kind" -v what="$what" '
      $1 == kind && $10 != "late" {
        runs++
        right += $5 == "right"; said += $5 == "line"; must += $6 == "yes"; killed += $7; back += $8
        if ($9 != "-") seconds[++n] = $9 + 0
      }
      END {
        if (!runs) exit
        for (i = 2; i <= n; i++) for (k = i; k > 1 && seconds[k] < seconds[k - 1]; k--) {
          t = seconds[k]; seconds[k] = seconds[k - 1]; seconds[k - 1] = t
        }
        printf "| %s | %d | %d%s | %d | %.1f | %.1f | ", what, runs, right, said ? " + " said " with a line" : "", must, killed / runs, back / runs
        if (n) printf "%.1f, %.1f, %.1f |\n", seconds[1], seconds[int((n + 1) / 2)], seconds[n]
        else print "|"
      }'
  done
  cat "$@" | awk -F'\t' '$10 == "late" { late++ } END { if (late) print "\n" late " runs more were over before the fault came." }'
}
if [ "${1:-}" = --table ]; then shift; table "$@"; exit; fi

# ---- what was asked for -----------------------------------------------------------------------------------------------------------

kinds=$kinds_known rounds=1 first=1 programs='heat2d cg mpi_jacobi' protocols='hydee coordinated scmel camel' slots=2 size=100 keep=''
given=$*
while [ $# -gt 1 ]; do
  case $1 in
  --kinds) kinds=$2 ;;
  --rounds) rounds=$2 ;;
  --seed) first=$2 ;;
  --programs) programs=$2 ;;
  --protocols) protocols=$2 ;;
  --slots) slots=$2 ;;
  --size) size=$2 ;;
  --keep) mkdir -p "$2" && keep=$(readlink -f "$2") ;;
  *) break ;;
  esac
  shift 2
done
[ $# = 0 ] || { echo "faults.sh: $1: no such option, or nothing behind it" >&2; exit 2; }
for kind in $kinds; do about "$kind" >/dev/null || { echo "faults.sh: --kinds: expected of $kinds_known; found $kind" >&2; exit 2; }; done
. "$here/../shell.sh"
again="$here/faults.sh $hark $examples --slots $slots --size $size"

command_of() { # program, how long
  case $1 in
  heat2d) echo "$examples/heat2d 256 $((30 * $2))" ;;
  cg) echo "$examples/cg -g $(awk "BEGIN { print int(300 * ($2 / 100) ^ (1 / 3)) }")" ;;
  mpi_jacobi) echo "$examples/mpi_jacobi_abi 256 256 $((20 * $2))" ;;
  *) echo false ;;
  esac
}

draws=0
draw() { # a number below that one, by seed, fault and how many have been drawn; in `drawn`
  draws=$((draws + 1))
  drawn=$((0x$(sha256sum <<<"$seed $fault $draws" | head -c 12) % $1))
}
draw_word() { local words; read -ra words <<<"$*"; draw ${#words[@]}; drawn=${words[drawn]}; }

# ---- a run ------------------------------------------------------------------------------------------------------------------------

ranks=$((4 * slots))
answer() { # program, how long: what a run without failures prints; `took` is how many milliseconds it takes here
  local file="$work/right.$1.$2" begin=${EPOCHREALTIME/[.,]/}
  if [ ! -s "$file" ]; then
    "$hark" run -n $ranks --protocol none -- $(command_of "$1" "$2") >"$file" 2>/dev/null
    echo $(((${EPOCHREALTIME/[.,]/} - begin) / 1000)) >"$file.took"
  fi
  right=$(<"$file") took=$(<"$file.took")
}

stamped() { while IFS= read -r line; do echo "$EPOCHREALTIME $line"; done; }

begin() { # host of hark run, hosts' file, options: what it says is in err, with times, and its output in out, behind what is there
  local from=$1 hosts=$2; shift 2
  local where=()
  [ "$store" = shared ] || where+=(--host-store /local/hark)
  [ "$store" = own ] || where+=(--store "$shared/store")
  rm -f said.pipe "$shared/json"
  mkfifo said.pipe
  stamped <said.pipe >>err &
  stamper=$!
  on "$from" "$hark" run -n $ranks --hostfile "$hosts" --launcher "$here/on.sh %h" --protocol "$protocol" --interval 50ms --verbose \
    --host-timeout "$timeout" --json "$shared/json" "${where[@]}" "$@" -- $(command_of "$program" "$percent") >>out 2>said.pipe </dev/null &
  run=$!
}
says() { grep -q -- "$1" err; }
ended() { ! kill -0 $run 2>/dev/null; }
all_began() { [ "$(grep -c ' hark: rank [0-9]* is process' err)" -ge $ranks ] || ended; }
host_of() { sed -n "s/^[^ ]* hark: rank $1 is process [0-9]* of host \(.*\)$/\1/p" err | tail -n 1; }
pid_of() { sed -n "s/^[^ ]* hark: rank $1 is process \([0-9]*\) of host .*$/\1/p" err | tail -n 1; }
ranks_on() { local r; for ((r = 0; r < ranks; r++)); do [ "$(host_of $r)" != "$1" ] || echo $r; done; }

# Images that lie on at least so many hosts, the newest of a rank.
newest() { # rank, on how many hosts
  ls "$HARK_HOSTS"/h*/local/hark/*/r"$1" 2>/dev/null | grep '^[0-9]*$' | sort -n | uniq -c | awk -v many="$2" '$1 >= many { n = $2 } END { print n + 0 }'
}
newer_than() { # many, as many numbers as there are ranks
  local many=$1 r; shift
  for ((r = 0; r < ranks; r++)); do [ "$(newest $r "$many")" -gt "$1" ] || return; shift; done
}
numbers() { local r; for ((r = 0; r < ranks; r++)); do newest $r "$1"; done | paste -sd' '; }
over_or() { ended || "$@"; }

hit=''   # where it happened
must=''  # ranks that may die of it
hits() { # host: from now on it is taken for dead
  hit="$hit $1"
  if [ "$fault" != early ]; then must="$must $(ranks_on "$1" | paste -sd' ')"
  elif [ "$1" != h5 ]; then must=$(seq -s' ' $(((${1#h} - 1) * slots)) $((${1#h} * slots - 1))); fi
  cut_at=$EPOCHREALTIME
}
some_host() { draw_word "$@"; host=$drawn; }
recovered_again() { [ "$(grep -c 'hark: recovered in' err)" -gt "$1" ]; }
pause() { local end=$((${EPOCHREALTIME/[.,]/} + $1 * 1000)); until [ "${EPOCHREALTIME/[.,]/}" -ge $end ] || ended; do sleep 0.01; done; } # milliseconds, or till the end

strike_process() {
  local rank
  draw $ranks; rank=$drawn
  must=$rank hit="rank $rank" cut_at=$EPOCHREALTIME
  on "$(host_of "$rank")" kill -KILL "$(pid_of "$rank")"
}
strike_agent() {
  some_host h2 h3 h4
  hits "$host"
  on "$host" sh -c 'kill -9 $(ps -A -o pid=,args= | sed -n "s/^ *\([0-9]*\) [^ ]*hark agent$/\1/p" | sort -n | head -n 1)'
}
one_more() { if ended; then late=late; else hits "$1"; power_cut "$1"; fi; } # host
strike_power() { some_host h2 h3 h4 h5; hits "$host"; power_cut "$host"; }
strike_twice() {
  local had count
  some_host h2 h3 h4
  count=$(grep -c 'hark: recovered in' err)
  hits "$host"
  power_cut "$host"
  until_true 60 over_or recovered_again "$count"
  rm -rf "${HARK_HOSTS:?}/$host/local/hark" # what is on its disk no longer counts
  had=$(numbers 1)
  until_true 60 over_or newer_than 2 $had # that is written, and the next one shows that it was decided
  had=$(numbers 2)
  until_true 60 over_or newer_than 1 $had
  local left='' h
  for h in h2 h3 h4 h5; do [ $h = "$host" ] || left="$left $h"; done
  draw 500; pause "$drawn"
  some_host $left
  one_more "$host"
}
strike_two() {
  local first
  some_host h2 h3 h4 h5; first=$host
  until [ "$host" != "$first" ]; do some_host h2 h3 h4 h5; done
  hits "$first"; hits "$host"
  power_cut "$first"; power_cut "$host"
}
strike_two-own() { strike_two; }
strike_soon() { # while the first one is noticed, or its processes are being brought back
  local first
  some_host h2 h3 h4 h5; first=$host
  until [ "$host" != "$first" ]; do some_host h2 h3 h4 h5; done
  hits "$first"; power_cut "$first"
  draw 4000; pause "$drawn"
  one_more "$host"
}
strike_soon-own() { strike_soon; }
strike_early() { strike_power; }
blink() { # ms: too short to be a death
  some_host h2 h3 h4
  hit=$host cut_at=$EPOCHREALTIME
  link_down "$host"; pause "$1"; link_up "$host"
}
strike_blink1() { blink 1000; }
strike_blink3() { blink 3000; }
strike_blink10() { blink 10000; }
too_long() { some_host h2 h3 h4; hits "$host"; link_down "$host"; pause "$1"; link_up "$host"; } # ms
strike_cut1() { too_long 1000; }
strike_cut3() { too_long 3000; }
strike_cut10() { too_long 10000; }
strike_deaf() { some_host h2 h3 h4; hits "$host"; half_open "$host" deaf; }
strike_mute() { some_host h2 h3 h4; hits "$host"; half_open "$host" mute; }
strike_edge() { # when its lease ends, or nearly so: it may be dead, or not
  some_host h2 h3 h4
  hits "$host"
  draw_word link deaf mute
  case $drawn in link) link_down "$host" ;; *) half_open "$host" "$drawn" ;; esac
  draw 1500; pause $((1500 + drawn))
  link_up "$host"
  heal
}
strike_reboot() { some_host h2 h3 h4; hits "$host"; power_cut "$host"; power_on "$host"; }
strike_flap() {
  local i
  some_host h2 h3 h4
  hit=$host cut_at=-
  for ((i = 0; i < 10; i++)); do
    draw 400; link_down "$host"; pause $((100 + drawn))
    draw 400; link_up "$host"; pause $((100 + drawn))
  done
}
strike_pair() {
  local first
  some_host h2 h3 h4; first=$host
  until [ "$host" != "$first" ]; do some_host h2 h3 h4; done
  hit="$first and $host" cut_at=-
  on "$first" ip route add blackhole "10.104.0.${host#h}"
  on "$first" ip -6 route add blackhole "fd68:6172:6b::${host#h}"
  pause 5000
  on "$first" ip route delete blackhole "10.104.0.${host#h}"
  on "$first" ip -6 route delete blackhole "fd68:6172:6b::${host#h}"
}
strike_freeze() { # as a machine whose owner moves it; when it goes on, its processes are those that others have replaced
  local all
  some_host h2 h3 h4
  hits "$host"
  all=$(on "$host" sh -c 'ps -A -o pid=,args= | grep -E "^ *[0-9]+ [^ ]*(heat2d|cg|mpi_jacobi_abi|hark) " | sed "s/^ *\([0-9]*\).*/\1/"' | paste -sd' ')
  on "$host" kill -STOP $all
  pause 4000
  on "$host" kill -CONT $all
}
strike_loss() {
  some_host h2 h3 h4
  hits "$host" # it may be taken for dead, or not
  draw 3000
  loss "$host" 20 50; pause $((3000 + drawn)); heal
}
strike_partition() {
  local first h rest=h1
  some_host h2 h3 h4; first=$host
  until [ "$host" != "$first" ]; do some_host h2 h3 h4; done
  for h in h2 h3 h4 h5; do [ $h = "$first" ] || [ $h = "$host" ] || rest="$rest $h"; done
  hits "$first"; hits "$host"
  partition "$rest" "$first $host"
}
strike_back() {
  some_host h2 h3 h4
  hits "$host"
  link_down "$host"
  until_true 60 over_or says 'hark: recovered in'
  link_up "$host"
  until_true 60 over_or says 'is back, as a spare one'
  local had left='' h
  had=$(numbers 2)
  until_true 60 over_or newer_than 2 $had
  for h in h2 h3 h4 h5; do [ $h = "$host" ] || left="$left $h"; done
  some_host $left
  one_more "$host"
}
strike_super() { # others go on until their lease ends; a new run may begin before
  hit=h1 cut_at=-
  power_cut h1
  wait $run
  status=$?
  draw 3000
  sleep "$(printf '%d.%03d' $((drawn / 1000)) $((drawn % 1000)))"
  [ $status = 0 ] || begin h2 "$shared/hosts-resume" --resume
}

strike_takeover() {
  hit=h5 cut_at=-
  power_cut h5
  wait $run
  status=$?
  draw 5000
  sleep "$(printf '%d.%03d' $((drawn / 1000)) $((drawn % 1000)))"
  [ $status = 0 ] || begin h2 "$shared/hosts" --spares 1 --supervisor-timeout 60s --resume
}

# ---- what came out ----------------------------------------------------------------------------------------------------------------

died() { sed -n 's/^[^ ]* hark: rank \([0-9]*\) died.*/\1/p' err; }
went_back() { sed -n 's/^ *{"detect_ms".* "ranks": \[\(.*\)\]}.*$/\1/p' "$shared/json" 2>/dev/null | tr -d , | paste -sd' '; } # each time
sorted() { tr ' ' '\n' <<<"$*" | grep . | sort -nu | paste -sd' '; }

only_who_must() { # nobody died but of the fault, and with them went back whom the protocol takes
  local r k back expected=''
  for r in $(died); do
    case " $must " in *" $r "*) ;; *) wrong="rank $r died, of which only${must:- none} may die"; return 1 ;; esac
    case $protocol in
    hydee) for ((k = 0; k < slots; k++)); do expected="$expected $((r / slots * slots + k))"; done ;;
    coordinated) expected=$(seq -s' ' 0 $((ranks - 1))) ;;
    *) expected="$expected $r" ;;
    esac
  done
  [ -s "$shared/json" ] || return 0
  back=$(sorted "$(went_back)") expected=$(sorted "$expected")
  [ "$back" = "$expected" ] || { wrong="went back: $back; expected: $expected"; return 1; }
}

until_recovered() { # seconds from the last cut
  local last
  last=$(grep 'hark: recovered in' err | tail -n 1 | cut -d' ' -f1)
  [ -n "$last" ] && [ "$cut_at" != - ] || { echo -; return; }
  awk -v a="$cut_at" -v b="$last" 'BEGIN { if (b > a) printf "%.2f\n", b - a; else print "-" }'
}

left_over() { # on hosts that live and are reached
  local h
  for h in h1 h2 h3 h4 h5; do
    ! hosts_is_up ${h#h} || on $h sh -c 'ls -d /tmp/hark-[0-9]* /dev/shm/hark-* 2>/dev/null; ps -A -o stat=,args= | grep -E "^[^Z][^ ]* +[^ ]*(heat2d|cg|mpi_jacobi_abi|hark) "' | sed "s/^/$h: /"
  done
}
nothing_left() { ! left_over | grep -q .; }

outcome() { # right; line: it has ended with a reason; or what is wrong
  local reason='lies on no host that lives'
  [ "$fault" != early ] || reason='the connection to its agent has ended ([^;]*)$\|its agent has not come up\|before its agent had come up'
  if [ $status = 124 ]; then echo 'does not end'
  elif [ "$status" = 0 ] && [ "$right" = "$(cat out)" ]; then echo right
  elif [ "$allowed" = line ] && [ $status != 0 ] && says "$reason"; then echo line
  else echo "status $status, answer $(tail -n 1 out)"
  fi
}

restore() {
  local h
  heal
  for h in h1 h2 h3 h4 h5; do power_on $h; hosts_room ip link set "v${h#h}" up; done
  rm -rf "$shared/store" "$shared/json" "$HARK_HOSTS"/h*/local/hark
}

one() { # kind, seed, and by how much the moment is divided: if the run was over then, again, earlier
  local kind=$1
  fault=$1 seed=$2 draws=0 hit='' must='' wrong='' status=0 cut_at=-
  read -r store timeout allowed _ <<<"$(about "$kind")"
  draw_word "$programs"; program=$drawn
  draw_word "$protocols"; protocol=$drawn
  percent=$size
  case $kind in twice) percent=$((size * 2)) ;; back) percent=$((size * 4)) ;; esac
  answer "$program" "$percent"
  [ -n "$right" ] || { bad "$program: no answer here"; return; }
  rm -f out err
  : >out; : >err
  if [ "$kind" = takeover ]; then begin h5 "$shared/hosts" --spares 1 --supervisor-timeout 60s
  else begin h1 "$shared/hosts" --spares 1; fi
  [ "$kind" = early ] || until_true 60 all_began
  draw $((took * 3 / 2 * size / percent)); moment=$drawn # on several hosts it takes longer
  [ "$kind" != early ] || moment=$((moment % 1000))
  moment=$((moment / ${3:-1}))
  pause "$moment"
  late=''
  if ended; then late=late; else strike_"$kind"; fi
  if ! until_true 120 ended; then
    { on h1 "$hark" ps; on h2 "$hark" ps; } >ps 2>&1
    kill -TERM $run
    until_true 20 ended || kill -KILL $run
    wait $run
    status=124
  else
    case "$kind $status" in 'super 0' | 'takeover 0') ;; *) wait $run; status=$? ;; esac
  fi
  until_true 10 hosts_gone $stamper || kill $stamper 2>/dev/null
  judge "$kind"
  restore
  [ -z "$late" ] || [ "${3:-1}" -ge 8 ] || one "$kind" "$seed" $((${3:-1} * 2))
}

judge() { # kind
  local kind=$1 came went=yes back seconds
  came=$(outcome)
  only_who_must || went=no
  until_true 20 nothing_left || { wrong="left over: $(left_over | head -n 3 | paste -sd';')"; went=no; }
  back=$(went_back | wc -w) killed=$(died | wc -l) seconds=$(until_recovered)
  [ "$kind" != super ] || back=$ranks killed=$ranks
  [ -z "$late" ] || hit='nobody, it was over'
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$kind" "$seed" "$program" "$protocol" "$came" "$went" "$killed" "$back" "$seconds" "${late:-in-time}" >>runs.tsv
  case $came,$went in
  right,yes | line,yes) good ;;
  *)
    bad "$kind, seed $seed: $program under $protocol, $moment ms, hit:$hit: $came${wrong:+; $wrong}"
    echo "    again: $again --programs '$programs' --protocols '$protocols' --kinds $kind --seed $seed"
    [ -z "$keep" ] || { mkdir -p "$keep/$kind-$seed" && cp -f out err ps "$shared/json" "$keep/$kind-$seed/" 2>/dev/null; }
    ;;
  esac
  [ -z "$keep" ] || cp runs.tsv "$keep/runs.tsv"
  [ -z "${VERBOSE:-}" ] || tail -n 1 runs.tsv | sed "s/\$/\t$moment ms\t$hit/"
}

export HOSTS_SEEN="$here $(dirname "$(dirname "$(dirname "$hark")")")"
hosts_begin 5 2>err
is 'five hosts begin' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared
printf 'h[1-4] slots=%d\nh5\n' "$slots" >"$shared/hosts"
printf 'h[2-5] slots=%d\n' "$slots" >"$shared/hosts-resume"
echo "faults.sh $given: seeds $first to $((first + rounds - 1)), $ranks processes"
for ((round = 0; round < rounds; round++)); do
  for kind in $kinds; do one "$kind" $((first + round)); done
done
echo
table runs.tsv
echo
finish
