#!/bin/bash
# What the installed libraries show to a linker: symbols.sh NM READELF CC INCLUDE SOVERSION [STATIC SHARED]...
nm=$1 readelf=$2 cc=$3 include=$(readlink -f "$4") soversion=$5; shift 5
libraries=(); for library; do libraries+=("$(readlink -f "$library")"); done
. "$(dirname "$0")/../shell.sh"

# What the headers declare, by a compiler.
for header in "$include"/hark/*.h "$include"/hark/*/*.h; do echo "#include \"$header\""; done >all.c
holds 'all headers in one file, linked' "$cc" -std=c11 -DHARK_LINK -fsyntax-only -aux-info declared -c all.c
grep -F '/hark/' declared | grep ' extern ' | grep -oE '\bhark_[a-z0-9_]+ \(' | tr -d ' (' | LC_ALL=C sort -u >declared.names
holds 'the headers declare functions' grep -qx hark_driver_open declared.names

: >exported.names
for ((i = 0; i < ${#libraries[@]}; i += 2)); do
  static=${libraries[i]} shared=${libraries[i + 1]} name=$(basename "${libraries[i]}" .a)
  "$nm" -g -P "$static" 2>/dev/null | awk '$2 ~ /^[A-TV-Z]$/ {print $1}' | LC_ALL=C sort -u >defined
  is "$name.a: there are names" true "$([ -s defined ] && echo true)"
  is "$name.a: names that do not begin with hark_" '' "$(grep -v '^hark_' defined | tr '\n' ' ')"
  "$nm" -D -g -P "$shared" |
    awk '$2 ~ /^[A-TV-Z]$/ && $1 !~ /^HARK_/ {sub(/@.*/, "", $1); print $1}' | LC_ALL=C sort >shown
  is "$name.so: what programs may call" "$(LC_ALL=C comm -12 defined declared.names)" "$(cat shown)"
  is "$name.so: its name" "$name.so.$soversion" "$("$readelf" -d "$shared" | sed -n 's/.*soname: \[\(.*\)\]/\1/p')"
  cat shown >>exported.names
done
LC_ALL=C sort exported.names >exported.sorted
is 'declared, in no library' '' "$(LC_ALL=C comm -23 declared.names exported.sorted | tr '\n' ' ')"
is 'in two libraries' '' "$(uniq -d exported.sorted | tr '\n' ' ')"
finish
