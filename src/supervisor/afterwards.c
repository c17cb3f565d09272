/* afterwards.c: what comes after the end of a job, between hark_finalize and the end of each
 * process: the store says in the file `status` how that went, so that a run that resumes the job
 * does not end as if all had been well. Before the record says that the job is done the file says
 * `running`; when all processes have ended with status 0 it is removed, else it has the exit
 * status. */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store_file.h"

#define FILE_NAME "status"

void hark_sup_afterwards_begin(struct supervisor *s)
{
    if (s->o->store) (void)unlinkat(s->store_fd, FILE_NAME, 0);
}

/* Both are durable when it returns, the file and that it is there. 0, or an errno. */
static int put(struct supervisor *s, const char *text)
{
    hark_sup_away(s);
    FILE *f = hark_sup_store_stream(s->store_path, FILE_NAME, "w");
    bool ok = f && fputs(text, f) >= 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    ok = ok && fsync(s->store_fd) == 0;
    const int why = errno;
    if (f && fclose(f) < 0) ok = false;
    hark_sup_back(s);
    return ok ? 0 : why ? why : EIO;
}

void hark_sup_afterwards_say(const struct supervisor *s, int why)
{
    if (why == 0) return;
    hark_sup_say("store %s: " FILE_NAME ": %s; a run with --resume would not know how the "
                 "processes have ended after the job was done",
        s->o->store, hark_sup_store_file_why(why));
}

int hark_sup_afterwards_finishing(struct supervisor *s)
{
    return s->o->store && !s->store_gone ? put(s, "running\n") : 0;
}

void hark_sup_afterwards_ended(struct supervisor *s, int status)
{
    char text[16];
    if (s->o->store == NULL || s->store_gone) return;
    snprintf(text, sizeof text, "%d\n", status);
    if (status) hark_sup_afterwards_say(s, put(s, text));
    else if (unlinkat(s->store_fd, FILE_NAME, 0) == 0) (void)fsync(s->store_fd);
}

int hark_sup_afterwards(const struct supervisor *s)
{
    int status;
    FILE *f = hark_sup_store_stream(s->store_path, FILE_NAME, "r");
    if (f == NULL) return errno == ENOENT ? 0 : HARK_SUP_NOT_ENDED;
    if (fscanf(f, "%d", &status) != 1 || status <= 0 || status > 255) status = HARK_SUP_NOT_ENDED;
    fclose(f);
    return status;
}
