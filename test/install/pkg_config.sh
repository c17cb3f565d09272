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
# The transport over MPI, where it was built: each library with its own MPI.
for file in "$libraries"/pkgconfig/hark-transport-mpi-*.pc; do
  [ -e "$file" ] || continue
  package=$(basename "$file" .pc) mpi=$(sed -n 's/^Requires: hark, //p' "$file")
  holds "$package: shared" "$cc" -std=c11 -Wall -Wextra -Werror "$here/../../examples/embed_mpi.c" -o "$package" \
    $(packages --cflags --libs "$package") $(pkg-config --cflags --libs "$mpi") # whose prefix is not ours
  is "$package: the shared libraries it asks for" "libhark.so.0.1 lib${package//-/_}.so.0.1" \
    "$(readelf -d "$package" | sed -n 's/.*NEEDED.*\[\(libhark.*\)\]/\1/p' | LC_ALL=C sort | paste -sd' ')"
  is "$package: what it exports" 'hark_mpi_free hark_mpi_join hark_mpi_new hark_mpi_transport' \
    "$(nm -D --defined-only "$libraries/lib${package//-/_}.so" | awk '{print $3}' | LC_ALL=C sort | paste -sd' ')"
done

# VELOC's interface, with the mpi.h of any MPI.
printf '#include <veloc.h>\nint main(void) { return VELOC_Init(0, "") == VELOC_SUCCESS; }\n' >veloc.c
holds 'hark-veloc: a program' "$cc" -std=c11 $warnings veloc.c -o veloc \
  $(packages --cflags hark-veloc) -I"$prefix/include/hark-mpi" $(packages --libs hark-veloc)
LD_LIBRARY_PATH=$libraries/hark/mpi/veloc ./veloc >out 2>err
is 'hark-veloc: without hark run' '0 hark: VELOC_Init: hark'"'"'s MPI library is not in the process' "$? $(cut -d: -f1-3 err)"
# Fortran.
module=$(packages --variable=fortran hark-app)
is 'hark.f90' "$prefix/include/hark-fortran/hark.f90" "$module"
if command -v gfortran >/dev/null; then
  printf 'use hark\ninteger, target :: x\nx = 0\ncall hark_protect(1, x)\nend\n' >fortran.f90
  holds 'hark.f90: a program' gfortran -Wall -Werror "$module" fortran.f90 -o fortran $(packages --libs hark-app)
  LD_LIBRARY_PATH=$libraries ./fortran >out 2>err
  is 'hark.f90: an error ends the program' '1 hark: hark_protect: ' "$? $(grep -o '^hark: hark_protect: ' err)"
fi

# From the folder of the build, without an install.
built() { PKG_CONFIG_PATH=$build/meson-uninstalled pkg-config "$@"; }
where() { built --libs-only-L "$@" | sed 's/-L//g' | xargs | tr ' ' :; } # the libraries are
for one in core:hark app:hark-app cluster:hark-cluster; do
  name=${one%:*} package=${one#*:}
  holds "$package, not installed" "$cc" -std=c11 $warnings "$here/program/$name.c" -o "$name.built" $(built --cflags --libs "$package")
  LD_LIBRARY_PATH=$(where "$package") says "./$name.built"
done
printf '#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n' >mpi.c
holds 'hark-mpi, not installed' "$cc" -std=c11 $warnings mpi.c -o mpi.built $(built --cflags --libs hark-mpi)
is 'hark-mpi, not installed: it runs' 0 "$(PATH=$build/src/cli:$PATH timeout 60 hark run -n 1 -- ./mpi.built >out 2>&1 </dev/null; echo $?)"
holds 'hark-veloc, not installed' "$cc" -std=c11 $warnings veloc.c -o veloc.built $(built --cflags --libs hark-veloc hark-mpi)
is 'hark.f90, not installed' 'module hark' "$(grep -io '^module hark' "$(built --variable=fortran hark-app)")"
for file in "$build"/meson-uninstalled/hark-transport-mpi-*.pc; do
  [ -e "$file" ] || continue
  package=$(basename "$file" -uninstalled.pc)
  mpi=$(sed -n 's/^Requires: hark, //p' "$file")
  holds "$package, not installed" "$cc" -std=c11 -Wall -Wextra -Werror "$here/../../examples/embed_mpi.c" -o "$package.built" \
    $(built --cflags --libs "$package") $(pkg-config --cflags --libs "$mpi")
done

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
