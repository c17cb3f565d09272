/* pace.c: a program whose steps a test lets go on, so that a job does not end before what is to
 * happen to it has happened. Its calls of hark_restarted and hark_checkpoint come here, since both
 * files are compiled with other names for them. Before each STEPS calls of hark_checkpoint it waits
 * until the file $PACE has a byte more; without PACE, or with an empty one, it does not wait. */
#undef hark_restarted
#undef hark_checkpoint
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "hark/app.h"

int paced_restarted(uint64_t *restarted);
int paced_checkpoint(void);

enum { STEPS = 4, REGION = 1000 };

static int64_t steps; /* of the program: it goes back with it */

int paced_restarted(uint64_t *restarted)
{
    const int status = hark_protect(REGION, &steps, sizeof steps);
    return status < 0 ? status : hark_restarted(restarted);
}

int paced_checkpoint(void)
{
    const char *path = getenv("PACE");
    const struct timespec t = {.tv_nsec = 1000000};
    struct stat st;
    if (path && *path && steps % STEPS == 0)
        while (stat(path, &st) < 0 || st.st_size <= steps / STEPS) nanosleep(&t, NULL);
    steps++;
    return hark_checkpoint();
}
