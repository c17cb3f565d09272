/* one_run.c: a job has one run at a time, which holds a lock on its store until even the janitor is
 * done. Another one that stands by waits for it. The file `runs` says who it is, and is there after
 * its end if it did not end by itself. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../store/lock.h"
#include "store_file.h"

#define LOCK_MS    3000 /* so long the janitor of a killed run may hold its store */
#define LOOK_MS    50   /* a lock can not be waited for with a limit */
#define STANDBY_MS 200
#define FILE_NAME  "runs"
#define WHO        100

static bool who_runs(const struct supervisor *s, char who[WHO])
{
    const int fd = hark_sup_store_file(s->store_path, FILE_NAME, O_RDONLY);
    const ssize_t n = fd >= 0 ? read(fd, who, WHO - 1) : -1;
    if (fd >= 0) close(fd);
    who[n > 0 ? n : 0] = 0;
    who[strcspn(who, "\n")] = 0;
    for (char *c = who; *c; c++)
        if (*c < ' ' || *c > '~') *c = '?';
    return n >= 0;
}

static int no_lock(const struct supervisor *s, const char *why)
{
    hark_sup_say("store %s: %s", s->o->store, why);
    return 2;
}

/* A directory that is no store, in which nothing is to be left. */
static bool is_foreign(int root)
{
    /* in this order: what is found may be a store that another run makes just now */
    return hark_store_has_entries(root) != 0 && faccessat(root, "job", F_OK, 0) != 0;
}

int hark_sup_lock_store(struct supervisor *s, int (*fits)(const struct supervisor *s))
{
    char who[WHO], text[WHO + 40];
    bool waits = false, seen = false;
    const int root = open(s->store_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return no_lock(s, strerror(errno));
    const bool foreign = is_foreign(root);
    close(root);
    if (foreign) return 0; /* and is refused when it is opened */
    /* NFS locks what may be written */
    s->lock = hark_sup_store_file(s->store_path, HARK_STORE_LOCK, O_RDWR | O_CREAT);
    if (s->lock < 0) {
        snprintf(text, sizeof text, HARK_STORE_LOCK ": %s", hark_sup_store_file_why(errno));
        return no_lock(s, text);
    }
    for (int waited = 0; flock(s->lock, LOCK_EX | LOCK_NB) < 0; waited += LOOK_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR) return no_lock(s, strerror(errno));
        const bool long_enough = waited >= LOCK_MS, known = who_runs(s, who) && who[0];
        if (known && !seen && s->o->standby && fits(s) != 0) return 2;
        seen |= known; /* one that dies while it begins has not said so yet */
        if (long_enough && !s->o->standby) {
            snprintf(text, sizeof text, "another run is using it%s%s", known ? ": " : "",
                known ? who : "");
            return no_lock(s, text);
        }
        if (long_enough && !waits) {
            hark_sup_say("store %s: %s runs the job; this one waits, to take its place",
                s->o->store, known ? who : "another run");
            waits = true;
        }
        (void)poll(NULL, 0, waits ? STANDBY_MS : LOOK_MS);
    }
    s->ended_before = s->o->standby && seen && !who_runs(s, who);
    return 0;
}

int hark_sup_one_run_begins(struct supervisor *s)
{
    char host[64] = "", text[WHO];
    if (s->o->store == NULL) return 0;
    (void)gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "process %" PRId64 " on host %s\n", (int64_t)getpid(), host);
    const int fd = hark_sup_store_file(s->store_path, FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC);
    const bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    const int why = errno;
    if (fd >= 0) close(fd);
    s->one_run = fd >= 0;
    if (written) return 0;
    hark_sup_say("store %s: " FILE_NAME ": %s", s->o->store, hark_sup_store_file_why(why));
    return 2;
}

void hark_sup_one_run_ends(struct supervisor *s)
{
    if (s->one_run) (void)unlinkat(s->store_fd, FILE_NAME, 0);
}
