/* Memory of MPI_Alloc_mem. It lies at the same addresses in each incarnation of a process, for it
 * comes from an arena at a fixed place, in which nothing but the calls of the program decides what
 * lies where: programs attach it to windows and send its addresses. Memory of malloc lies where the
 * C library puts it, between what hark itself allocates. */
#include <sys/mman.h>

#include "internal.h"

/* The arena lies at higher addresses than those of object.c. */
#define PLACE ((uintptr_t)0x5b0000000000)
#define ROOM  ((size_t)64 << 30)

/* The sizes of pieces grow by a quarter of a power of two. A freed piece is used again for a piece
 * of the same size. */
enum { ALIGNMENT = 64, STEPS = 4, BINS = 64 * STEPS, LARGE = 1 << 20 };
enum { MAGIC = 0x6d656d };

struct piece {
    struct piece *next; /* the next free piece of the bin */
    size_t size;        /* bytes of `memory` */
    unsigned bin, magic;
    _Alignas(ALIGNMENT) uint8_t memory[];
};

static struct {
    uint8_t *base; /* NULL: there is none yet */
    size_t used, open;
    bool is_elsewhere; /* the place was taken, or there is no arena at all */
    struct piece *free[BINS];
} arena;

static void open_arena(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *at = mmap((void *)PLACE, ROOM, PROT_NONE, flags, -1, 0);
    arena.is_elsewhere = at != (void *)PLACE;
    if (at != MAP_FAILED && arena.is_elsewhere) munmap(at, ROOM); /* an old kernel */
    if (!arena.is_elsewhere) arena.base = at;
}

static bool is_of_arena(const void *at)
{
    return arena.base && (uintptr_t)at - (uintptr_t)arena.base < ROOM;
}

bool hark_mpi_memory_stays(const void *at)
{
    return is_of_arena(at);
}

/* The bin of a piece for `bytes` bytes, and in *size the bytes that each piece of the bin has. */
static unsigned bin_of(size_t bytes, size_t *size)
{
    unsigned bin = 0;
    *size = ALIGNMENT;
    for (size_t power = ALIGNMENT; *size < bytes; bin++) {
        size_t step = power / STEPS > ALIGNMENT ? power / STEPS : ALIGNMENT;
        *size += step;
        if (*size >= 2 * power) power = *size;
    }
    return bin;
}

/* Makes the arena accessible up to `end`. False: there is no memory. */
static bool reach(size_t end)
{
    enum { STEP = 1 << 20 };
    size_t open = (end + STEP - 1) / STEP * STEP;
    if (end <= arena.open) return true;
    if (open > ROOM ||
        mprotect(arena.base + arena.open, open - arena.open, PROT_READ | PROT_WRITE) < 0)
        return false;
    arena.open = open;
    return true;
}

static void *take(size_t bytes)
{
    size_t size;
    if (arena.base == NULL && !arena.is_elsewhere) open_arena();
    if (arena.base == NULL || bytes > ROOM / 2) return NULL;
    unsigned bin = bin_of(bytes, &size);
    struct piece *b = arena.free[bin];
    if (b) {
        arena.free[bin] = b->next;
    } else {
        b = (struct piece *)(arena.base + arena.used);
        if (!reach(arena.used + sizeof *b + size)) return NULL;
        arena.used += sizeof *b + size;
    }
    *b = (struct piece){NULL, size, bin, MAGIC};
    return b->memory;
}

static bool give_back(void *at)
{
    struct piece *b = (struct piece *)((uint8_t *)at - offsetof(struct piece, memory));
    if ((uintptr_t)at % ALIGNMENT || (uint8_t *)b < arena.base || b->magic != MAGIC) return false;
    b->magic = 0;
    b->next = arena.free[b->bin];
    arena.free[b->bin] = b;
    /* Of a large one the pages within. */
    uintptr_t from = ((uintptr_t)at + 4095) & ~(uintptr_t)4095,
              end = ((uintptr_t)at + b->size) & ~(uintptr_t)4095;
    if (b->size >= LARGE) (void)madvise((void *)from, end - from, MADV_DONTNEED);
    return true;
}

/* Beyond the arena memory of malloc. */
PUBLIC(Alloc_mem)
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *base)
{
    (void)info;
    NEED(NULL, size >= 0 && base, MPI_ERR_ARG, "the size is negative, or base is NULL");
    size_t bytes = size ? (size_t)size : 1;
    void *at = take(bytes);
    if (at == NULL) at = malloc(bytes);
    NEED(NULL, at, MPI_ERR_NO_MEM, "no memory for %lld bytes", (long long)size);
    memcpy(base, &at, sizeof at);
    return MPI_SUCCESS;
}

PUBLIC(Free_mem)
int PMPI_Free_mem(void *base)
{
    if (!is_of_arena(base)) free(base);
    else
        NEED(NULL, give_back(base), MPI_ERR_BASE, "%p is no memory of MPI_Alloc_mem, or was freed",
            base);
    return MPI_SUCCESS;
}
