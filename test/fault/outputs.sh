#!/bin/bash
# The files that commands write: whole or not at all, each another one, and none that is read. outputs.sh HARK DATA
hark=$(readlink -f "$1") data=$(readlink -f "$2")
. "$(dirname "$0")/../shell.sh"
tested=("$hark") words='hark'

printf '%%%%MatrixMarket matrix coordinate integer general\n400 400 400\n' >c.mtx
for i in $(seq 400); do echo "$i $((i % 400 + 1)) 100"; done >>c.mtx
for i in $(seq 400); do seq $i $((i + 30)) | sed "s/.*\(.\)$/1\1/" | paste -sd,; done >loads
printf 'name w\nprotocol none\np0: S1\np1: R0\nfails p1\n' >w.hark
cp "$data/hydee-8.trace" t.trace
for i in $(seq 40); do printf 'name %040d\nprotocol none\np0: S1\np1: R0\n' "$i" >"many$i.hark"; done
"$hark" check -o replay.hark w.hark >out 2>err
is 'a schedule to draw' 1 $?
ring=(sim --pattern ring --ranks 400) cut=(partition c.mtx) balance=(balance loads c.mtx --pes 4 --teams 2)

# What is said by whoever can not write more than $limit KiB into a file, through a pipe, which has no such limit. The command is to
# mind SIGXFSZ itself.
limit=1
full() { (ulimit -f $limit; exec "$hark" "$@") 2>&1 >/dev/null | cat; }

# Each output of each command: what was there is there still, and nothing else is. A file that is longer than a KiB is cut in its midst.
on_full_disk() { # option; command...
  local option=$1; shift
  rm -rf there && mkdir there
  "$hark" "$@" "$option" there/new >out 2>&1
  limit=$(($(wc -c <there/new) > 1024))
  if [ -s there/new ] && [ "$(ls -A there)" = new ]; then good; else bad "$* $option: nothing is written, or more than that"; fi
  rm there/new
  echo kept >there/old
  is "$* $option, words" "hark $1: $option there/old: File too large" "$(full "$@" "$option" there/old)"
  is "$* $option, what was there" kept "$(cat there/old)"
  is "$* $option, new, words" "hark $1: $option there/new: File too large" "$(full "$@" "$option" there/new)"
  is "$* $option, what is there" old "$(ls -A there)"
  "$hark" "$@" "$option" there/old >out 2>&1
  if ! grep -qx kept there/old && [ "$(ls -A there)" = old ]; then good; else bad "$* $option: what was there is not replaced"; fi
  limit=1
}
on_full_disk --svg trace t.trace
on_full_disk --svg replay replay.hark
on_full_disk --json check many*.hark
for option in --json --csv --plot --write-matrix --write-messages; do on_full_disk $option "${ring[@]}"; done
for option in -o --json --svg; do on_full_disk $option "${cut[@]}" --max-size 1; done
on_full_disk --plot "${cut[@]}" --sweep
for option in -o --json --csv --plot; do on_full_disk $option "${balance[@]}"; done

for line in 'trace t.trace --svg' 'replay replay.hark --svg' 'check many1.hark --json' 'sim --pattern ring --ranks 4 --json' 'partition c.mtx -o'; do
  # shellcheck disable=SC2086
  is "$line /dev/full" "hark ${line%% *}: ${line##* } /dev/full: No space left on device" "$("$hark" $line /dev/full 2>&1 >/dev/null)"
done

# Permissions are the usual ones, or those that the file had; other names, and links, name what they named.
(umask 027; "$hark" "${cut[@]}" -o new >out 2>&1)
is 'permissions of a new file' 640 "$(stat -c %a new)"
chmod 604 new
"$hark" "${cut[@]}" -o new >out 2>&1
is 'permissions of an old one' 604 "$(stat -c %a new)"
ln new other
ln -s new link
for name in new other link; do
  echo before >new
  expect 0 '' "${cut[@]}" -o $name
  is "-o $name" "$(tail -1 new)" "$(tail -1 link)"
  is "-o $name, by its other name" "$(cat new)" "$(cat other)"
  if [ -h link ] && [ "$(cat new)" != before ]; then good; else bad "-o $name: no link, or nothing written"; fi
