#!/bin/bash
# ssh between pretend hosts, as a launcher would use it; also when a host's power was cut.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/hosts.sh"
hosts_enter "$@"
hosts_allowed && hosts_sshd_allowed || exit 77
. "$here/../shell.sh"
export HOSTS_SEEN=$here
over() { local from=$1; shift; on "$from" ssh -F "$HARK_HOSTS/ssh/config" "$@"; }

hosts_begin 2 2>err
hosts_sshd 2>>err
is 'sshd in each host' 0 $?
[ $failed = 0 ] || finish || exit
is 'who' h2 "$(over h1 h2 hostname)"
is 'the other way' h1 "$(over h2 h1 hostname)"
is 'status' 3 "$(over h1 h2 'exit 3'; echo $?)"
is 'input and output' 'two words' "$(echo 'two words' | over h1 h2 cat)"
is 'words are joined' 'a|b|' "$(over h1 h2 printf "'%s|'" 'a b')"
power_cut h2
power_on h2
is 'after a power cut' h2 "$(over h1 h2 hostname)"
dir=$HARK_HOSTS
hosts_end
is 'the end: nothing is left' '' "$(hosts_traces "$dir")"
finish
