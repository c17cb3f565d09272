#!/bin/bash
# The pretend hosts of hosts.sh are apart as machines are, fail as machines do, and leave nothing behind.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN=$here
over() { local from=$1; shift; on "$from" "$here/on.sh" "$@"; } # from a host: into another, over the network
say() { "$@" 2>&1 | tr '\n' ' ' | sed 's/ $//'; }

hosts_begin 4 2>err
is 'four hosts begin' 0 $?
[ -n "${HARK_HOSTS:-}" ] || finish || exit 1
shared=$HARK_HOSTS/shared

# Each has its own.
for h in h1 h2 h3 h4; do
  is "$h: its name" "$h" "$(say on $h hostname)"
  is "$h: its addresses" 2 "$(on $h ip address show dev eth0 scope global | grep -c inet)"
done
is 'the first process is a host'\''s own' 1 "$(on h1 sh -c 'ps -o pid= -C python3' | tr -d ' ')"
ours=$(readlink /proc/$$/ns/*)
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
finish
