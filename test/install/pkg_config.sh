#!/bin/bash
# Programs by pkg-config, from an install: pkg_config.sh BUILD CC
here=$(cd "$(dirname "$0")" && pwd) build=$(readlink -f "$1") cc=$2
. "$here/install.sh"
packages() { PKG_CONFIG_PATH=$libraries/pkgconfig pkg-config "--define-variable=prefix=$prefix" "$@"; }

for one in core:hark app:hark-app cluster:hark-cluster; do
  name=${one%:*} package=${one#*:}
  holds "$package: shared" "$cc" -std=c11 $warnings "$here/program/$name.c" -o "$name" \
    $(packages --cflags --libs "$package")
  is "$package: the shared libraries it asks for" "lib${package//-/_}.so.0.1" \
    "$(readelf -d "$name" | sed -n 's/.*NEEDED.*\[\(libhark.*\)\]/\1/p')"
  LD_LIBRARY_PATH=$libraries says "./$name"
  is "$package: what a program that is linked with the shared one is not to know" '' \
    "$(packages --libs "$package" | tr ' ' '\n' | grep -vE "^(-L.*|-l${package//-/_}|)$")"
done

is 'app, with the library of journals' '2 processes, 15' \
  "$(LD_LIBRARY_PATH=$libraries timeout 60 "$prefix/bin/hark" run -n 2 --journal clock -- ./app 2>&1 </dev/null)"

# Where there are the static ones only, or a program wants them.
rm "$libraries"/libhark*.so*
for one in core:hark app:hark-app cluster:hark-cluster; do
  name=${one%:*} package=${one#*:}
  holds "$package: static" "$cc" -std=c11 $warnings "$here/program/$name.c" -o "$name" \
    $(packages --static --cflags --libs "$package")
  says "./$name"
done

# HARK_LINK: declarations; what they declare is in the library.
is 'hark.pc: HARK_LINK' '-DHARK_LINK' "$(packages --cflags-only-other hark | tr -d ' ')"
is 'hark-app.pc: HARK_LINK, once' '-DHARK_LINK' "$(packages --cflags-only-other hark-app | tr -d ' ')"
# MPI: no other mpi.h is needed, and its library lies apart.
printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n' >mpi.c
holds 'hark-mpi: a program compiles' "$cc" -std=c11 $warnings $(packages --cflags hark-mpi) -c mpi.c
is 'hark-mpi: where it is linked from' "-L$libraries/hark/mpi/abi -lmpi_abi" "$(packages --libs hark-mpi | xargs)"
# Headers to copy.
for protocol in $("$here/../../include/protocols.sh" "$prefix/include/hark/registry.h") single; do
  cp "$prefix/include/hark_$protocol.h" .
  echo "#include \"hark_$protocol.h\"" >one.c
  holds "hark_$protocol.h" "$cc" -std=c11 $warnings -fsyntax-only one.c
done
finish
