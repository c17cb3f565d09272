/* astray.c: a program whose execution goes another way when it is executed again. Rank 0 takes what
 * rank 1 has sent, or looks for something else before, which is not there; tells rank 2, and dies,
 * once. Then it waits for another message instead.  astray [look]; with PLACE, a folder */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

enum { SENT = 1, TOLD, NEVER };

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

static bool is_there(const char *name)
{
    return access(path(name), F_OK) == 0;
}

static void make(const char *name)
{
    int fd = open(path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
}

static void goes(bool looks)
{
    int word = 0;
    bool found = false;
    if (is_there("died")) check(hark_recv(&word, sizeof word, 1, NEVER, NULL), "hark_recv");
    if (looks) check(hark_iprobe(1, NEVER, &found, NULL), "hark_iprobe");
    check(hark_recv(&word, sizeof word, 1, SENT, NULL), "hark_recv");
    check(hark_send(&word, sizeof word, 2, TOLD), "hark_send");
    while (!is_there("told")) (void)poll(NULL, 0, 1);
    make("died");
    raise(SIGKILL);
}

int main(int argc, char **argv)
{
    int word = 0;
    check(hark_init(), "hark_init");
    if (hark_rank() == 0) goes(argc > 1 && strcmp(argv[1], "look") == 0);
    if (hark_rank() == 1) check(hark_send(&word, sizeof word, 0, SENT), "hark_send");
    if (hark_rank() == 2) {
        check(hark_recv(&word, sizeof word, 0, TOLD, NULL), "hark_recv");
        make("told");
    }
    check(hark_finalize(), "hark_finalize");
    return 0;
}
