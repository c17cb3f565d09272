/* attribute.h: keys of attributes: inside attribute*.c. */
#ifndef HARK_MPI_ATTRIBUTE_H
#define HARK_MPI_ATTRIBUTE_H

#include "internal.h"

struct keyval {
    enum kind of;
    uint32_t references; /* one of the program's, until it frees the key; one of each attribute */
    bool freed;
    bool lost;       /* in a checkpoint, and this process has not made it again */
    uint64_t serial; /* which one this process has made */
    void (*copy)(void), (*delete)(void); /* of the types that `of` says */
    void *extra;
#if defined(HARK_MPI_MPICH)
    /* MPICH's libraries for Fortran and C++ say with these how their functions are called. */
    int (*copy_proxy)(void (*copy)(void), int handle, int keyval, void *extra, int kind,
        void *value, void **result, int *copied);
    int (*delete_proxy)(
        void (*delete)(void), int handle, int keyval, int kind, void *value, void *extra);
#elif defined(HARK_MPI_OPENMPI)
    bool of_fortran; /* its functions take values as numbers */
#endif
};

/* Numbers of keys begin where no mpi.h has predefined ones. */
enum { FIRST_KEYVAL = 1 << 16 };
extern struct keyval **hark_mpi_keyvals; /* NULL: there is none of this number */
extern int hark_mpi_keyval_room;
/* How many this process has made, and those whose checkpoints it goes on from. */
extern uint64_t hark_mpi_keyvals_made, hark_mpi_attributes_made;

#endif
