#!/bin/sh
# The version script of the MPI libraries: what mpi.h declares, and app.h.
# exports.sh EXPORTS.SH NM LIBHARK_APP.a HEADERS > SCRIPT
set -eu
sh "$1" "$2" HARK "$3" "$4" | sed 's/^HARK {$/{/
/^global:$/a\
  MPI_*; PMPI_*; MPIX_*; PMPIX_*; MPII_*; MPIR_*; ompi_*; OMPI_*; mpi_*; MPI_F*;'
