#!/bin/bash
# Runs an MPI job under sanitizers: mpi.sh COMMAND... The MPI libraries leak, in plugins that are
# gone when leaks are looked for, so no list of suppressions names them. A leak counts if one of
# hark's files has asked for the memory; every other finding counts.
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$work/finding:exitcode=0"
export LSAN_OPTIONS="exitcode=0" UBSAN_OPTIONS="print_stacktrace=1:log_path=$work/finding"
"$@"
status=$?
ours='^ *#1 .*(transports/mpi|test/transport|examples)/[a-z_/]*\.[ch]:[0-9]'
if cat "$work"/finding* 2>/dev/null | grep -qE "ERROR: AddressSanitizer|runtime error|$ours"; then
  cat "$work"/finding*
  exit 1
fi
exit $status
