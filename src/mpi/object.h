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
    /* Of a datatype in a checkpoint that this process has not made again: see hark_mpi_unknown().
     */
    KIND_LOST = 15,
    KINDS = 16
};

/* Numbers below are those of predefined objects in Fortran: in the standard ABI their handles. */
#if defined(HARK_MPI_ABI)
enum { HARK_MPI_FIRST_MADE = 4096 };
#else
enum { HARK_MPI_FIRST_MADE = 256 };
#endif

struct object {
    void *self;       /* this object: a handle that is a pointer points here */
    uintptr_t handle; /* the bits of the handle that the program has */
    uint32_t kind;
    uint32_t references; /* the program's handle, and each use by another object */
    uint32_t number;     /* of its slot in the arena, and its handle in Fortran; 0: predefined */
    bool predefined;     /* never freed */
    bool is_new;         /* made at a restart, and not filled in yet */
    /* Which one of its kind this process has made: 1, 2, 3 ... The same in a process that begins
     * again, for that does the same; a number of a slot is used again. */
    uint64_t serial;
};

/* Zeroed memory of `size` bytes for an object with one reference and a handle. There is no memory:
 * the process ends with a line. */
void *hark_mpi_new(enum kind kind, size_t size);
/* Of an object that a checkpoint has: with its number, and a whole slot of zeroes. The arena is
 * open. Afterwards hark_mpi_slots_restored. */
struct object *hark_mpi_new_at(enum kind kind, uint32_t number, uint64_t serial);
void hark_mpi_slots_restored(void);
/* Makes room for objects of this size, if there is none. */
void hark_mpi_slots_open(enum kind kind, size_t size);
/* A program uses a handle of which this is in the slot. NULL; but of a datatype that a restart
 * could not give back the end of the job, with a line. */
void *hark_mpi_unknown(const struct object *o) __attribute__((cold, noinline));
extern bool hark_mpi_restoring; /* what is in a checkpoint is given back just now */
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
