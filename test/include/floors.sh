#!/bin/bash
# Files of a folder call each other in one direction. A header of the folder may draw the floors, a file a line:
#
#     *   3  supervisor.c   the number of its floor, the highest first; the same floor as the line above if there is none
#     *      signals.c
#
# Then a file calls, or names, functions of files below it only. Without a drawing they may have any order, but no ring.
# floors.sh SOURCE FOLDER ARCHIVE
source=$(readlink -f "$1") folder=$2 archive=$(readlink -f "$3")
. "$(dirname "$0")/../shell.sh"

drawn() { # FOLDER: lines "FLOOR FILE"
  awk 'FNR == 1 { floor = "" }
    /^ \* +[0-9]+  [a-z0-9_]+\.c( |$)/ { floor = $2; print floor, $3; next }
    /^ \*    +[a-z0-9_]+\.c( |$)/ && floor != "" { print floor, $2 }' "$1"/*.h
}

symbols() { # ARCHIVE: lines "FILE NAME TYPE", of files of this folder
  ${NM:-nm} -A -P "$1" | sed -n 's/^[^[]*\[\(.*\/\)\{0,1\}\([a-z0-9_]*\.c\)\.o\]: \([^ ]*\) \([A-Za-z]\).*/\2 \3 \4/p'
}

# A file of which lines "FLOOR FILE" say nothing, a file that is not there, and a call that goes up; or, if there are none of
# these lines, calls that are part of a ring. FLOORS, SYMBOLS: files.
wrong() {
  awk 'FILENAME == ARGV[1] { floor[$2] = $1; drawing = 1; next }
    { file[$1] = 1 }
    $3 ~ /[TDBRCGSVW]/ { owner[$2] = $1 }
    $3 == "U" { uses[$1, $2] = 1 }
    function reach(from, to,    k, pair) {
      if (from == to) return 1
      if (seen[from]++) return 0
      for (k in calls) {
        split(k, pair, SUBSEP)
        if (pair[1] == from && reach(pair[2], to)) return 1
      }
      return 0
    }
    END {
      for (f in file) if (drawing && !(f in floor)) print f " is on no floor"
      for (f in floor) if (!(f in file)) print f " is drawn, and not there"
      for (k in uses) {
        split(k, use, SUBSEP)
        if (!(use[2] in owner) || owner[use[2]] == use[1]) continue
        called = owner[use[2]]
        calls[use[1], called] = use[2]
        if (drawing && floor[use[1]] <= floor[called])
          print use[1] " (floor " floor[use[1]] ") calls " use[2] " of " called " (floor " floor[called] ")"
      }
      for (k in calls) {
        split(k, pair, SUBSEP)
        delete seen
        if (!drawing && reach(pair[2], pair[1])) print pair[1] " calls " calls[k] " of " pair[2] ", which calls it in turn"
      }
    }' "$1" "$2" | sort
}

drawn "$source/$folder" >floors
symbols "$archive" >symbols
holds "$folder has files" [ "$(cut -d' ' -f1 symbols | sort -u | wc -l)" -ge 3 ]
is "$folder: a call that goes up" '' "$(wrong floors symbols)"
# It finds what there is.
mkdir room
printf '/* x.h: floors.\n *\n *   2  top.c   the top\n *      side.c\n *   1  low.c\n */\n' >room/x.h
drawn room >some
is 'what is drawn' '2 top.c;2 side.c;1 low.c' "$(paste -sd';' some)"
printf '%s\n' 'top.c f T' 'top.c g U' 'low.c g T' 'low.c other U' 'side.c s T' >below
is 'calls that go down' '' "$(wrong some below)"
printf '%s\n' 'low.c f U' 'side.c g U' 'side.c f U' 'new.c n T' >more
cat below more >up
is 'calls that go up' 'low.c (floor 1) calls f of top.c (floor 2);new.c is on no floor;side.c (floor 2) calls f of top.c (floor 2)' \
  "$(wrong some up | paste -sd';')"
: >none
is 'no ring' '' "$(wrong none below)"
is 'a ring' 'low.c calls f of top.c, which calls it in turn;top.c calls g of low.c, which calls it in turn' "$(wrong none up | paste -sd';')"
finish
