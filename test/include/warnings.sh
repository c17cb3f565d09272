#!/bin/bash
# Every header compiled alone, by the compilers of C and C++ there are, warns of nothing:
# warnings.sh INCLUDE SINGLE...
include=$(readlink -f "$1") headers=("$1"/hark/*.h); shift
for header in "$@"; do headers+=("$(readlink -f "$header")"); done
for ((i = 0; i < ${#headers[@]}; i++)); do headers[i]=$(readlink -f "${headers[i]}"); done
. "$(dirname "$0")/../shell.sh"

# A part is included as programs include it; a single header, without the others in reach.
compile() { # header, compiler, arguments...
  local header=$1 in='' file; shift
  case $header in */hark/*.h) in="-I$include" ;; esac
  file=$(mktemp "$PWD/XXXXXXXX")
  printf '#include "%s"\nint main(void) { return 0; }\n' "$header" >"$file"
  "$@" -Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror $in -fsyntax-only "$file" >"$file.out" 2>&1 ||
    { echo "$header: $*"; head -6 "$file.out"; } >"$file.bad"
}
export -f compile
export include
whole=() # a part alone is the whole all the same: in C++ that is enough
for header in "${headers[@]}"; do case $header in */hark/*_*.h) ;; *) whole+=("$header") ;; esac; done
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
