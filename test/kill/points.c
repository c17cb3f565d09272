/* points.c: the points of a test build. HARK_POINT=NAME@RANK[:COUNT][=SIGNAL] in the environment:
 * the process RANK (or `recovery`, `supervisor`) gets SIGNAL (9; 0: none) when it comes to the
 * point NAME the COUNTth time (1) in all its incarnations; they are counted by the length of the
 * file PLACE/point, and when it happens there is PLACE/hit. With -MS in place of SIGNAL it sleeps
 * so long, each time, and there may be several of these with commas between. HARK_RELAY=SOCKET: the
 * transport listens on TCP, and others are told the address that the relay at SOCKET gives for it
 * (relay.c). HARK_HOSTS=WORD:COUNT: each incarnation is on one of so many hosts, WORD-0 and so on,
 * as the number of its process has it. */
#include "../../src/driver/point.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../src/view/trace.h"
#include "hark/hark.h"

static int make(const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", getenv("PLACE"), name);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Is `text` NAME@RANK...? *rest is what follows. */
static bool meant(const char *text, const char *name, uint32_t rank, char **rest)
{
    size_t length = strlen(name);
    if (strncmp(text, name, length) != 0 || text[length] != '@') return false;
    text += length + 1;
    uint32_t who;
    if (strncmp(text, "recovery", 8) == 0) who = HARK_RECOVERY, *rest = (char *)(uintptr_t)text + 8;
    else if (strncmp(text, "supervisor", 10) == 0)
        who = HARK_TRACE_SUPERVISOR, *rest = (char *)(uintptr_t)text + 10;
    else who = (uint32_t)strtoul(text, rest, 10);
    return who == rank;
}

static void sleep_for(int ms)
{
    int before; /* not to be cancelled here: the point is what comes next */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    (void)poll(NULL, 0, ms);
    pthread_setcancelstate(before, NULL);
}

void hark_point(const char *name, uint32_t rank)
{
    const char *text = getenv("HARK_POINT");
    char *rest;
    struct stat st;
    while (text && !meant(text, name, rank, &rest))
        text = strchr(text, ',') ? strchr(text, ',') + 1 : NULL;
    if (text == NULL) return;
    long count = *rest == ':' ? strtol(rest + 1, &rest, 10) : 1;
    int number = *rest == '=' ? atoi(rest + 1) : SIGKILL;
    if (number < 0) {
        sleep_for(-number);
        return;
    }
    int fd = make("point");
    if (fd < 0 || write(fd, "+", 1) != 1 || fstat(fd, &st) < 0) abort();
    close(fd);
    if (st.st_size != count) return;
    close(make("hit"));
    raise(number);
}

const char *hark_point_listen(void)
{
    static char host[64];
    const char *hosts = getenv("HARK_HOSTS"), *count = hosts ? strchr(hosts, ':') : NULL;
    if (count) {
        snprintf(host, sizeof host, "%.*s-%d tcp:127.0.0.1:0", (int)(count - hosts), hosts,
            (int)getpid() % atoi(count + 1));
        return host;
    }
    return getenv("HARK_RELAY") ? "tcp:127.0.0.1:0" : NULL;
}

const char *hark_point_address(const char *own)
{
    static char told[100];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *relay = getenv("HARK_RELAY");
    if (relay == NULL || strncmp(own, "tcp:", 4) != 0) return own;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", relay);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ssize_t n = -1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
        send(fd, own, strlen(own) + 1, MSG_NOSIGNAL) > 0)
        n = recv(fd, told, sizeof told - 1, MSG_WAITALL);
    if (fd >= 0) close(fd);
    return n > 0 ? told : own;
}
