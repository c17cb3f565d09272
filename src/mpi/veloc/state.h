/* state.h: what VELOC's interface remembers, and what its files ask of each other. */
#ifndef HARK_MPI_VELOC_STATE_H
#define HARK_MPI_VELOC_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hark/app.h"

#pragma weak hark_rank
#pragma weak hark_protect
#pragma weak hark_checkpoint
#pragma weak hark_restarted
#pragma weak hark_saved
#pragma weak hark_app_error

/* As in veloc.h, which needs an mpi.h. */
enum { SUCCESS = 0, FAILURE = -1 };
enum { MAX_NAME = 1024 };
enum selection { SELECT_ALL, SELECT_SOME, SELECT_REST };
#define PUBLIC __attribute__((visibility("default"))) /* NOLINT */

/* Regions of hark: the high half tells them from those that the program protects itself. */
#define REGION_OF(id) (UINT64_C(0x76656c6f) << 32 | (uint32_t)(id))
#define CONTENTS      (UINT64_C(0x76656c70) << 32)
#define FILE_BYTES    (CONTENTS + 1)

struct region {
    int id;
    void *at;
    size_t length;
    char *name; /* of the checkpoints that it belongs to; "": of all */
};

/* A region of its own in each image: what is in it. Then come the ids. */
struct contents {
    char name[MAX_NAME];
    int32_t version;
    uint32_t ids;
    uint32_t has_file; /* which may be empty, as no region is */
    int32_t id[];
};

/* Said here, for a build by clang has no such flag: it would hide the weak names above, too. */
#pragma GCC visibility push(hidden)

extern struct veloc {
    bool open;
    struct region *region;
    size_t count;
    enum phase { IDLE, CHECKPOINTING, RESTARTING } phase;
    char name[MAX_NAME]; /* of the phase */
    int version;
    int file;    /* of the phase: a memfd; -1: none */
    bool asked;  /* hark_restarted was called */
    bool failed; /* a part of the restart */
    /* What hark has now as regions of ours. */
    struct contents *contents;
    void *mapped;
    size_t mapped_length;
    /* That which was restored, until the next checkpoint call. */
    char restored_name[MAX_NAME];
    int restored;
} hark_veloc;

/* ---- veloc.c --------------------------------------------------------------------------------- */

/* A line on stderr; FAILURE. */
__attribute__((format(printf, 2, 3))) int hark_veloc_fail(
    const char *call, const char *format, ...);
int hark_veloc_no_memory(const char *call);
#define NEED_OPEN()                                                                                \
    do {                                                                                           \
        if (!hark_veloc.open) return hark_veloc_fail(__func__, "call VELOC_Init first");           \
    } while (0)

int hark_veloc_check_name(const char *call, const char *name, int version);
int hark_veloc_begin_phase(const char *call, enum phase phase, const char *name, int version);
void hark_veloc_end_phase(void);
/* The program goes on as if it had asked whether there is a checkpoint, or has what it wanted. */
int hark_veloc_finish_beginning(const char *call);
/* Of the image that this process starts again from; NULL: there is none, or it is done with. */
const struct contents *hark_veloc_saved_contents(void);

/* ---- region.c -------------------------------------------------------------------------------- */

/* Where it is in the list; its end: it is not protected. */
size_t hark_veloc_place_of(int id, const char *name);
void hark_veloc_remove_region(size_t i);
/* The group of regions that checkpoints with the name of the phase have. */
const char *hark_veloc_group_of_phase(void);
bool hark_veloc_selected(int mode, const int *ids, int count, int id);
int hark_veloc_check_selection(const char *call, int mode, const int *ids, int count);

/* ---- checkpoint.c ---------------------------------------------------------------------------- */

/* What hark has of ours goes, until the next checkpoint call. */
void hark_veloc_withdraw(void);

#pragma GCC visibility pop

#endif
