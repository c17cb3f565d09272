#!/bin/bash
# Every header compiled alone, by the compilers of C and C++ there are, warns of nothing:
# warnings.sh INCLUDE SINGLE...
include=$(readlink -f "$1") headers=("$1"/hark/*.h "$1"/hark/*/*.h); shift
for header in "$@"; do headers+=("$(readlink -f "$header")"); done
for ((i = 0; i < ${#headers[@]}; i++)); do headers[i]=$(readlink -f "${headers[i]}"); done
. "$(dirname "$0")/../shell.sh"

# Included as programs include it: a part before the protocol that it is of, which defines what the part declares; a single header
# without the others in reach.
compile() { # header, compiler, arguments...
  local header=$1 in='' whole= file; shift
  case $header in */hark/*.h) in="-I$include" ;; esac
  case $header in
    */hark/causal/*) whole=scmel ;;
    */hark/hydee/*|*/hark/sendet/*|*/hark/recovery/*|*/hark/service/*) whole=$(basename "$(dirname "$header")") ;;
  esac
  file=$(mktemp "$PWD/XXXXXXXX")
  printf '#include "%s"\n' "$header" ${whole:+"$include/hark/$whole.h"} >"$file"
  echo 'int main(void) { return 0; }' >>"$file"
  "$@" -Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror $in -fsyntax-only "$file" >"$file.out" 2>&1 ||
    { echo "$header: $*"; head -6 "$file.out"; } >"$file.bad"
}
export -f compile
export include
whole=() # parts are in one of these all the same: in C++ that is enough
for header in "${headers[@]}"; do case $header in */hark/*/*.h) ;; *) whole+=("$header") ;; esac; done
all() { # compiler, header...
  local compiler=$1; shift
  expected=$((${expected:-0} + $#))
  printf '%s\0' "$@" | xargs -0 -P 2 -I{} bash -c 'compile "$0" $1' {} "$compiler"
}
all 'gcc -std=c11 -x c' "${headers[@]}"
all 'clang -std=c11 -x c' "${headers[@]}"
all 'g++ -std=c++20 -x c++' "${whole[@]}"
all 'clang++ -std=c++20 -x c++' "${whole[@]}"
all 'g++ -std=c++17 -x c++' "${headers[-1]}"
is 'compiled' "$expected" "$(ls ./*.out | wc -l)"
is 'headers that warn' '' "$(cat ./*.bad 2>/dev/null)"
finish
