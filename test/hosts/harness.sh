#!/bin/bash
# The pretend hosts of hosts.sh are apart as machines are, fail as machines do, and leave nothing behind.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN=$here
over() { local from=$1; shift; on "$from" "$here/on.sh" "$@"; } # from a host: into another, over the network
say() { "$@" 2>&1 | tr '\n' ' ' | sed 's/ $//'; }

hosts_begin 4 2>err
is 'four hosts begin' 0 $?
[ $failed = 0 ] || finish || exit
shared=$HARK_HOSTS/shared

# Each has its own.
for h in h1 h2 h3 h4; do
  is "$h: its name" "$h" "$(say on $h hostname)"
  is "$h: its addresses" 2 "$(on $h ip address show dev eth0 scope global | grep -c inet)"
done
is 'the first process is a host'\''s own' 1 "$(on h1 sh -c 'ps -o pid= -C python3' | tr -d ' ')"
for kind in net mnt pid ipc uts; do
  is "$kind: its own" 5 "$({ for h in h1 h2 h3 h4; do on $h readlink /proc/self/ns/$kind; done; readlink /proc/$$/ns/$kind; } | sort -u | wc -l)"
done
for place in /dev/shm /tmp /var/tmp /run /local; do
  on h1 sh -c "echo 1 >$place/mine"
  is "$place: its own" 'no no' "$(on h2 test -e $place/mine && echo yes || echo no) $([ -e $place/mine ] && echo yes || echo no)"
done
on h1 sh -c "echo from h1 >$shared/file"
is 'shared: of the others' 'from h1' "$(say on h3 cat "$shared/file")"
is 'shared: here' 'from h1' "$(cat "$shared/file")"
is 'the disk of h1' 1 "$(cat "$HARK_HOSTS/h1/local/mine")"
holds 'no other disk is seen' on h2 test ! -e "$HARK_HOSTS/h1"

# Commands: from outside, and from within another host.
is 'on: status' 3 "$(on h1 sh -c 'exit 3'; echo $?)"
is 'on: input and output' 'two words' "$(echo 'two words' | on h1 cat)"
is 'on: errors' 'E' "$(on h1 sh -c 'echo E >&2' 2>&1 >/dev/null)"
is 'over: who, by name' h2 "$(say over h1 h2 hostname)"
is 'over: status' 3 "$(over h1 h2 'exit 3'; echo $?)"
is 'over: status of one that is killed' 137 "$(over h1 h2 'kill -9 $$'; echo $?)"
is 'over: no such command' 127 "$(over h1 h2 no-such-command -x 2>/dev/null; echo $?)"
is 'over: no such host' 255 "$(over h1 h9 true 2>/dev/null; echo $?)"
is 'over: errors' 'E' "$(over h1 h2 'echo E >&2' 2>&1 >/dev/null)"
is 'over: words as they are' 'a b|c$d|' "$(over h1 h2 printf '%s|' 'a b' 'c$d')"
is 'over: words joined' 'a|b|' "$(over h1 -s h2 printf "'%s|'" 'a b')"
head -c 3000000 /dev/urandom >bytes
is 'over: 3 MB there and back' "$(sha256sum <bytes)" "$(over h1 h2 cat <bytes | sha256sum)"

