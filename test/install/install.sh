# What the tests of an install share, for them to source when they have read their arguments: installs BUILD below a new
# folder, `root`; `prefix` is where. What is compiled there warns of nothing.
. "$here/../shell.sh"
root=$work/root
DESTDIR=$root meson install -C "$build" --no-rebuild --quiet >out 2>err ||
  { bad "meson install -C $build"; finish; exit; }
prefix=$root$(sed -n 's/^prefix=//p' "$build/meson-private/hark.pc")
libraries=$prefix$(sed -n 's/^libdir=${prefix}//p' "$build/meson-private/hark.pc")
warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror"

says() { # program: it says what it should, `hark run` tells the one it is for to
  case $(basename "$1") in
  core*) is "$1" 'scmel, 0 bytes' "$("$1" 2>&1)" ;;
  app*) is "$1" '3 processes, 24' "$(timeout 60 "$prefix/bin/hark" run -n 3 -- "$1" 2>&1 </dev/null)" ;;
  cluster*) is "$1" 'cut where little is sent' "$("$1" 2>&1)" ;;
  esac
}
