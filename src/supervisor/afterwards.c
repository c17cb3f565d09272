/* afterwards.c: a job that is done and has failed after that, in a process that ends with another
 * status than 0, for example: the store says it, in the file `status`, so that a run that resumes
 * the job does not end as if all had been well. It has the exit status, and a newline. */
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

void hark_sup_afterwards_failed(struct supervisor *s, int status)
{
    FILE *f = hark_sup_store_stream(s->store_path, FILE_NAME, "w");
    bool ok = f && fprintf(f, "%d\n", status) > 0 && fflush(f) == 0 && fsync(fileno(f)) == 0;
    const int why = errno;
    if (f && fclose(f) < 0) ok = false;
    if (ok) return;
    hark_sup_say("store %s: " FILE_NAME ": %s; a run with --resume would not know that the job has "
                 "failed after its end",
        s->o->store, hark_sup_store_file_why(why));
}

int hark_sup_afterwards(const struct supervisor *s)
{
    int status;
    FILE *f = hark_sup_store_stream(s->store_path, FILE_NAME, "r");
    if (f == NULL && errno == ENOENT) return 0;
    if (f == NULL || fscanf(f, "%d", &status) != 1 || status <= 0 || status > 255) status = 1;
    if (f) fclose(f);
    return status;
}
