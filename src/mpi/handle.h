/* handle.h: the three binary interfaces: how handles and statuses look. One source is compiled
 * against each mpi.h; all that differs beyond its constants is here.
 *
 * HARK_MPI_MPICH: handles are 32-bit numbers: two bits say whether an object is predefined (1) or
 * made (2), four the kind, the low ones which. HARK_MPI_OPENMPI: pointers; those of predefined
 * objects point to data symbols. HARK_MPI_ABI (MPI 5.0, chapter 20): predefined handles are numbers
 * below 4096, all others pointers.
 */
#ifndef HARK_MPI_HANDLE_H
#define HARK_MPI_HANDLE_H

/* What it declares is seen from outside, all else is not. */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include "object.h"

/* The objects of one kind that were made: object.c. */
struct slots {
    uint8_t *base; /* NULL: none was made */
    size_t slot;   /* bytes of each */
    uint32_t next, free, limit;
    uint64_t made; /* by this process, and those whose checkpoints it goes on from */
};
extern struct slots hark_mpi_slots[KINDS];

static inline struct object *hark_mpi_slot(const struct slots *a, uint32_t number)
{
    return (struct object *)(a->base + a->slot * number);
}
/* What a handle stands for; NULL: nothing. */
static inline void *hark_mpi_known(const struct object *o, enum kind kind)
{
    if (__builtin_expect(o->kind == kind, 1)) return o->self;
    return hark_mpi_unknown(o);
}
/* NULL: no such object is there. */
static inline void *hark_mpi_made(const struct slots *a, uint32_t number, enum kind kind)
{
    if (number < HARK_MPI_FIRST_MADE || number >= a->next) return NULL;
    struct object *o = hark_mpi_slot(a, number);
    return o->kind == kind ? o->self : NULL;
}

/* The bits of any handle. */
#if defined(HARK_MPI_MPICH)
#define BITS(handle) ((uintptr_t)(uint32_t)(uintptr_t)(handle))
#else
#define BITS(handle) ((uintptr_t)(handle))
#endif
/* The handle of an object, as a value of this type. */
#define HANDLE(type, object) ((type)(object)->o.handle)

#if defined(HARK_MPI_MPICH)
enum { PREDEFINED_NUMBERS = 256, PREDEFINED_PAIRS = 8 };
extern struct object *hark_mpi_predefined[KINDS][PREDEFINED_NUMBERS];
/* Pairs such as MPI_DOUBLE_INT have the bits of datatypes that are made, and numbers below 8. */
extern struct object *hark_mpi_pairs[PREDEFINED_PAIRS];

static inline void *hark_mpi_find(uintptr_t bits, enum kind kind)
{
    uint32_t number = (uint32_t)bits & 0x3ffffff, which = (uint32_t)bits >> 30;
    if (((uint32_t)bits >> 26 & 15) != (kind == KIND_MESSAGE ? KIND_REQUEST : (uint32_t)kind))
        return NULL;
    if (which == 1) return hark_mpi_predefined[kind][number & 255];
    if (which != 2) return NULL;
    if (kind == KIND_TYPE && number < PREDEFINED_PAIRS) return hark_mpi_pairs[number];
    const struct slots *a = &hark_mpi_slots[kind];
    if (number < HARK_MPI_FIRST_MADE || number >= a->next) return NULL;
    return hark_mpi_known(hark_mpi_slot(a, number), kind);
}
#else
/* A pointer to a slot of the arena. */
static inline void *hark_mpi_pointed(uintptr_t bits, enum kind kind)
{
    const struct slots *a = &hark_mpi_slots[kind];
    uintptr_t offset = bits - (uintptr_t)a->base;
    if (a->base == NULL || offset >= a->slot * a->next || offset % 64) return NULL;
    return hark_mpi_known((struct object *)bits, kind);
}
#if defined(HARK_MPI_OPENMPI)
/* Else the address of a data symbol, whose first word points to the object: other addresses are the
 * program's fault. */
static inline void *hark_mpi_find(uintptr_t bits, enum kind kind)
{
    if (bits < 4096) return NULL;
    const struct slots *a = &hark_mpi_slots[kind];
    if (a->base && bits - (uintptr_t)a->base < a->slot * a->next)
        return hark_mpi_pointed(bits, kind);
    struct object *o = *(struct object *const *)bits;
    return o && o->kind == kind ? o : NULL;
}
#else
enum { PREDEFINED_NUMBERS = 4096 };
extern struct object *hark_mpi_predefined[PREDEFINED_NUMBERS];

