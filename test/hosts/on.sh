#!/bin/bash
# Runs a command in a pretend host that test/hosts/hosts.sh has made, as ssh would: on.sh [-d DIR] [-s] HOST CMD...
# From outside by its namespaces; from within another host over the network, so a cut link cuts it too. The hosts are those of
# HARK_HOSTS, or of DIR. Over the network the command has the environment that the hosts began with, and the home folder to be in; from
# outside those of the caller. It lasts longer than an on.sh that is killed, and on.sh waits for ever where no answer comes. With -s the
# words are joined by spaces and read by a shell there, as ssh does; so is one single word.
set -u
shell=''
while getopts d:s option; do
  case $option in
  d) HARK_HOSTS=$OPTARG ;;
  s) shell=-s ;;
  *) exit 255 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || { echo "usage: on.sh [-d DIR] [-s] HOST CMD..." >&2; exit 255; }
[ -n "${HARK_HOSTS:-}" ] || { echo "on.sh: HARK_HOSTS names no folder, and there is no -d DIR" >&2; exit 255; }
export HARK_HOSTS
here=$(dirname "$0")
if [ -e "$HARK_HOSTS/inside" ]; then
  host=$1; shift
  python=/usr/bin/python3; [ -x $python ] || python=python3
  exec $python -IS "$here/door.py" on "$host" $shell "$@"
fi
. "$here/hosts.sh"
host=$1; shift
if [ -n "$shell" ] || [ $# = 1 ]; then set -- sh -c "$*"; fi
on "$host" "$@"
