#!/bin/bash
# Programs built by meson, with hark as their subproject: subproject.sh SOURCE BUILD CC
here=$(cd "$(dirname "$0")" && pwd) source=$(readlink -f "$1") build=$(readlink -f "$2") cc=$3
. "$here/install.sh"

cp -r "$here/program" program
mkdir program/subprojects
cp "$source/packaging/hark.wrap" program/subprojects
ln -s "$source" program/subprojects/hark
export CC=$cc PKG_CONFIG_LIBDIR=$(pkg-config --variable pc_path pkg-config)
holds 'hark as a subproject' meson setup made program --wrap-mode=forcefallback --buildtype=debug
cp said setup
for name in hark hark-app hark-cluster; do
  holds "$name from the subproject" grep -q "^Dependency $name found: YES 0.1.0 (overridden)" setup
done
holds 'hark as a subproject: build' ninja -C made core app cluster
for name in core app cluster; do says "made/$name"; done
holds 'hark as a subproject: no tests of its own' test ! -e made/subprojects/hark/test
finish
