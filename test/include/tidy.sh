#!/bin/bash
# What clang-tidy finds in the sources, of the checks in .clang-tidy.
# tidy.sh SOURCE BUILD CLANG-TIDY
source=$(readlink -f "$1") build=$(readlink -f "$2") tidy=$3
. "$(dirname "$0")/../shell.sh"

cd "$source" || exit 1
# Those that this build compiles; what optional libraries are missing for is not among them.
grep -oE '"file": "[^"]*/(src|transports)/[^"]*[.]c"' "$build/compile_commands.json" | grep -oE '(src|transports)/[^"]*' |
  sort -u >"$work/files"
holds 'there are sources' [ "$(wc -l <"$work/files")" -ge 100 ]
xargs -P 2 -n 6 "$tidy" --quiet -p "$build" <"$work/files" >"$work/found" 2>/dev/null
is 'what clang-tidy finds' '' "$(grep -E ': (error|warning): ' "$work/found" | sort -u | head -20)"
# It finds what there is.
printf 'int f(int a);\nint f(int a)\n{\n    return a == a;\n}\n' >"$work/some.c"
cp .clang-tidy "$work"
is 'what there is' 1 "$("$tidy" --quiet "$work/some.c" -- 2>/dev/null | grep -c 'some.c:4:.*misc-redundant-expression')"
finish
