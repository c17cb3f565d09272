#!/bin/bash
# Removes what hosts_begin has made in DIR when its room has ended: sweep.sh DIR COUNT [the folder too: 1]. Its descriptor 3 is a pipe
# that the room, and before it the shell that makes the room, have open: it ends with them, however they end.
set -u
dir=$1 count=$2 made=${3:-}
cd / || exit
trap '' INT TERM HUP QUIT
for fd in /proc/self/fd/*; do # a pipe of a test's output that is held would keep its reader waiting
  case ${fd##*/} in [0-3]) ;; *) eval "exec ${fd##*/}>&-" 2>/dev/null ;; esac
done
read -r _ <&3
# The pipe is closed at the beginning of the end; there may still be processes that write.
[ ! -s "$dir/room" ] || room=$(<"$dir/room")
for ((i = 0; i < 2000; i++)); do
  [ -n "${room:-}" ] && [ -e "/proc/$room" ] || break
  sleep 0.01
done
for ((i = 1; i <= count; i++)); do rm -rf "${dir:?}/h$i"; done
rm -rf "$dir/shared" "$dir/root" "$dir/ssh"
rm -f "$dir/hosts" "$dir/log" "$dir/room" "$dir/orders"
rm -f "$dir/alive" # the last: hosts_end waits for it
[ -z "$made" ] || rmdir "$dir"