done
mkdir apart
ln -s apart/file linked
expect 0 '' "${cut[@]}" -o linked
is 'a link to what is not there' 'linked file' "$([ -h linked ] && echo linked) $(ls -A apart)"
is 'a link to it, on a full disk, words' 'hark sim: --plot linked: File too large' "$(full "${ring[@]}" --plot linked)"
rm apart/file
is 'a link to nothing, on a full disk, words' 'hark sim: --plot linked: File too large' "$(full "${ring[@]}" --plot linked)"
is 'a link to nothing, on a full disk' 'linked ' "$([ -h linked ] && echo linked) $(ls -A apart)"
# A name of as many bytes as a name may have leaves none for another one beside it.
long=$(printf 'x%.0s' $(seq 255))
expect 0 '' "${cut[@]}" -o "$long"
expect 0 '' "${cut[@]}" -o "$long"
is 'a long name' 1 "$(ls -A | grep -c '^xxx')"
# A folder that takes no files may have one that can be written; a file that can not be is not replaced; one of another owner stays that.
other=65534
as_other() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=$other --regid=$other --clear-groups "$@"; else "$@"; fi; }
chmod 755 .
if as_other test -x "$hark" 2>err && as_other test -r "$work/c.mtx" 2>err; then
  mkdir closed kept shared
  for folder in closed kept shared; do echo before >$folder/file; done
  [ "$(id -u)" != 0 ] || chown $other kept kept/file closed/file
  chmod 444 kept/file
  chmod 666 shared/file
  chmod 777 shared
  chmod 555 closed
  inode=$(stat -c %i shared/file)
  for folder in closed kept shared; do
    as_other "$hark" "${cut[@]}" -o $folder/file >out 2>&1
    is "$folder: status" $? "$([ $folder = kept ] && echo 2 || echo 0)"
    is "$folder: is it as before" "$([ $folder = kept ] && echo yes || echo no)" "$([ "$(cat $folder/file)" = before ] && echo yes || echo no)"
    is "$folder: what is there" file "$(ls -A $folder)"
  done
  [ "$(id -u)" != 0 ] || is 'shared: the same file' "$inode" "$(stat -c %i shared/file)"
  as_other "$hark" "${cut[@]}" -o closed/new >out 2>&1
  is 'closed: a new file' '2 hark partition: -o closed/new: Permission denied' "$? $(cat out)"
  chmod 755 closed
else
  echo 'no other user to be: folders that take no files are not tried'
fi
# A file that is mounted can not be replaced.
if unshare --mount --map-root-user true 2>err; then
  mkdir mounted
  echo before | tee mounted/file >here
  unshare --mount --map-root-user sh -c 'mount --bind here mounted/file && "$@"' sh "$hark" "${cut[@]}" -o mounted/file >out 2>&1
  is 'mounted: status' 0 $?
  is 'mounted: what is written' "$(cat new)" "$(cat here)"
  is 'mounted: what was there' 'before file' "$(cat mounted/file) $(ls -A mounted)"
else
  echo 'no mounts here: files that are mounted are not tried'
fi
# What is printed and what is written go behind each other where both are in one file.
"$hark" sim --pattern ring --ranks 4 --json /dev/stdout --csv /dev/null --plot /dev/null >both 2>err
is 'a file as standard output' 'hydee, }' "$(head -1 both | cut -d' ' -f1) $(tail -1 both)"
"$hark" sim --pattern ring --ranks 4 --json /dev/stdout 2>err | cat >piped
is 'a pipe' "$(grep -c . both)" "$(grep -c . piped)"
mkfifo pipe
timeout 60 cat pipe >taken &
"$hark" sim --pattern ring --ranks 4 --json pipe >out 2>&1
wait $!
is 'a named pipe' "pipe $(wc -l <taken)" "$([ -p pipe ] && echo pipe) $("$hark" sim --pattern ring --ranks 4 --json /dev/stderr 2>&1 >/dev/null | wc -l)"

# What is read is not written, whatever it is called, nor one file twice; it is noticed before anything is written.
apart() { # what is said, behind "hark "; arguments...
  local said=$1 r; shift
  cksum c.mtx loads w.hark t.trace replay.hark map >before
  "$hark" "$@" >out 2>&1 </dev/null
  r=$?
  is "$*" "2 hark $said" "$r $(cat out)"
  is "$*: what was there" "$(cat before)" "$(cksum c.mtx loads w.hark t.trace replay.hark map)"
}
seq 0 399 | sed 's/.*[^0-3]$/0/;s/.*\([0-3]\)$/\1/' >map
echo 0-399 >clusters
ln -s w.hark same.hark
ln c.mtx same.mtx
apart 'check: --json w.hark: expected another file than w.hark, which is read' check --json w.hark w.hark
apart 'check: --json w.hark: expected another file than ./w.hark, which is read' check many1.hark ./w.hark --json w.hark
apart 'check: -o same.hark: expected another file than w.hark, which is read' check w.hark -o same.hark
apart 'trace: --svg t.trace: expected another file than t.trace, which is read' trace t.trace --svg t.trace
apart 'replay: --svg replay.hark: expected another file than replay.hark, which is read' replay replay.hark --svg replay.hark
for option in -o --json --svg; do
  apart "partition: $option c.mtx: expected another file than same.mtx, which is read" partition $option c.mtx same.mtx
