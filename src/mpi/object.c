/* Handles: objects that programs make are numbered, where handles are numbers, and for Fortran. */
#include "internal.h"

struct handle_table hark_mpi_table[KINDS];

/* The lowest free number from 8 on: below are MPICH's predefined pairs. */
static uint32_t number_for(struct handle_table *t)
{
    enum { FIRST = 8 };
    uint32_t i = t->free < FIRST ? FIRST : t->free;
    while (i < t->room && t->at[i]) i++;
    if (i < t->room) return i;
    uint32_t room = t->room ? t->room * 2 : 64;
    struct object **at = realloc(t->at, room * sizeof *at);
    if (at == NULL) hark_mpi_fatal(1, "no memory for a handle");
    memset(at + t->room, 0, (room - t->room) * sizeof *at);
    t->at = at;
    t->room = room;
    return i;
}

static void enter(struct object *o)
{
    struct handle_table *t = &hark_mpi_table[o->kind];
    o->number = number_for(t);
    t->at[o->number] = o;
    t->free = o->number + 1;
}

static void begin(struct object *o, enum kind kind)
{
    o->self = o;
    o->kind = kind;
    o->references = 1;
#if defined(HARK_MPI_MPICH)
    enter(o);
    o->handle = 2u << 30 | (kind == KIND_MESSAGE ? KIND_REQUEST : (uint32_t)kind) << 26 | o->number;
    if (kind == KIND_FILE) o->handle = (uintptr_t)o;
#else
    o->handle = (uintptr_t)o;
#endif
}

void *hark_mpi_new(enum kind kind, size_t size)
{
    struct object *o = calloc(1, size);
    if (o == NULL) hark_mpi_fatal(1, "no memory for an object of %zu bytes", size);
    begin(o, kind);
    return o;
}

void hark_mpi_own(struct object *o, enum kind kind)
{
    begin(o, kind);
    o->predefined = true;
}

void hark_mpi_delete(struct object *o)
{
    struct handle_table *t = &hark_mpi_table[o->kind];
    if (o->number) {
        t->at[o->number] = NULL;
        if (o->number < t->free) t->free = o->number;
    }
    o->self = NULL;
    o->kind = 0;
    free(o);
}

#if defined(HARK_MPI_MPICH)
struct object *hark_mpi_predefined[KINDS][PREDEFINED_NUMBERS];

void hark_mpi_predefine(struct object *o, enum kind kind, uintptr_t handle)
{
    struct handle_table *t = &hark_mpi_table[kind];
    uint32_t bits = (uint32_t)handle;
    *o = (struct object){o, bits, kind, 1, 0, true};
    if (bits >> 30 == 1) {
        hark_mpi_predefined[kind][bits & 255] = o;
    } else {
        if (t->room == 0) (void)number_for(t);
        t->at[bits & 255] = o;
    }
}

void *hark_mpi_numbered(enum kind kind, int number)
{
    return hark_mpi_find((uint32_t)number, kind);
}
#else
#if defined(HARK_MPI_ABI)
struct object *hark_mpi_predefined[PREDEFINED_NUMBERS];
#endif

void hark_mpi_predefine(struct object *o, enum kind kind, uintptr_t handle)
{
    *o = (struct object){o, handle, kind, 1, 0, true};
#if defined(HARK_MPI_ABI)
    hark_mpi_predefined[handle] = o;
#else
    *(struct object **)handle = o;
#endif
}

void *hark_mpi_numbered(enum kind kind, int number)
{
    struct handle_table *t = &hark_mpi_table[kind];
    return number > 0 && (uint32_t)number < t->room ? t->at[number] : NULL;
}
#endif
