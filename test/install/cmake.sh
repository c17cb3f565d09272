#!/bin/bash
# Programs by CMake, from an install: cmake.sh BUILD CC
here=$(cd "$(dirname "$0")" && pwd) build=$(readlink -f "$1") cc=$2
. "$here/install.sh"

configure() { # folder, definitions...
  local folder=$1; shift
  cmake -G Ninja -S "$here/program" -B "$folder" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_C_FLAGS="$warnings" -DCMAKE_PREFIX_PATH="$prefix" "$@"
}
programs() { # folder, definitions...
  holds "$1: configure" configure "$@"
  holds "$1: build" cmake --build "$1"
  for name in core app cluster; do says "$1/$name"; done
}
needed() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(libhark.*\)\]/\1/p'; }

programs shared
is 'shared: the library that app asks for' 'libhark_app.so.0.1' "$(needed shared/app)"
programs static -DHARK_USE_STATIC_LIBS=ON
is 'static: the library that app asks for' '' "$(needed static/app)"
mv "$root" "$work/moved"
root=$work/moved prefix=${prefix/"$work/root"/"$work/moved"} libraries=${libraries/"$work/root"/"$work/moved"}
rm "$libraries"/libhark*.so*
programs moved

# What is wrong is said.
sed 's/COMPONENTS hark/COMPONENTS ark/' "$here/program/CMakeLists.txt" >CMakeLists.txt
cp "$here"/program/*.c .
cmake -S . -B component -DCMAKE_PREFIX_PATH="$prefix" >out 2>&1
holds 'a component that there is not' grep -q 'hark has no component ark: expected hark, app or cluster' out
for version in 1.0 0.2; do
  sed "s/hark 0.1/hark $version/" "$here/program/CMakeLists.txt" >CMakeLists.txt
  cmake -S . -B "version-$version" -DCMAKE_PREFIX_PATH="$prefix" >out 2>&1
  holds "a version that it is not: $version" grep -q 'version: 0.1.0' out
done
finish