done
apart 'partition: --json clusters: expected another file than clusters, which is read' "${cut[@]}" --improve clusters --json clusters
cp clusters improved
"$hark" "${cut[@]}" --improve improved -o improved >out 2>&1
is 'what is improved may be replaced' '0 1' "$? $([ -s improved ] && echo 1)"
apart 'partition: -o clusters: expected another file than clusters, which is read' "${cut[@]}" --nodes clusters -o clusters
for option in -o --json --csv; do
  apart "balance: $option loads: expected another file than loads, which is read" "${balance[@]}" $option loads
  apart "balance: $option c.mtx: expected another file than c.mtx, which is read" "${balance[@]}" $option c.mtx
  [ $option = -o ] || apart "balance: $option map: expected another file than map, which is read" "${balance[@]}" --map map $option map
done
cp map next
"$hark" "${balance[@]}" --map next -o next >out 2>&1
is 'a map may be replaced' '0 400' "$? $(wc -l <next)"
for option in --json --csv --plot --write-matrix --write-messages; do
  apart "sim: $option c.mtx: expected another file than c.mtx, which is read" sim --pattern c.mtx $option c.mtx
  apart "sim: $option same.mtx: expected another file than c.mtx, which is read" sim --pattern c.mtx --messages c.mtx $option same.mtx
  apart "sim: $option clusters: expected another file than clusters, which is read" sim --pattern c.mtx --clusters clusters $option clusters
done
apart 'compare: --json w.hark: expected another file than w.hark, which is read' compare w.hark t.trace --json w.hark
apart 'run: --write-matrix clusters: expected another file than clusters, which is read' run -n 400 --protocol hydee --clusters clusters --write-matrix clusters -- true
echo 'node[1-4]' >hosts
for option in --trace --json --record --write-matrix; do
  apart "run: $option hosts: expected another file than hosts, which is read" run -n 4 --host-store "$work/here" --hostfile hosts $option hosts -- true
  apart "run: $option clusters: expected another file than clusters, which is read" run -n 400 --clusters clusters $option clusters -- true
  "$hark" run -n 2 $option w.hark -- true <w.hark >out 2>&1
  is "run: standard input as $option" "2 hark run: $option w.hark: expected another file than /dev/stdin, which is read" "$? $(cat out)"
done
apart 'run: --json w.hark: expected another file than that of --trace' run -n 2 --json w.hark --trace w.hark -- true
apart 'run: --record w.hark: expected another file than that of --json' run -n 2 --json w.hark --record w.hark -- true
apart 'run: --write-matrix w.hark: expected another file than that of --record' run -n 2 --write-matrix w.hark --record w.hark -- true
is 'what was in them' '0-399 node[1-4]' "$(cat clusters) $(cat hosts)"
"$hark" check --json w.hark - <w.hark >out 2>&1
is 'standard input' '2 hark check: --json w.hark: expected another file than /dev/stdin, which is read' "$? $(cat out)"
echo before | tee ring >4
expect 0 '' sim --pattern ring --ranks 4 --clusters 4 --json ring --csv 4 # are no files here
mkdir two
ln -s two/x one-x
ln -s ../two/x two/y
apart 'sim: --csv two/x: expected another file than that of --json' sim --pattern ring --ranks 4 --json two/x --csv two/x
apart 'sim: --plot one-x: expected another file than that of --csv' sim --pattern ring --ranks 4 --csv two/../two/x --plot one-x
apart 'sim: --csv two/x: expected another file than that of --json' sim --pattern ring --ranks 4 --json two/y --csv two/x
apart 'check: --json two/x: expected another file than that of -o' check w.hark -o two/x --json two/x
apart 'partition: --svg map: expected another file than that of -o' "${cut[@]}" -o map --svg map
apart 'balance: --csv map: expected another file than that of --json' "${balance[@]}" --json map --csv map
is 'what is there of those that were refused' y "$(ls -A two)"
expect 0 '' sim --pattern ring --ranks 4 --json /dev/null --csv /dev/null

finish
