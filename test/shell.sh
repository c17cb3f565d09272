# What tests in shell share, for them to source when they have read their arguments: a folder to be in that goes with the test, and
# counts. What sanitizers find in whatever is started is written beside, and fails the test.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/until.sh"
work=$(mktemp -d) || exit 2
# A child that a signal meets before it is another program runs this trap as well: the folder is not its to remove.
trap '[ $BASHPID = $$ ] && rm -rf "$work"' EXIT
cd "$work" || exit 2
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}log_path=$work/finding" UBSAN_OPTIONS="print_stacktrace=1:log_path=$work/finding"
passed=0 failed=0

# Of combinations, each that is tried asks: with STRIDE=3 in the environment it is every third.
combinations=0
chosen() { [ $((combinations++ % ${STRIDE:-1})) = 0 ]; }

good() { passed=$((passed + 1)); }

bad() { # what; then what the last command has said, in out and err
  failed=$((failed + 1))
  echo "FAILED $*"
  cat out err 2>/dev/null | head -40 | sed 's/^/    /'
}

is() { # what, expected, found
  if [ "$2" = "$3" ]; then good; else bad "$1: expected \"$2\", found \"$3\""; fi
}

holds() { # what, command...
  local what=$1; shift
  if "$@" >"$work/said" 2>&1; then good; else bad "$what"; cat "$work/said"; fi
}

# Without what it waits for the rest makes no sense.
wait_until() { # command...
  until_true 100 "$@" && return
  bad "this was waited for in vain: $*"
  kill $(jobs -p) 2>/dev/null
  wait
  finish
  exit 1
}
is_there() { [ -e "$1" ]; }
is_gone() { [ ! -e "$1" ]; }
is_empty() { [ -z "$(ls "$1")" ]; } # a folder
is_said() { # pattern, file, at least how often
  [ "$(grep -c -- "$1" "$2" 2>/dev/null)" -ge "${3:-1}" ] 2>/dev/null
}

# Of the command under test: `tested` is an array, hark and perhaps a subcommand; `words` are those its lines begin with.
expect() { # exit status, what is said (a pattern; empty: anything), arguments...
  local status=$1 said=$2 r; shift 2
  "${tested[@]}" "$@" >out 2>&1 </dev/null
  r=$?
  if [ $r = "$status" ] && { [ -z "$said" ] || grep -q -- "$said" out; }; then good; else bad "$words $* (exit $r, expected $status and \"$said\")"; fi
}

refused() { # what is said, all of it, behind the words; arguments...
  local said=$1 r; shift
  "${tested[@]}" "$@" >out 2>&1 </dev/null
  r=$?
  if [ $r = 2 ] && [ "$(cat out)" = "$words: $said" ]; then good; else bad "$words $* (exit $r, expected 2 and \"$words: $said\")"; fi
}

# A figure by its name, in a JSON file of a figure a line.
figure() { sed -n "s/^ *\"$1\": \"\{0,1\}\([^,\"]*\).*/\1/p" "$2"; }

# Whether a file that a sanitizer has written shows a fault. That the search for leaks could not read the registers of a thread which
# ended just then is not one: the search goes on without them.
found() { grep -qvE '^==[0-9]+==Unable to get registers from thread [0-9]+\.$' "$1"; }

finish() { # the last line, and the status
  local finding
  for finding in finding.*; do
    if [ -e "$finding" ] && found "$finding"; then bad 'a sanitizer has found something'; cat "$finding"; fi
  done
  echo "$passed passed, $failed failed"
  [ $failed = 0 ] && [ $passed -gt 0 ]
}
