# Slurm in pretend hosts, for shell tests to source; sources hosts.sh. All that it writes is in the hosts' folder, /local and /run.
#
#   slurm_allowed               whether Slurm and munge are installed and pretend hosts permitted; if not, says why in one line
#   slurm_begin each            after hosts_begin: the controller is on h1, and the hosts behind it are the nodes h2, h3 ...
#   slurm_begin N               all on h1: the controller and nodes n1 .. nN, which the kernel takes for one host
#   slurm_node_on NODE          its slurmd again, after power_on; the controller takes it back by itself
#   slurm_states                of all nodes, by name: "idle idle down"
#   SLURM_EXPIRE                before slurm_begin: seconds that credentials last, 120; a job that is queued again waits so long
#   slurm_end                   ends it and what runs under it; hosts_end does so too
#
# Commands run where the controller is: `on h1 srun ...`, sbatch, scancel, scontrol; SLURM_CONF is in their surroundings.
. "$(dirname "${BASH_SOURCE[0]}")/hosts.sh"

slurm_tools='munged slurmctld slurmd srun sbatch scancel scontrol sinfo'
slurm_allowed() {
  local tool
  for tool in $slurm_tools; do
    PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null ||
      { echo "no Slurm here: there is no $tool (packages slurmd, slurmctld, slurm-client, slurm-wlm-basic-plugins, munge)"; return 1; }
  done
  hosts_has_users || { echo 'no Slurm here: it must be begun by root'; return 1; }
  hosts_allowed
}

slurm_nodes() { # what slurm_begin was told: names of nodes
  local n
  if [ "$1" = each ]; then
    for ((n = 2; ; n++)); do [ -d "$HARK_HOSTS/h$n" ] && echo "h$n" || return 0; done
  fi
  for ((n = 1; n <= $1; n++)); do echo "n$n"; done
}

slurm_where() { case $1 in h*) echo "$1" ;; *) echo h1 ;; esac; } # the host of a node

# Nodes are what we say they are, not what slurmd finds; who was away is taken back; and nobody waits for others' turn.
slurm_configuration() { # nodes
  local dir=$HARK_HOSTS/shared/slurm node port=17000
  cat <<END
ClusterName=hark
SlurmctldHost=h1
AuthInfo=socket=/run/munge/socket,cred_expire=${SLURM_EXPIRE:-120}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/linear
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0,batch_sched_delay=0
ReturnToService=2
KillWait=2
SlurmctldPidFile=/run/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
StateSaveLocation=/local/slurmctld
SlurmdPidFile=/run/slurmd.%n.pid
SlurmdLogFile=$dir/slurmd.%n.log
SlurmdSpoolDir=/local/slurmd.%n
END
  for node; do
    port=$((port + 1))
    echo "NodeName=$node NodeHostname=$(slurm_where "$node") NodeAddr=$(slurm_where "$node") Port=$port CPUs=2 RealMemory=1000 State=UNKNOWN"
  done
  echo "PartitionName=all Nodes=$(echo "$*" | tr ' ' ,) Default=YES MaxTime=INFINITE State=UP"
}

# munged refuses a key in a folder that others may write to, so each host has its own copy.
slurm_munge() { # host
  on "$1" sh -c 'PATH=$PATH:/usr/sbin; [ -e /run/munge/pid ] && exit; mkdir -p -m 755 /run/munge && cp -p "$0" /run/munge/key &&
    exec munged --key-file=/run/munge/key --socket=/run/munge/socket --pid-file=/run/munge/pid --log-file=/run/munge/log \
      --seed-file=/run/munge/seed' "$HARK_HOSTS/shared/slurm/munge.key" || hosts_bad "$1: munged did not begin"
}

slurm_node_on() {
  local host
  host=$(slurm_where "$1")
  slurm_munge "$host" && on "$host" sh -c 'PATH=$PATH:/usr/sbin; mkdir -p "/local/slurmd.$0"; exec slurmd -N "$0"' "$1" ||
    hosts_bad "$1: slurmd did not begin"
}

slurm_states() { on h1 sinfo --noheader --Node -o '%n %T' | sort -V | cut -d' ' -f2 | tr -d '*' | paste -sd' '; }

slurm_are() { [ "$(slurm_states)" = "$1" ]; }

slurm_begin() {
  local dir=$HARK_HOSTS/shared/slurm nodes node
  read -ra nodes <<<"$(slurm_nodes "$1" | paste -sd' ')"
  mkdir "$dir" && (umask 077; head -c 128 /dev/urandom >"$dir/munge.key") || return
  slurm_configuration "${nodes[@]}" >"$dir/slurm.conf"
  export SLURM_CONF=$dir/slurm.conf
  slurm_munge h1 && on h1 sh -c 'PATH=$PATH:/usr/sbin; mkdir -p /local/slurmctld; exec slurmctld' ||
    { hosts_bad 'slurmctld did not begin'; return; }
  for node in "${nodes[@]}"; do slurm_node_on "$node" || return; done
  until_true "$hosts_patience" slurm_are "$(printf 'idle %.0s' "${nodes[@]}" | sed 's/ $//')" ||
    { hosts_bad "the nodes are not ready: $(slurm_states)"; tail -n 5 "$dir"/*.log >&2; return 2; }
}

# Nothing of it is used again, so it need not end in order: slurmctld would wait for jobs, and srun for slurmctld.
slurm_end() {
  local n
  for ((n = 1; ; n++)); do
    [ -d "$HARK_HOSTS/h$n" ] || break
    ! hosts_is_up $n || on h$n bash "$hosts_here/slurm_kill.sh"
  done
  rm -rf "$HARK_HOSTS/shared/slurm"
  unset SLURM_CONF
}
