# Pretend hosts on this machine, for shell tests to source: each has a network, processes, /proc, /dev/shm, /tmp, /var/tmp, /run, a name
# and an /etc/hosts of its own, and its power can be cut.
#
#   hosts_allowed               whether this machine permits it; if not, says why in one line
#   hosts_enter "$@"            a script that is not root's begins again, as root of a user namespace, if that is permitted
#   hosts_begin N [DIR]         h1 .. hN, up. HARK_HOSTS is DIR then. Whatever ends the shell that called it ends the hosts
#   hosts_end                   all are gone when it returns, and what was in DIR
#   hosts_traces DIR            what there is, in all of the machine, of hosts in DIR; nothing after hosts_end
#   on HOST CMD...              runs CMD in HOST, in this folder if HOST has it; its input, output and status pass through
#   power_cut HOST, power_on HOST   with a link as at the beginning
#   link_down HOST, link_up HOST
#   half_open HOST deaf|mute    nothing comes to it, or nothing from it
#   loss HOST PERCENT [MS]      so many of all packets to it and from it are lost; all are late by MS, each way
#   partition "h1 h2" "h3" ...  hosts reach those of their own group only; a host that is not named reaches nobody of them
#   heal                        undoes half_open, loss and partition
#   hosts_sshd                  in each an sshd, also after its power was cut; from within a host, ssh -F "$HARK_HOSTS/ssh/config" HOST CMD
#   HOSTS_SEEN                  exported before hosts_begin: folders that the hosts' own /tmp would hide, such as a checkout there; none that
#                               has this folder in it
#   until_true SECONDS CMD...   tries until CMD succeeds
#   pace FILE                   programs that were made with pace.c wait from now on, until
#   goes_on CMD...              they may go on by some steps; then tries CMD: `until_true SECONDS goes_on CMD...`
#   lets_go                     they may go on to their end
#
# What a host has of the machine: all files except those named above. DIR/shared is the shared file system, the same path for all and
# here; /local is the host's own disk, here DIR/hN/local, and outlives its power.
#
# How it ends. The "room" is a PID namespace with all hosts' in it: when its first process dies, the kernel ends all others, and with
# them go their mounts and links, which nobody else has seen. The room dies with the shell that called hosts_begin (PR_SET_PDEATHSIG).
# The files are removed by a process (sweep.sh) that waits for the end of the room: it reads a pipe that the room has open.
hosts_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$hosts_here/../until.sh"
hosts_patience=${HOSTS_PATIENCE:-20} # seconds until what should happen is given up

hosts_bad() { echo "hosts: $*" >&2; return 2; }

