/* behind.c: rank 1 has sent A, B and C, which lie in an image of rank 0 and are not received yet.
 * Rank 0 receives B, by its tag, sees C if that is asked for, tells rank 2 so, and dies, once. Its
 * next self waits for B already when the last is told of its failure: then B is taken in the midst
 * of what is handed up, and A comes before C all the same.  behind [look]; with PLACE, a folder */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

enum { ROUNDS = 6, A = 1, B, C, TOLD };

static bool looks;

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("%s: %s\n", call, hark_app_error(status));
    exit(1);
}

static const char *path(const char *name)
{
    static char text[600];
    snprintf(text, sizeof text, "%s/%s", getenv("PLACE"), name);
    return text;
}

static bool make(const char *name)
{
    int fd = open(path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void wait_for(const char *name)
{
    while (access(path(name), F_OK) < 0) (void)poll(NULL, 0, 1);
}

static void receives(void)
{
    struct hark_info info;
    int got[3], tag;
    bool found = false;
    if (access(path("died"), F_OK) == 0) make("again");
    check(hark_recv(&got[0], sizeof got[0], 1, B, NULL), "hark_recv");
    if (looks) check(hark_probe(1, C, &info), "hark_probe");
    tag = looks ? info.tag : 0;
    check(hark_send(&tag, sizeof tag, 2, TOLD), "hark_send");
    if (access(path("died"), F_OK) < 0) {
        wait_for("told");
        make("died");
        raise(SIGKILL);
    }
    if (looks) check(hark_iprobe(1, HARK_ANY_TAG, &found, &info), "hark_iprobe");
    if (looks) printf("sees %d\n", found ? info.tag : -1);
    for (int i = 1; i < 3; i++)
        check(hark_recv(&got[i], sizeof got[i], 1, HARK_ANY_TAG, NULL), "hark_recv");
    printf("received %d %d %d\n", got[0], got[1], got[2]);
}

int main(int argc, char **argv)
{
    static int round;
    uint64_t from;
    int told;
    looks = argc > 1 && strcmp(argv[1], "look") == 0;
    check(hark_init(), "hark_init");
    check(hark_protect(1, &round, sizeof round), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    /* No image had been decided: it executes its looks again, and they need to know what rank 2
     * knows. */
    if (hark_rank() == 0 && round == 0 && access(path("died"), F_OK) == 0) make("again");
    for (; round < ROUNDS; check(hark_checkpoint(), "hark_checkpoint")) {
        struct hark_info info;
        for (int tag = A; round == 0 && hark_rank() == 1 && tag <= C; tag++)
            check(hark_send(&tag, sizeof tag, 0, tag), "hark_send");
        if (round == 0 && hark_rank() == 0)
            check(hark_probe(1, C, &info), "hark_probe"); /* all are here */
        (void)poll(NULL, 0, 2);                           /* so that a checkpoint is due */
        round++;
    }
    if (hark_rank() == 0) receives();
    if (hark_rank() == 2) {
        check(hark_recv(&told, sizeof told, 0, TOLD, NULL), "hark_recv");
        make("told");
        wait_for("again"); /* till then it says nothing of what it knows */
    }
    check(hark_finalize(), "hark_finalize");
    return 0;
}
