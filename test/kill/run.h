/* run.h: runs the command, or the supervisor, in a process of its own, and sees what it leaves. */
#ifndef HARK_TEST_KILL_RUN_H
#define HARK_TEST_KILL_RUN_H

#include <stdbool.h>
#include <sys/types.h>

struct run {
    char place[256];             /* a directory for the test's files */
    char temporary[300];         /* within: TMPDIR of what is run; must be empty at the end */
    char out[65536], err[65536]; /* what it printed */
    int status;                  /* its exit status, or 256 + the signal that ended it */
    pid_t pid;
    bool running;          /* it has not been waited for */
    long gone_ms;          /* so long after its end nothing was left */
    long gone_limit;       /* ms; 0: 2000 */
    void (*prepare)(void); /* in the new process, before the command is executed; NULL: nothing */
};

/* For cmocka: *state is a struct run. The process becomes the one to which orphans go, so that none
 * is missed. */
int run_setup(void **state);
int run_teardown(void **state);

/* Starts `argv`, a list that ends with NULL. */
void run_start(struct run *r, const char *const argv[]);
/* Starts main(argument) in a process. */
void run_start_main(struct run *r, int (*main)(void *argument), void *argument);
/* Waits until a file named so is there, in r->place. */
void run_wait_for(const struct run *r, const char *name);
/* Waits until `text` is in that file. */
void run_wait_for_text(const struct run *r, const char *name, const char *text);
/* Waits until that process is stopped, or is not any more. */
void run_wait_for_state(pid_t pid, bool stopped);
/* Makes an empty file of that name in r->place. */
void run_make(const struct run *r, const char *name);
/* Waits for its end, and then that nothing is left: no process, no segment, no file. */
void run_end(struct run *r);
void run_command(struct run *r, const char *const argv[]);

void run_expect_out(const struct run *r, const char *text);
void run_expect_lines(const struct run *r, const char *const lines[]); /* stdout, in any order */
void run_expect_err(const struct run *r, const char *text);            /* somewhere in stderr */
/* Reads a file of r->place; to be freed. */
char *run_read(const struct run *r, const char *name);

#endif
