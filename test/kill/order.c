/* order.c: a program whose output depends on the order of arrivals. Rank 0 prints whose message
 * came, and the whole order at the end. Rank r sends when there is a file turn-r in PLACE, and then
 * makes sent-r; when it came there is got-r. After its second message rank 0 waits until all is
 * sent, and dies, once: nobody else can know by then whose message it was. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "hark/app.h"

enum { TAG = 1, MOST = 16 };

static const char *path(const char *name, int rank)
{
    static char text[600];
    snprintf(text, sizeof text, "%s/%s-%d", getenv("PLACE"), name, rank);
    return text;
}

static bool make(const char *name, int rank)
{
    int fd = open(path(name, rank), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void wait_for(const char *name, int rank)
{
    while (access(path(name, rank), F_OK) < 0) (void)poll(NULL, 0, 1);
}

static void gather(int others)
{
    int order[MOST], value;
    struct hark_info info;
    for (int i = 0; i < others; i++) {
        if (hark_recv(&value, sizeof value, HARK_ANY_SOURCE, TAG, &info) < 0) exit(1);
        order[i] = info.source;
        printf("got %d\n", info.source);
        fflush(stdout);
        make("got", info.source);
        for (int rank = 1; i == 1 && rank <= others; rank++) wait_for("sent", rank);
        if (i == 1 && make("died", 0)) raise(SIGKILL);
    }
    printf("order");
    for (int i = 0; i < others; i++) printf(" %d", order[i]);
    printf("\n");
}

int main(void)
{
    if (hark_init() < 0) return 1;
    int rank = hark_rank(), others = hark_size() - 1;
    if (rank == 0) {
        gather(others);
    } else {
        wait_for("turn", rank);
        if (hark_send(&rank, sizeof rank, 0, TAG) < 0) return 1;
        make("sent", rank);
    }
    return hark_finalize() < 0;
}
