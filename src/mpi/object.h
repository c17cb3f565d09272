/* object.h: what a program's handles stand for.
 *
 * A communicator, datatype, request ... is a structure of ours that begins with a struct object. A
 * handle is what the interface makes of it (handle_*.h): a number, or a pointer to memory whose
 * first word points to the object.
 */
#ifndef HARK_MPI_OBJECT_H
#define HARK_MPI_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values are those of MPICH's handles. */
enum kind {
    KIND_COMM = 1,
    KIND_GROUP = 2,
    KIND_TYPE = 3,
    KIND_FILE = 4,
    KIND_ERRHANDLER = 5,
    KIND_OP = 6,
    KIND_INFO = 7,
    KIND_WINDOW = 8,
    KIND_REQUEST = 11,
    KIND_MESSAGE = 12,
    KIND_SESSION = 14,
    KINDS = 16
};

/* Numbers below are those of predefined objects in Fortran. */
enum { HARK_MPI_FIRST_MADE = 256 };

struct object {
    void *self;       /* this object: a handle that is a pointer points here */
    uintptr_t handle; /* the bits of the handle that the program has */
    uint32_t kind;
    uint32_t references; /* the program's handle, and each use by another object */
    uint32_t number;     /* of its slot in the arena, and its handle in Fortran; 0: predefined */
    bool predefined;     /* never freed */
};

/* Zeroed memory of `size` bytes for an object with one reference and a handle. There is no memory:
 * the process ends with a line. */
void *hark_mpi_new(enum kind kind, size_t size);
/* As hark_mpi_new, of an object that a checkpoint has: with its number. Afterwards
 * hark_mpi_slots_restored. */
void *hark_mpi_new_at(enum kind kind, uint32_t number, size_t size);
void hark_mpi_slots_restored(void);
/* Takes the handle and the memory back. */
void hark_mpi_delete(struct object *o);
/* A static object of `size` bytes gets a handle as new ones do, and is never freed. */
void hark_mpi_own(struct object *o, enum kind kind, size_t size);
/* An object that is always there gets the handle that mpi.h names. */
void hark_mpi_predefine(struct object *o, enum kind kind, uintptr_t handle);
/* The Fortran handle of an object is a small number in the interfaces whose C handles are pointers.
 * NULL: there is no such object. */
void *hark_mpi_numbered(enum kind kind, int number);

#endif
