/* Objects lie in arenas, one for each kind, in slots that are numbered. An arena is at the same
 * address in each incarnation of a process, if that is free: then a handle that a program has saved
 * in a checkpoint still is the handle of that object. A number is a handle of Fortran, too. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "internal.h"

struct slots hark_mpi_slots[KINDS];

#define ARENA_BYTES ((size_t)1 << 30)
/* Far from where Linux puts programs, libraries and stacks. */
#define ARENA_PLACE ((uintptr_t)0x5a0000000000)

void hark_mpi_slots_open(enum kind kind, size_t size)
{
    struct slots *a = &hark_mpi_slots[kind];
    if (a->base) return;
    void *place = (void *)(ARENA_PLACE + kind * ARENA_BYTES);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = mmap(place, ARENA_BYTES, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == MAP_FAILED) at = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED)
        hark_mpi_fatal(
            1, "no room for %zu bytes of addresses (ulimit -v?): %s", ARENA_BYTES, strerror(errno));
    a->base = at;
    a->slot = (size + 63) & ~(size_t)63;
    a->next = HARK_MPI_FIRST_MADE;
    a->limit = (uint32_t)(ARENA_BYTES / a->slot);
}

/* A slot that was given back last comes first: it is in the cache. */
static uint32_t take_number(struct slots *a)
{
    uint32_t number = a->free;
    if (number) {
        a->free = hark_mpi_slot(a, number)->number;
        return number;
    }
    if (a->next == a->limit)
        hark_mpi_fatal(
            1, "there are %u objects of one kind: free some", a->limit - HARK_MPI_FIRST_MADE);
    return a->next++;
}

static uintptr_t handle_of(struct object *o)
{
#if defined(HARK_MPI_MPICH)
    uint32_t kind = o->kind == KIND_MESSAGE ? KIND_REQUEST : o->kind;
    if (o->kind != KIND_FILE) return 2u << 30 | kind << 26 | o->number;
#endif
    return (uintptr_t)o;
}

static void *begin(struct slots *a, enum kind kind, uint32_t number, size_t size)
{
    struct object *o = hark_mpi_slot(a, number);
    if (size > a->slot)
        hark_mpi_fatal(
            1, "an object of kind %d has %zu bytes, and its slot %zu", (int)kind, size, a->slot);
    memset(o, 0, size);
    o->self = o;
    o->kind = kind;
    o->references = 1;
    o->number = number;
    o->handle = handle_of(o);
    return o;
}

void *hark_mpi_new(enum kind kind, size_t size)
{
    struct slots *a = &hark_mpi_slots[kind];
    hark_mpi_slots_open(kind, size);
    struct object *o = begin(a, kind, take_number(a), size);
    o->serial = ++a->made;
    return o;
}

struct object *hark_mpi_new_at(enum kind kind, uint32_t number, uint64_t serial)
{
    struct slots *a = &hark_mpi_slots[kind];
    if (number < HARK_MPI_FIRST_MADE || number >= a->limit)
        hark_mpi_fatal(1, "the checkpoint has an object with the number %u", number);
    /* Slots up to it that nothing was in are zeroes: the arena is new memory. */
    if (number >= a->next) a->next = number + 1;
    struct object *o = begin(a, kind, number, a->slot);
    o->serial = serial;
    o->is_new = true;
    return o;
}

/* Objects were made at numbers that were free, others have gone: the list of free ones again. */
void hark_mpi_slots_restored(void)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct slots *a = &hark_mpi_slots[kind];
        a->free = 0;
        for (uint32_t number = a->next; number-- > HARK_MPI_FIRST_MADE;) {
            struct object *o = hark_mpi_slot(a, number);
            if (o->kind) continue;
            o->number = a->free;
            a->free = number;
        }
    }
}

bool hark_mpi_restoring;

void *hark_mpi_unknown(const struct object *o)
{
    if (o->kind != KIND_LOST || hark_mpi_restoring) return NULL;
    const char *name = ((const struct type *)o)->name;
    hark_mpi_fatal(1,
        "the program uses the datatype%s%s, which it made after hark_restarted, and this process "
        "went back to a checkpoint, which holds no datatypes: make it before hark_restarted",
        name[0] ? " " : "", name);
}

void hark_mpi_delete(struct object *o)
{
    struct slots *a = &hark_mpi_slots[o->kind];
    uint32_t number = o->number;
    o->self = NULL;
    o->kind = 0;
    o->number = a->free;
    a->free = number;
}

/* A static object gets a slot that stands for it. */
void hark_mpi_own(struct object *o, enum kind kind, size_t size)
{
    struct object *slot = hark_mpi_new(kind, size);
    *o = *slot;
    o->predefined = true;
    slot->self = o;
}

#if defined(HARK_MPI_MPICH)
struct object *hark_mpi_predefined[KINDS][PREDEFINED_NUMBERS];
struct object *hark_mpi_pairs[PREDEFINED_PAIRS];
#elif defined(HARK_MPI_ABI)
struct object *hark_mpi_predefined[PREDEFINED_NUMBERS];
#endif

void hark_mpi_predefine(struct object *o, enum kind kind, uintptr_t handle)
{
    *o = (struct object){
        .self = o, .handle = handle, .kind = kind, .references = 1, .predefined = true};
#if defined(HARK_MPI_MPICH)
    if (handle >> 30 == 1) hark_mpi_predefined[kind][handle & 255] = o;
    else hark_mpi_pairs[handle & 7] = o;
#elif defined(HARK_MPI_ABI)
    hark_mpi_predefined[handle] = o;
#else
    *(struct object **)handle = o;
#endif
}

void *hark_mpi_numbered(enum kind kind, int number)
{
#if defined(HARK_MPI_MPICH)
    return hark_mpi_find((uint32_t)number, kind);
#else
    const struct slots *a = &hark_mpi_slots[kind];
    if (number < HARK_MPI_FIRST_MADE || (uint32_t)number >= a->next) return NULL;
    return hark_mpi_known(hark_mpi_slot(a, (uint32_t)number), kind);
#endif
}
