#!/bin/bash
# The sources are as .clang-format says. Other versions of clang-format than 14 break lines elsewhere.
# format.sh SOURCE CLANG-FORMAT
source=$(readlink -f "$1") format=$2
. "$(dirname "$0")/../shell.sh"

case $("$format" --version) in
*' version 14.'*) ;;
*) exit 77 ;;
esac
cd "$source" || exit 1
sources() { find include src transports examples test bench -name '*.[ch]' -print0; }
holds 'there are sources' [ "$(sources | tr -dc '\0' | wc -c)" -ge 100 ]
sources | xargs -0 "$format" --dry-run -Werror 2>"$work/found"
is 'lines that clang-format -i would change' '' "$(grep -E '(error|warning):' "$work/found" | sed 's/: error: .*//' | sort -u | head -20)"
is 'lines of more than 100 columns' '' "$(sources | LC_ALL=C.UTF-8 xargs -0 grep -nE '^.{101}' | cut -c1-140 | head -20)"
# It finds what there is.
printf 'int  f(void)\n{\n    return 1;\n}\n' >"$work/some.c"
is 'what there is' 1 "$(cp .clang-format "$work" && "$format" --dry-run -Werror "$work/some.c" 2>&1 | grep -c 'some.c:1:.*error')"
finish
