#!/bin/bash
# hark run --encrypt: agents of hosts that are all this machine, with processes and hosts that die; and what is seen on the wire.
# encrypt.sh HARK EXAMPLES SECRET TALK
hark=$(readlink -f "$1") examples=$(readlink -f "$2") secret=$(readlink -f "$3") talk=$(readlink -f "$4")
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../shell.sh"
export TMPDIR=$work # of the processes that hark run starts here
tested=("$hark" run) words='hark run'

run() { # hosts, processes, options and program
  local hosts=$1 ranks=$2; shift 2
  rm -rf store
  echo "h[001-$(printf %03d "$hosts")]" >hosts
  timeout 120 "$hark" run -n "$ranks" --hostfile hosts --store store --launcher 'env X=%h' --interval 20ms --json json "$@" >out 2>err </dev/null
}

refused '--encrypt needs several hosts, or --transport uv or mixed: with shm nothing leaves this machine' --encrypt -- "$examples/heat2d" 64

"$hark" run -n 4 -- "$examples/heat2d" 128 600 >right 2>/dev/null
for options in "hydee --kill 1@30 --kill 2@70" "coordinated --kill 3@40" "scmel --kill 0@50"; do
  run 3 4 --encrypt --protocol $options -- "$examples/heat2d" 128 600
  is "$options: status" 0 $?
  is "$options: answer" "$(cat right)" "$(cat out)"
  is "$options: nothing foreign came" 0 "$(figure refused json)"
done
for transport in uv mixed; do
  HARK_HOSTS=e$$:2 timeout 120 "$hark" run -n 4 --encrypt --transport $transport --interval 20ms --kill 2@40 -- "$examples/heat2d" 128 600 >out 2>err </dev/null
  is "$transport without agents: status" 0 $?
  is "$transport without agents: answer" "$(cat right)" "$(cat out)"
done
rm -f /dev/shm/hark-hark-*-e$$-[0-9].* # what the killed left

# A host dies: its agent stops, and with it what it runs. The processes wait for that.
agents() { pgrep -P "$1" -f ' agent$'; }
"$hark" run -n 4 -- "$talk" 400 2>/dev/null | sort >right
rm -rf store err; : >gate
run 3 4 --encrypt --protocol hydee --host-timeout 1s --spares 1 -- "$talk" 400 1000 300 gate &
begun() { compgen -G 'store/r3/[0-9]*' >/dev/null; }
holds 'a host dies: it runs' until_true 30 begun
kill -STOP "$(agents "$(pgrep -P "$(pgrep -P $!)")" | head -n 1)"
holds 'a host dies: it is said' until_true 30 grep -q 'its processes go to host' err
echo >gate
wait $!
is 'a host dies: status' 0 $?
is 'a host dies: answer' "$(cat right)" "$(sort out)"

# The text is on the wire, but not with --encrypt.
text="secret-$$-of-two-processes"
listen() { # options; then `seen` and `greetings` are what was seen
  rm -f ready seen
  python3 "$here/listens.py" "$text" ready seen &
  local ear=$!
  until_true 10 test -e ready || { wait $ear; [ $? = 77 ] && return 77; return 1; }
  run 2 2 "$@" -- "$secret" "$text" 400
  is "$* on the wire: status" 0 $?
  kill $ear
  wait $ear
  read -r seen greetings <seen
}
if listen --protocol hydee; status=$?; [ $status != 77 ]; then
  is 'somebody listens' 0 $status
  holds 'without --encrypt the text is seen' [ "$seen" -gt 100 ]
  listen --protocol hydee --encrypt
  is 'with --encrypt it is not' 0 "$seen"
  holds 'but that they meet' [ "$greetings" -gt 0 ]
else
  echo 'nobody may listen here: what is on the wire is left out'
fi
finish
