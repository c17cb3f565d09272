/* coder.h: what the parts of an agent share that make codes of its set's images, and rebuild images
 * by them.
 *
 *   coder.c       what the supervisor and other agents say about codes
 *   generation.c  a generation on the disk: links to images, parity, and a table of what it has
 *   combine.c     what one host has in a stripe, as the sum of what others have
 *   rebuild.c     an image that no host has
 *   coder_task.c  what may take long, by a thread
 *   coder_tell.c  what the supervisor hears
 *   coded.c, code.c   what they are made of
 *
 * On the disk, in the host's own store of the job:
 *
 *     codes/NAME/r7/42      a link to the image: whatever becomes of that, its bytes stay here
 *     codes/NAME/parity0    what this host has of the first stripe in which it holds parity
 *     codes/NAME/table      struct hark_coded, the parities' checksums, and its own
 *     codes/NAME/job        as in any directory store, which this one is too
 *     codes/NAME.new        the same while it is made
 */
#ifndef HARK_AGENT_CODER_H
#define HARK_AGENT_CODER_H

#include <sodium.h>

#include "coded.h"
#include "state.h"

#define HARK_CODER_PIECE (256u << 10) /* bytes of a chunk in a message */

enum hark_check { HARK_CHECK_NOT, HARK_CHECK_RUNS, HARK_CHECK_GOOD, HARK_CHECK_BAD };

struct hark_asker { /* an agent that waits for what the check finds; NULL: a rebuild here */
    struct hark_asker *next;
    struct hark_connection *connection;
};

struct hark_generation {
    struct hark_generation *next;
    struct hark_coder *coder;
    struct hark_coded table;
    char *address[HARK_CODE_MOST];               /* of the agents, while it is made; owned */
    bool kept;                                   /* made, and on the disk */
    bool stale;                                  /* its table there is */
    int fd;                                      /* its directory */
    uint8_t sum[HARK_CODE_MOST][HARK_CODED_SUM]; /* of the parities */
    enum hark_check check;                       /* of all that this host has of it */
    struct hark_asker *asker;
    struct hark_combine *combine; /* that makes parity `making`; NULL: none does */
    uint32_t making;
    int parity_fd;
    crypto_generichash_state hash;
};

struct hark_combine_of { /* bytes begin .. end of a chunk, or of parity */
    uint64_t number, run;
    uint32_t stripe, hosts;
    uint8_t factor[HARK_CODE_MOST];
    char *address[HARK_CODE_MOST]; /* where a factor is not 0; the caller's, until done */
    struct hark_generation *own;   /* that this host has; NULL: none */
    uint64_t begin, end;
    void *self;
    /* In order. False: it can not be kept, and `done` follows. */
    bool (*out)(void *self, uint64_t offset, const uint8_t *at, size_t length);
    void (*done)(void *self, bool whole);
};

struct hark_coder {
    struct agent *a;
    int directory;
    struct hark_generation *generation;
    struct hark_combine *combine;
    struct hark_rebuild *rebuild;
    struct hark_coder_task *task; /* all that run */
    uint32_t tag;                 /* of the last combine, or rebuild */
    bool trouble;                 /* one could not be kept, and it was said; none has been since */
    char cut[HARK_HOST_NAME];     /* the host whose connection ended last while one was made */
    uint64_t apart;               /* uv_now() when one was given up first for that; 0: none since */
    uint32_t failed_rank;         /* of the last rebuild that failed, and was said to */
    uint64_t failed_id;
    /* Checks what this host has of it, if that was not done before; then the asker hears. False: no
     * memory. */
    bool (*check)(
        struct hark_coder *c, struct hark_generation *g, struct hark_connection *connection);
    /* The tasks of a generation are over. */
    void (*checked)(struct hark_coder *c, struct hark_generation *g, bool good);
    void (*finished)(struct hark_coder *c, struct hark_generation *g, bool good);
};

/* generation.c */
char *hark_generation_path(const struct agent *a, const struct hark_coded *g, const char *behind);
struct hark_generation *hark_generation_find(
    const struct hark_coder *c, uint64_t number, uint64_t run);
/* Of a table, which it takes over; links the images, and fills in their lengths and checksums.
 * NULL: it can not, and the caller still has the table. */
struct hark_generation *hark_generation_new(struct hark_coder *c, struct hark_coded *table);
/* Reads what is on the disk; false after a line: it is damaged, and removed. */
bool hark_generation_load(struct hark_coder *c, const char *name);
/* What this host has there, at most `length` bytes; behind what is returned are zeros only. -1: it
 * can not be read. */
ssize_t hark_generation_piece(const struct hark_generation *g, uint32_t stripe, uint64_t offset,
    uint32_t length, uint8_t *at);
void hark_generation_parity_name(char name[32], uint32_t parity);
/* The bytes of its table's file; to be freed; NULL: no memory. */
uint8_t *hark_generation_table(const struct hark_generation *g, size_t *length);
/* Into the directory, durably. */
bool hark_generation_write(int directory, const uint8_t *table, size_t length);
/* Forgets it; `remove`: from the disk too. */
void hark_generation_end(struct hark_coder *c, struct hark_generation *g, bool remove);

/* combine.c */
/* NULL: no memory. done() is not called before it returns. */
struct hark_combine *hark_combine_begin(struct hark_coder *c, const struct hark_combine_of *of);
void hark_combine_end(struct hark_coder *c, struct hark_combine *x); /* without done() */
void hark_combine_forget(struct hark_coder *c, const struct hark_generation *g); /* it ends */
void hark_combine_go_on(struct hark_coder *c);
void hark_combine_cut(struct hark_coder *c, const char *address);
void hark_combine_piece(struct hark_coder *c, struct hark_control *m); /* PIECE */

/* rebuild.c */
void hark_rebuild_go_on(struct hark_coder *c);
void hark_rebuild_cut(struct hark_coder *c, const char *address);
void hark_rebuild_table(struct hark_coder *c, struct hark_control *m); /* CODED_IS */
/* The check of what this host has is over. */
void hark_rebuild_checked(struct hark_coder *c, struct hark_generation *g);
/* Those of images behind that one end, and nobody hears of it. */
void hark_rebuild_undo(struct hark_coder *c, uint32_t rank, uint64_t above);
void hark_rebuild_end_all(struct hark_coder *c);

/* coder_tell.c */
void hark_coder_tell(struct agent *a, uint64_t number, uint64_t run, uint32_t status);
void hark_coder_say_trouble(struct hark_coder *c, const char *why);     /* a line, once */
void hark_coder_tell_gone(struct agent *a, uint32_t rank, uint64_t id); /* an image */
/* coder_task.c: false: no memory */
bool hark_coder_task_check(struct hark_coder *c, const struct hark_generation *g);
bool hark_coder_task_finish(struct hark_coder *c, const struct hark_generation *g);
void hark_coder_tasks_part(struct hark_coder *c, bool remove); /* nobody waits for them any more */

#endif
