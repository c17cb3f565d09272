#!/bin/sh
# A header and all it includes as one: single.sh HEADER OUT DEPFILE. Each once, where it is first included.
set -eu
awk -v out="$2" -v dep="$3" '
  function plain(file) { # without "x/../"
    while (sub(/[^\/.]+\/\.\.\//, "", file)) {}
    return file
  }
  function inline(file,    line, dir, part) {
    if (file in seen) return
    seen[file] = 1
    deps = deps " " file
    dir = file
    sub(/[^\/]*$/, "", dir)
    while ((got = (getline line < file)) > 0) {
      if (match(line, /^#include "[^"]*"/)) {
        split(line, part, "\"")
        inline(plain(dir part[2]))
      } else {
        print line > out
      }
    }
    if (got < 0) { print "single.sh: cannot read " file > "/dev/stderr"; exit 1 }
    close(file)
  }
  BEGIN {
    name = out
    sub(/.*\//, "", name)
    whole = "a protocol of hark and the parts it stands on"
    if (ARGV[1] ~ /registry\.h$/) whole = "the parts and all protocols of hark"
    print "/* " name ": " whole ", in one freestanding header; made from include/hark. */" > out
    inline(ARGV[1])
    print out ":" deps > dep
  }' "$1"
