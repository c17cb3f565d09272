#!/bin/sh
# Floors 1 and 2 as one header: single.sh REGISTRY.H OUT DEPFILE. Each header once, where it is first included.
set -eu
awk -v out="$2" -v dep="$3" '
  function inline(file,    line, dir, part) {
    if (file in seen) return
    seen[file] = 1
    deps = deps " " file
    dir = file
    sub(/[^\/]*$/, "", dir)
    while ((got = (getline line < file)) > 0) {
      if (match(line, /^#include "[^"]*"/)) {
        split(line, part, "\"")
        inline(dir part[2])
      } else {
        print line > out
      }
    }
    if (got < 0) { print "single.sh: cannot read " file > "/dev/stderr"; exit 1 }
    close(file)
  }
  BEGIN {
    print "/* hark_single.h: the parts and all protocols of hark in one freestanding header; made from include/hark. */" > out
    inline(ARGV[1])
    print out ":" deps > dep
  }' "$1"