static inline void *hark_mpi_find(uintptr_t bits, enum kind kind)
{
    if (bits >= PREDEFINED_NUMBERS) return hark_mpi_pointed(bits, kind);
    struct object *o = hark_mpi_predefined[bits];
    return o && o->kind == kind ? o : NULL;
}
#endif
#endif

#define COMM(handle)       ((struct comm *)hark_mpi_find(BITS(handle), KIND_COMM))
#define GROUP(handle)      ((struct group *)hark_mpi_find(BITS(handle), KIND_GROUP))
#define TYPE(handle)       ((struct type *)hark_mpi_find(BITS(handle), KIND_TYPE))
#define OP(handle)         ((struct op *)hark_mpi_find(BITS(handle), KIND_OP))
#define REQUEST(handle)    ((struct request *)hark_mpi_find(BITS(handle), KIND_REQUEST))
#define ERRHANDLER(handle) ((struct errhandler *)hark_mpi_find(BITS(handle), KIND_ERRHANDLER))
#define INFO(handle)       ((struct info *)hark_mpi_find(BITS(handle), KIND_INFO))
#define MESSAGE(handle)    ((struct message *)hark_mpi_find(BITS(handle), KIND_MESSAGE))
#define WINDOW(handle)     ((struct held *)hark_mpi_find(BITS(handle), KIND_WINDOW))
#define SESSION(handle)    ((struct session *)hark_mpi_find(BITS(handle), KIND_SESSION))
/* Files have pointers as handles in MPICH too. */
#if defined(HARK_MPI_MPICH)
static inline void *hark_mpi_find_file(uintptr_t bits)
{
    struct object *o = (struct object *)bits;
    return o && o->kind == KIND_FILE ? o : NULL;
}
#define FILE_OF(handle) ((struct held *)hark_mpi_find_file((uintptr_t)(handle)))
#else
#define FILE_OF(handle) ((struct held *)hark_mpi_find(BITS(handle), KIND_FILE))
#endif

/* ---- statuses: bytes received, and whether a request was cancelled ----------------------------
 */

#if defined(HARK_MPI_MPICH)
static inline void status_set_bytes(MPI_Status *s, uint64_t bytes)
{
    s->count_lo = (int)(uint32_t)bytes;
    s->count_hi_and_cancelled =
        (int)((uint32_t)(bytes >> 32) << 1 | ((uint32_t)s->count_hi_and_cancelled & 1));
}
static inline uint64_t status_bytes(const MPI_Status *s)
{
    return (uint64_t)((uint32_t)s->count_hi_and_cancelled >> 1) << 32 | (uint32_t)s->count_lo;
}
static inline void status_set_cancelled(MPI_Status *s, bool cancelled)
{
    s->count_hi_and_cancelled = (s->count_hi_and_cancelled & ~1) | cancelled;
}
static inline bool status_cancelled(const MPI_Status *s)
{
    return s->count_hi_and_cancelled & 1;
}
#elif defined(HARK_MPI_OPENMPI)
static inline void status_set_bytes(MPI_Status *s, uint64_t bytes)
{
    s->_ucount = bytes;
}
static inline uint64_t status_bytes(const MPI_Status *s)
{
    return s->_ucount;
}
static inline void status_set_cancelled(MPI_Status *s, bool cancelled)
{
    s->_cancelled = cancelled;
}
static inline bool status_cancelled(const MPI_Status *s)
{
    return s->_cancelled;
}
#else
static inline void status_set_bytes(MPI_Status *s, uint64_t bytes)
{
    s->MPI_internal[0] = (int)(uint32_t)bytes;
    s->MPI_internal[1] = (int)(uint32_t)(bytes >> 32);
}
static inline uint64_t status_bytes(const MPI_Status *s)
{
    return (uint64_t)(uint32_t)s->MPI_internal[1] << 32 | (uint32_t)s->MPI_internal[0];
}
static inline void status_set_cancelled(MPI_Status *s, bool cancelled)
{
    s->MPI_internal[2] = cancelled;
}
static inline bool status_cancelled(const MPI_Status *s)
{
    return s->MPI_internal[2];
}
#endif

#endif
