#!/bin/sh
# Compiles a program in Fortran; modules go into a folder that goes with this script. compile.sh OUTPUT COMPILER ARGUMENT...
set -eu
output=$1 compiler=$2; shift 2
modules=$(mktemp -d)
trap 'rm -rf "$modules"' EXIT
export OMPI_FC=gfortran
"$compiler" -J"$modules" -o "$output" "$@"
