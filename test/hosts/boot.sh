#!/bin/bash
# The first process of a namespace of test/hosts/hosts.sh, from within:
#   boot.sh room DIR STARTER     of the room: makes the switch, and hosts when it is ordered to
#   boot.sh host DIR N           of a host: makes its files and its network, then is its door
#   boot.sh sshd DIR             in a host: an sshd as hosts_sshd has prepared it
set -eu
# /proc is still that of the caller, so these are numbers as the caller knows them.
read -r pid _ _ parent _ </proc/self/stat
here=$(cd "${0%/*}" && pwd)
dir=$2 new=$2/root

# A root that all hosts share, with the machine's files in it: here folders may be made for what the machine has not.
root() {
  local entry
  mount -t tmpfs -o size=1m,mode=755 root "$new"
  for entry in /* /.[!.]*; do
    case $entry in /proc | /dev | /run | /tmp) continue ;; esac
    if [ -L "$entry" ]; then
      cp -P "$entry" "$new$entry"
    elif [ -d "$entry" ]; then
      mkdir "$new$entry"
      mount --rbind "$entry" "$new$entry"
    elif [ -f "$entry" ]; then
      : >"$new$entry"
      mount --bind "$entry" "$new$entry"
    fi
  done
  mkdir -p "$new/proc" "$new/dev" "$new/run" "$new/tmp" "$new/local" "$new/.old"
  mount --rbind /dev "$new/dev"
  mount --bind "$dir/hosts" "$new/etc/hosts"
  mount -o remount,bind,ro "$new"
}

room() { # starter
  local order n more
  [ "$parent" = "$1" ] || exit # it has died so early that we were not told
  root
  ip link set lo up
  ip link add lan type bridge stp_state 0 forward_delay 0 mcast_snooping 0
  ip link set lan up
  exec 8<>"$dir/orders" 7</proc/self/ns/net
  echo "$pid" >"$dir/room.new"
  mv "$dir/room.new" "$dir/room"
  while read -r order n more <&8; do
    case $order in
    on)
      unshare --net --mount --pid --ipc --uts --fork --kill-child --propagation private -- \
        "$BASH" "$0" host "$dir" "$n" 8>&- 9>&- >"$dir/h$n/log" 2>&1 &
      ;;
    late) python3 -IS "$here/wire.py" "v$n" "w$n" "$more" "$dir/h$n/late" 7>&- 8>&- 9>&- & ;;
    esac
  done
}

files() { # number: what of the files is its own
  local n=$1 seen
  mount -t proc proc "$new/proc"
  mount -t tmpfs -o size="${HOSTS_SHM:-128m}",mode=1777 shm "$new/dev/shm"
  [ ! -d "$new/dev/mqueue" ] || mount -t mqueue mqueue "$new/dev/mqueue"
  mount -t tmpfs -o size="${HOSTS_TMP:-256m}",mode=1777 tmp "$new/tmp"
  mount -t tmpfs -o size="${HOSTS_TMP:-256m}",mode=1777 tmp "$new/var/tmp"
  mount -t tmpfs -o size=16m,mode=755 run "$new/run"
  mkdir -m 1777 "$new/run/lock"
  mount --bind "$dir/h$n/local" "$new/local"
  # A machine that was off has another boot_id when it is on again.
  echo "$(</proc/sys/kernel/random/uuid)" >"$new/run/boot_id"
  mount --bind "$new/run/boot_id" "$new/proc/sys/kernel/random/boot_id"
  # Of DIR it sees what is shared, not the other hosts' disks.
  mkdir -p "$new$dir"
  mount -t tmpfs -o size=1m,mode=755 dir "$new$dir"
  mkdir "$new$dir/shared" "$new$dir/ssh"
  echo "h$n" >"$new$dir/inside"
  mount --bind "$dir/shared" "$new$dir/shared"
  mount --bind "$dir/ssh" "$new$dir/ssh"
  for seen in "$here" ${HOSTS_SEEN:-}; do # what its own /tmp would hide, such as a build there
    [ ! -e "$new$seen" ] || continue
    mkdir -p "$new$seen"
    mount --bind "$seen" "$new$seen"
  done
  cd "$new"
  pivot_root . .old
  umount -l .old
}

network() { # number, switch; descriptor 7 is the room's network
  local n=$1 lan=$2 mac
  printf -v mac '02:68:61:72:6b:%02x' "$n" # the same after a power cut, as a machine has
  if [ -d /proc/sys/net/ipv6 ]; then
    echo 0 >/proc/sys/net/ipv6/conf/all/disable_ipv6
    echo 0 >/proc/sys/net/ipv6/conf/default/disable_ipv6
    echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad # its addresses are nobody else's: it need not ask first
  fi
  # What is left of its life before, if the kernel has not removed it yet.
  nsenter --net=/proc/self/fd/7 ip link delete "v$n" 2>/dev/null || :
  {
    echo 'link set lo up'
    echo "link add eth0 address $mac type veth peer name v$n netns /proc/self/fd/7"
    echo "address add 10.104.0.$n/24 dev eth0"
    [ ! -d /proc/sys/net/ipv6 ] || echo "address add fd68:6172:6b::$n/64 dev eth0 nodad"
    echo 'link set eth0 up'
  } | ip -batch -
  nsenter --net=/proc/self/fd/7 ip link set "v$n" master "$lan" up
}

ssh_server() {
  local i
  [ ! -e /run/sshd.pid ] || return 0
  mkdir -p /run/sshd
  "$(PATH=$PATH:/usr/sbin command -v sshd)" -f "$dir/ssh/sshd_config"
  for ((i = 0; i < 2000; i++)); do # it listens when it has written its number
    [ ! -s /run/sshd.pid ] || return 0
    sleep 0.01
  done
  return 1
}

host() { # number
  local n=$1 lan
  lan=$(<"$dir/h$n/lan")
  exec 6>"$dir/h$n/up" # of this life: hosts.sh has removed that of the one before
  hostname "h$n"
  files "$n"
  network "$n" "$lan"
  exec 7<&-
  unset TMPDIR XDG_RUNTIME_DIR OLDPWD
  export HOSTNAME=h$n HARK_HOSTS=$dir
  [ ! -e "$dir/ssh/sshd_config" ] || ssh_server 6>&-
  exec python3 -IS "$here/door.py" serve 6 "$pid"
}

case $1 in
room) room "$3" ;;
host) host "$3" ;;
sshd) ssh_server ;;
esac
