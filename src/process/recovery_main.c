/* The recovery process: a core, a transport, and the supervisor's announcements; nothing else. */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "process.h"

static void none_handup(void *self, struct hark_message *m)
{
    (void)self;
    (void)m; /* it gets no application messages: the core hands nothing up */
}
static void none(void *self)
{
    (void)self;
}
static int none_capture(void *self, uint64_t id, const struct hark_region **region, uint32_t *count)
{
    (void)self;
    (void)id;
    (void)region;
    (void)count;
    return -1;
}
static void none_rollback(void *self, uint64_t id)
{
    (void)self;
    (void)id;
}

int hark_recovery_main(void)
{
    struct hark_hooks hooks = {.handup = none_handup,
        .resume = none,
        .capture = none_capture,
        .recovered = none,
        .rollback = none_rollback};
    /* What a terminal or a batch system sends to all is not for it: it ends with the job. */
    const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "hark-recovery"); /* in ps */
    hark_process_open(&hooks, true);
    hark_process_hello(0, 0, NULL, 0);
    while (!hark_process.all_done) hark_process_wait();
    hark_process_close();
    return 0;
}