hosts_allowed() {
  local tool said
  for tool in ip tc unshare nsenter setpriv setsid mount pivot_root python3; do
    command -v $tool >/dev/null || { echo "no pretend hosts here: there is no $tool"; return 1; }
  done
  said=$(unshare --net --mount --pid --ipc --uts --fork --kill-child -- sh -ec 'mount -t proc proc /proc; mount -t tmpfs tmpfs /dev/shm
    ip link add lan type bridge; ip link add name a type veth peer name b' 2>&1) && return 0
  echo "no pretend hosts here, namespaces and links may not be made: $(echo "$said" | head -n 1)"
  return 1
}

hosts_enter() { # the script's arguments
  [ "$(id -u)" != 0 ] && unshare --user --map-root-user --mount true 2>/dev/null || return 0
  exec unshare --user --map-root-user --mount -- "$BASH" "$0" "$@"
}

# Servers that serve users want some: in a namespace as above there is one.
hosts_has_users() { local count; read -r _ _ count </proc/self/uid_map && [ "$count" -gt 1000 ]; }

hosts_room() { nsenter --target "$(<"$HARK_HOSTS/room")" --net -- "$@"; } # a command where the switch is

hosts_number() { # of a name
  local n=${1#h}
  case $n in '' | *[!0-9]*) n='' ;; esac
  if [ -n "$n" ] && [ -d "${HARK_HOSTS:-}/h$n" ]; then echo "$n"; else hosts_bad "$1: no such host"; fi
}

pace() { export PACE=$1; : >"$PACE"; }
goes_on() { printf . >>"$PACE"; "$@"; }
lets_go() { head -c 1000000 /dev/zero >>"$PACE"; }

hosts_is_up() { [ -s "$HARK_HOSTS/h$1/up" ]; }

hosts_gone() { ! [ -e "/proc/$1" ]; }

hosts_begin() {
  local count=$1 dir=${2:-} i gate owner=$BASHPID
  [ -z "${HARK_HOSTS:-}" ] || { hosts_bad "$HARK_HOSTS: these hosts have not ended"; return; }
  [ -n "$dir" ] || dir=$(mktemp -u "${TMPDIR:-/tmp}/hark-hosts.XXXXXX")
  case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
  case $dir/ in /proc/* | /sys/* | /dev/* | /run/*) hosts_bad "$dir: expected a folder elsewhere"; return ;; esac
  [ -d "$dir" ] && [ -z "$(ls -A "$dir")" ] || { ! [ -e "$dir" ] && [ -w "$(dirname "$dir")" ]; } ||
    { hosts_bad "$dir: expected an empty folder, or to make one"; return; }
  # The first is who removes: what is made is made when it waits for the end. The shell has no job of it that `wait` would wait for.
  exec {gate}> >(exec setsid --fork "$BASH" "$hosts_here/sweep.sh" "$dir" "$count")
  until_true "$hosts_patience" [ -s "$dir/sweeper" ] || { exec {gate}>&-; hosts_bad "$dir: nobody is there who would remove it"; return; }
  hosts_sweeper=$(<"$dir/sweeper")
  mkdir "$dir/shared" "$dir/root" "$dir/ssh"
  {
    echo '127.0.0.1 localhost'
    echo '::1 localhost ip6-localhost'
    for ((i = 1; i <= count; i++)); do echo "10.104.0.$i h$i"; done
    for ((i = 1; i <= count; i++)); do echo "fd68:6172:6b::$i h$i"; done
  } >"$dir/hosts"
  for ((i = 1; i <= count; i++)); do
    mkdir -p "$dir/h$i/local"
    echo lan >"$dir/h$i/lan"
  done
  # shellcheck disable=SC2016
  (
    exec 9>&$gate {gate}>&-
    exec setpriv --pdeathsig KILL "$BASH" -c '[ "$PPID" = "$0" ] && exec unshare --net --mount --pid --ipc --uts --fork --kill-child \
      --propagation private -- "$@" $$' "$owner" "$BASH" "$hosts_here/boot.sh" room "$dir" </dev/null >"$dir/log" 2>&1
  ) &
  disown $!
  exec {gate}>&-
  export HARK_HOSTS=$dir
  until_true "$hosts_patience" [ -s "$dir/room" ] || { hosts_bad 'the room did not begin'; cat "$dir/log" >&2; hosts_end; return 2; }
  for ((i = 1; i <= count; i++)); do echo "on $i" >>"$dir/orders"; done
  for ((i = 1; i <= count; i++)); do hosts_wait_on $i || { hosts_end; return 2; }; done
}

hosts_wait_on() { # number
  until_true "$hosts_patience" hosts_is_up "$1" || { hosts_bad "h$1 did not begin"; cat "$HARK_HOSTS/h$1/log" >&2; return 2; }
}

hosts_end() {
  local dir=${HARK_HOSTS:-}
  [ -n "$dir" ] || return 0
  unset HARK_HOSTS
  [ ! -s "$dir/room" ] || kill -KILL "$(<"$dir/room")" 2>/dev/null
  until_true "$hosts_patience" hosts_gone "$hosts_sweeper" || hosts_bad "$dir: not everything has gone"
}

hosts_traces() { # processes by their surroundings, words and mounts; and files
  grep -lsF -f - -- /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/mountinfo <<<"$1" # the pattern is not among its own words
  ls -d "$1" 2>/dev/null
}

on() {
  local host=$1 n; shift
  n=$(hosts_number "$host") || return 255
  hosts_is_up "$n" || { hosts_bad "$host is without power"; return 255; }
  # shellcheck disable=SC2016
  nsenter --target "$(<"$HARK_HOSTS/h$n/up")" --net --mount --pid --ipc --uts -- env -u TMPDIR -u XDG_RUNTIME_DIR HOSTNAME="$host" \
    sh -c 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$PWD" "$@"
}

# The link goes first: otherwise the kernel, which lives on, would say farewell on connections of those that die.
power_cut() {
  local n pid
  n=$(hosts_number "$1") || return
  hosts_is_up "$n" || return 0
  pid=$(<"$HARK_HOSTS/h$n/up")
  hosts_room ip link set "v$n" down
  rm -f "$HARK_HOSTS/h$n"/{up,deaf,mute,loss}
  kill -KILL "$pid"
  until_true "$hosts_patience" hosts_gone "$pid" || hosts_bad "$1 did not die"
  hosts_late "$n" 0 2>/dev/null || : # its end of the link may have gone already
}

power_on() {
  local n
  n=$(hosts_number "$1") || return
  hosts_is_up "$n" && return 0
  echo "on $n" >>"$HARK_HOSTS/orders"
  hosts_wait_on "$n"
}

link_down() { local n; n=$(hosts_number "$1") && hosts_room ip link set "v$n" down; }
link_up() { local n; n=$(hosts_number "$1") && hosts_room ip link set "v$n" up; }

# Where a host's link ends at the switch; if it is long, that is behind wire.py.
hosts_port() { if [ -e "$HARK_HOSTS/h$1/late" ]; then echo "p$1"; else echo "v$1"; fi; }

# Puts the filters there that the host's files say, in classic BPF: 2 drops a packet, 0 lets it pass. netem could do it too, and late
# packets, but not every kernel has it.
hosts_filters() { # number
  local host=$HARK_HOSTS/h$1 port way percent=0
  local deaf=egress mute=ingress # to it, from it
  port=$(hosts_port "$1")
  hosts_room tc qdisc delete dev "$port" clsact 2>/dev/null
  hosts_room tc qdisc add dev "$port" clsact || return
  for way in deaf mute; do
    [ ! -e "$host/$way" ] || hosts_room tc filter add dev "$port" ${!way} bpf direct-action bytecode '1,6 0 0 2' || return
  done
  [ ! -e "$host/loss" ] || percent=$(<"$host/loss")
  [ "$percent" != 0 ] || return 0
  for way in ingress egress; do # a random number, modulo 100, and compared
    hosts_room tc filter add dev "$port" $way bpf direct-action bytecode \
      "5,32 0 0 4294963256,148 0 0 100,53 1 0 $percent,6 0 0 2,6 0 0 0" || return
  done
}

half_open() { # host, deaf or mute
  local n
  n=$(hosts_number "$1") || return
  case $2 in
  deaf | mute) : >"$HARK_HOSTS/h$n/$2" ;;
  *) hosts_bad "half_open $1: expected deaf or mute, found \"$2\""; return ;;
  esac
  hosts_filters "$n"
}

loss() { # host, percent, milliseconds
  local n
  n=$(hosts_number "$1") || return
  hosts_late "$n" "${3:-0}" || return
  echo "$2" >"$HARK_HOSTS/h$n/loss"
  hosts_filters "$n"
}

hosts_late() { # number, milliseconds: a wire instead of the link's end at the switch, or that again
  local n=$1 late=$HARK_HOSTS/h$1/late lan
  lan=$(<"$HARK_HOSTS/h$n/lan")
  if [ -s "$late" ]; then
    kill "$(<"$late")"
    rm -f "$late"
    hosts_room ip link delete "p$n"
    hosts_room ip link set "v$n" master "$lan"
  fi
  [ "$2" != 0 ] || return 0
  hosts_room ip link set "v$n" nomaster && hosts_room ip link add "w$n" type veth peer name "p$n" &&
    hosts_room ip link set "w$n" up && hosts_room ip link set "p$n" master "$lan" up || return
  echo "late $n $2" >>"$HARK_HOSTS/orders"
  until_true "$hosts_patience" [ -s "$late" ] || { hosts_bad "h$n: no wire"; cat "$HARK_HOSTS/log" >&2; return 2; }
}

partition() { # groups of names
  local group name n i=0
  for group; do
    i=$((i + 1))
    hosts_room ip link show "lan$i" >/dev/null 2>&1 ||
      hosts_room ip link add "lan$i" type bridge stp_state 0 forward_delay 0 mcast_snooping 0 || return
    hosts_room ip link set "lan$i" up
    for name in $group; do
      n=$(hosts_number "$name") || return
      hosts_join "$n" "lan$i" || return
    done
  done
}

hosts_join() { # number, switch; a host without power joins it when it is on again
  echo "$2" >"$HARK_HOSTS/h$1/lan"
  ! hosts_is_up "$1" || hosts_room ip link set "$(hosts_port "$1")" master "$2"
}

heal() {
  local n
  for ((n = 1; ; n++)); do
    [ -d "$HARK_HOSTS/h$n" ] || break
    hosts_is_up $n && hosts_late $n 0
    hosts_join $n lan
    rm -f "$HARK_HOSTS/h$n"/{deaf,mute,loss}
    ! hosts_is_up $n || hosts_filters $n
  done
}

# Two hosts that do not reach each other, as behind a firewall; all others reach both.
wall() {
  local address
  for address in $(on "$1" sed -n "s/ $2\$//p" /etc/hosts); do on "$1" ip route add blackhole "$address" || return; done
}
wall_down() { # as wall
  local address
  for address in $(on "$1" sed -n "s/ $2\$//p" /etc/hosts); do on "$1" ip route del blackhole "$address" || return; done
}

hosts_sshd_allowed() {
  local tool
  for tool in ssh sshd ssh-keygen; do
    PATH=$PATH:/usr/sbin command -v $tool >/dev/null || { echo "no ssh between pretend hosts: there is no $tool (packages openssh-client, openssh-server)"; return 1; }
  done
  hosts_has_users || { echo 'no ssh between pretend hosts: sshd must be begun by root'; return 1; }
}

hosts_sshd() {
  local ssh=$HARK_HOSTS/ssh n
  ssh-keygen -q -t ed25519 -N '' -C host -f "$ssh/host" && ssh-keygen -q -t ed25519 -N '' -C user -f "$ssh/user" || return
  echo "h* $(<"$ssh/host.pub")" >"$ssh/known_hosts"
  cat >"$ssh/config" <<END
Host h*
  IdentityFile $ssh/user
  IdentitiesOnly yes
  GlobalKnownHostsFile /dev/null
  UserKnownHostsFile $ssh/known_hosts
  StrictHostKeyChecking yes
  BatchMode yes
END
  # Without PAM and names of clients, which would be looked up where nobody answers.
  cat >"$ssh/sshd_config" <<END
Port 22
HostKey $ssh/host
AuthorizedKeysFile $ssh/user.pub
PidFile /run/sshd.pid
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
MaxStartups 200
LogLevel ERROR
END
  for ((n = 1; ; n++)); do
    [ -d "$HARK_HOSTS/h$n" ] || return 0
    ! hosts_is_up $n || on h$n "$hosts_here/boot.sh" sshd "$HARK_HOSTS" || { hosts_bad "h$n: sshd did not begin"; return; }
  done
}