# Datagrams from h1 during a fault: how many of 20 were heard, and how many answers came. The fault is undone before the count, so no
# time limit decides what is lost. Addresses on the link are known: what waits for one would be sent when the fault is over.
serve() { # hosts
  local h
  for h; do
    on "$h" "$here/probe.py" serve >"served.$h" 2>&1 &
    disown $!
    until_true 20 grep -q ready "served.$h"
    on h1 ip neighbour replace "10.104.0.${h#h}" lladdr "02:68:61:72:6b:0${h#h}" dev eth0 nud permanent
    on "$h" ip neighbour replace 10.104.0.1 lladdr 02:68:61:72:6b:01 dev eth0 nud permanent
  done
}
datagrams() { # host, fault (a command), its end
  local to=$1 tag=t$BASHPID back
  [ -z "$2" ] || $2
  back=$({ until_true 20 test -s asked; [ -z "$3" ] || $3; echo; } | on h1 "$here/probe.py" ask "$to" $tag "${4:-20}" | { read -r line; echo "$line" >asked; cat; })
  rm -f asked
  echo "$(on "$to" grep -c "^$tag " /local/heard) $back"
}
serve h2 h3 h4
is 'datagrams' '20 20' "$(datagrams h2 '' '')"
is 'link down' '0 0' "$(datagrams h2 'link_down h2' 'link_up h2')"
is 'link down at the sender' '0 0' "$(datagrams h2 'link_down h1' 'link_up h1')"
is 'deaf' '0 0' "$(datagrams h2 'half_open h2 deaf' heal)"
is 'mute' '20 0' "$(datagrams h2 'half_open h2 mute' heal)"
apart() { partition 'h1 h2' 'h3 h4'; }
is 'partition: the same part' '20 20' "$(datagrams h2 apart heal)"
is 'partition: the other part' '0 0' "$(datagrams h3 apart heal)"
is 'healed' '20 20' "$(datagrams h3 '' '')"
read -r heard back <<<"$(datagrams h2 'loss h2 30' 'loss h2 0' 200)"
holds "loss of 30 %: of 200 were heard $heard" [ "$heard" -gt 80 -a "$heard" -lt 190 ]
holds "loss of 30 %: of $heard were answered $back" [ "$back" -gt 40 -a "$back" -lt "$heard" ]
is 'loss ended' '20 20' "$(datagrams h2 '' '')"
loss h2 0 30
holds 'late: there and back' [ "$(on h1 "$here/probe.py" time h2)" -ge 60 ]
is 'late: nothing is lost' '20 20' "$(datagrams h2 '' '')"
is 'late: 3 MB' "$(sha256sum <bytes)" "$(over h1 h2 cat <bytes | sha256sum)"
is 'late and deaf' '0 0' "$(datagrams h2 'half_open h2 deaf' heal)"
is 'late no more' '20 20' "$(datagrams h2 '' '')"
loss h2 50 20
is 'late: the other part' '0 0' "$(datagrams h2 'partition h1 h2' heal)"
loss h2 0 20
power_cut h2
power_on h2
serve h2
is 'late: as at the beginning after a power cut' '20 20' "$(datagrams h2 '' '')"

# A connection to a host without power: no word comes, as if the other had nothing to say. After a kill alone there is one.
held() { on h1 awk '$3 ~ /:0202$/ && $4 == "01"' /proc/net/tcp /proc/net/tcp6 | wc -l; } # established connections to doors
hold() { # to host; descriptor 5 is the command's input then
  rm -f "$1.in" "$1.out"
  mkfifo "$1.in"
  over h1 "$1" 'echo begun; exec cat' <"$1.in" >"$1.out" 2>"$1.err" &
  holder=$!
  exec 5>"$1.in"
  until_true 20 grep -q begun "$1.out"
}
ended() { ! kill -0 $holder 2>/dev/null; }
hold h2
on h2 pkill -KILL -f 'door.py serve' # the one of the connection; the first process is safe from its own
holds 'killed: the other side hears of it' until_true 20 ended
wait $holder
is 'killed: status' 255 $?
hold h3
link_down h3
echo late >&5
link_up h3
holds 'a link that was down: what was sent comes' until_true 20 grep -q late h3.out
exec 5>&-
wait $holder
is 'a link that was down: status' 0 $?

