#!/bin/bash
# Several programs in one job, their working directories and environments.
# programs.sh HARK OBEDIENT
hark=$(readlink -f "$1") obedient=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark" run) words='hark run'
export PLACE=$work

# Ranks are numbered program by program: what one sends the other receives; with a failure too.
expect 0 '' -n 2 -- "$obedient" 0:send=2.7 1:send=2.8 : -n 1 "$obedient" 2:recv=0.7 2:recv=1.8
expect 0 'rank 2 died (SIGKILL)' -n 2 --kill 2@1 -- "$obedient" 0:send=2.7 1:send=2.8 : -n 1 "$obedient" 2:recv=0.7 2:recv=1.8
expect 0 '' -n 1 "$obedient" : -n 1 -- "$obedient" : -n 2 --env A=b "$obedient"
refused 'expected -n N before each of several programs, none is before true' -n 1 true : true
refused 'expected a program: hark run [OPTION]... -- PROGRAM [ARG]...' -n 1 true : -n 2
refused 'behind `:` expected only -n, --wdir and --env: other options come before the first program' -n 1 true : -n 1 --store x true
refused '--clusters: expected 1 to 3 clusters of 3 processes, found 4' --clusters 4 -n 1 true : -n 2 true
refused '-n: expected 65536 processes at most, found 65537 of all programs' -n 65536 true : -n 1 true
expect 1 '^hark: rank 1 exited without hark_init: false is not a program of hark$\|^hark: rank 1 exited with status 1$' -n 1 -- "$obedient" recv=1.1 : -n 1 false

# A job belongs to all its programs.
expect 0 '' --store st -n 1 -- "$obedient" : -n 1 "$obedient" 
rm -rf st
expect 1 '' --store st --interval 1ms -n 1 -- "$obedient" die=10 : -n 1 "$obedient" recv=0.1
expect 2 'the store belongs to a job with program=' --store st --resume -n 1 -- "$obedient" die=10 : -n 1 "$obedient" recv=0.2

# The working directory: a path of the program begins there, one in PATH does not.
mkdir -p sub/bin
printf '#!/bin/sh\necho "$PWD $A"\n' >sub/bin/where
chmod +x sub/bin/where
shown() { # what, arguments...
  local what=$1; shift
  "$hark" run "$@" >out 2>err
  is "$*" "$what" "$(sort out | paste -sd';')"
}
shown "$work/sub " -n 1 --wdir sub bin/where
shown "$work/sub " -n 1 --wdir "$work/sub" ./bin/where
PATH=sub/bin:$PATH shown "$work/sub " -n 1 --wdir sub where
shown "$work c" -n 1 --env A=b --env A=c sub/bin/where
A=d shown "$work d" -n 1 --env A sub/bin/where
shown "$work b=c" -n 1 --env A=b=c -- sub/bin/where
refused '--env: expected NAME or NAME=VALUE, found "=x"' --env =x true
expect 1 '^hark run: --env NOT_THERE: it is not set, and the program does not get it$' -n 1 --env NOT_THERE true
refused '--wdir: nowhere: No such file or directory' --wdir nowhere true
refused '--wdir: sub/bin/where is no directory' --wdir sub/bin/where true
refused 'sub/./where: No such file or directory' --wdir sub ./where

# Each line with its rank, also a last one without an end, on both streams, and once when it is printed again.
printf '#!/bin/sh\nprintf "a\\nb\\nc"; printf "e\\n" >&2\n' >sub/bin/lines
chmod +x sub/bin/lines
"$hark" run -n 1 --tag-output sub/bin/lines >out 2>err
is 'tags' '[0] a;[0] b;[0] c' "$(paste -sd';' out)"
is 'tags of errors' '[0] e' "$(grep -v '^hark: ' err)"
for protocol in hydee scmel; do
  "$hark" run -n 3 --protocol $protocol --interval 1ms --kill 1@40 --tag-output -- "$obedient" print=begin steps=30 print=end >out 2>err
  is "$protocol: tags, with a failure" '[0] begin;[0] end;[1] begin;[1] end;[2] begin;[2] end' "$(grep -v '[0-9]$' out | sort | paste -sd';')"
  is "$protocol: a line without a tag" '' "$(grep -v '^\[[0-2]\] ' out)"
done
finish
