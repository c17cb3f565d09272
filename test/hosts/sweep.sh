#!/bin/bash
# Makes DIR for hosts_begin, and removes what was put there when the room has ended: sweep.sh DIR COUNT. Its input is a pipe that the
# shell which makes the room, and then the room, have open: it ends with them, however they end.
set -u
dir=$1 count=$2 made='' room=''
trap '' INT TERM HUP QUIT
exec >/dev/null 2>&1
cd / || exit
for fd in /proc/self/fd/*; do # a pipe of a test's output that is held would keep its reader waiting
  fd=${fd##*/}
  [ "$fd" -lt 3 ] || [ "$fd" = 255 ] || eval "exec $fd>&-"
done
if mkdir "$dir"; then made=1; else [ -d "$dir" ] && [ -z "$(ls -A "$dir")" ] || exit; fi
mkfifo "$dir/orders"
echo $$ >"$dir/sweeper.new" && mv "$dir/sweeper.new" "$dir/sweeper"
read -r _
# The pipe is closed at the beginning of the end; there may still be processes that write.
[ ! -s "$dir/room" ] || room=$(<"$dir/room")
for ((i = 0; i < 2000; i++)); do
  [ -n "$room" ] && [ -e "/proc/$room" ] || break
  sleep 0.01
done
for ((i = 1; i <= count; i++)); do rm -rf "${dir:?}/h$i"; done
rm -rf "$dir/shared" "$dir/root" "$dir/ssh"
rm -f "$dir/hosts" "$dir/log" "$dir/room" "$dir/room.new" "$dir/orders" "$dir/sweeper" "$dir/sweeper.new"
[ -z "$made" ] || rmdir "$dir"
