/* local.h: one process of a job on this host: it is started, heard, told, signalled and buried.
 *
 * It has a socket for control messages (src/control/control.h) and two pipes for what it prints.
 * Its end is confirmed by waitpid, as is that of a wrapper around the program.
 */
#ifndef HARK_AGENT_LOCAL_H
#define HARK_AGENT_LOCAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "janitor.h"

enum hark_pipe { HARK_PIPE_CONTROL, HARK_PIPE_OUT, HARK_PIPE_ERR, HARK_PIPES };

struct hark_local_events {
    /* It has said or printed `length` bytes. */
    void (*taken)(void *self, enum hark_pipe line, const uint8_t *at, size_t length);
    /* Is there no room now for more of what it prints? Then it is paused: its pipe fills, and it
     * waits. */
    bool (*full)(void *self, enum hark_pipe line);
    /* The loop has read from this line; `ended`: there will be no more. */
    void (*stirred)(void *self, enum hark_pipe line, bool ended);
};

struct hark_local_line;
struct hark_local { /* all zero but the first four: it does not run */
    uv_loop_t *loop;
    struct hark_janitor *janitor;
    const struct hark_local_events *events;
    void *self;
    pid_t pid;            /* 0: it does not run */
    bool lacks_directory; /* that is why it could not be started */
    struct hark_local_line *line[HARK_PIPES];
    uint8_t *out; /* control bytes to be written; owned, hark_local_free() */
    size_t out_length, out_room;
};

/* What is started, and with what. Valid during the call. */
struct hark_local_program {
    char *const *argv;
    const char *file;         /* looked up in PATH if it has no slash; NULL: argv[0] */
    const char *directory;    /* NULL: ours */
    char *const *environment; /* "NAME=VALUE" beside or instead of what is in ours; NULL: nothing */
    const char *preload;      /* libraries before those of LD_PRELOAD; NULL: none */
    bool same_addresses;      /* without address randomization, where the system permits that */
    int input;                /* descriptor that becomes its standard input; -1: /dev/null */
    int inherited[3];         /* descriptors that it gets under the same numbers; -1: none */
    const sigset_t *ignored;  /* signals that it ignores from its start */
};

/* 0, or an errno: then nothing runs. */
int hark_local_start(struct hark_local *p, const struct hark_local_program *program);
/* Reads what has come on a line; not `all`: as long as there is room for it. */
void hark_local_drain(struct hark_local *p, enum hark_pipe line, bool all);
/* Reads on where it was paused, if there is room now. */
void hark_local_resume(struct hark_local *p);
bool hark_local_left(const struct hark_local *p); /* it has closed its control socket */
/* And it does not die just now: it has closed that by itself. Of a wrapper it says nothing. */
bool hark_local_lives_on(const struct hark_local *p);
/* Bytes for its control socket; in vain if it is dying. False: no memory for them. */
bool hark_local_tell(struct hark_local *p, const void *at, size_t length);
/* To it, or with `group` also to all that it has started in its process group. */
void hark_local_signal(const struct hark_local *p, int number, bool group);
/* To the program, which may be another process than ours behind a wrapper (0: it is ours), if it
 * catches or ignores it, or waits for it blocked: by its default action it would die of it. True:
 * it does. */
bool hark_local_pass(const struct hark_local *p, pid_t program, int number);
bool hark_local_is_dead(const struct hark_local *p); /* also when it is not buried yet, or never ran
                                                      */
/* Of a dead one: kills what it has started, reads all its last words, and forgets it. Its wait
 * status. */
int hark_local_bury(struct hark_local *p);
void hark_local_free(struct hark_local *p); /* of one that does not run: its memory */

#endif