on h2 sh -c 'for place in /dev/shm /tmp /var/tmp /run /local; do echo old >$place/old; done; cat /proc/sys/kernel/random/boot_id >/local/boot'
hold h2
pids=$(on h2 ps -e -o pid= | wc -l)
holds "h2 has processes: $pids" [ "$pids" -ge 4 ]
room=$(readlink "/proc/$(<"$HARK_HOSTS/h2/up")/ns/pid")
power_cut h2
is 'without power: no process is left' 0 "$(readlink /proc/[0-9]*/ns/pid 2>/dev/null | grep -cF "$room")"
is 'without power: the connection stands' 1 "$(held)"
is 'without power: nothing can be run' 255 "$(on h2 true 2>/dev/null; echo $?)"
is 'without power: it can not be reached' 124 "$(on h1 timeout 1 "$here/on.sh" h2 true; echo $?)"
is 'without power: the connection stands still' '1 begun' "$(held) $(cat h2.out)"
holds 'without power: who waits is not told' kill -0 $holder
power_on h2
is 'on again' 'h2 10.104.0.2/24' "$(say on h2 hostname) $(on h2 ip -o -4 address show dev eth0 | awk '{ print $4 }')"
is 'on again: memory is empty, the disk is not' '/local/old' "$(on h2 sh -c 'ls /dev/shm/old /tmp/old /var/tmp/old /run/old /local/old 2>/dev/null')"
holds 'on again: it is another boot' on h2 sh -c '! cmp -s /local/boot /proc/sys/kernel/random/boot_id'
is 'on again: reachable' h2 "$(say over h1 h2 hostname)"
echo more >&5
holds 'on again: it knows nothing of the connection' until_true 20 ended
wait $holder
is 'on again: status of the connection' 255 $?
exec 5>&-
apart
power_cut h4
power_on h4
is 'on again in its part of the network' h4 "$(say over h3 h4 hostname)"
heal

# Another harness at the same time has hosts of the same names, and its end is only its own.
second() {
  unset HARK_HOSTS
  hosts_begin 2 "$work/second" || return
  on h1 touch /local/second
  is_two="$(say on h1 ls /local) $(on h2 "$here/on.sh" h1 hostname) $(on h1 "$here/on.sh" h4 hostname 2>/dev/null || echo no h4)"
  hosts_end
  echo "$is_two"
}
is 'two at once' 'second h1 no h4' "$(second)"
is 'two at once: the second has gone' no "$([ -e second ] && echo yes || echo no)"
is 'two at once: the first has not' h4 "$(say over h1 h4 hostname)"

# Whatever ends the script, nothing stays: no process, mount, link, file.
cat >victim.sh <<'END'
. "$1/hosts.sh"
hosts_begin 2 "$2" || exit
on h1 sleep 1000 &
on h2 sh -c 'setsid sleep 1000 >/dev/null 2>&1 </dev/null &'
on h1 "$1/on.sh" h2 'sleep 1000' &
both() { [ "$(on h2 pgrep -c sleep)" = 2 ]; }
until_true 20 both || exit
echo ready >>ready
[ "$3" != end ] || hosts_end
[ "$3" = end ] || read -r _ <never
END
gone() { [ -z "$(hosts_traces "$1")" ]; }
mkfifo never
hosts_end
links=$(ip -o link show | awk '{ print $2 }')
for way in end INT TERM HUP KILL sweeper room h1/up; do # signals when all is there, and SIGKILL when this file is
  rm -f ready
  dir=$work/victim
  env --default-signal=INT,HUP,TERM bash victim.sh "$here" "$dir" $way >said 2>&1 &
  victim=$!
  case $way in
  end) ;;
  [A-Z]*)
    until_true 20 test -e ready || cat said
    holds "$way: there was something" [ "$(hosts_traces "$dir" | wc -l)" -gt 10 ]
    kill -$way $victim
    ;;
  *)
    until_true 20 test -e "$dir/$way" || cat said
    kill -KILL $victim
    ;;
  esac
  wait $victim 2>/dev/null
  [ $way != end ] || is 'end: it was there' ready "$(cat ready)"
  [ $way != end ] || is 'end: nothing is left when hosts_end returns' '' "$(hosts_traces "$dir")"
  holds "$way: nothing is left" until_true 20 gone "$dir"
  gone "$dir" || hosts_traces "$dir"
done
is 'no link is left' "$links" "$(ip -o link show | awk '{ print $2 }')"
finish
