/* address.c: see address.h. */
#include "address.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hark/hark.h"
#include "../entries.h"

static const char *parse_local(struct address *a, const char *path)
{
    size_t length = strlen(path);
    if (length == 0) return "the path of the socket is empty";
    if (length >= sizeof a->at.local.sun_path)
        return "the path of the socket is longer than 107 bytes";
    a->at.local.sun_family = AF_UNIX;
    memcpy(a->at.local.sun_path, path, length + 1);
    a->length = (socklen_t)sizeof a->at.local;
    return NULL;
}

static const char *parse_port(const char *text, in_port_t *port)
{
    unsigned long number = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits < 6 && text[digits] == 0) number = strtoul(text, NULL, 10);
    else number = 65536;
    if (number > 65535) return "the port is not a number of 0 .. 65535";
    *port = htons((uint16_t)number);
    return NULL;
}

static const char *parse_tcp(struct address *a, const char *text)
{
    char host[64];
    const char *colon = strrchr(text, ':');
    bool six = text[0] == '[';
    if (!colon || colon == text || (six && colon[-1] != ']'))
        return "a TCP address is tcp:HOST:PORT";
    size_t length = (size_t)(colon - text) - (six ? 2 : 0);
    if (length >= sizeof host) return "the host of a TCP address is too long";
    memcpy(host, text + six, length);
    host[length] = 0;
    int good = six ? inet_pton(AF_INET6, host, &a->at.in6.sin6_addr)
                   : inet_pton(AF_INET, host, &a->at.in.sin_addr);
    if (good != 1) return "the host of a TCP address is not numeric";
    const char *why = parse_port(colon + 1, six ? &a->at.in6.sin6_port : &a->at.in.sin_port);
    if (why) return why;
    a->at.any.sa_family = six ? AF_INET6 : AF_INET;
    a->length = (socklen_t)(six ? sizeof a->at.in6 : sizeof a->at.in);
    return NULL;
}

const char *hark_uv_address_parse(struct address *a, const char *text)
{
    struct address made;
    memset(&made, 0, sizeof made);
    a->length = 0;
    const char *why = "an address begins with unix: or tcp:";
    if (strncmp(text, "unix:", 5) == 0) why = parse_local(&made, text + 5);
    else if (strncmp(text, "tcp:", 4) == 0) why = parse_tcp(&made, text + 4);
    if (!why) *a = made;
    return why;
}

void hark_uv_address_text(const struct address *a, char text[ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    switch (a->length ? a->at.any.sa_family : AF_UNSPEC) {
    case AF_UNIX: snprintf(text, ADDRESS_TEXT, "unix:%s", a->at.local.sun_path); break;
    case AF_INET:
        inet_ntop(AF_INET, &a->at.in.sin_addr, host, sizeof host);
        snprintf(text, ADDRESS_TEXT, "tcp:%s:%u", host, ntohs(a->at.in.sin_port));
        break;
    case AF_INET6:
        inet_ntop(AF_INET6, &a->at.in6.sin6_addr, host, sizeof host);
        snprintf(text, ADDRESS_TEXT, "tcp:[%s]:%u", host, ntohs(a->at.in6.sin6_port));
        break;
    default: snprintf(text, ADDRESS_TEXT, "?");
    }
}

/* ---- sockets of a job: JOB.RANK.INC.sock, RANK a number or "recovery" ------------------------ */

bool hark_uv_address_local(
    char text[ADDRESS_TEXT], const char *directory, const char *job, uint32_t rank, uint32_t inc)
{
    char name[16] = "recovery";
    struct address a;
    if (rank != HARK_RECOVERY) snprintf(name, sizeof name, "%u", rank);
    int length = snprintf(text, ADDRESS_TEXT, "unix:%s/%s.%s.%u.sock", directory, job, name, inc);
    return length < ADDRESS_TEXT && hark_uv_address_parse(&a, text) == NULL;
}

/* No job has a dot in its name, so no name of one job is a name of another. */
static bool is_of_job(const char *name, const char *job)
{
    static const char digits[] = "0123456789";
    size_t length = strlen(job);
    if (strncmp(name, job, length) != 0 || name[length] != '.') return false;
    name += length + 1;
    length = strncmp(name, "recovery", 8) == 0 ? 8 : strspn(name, digits);
    if (length == 0 || name[length] != '.') return false;
    name += length + 1;
    length = strspn(name, digits);
    return length > 0 && strcmp(name + length, ".sock") == 0;
}

void hark_uv_address_sweep(const char *job, const char *directory)
{
    struct stat what;
    struct entries e;
    if (!job || !directory || !entries_open(&e, AT_FDCWD, directory, 0)) return;
    for (const char *name = entries_next(&e); name; name = entries_next(&e)) {
        if (!is_of_job(name, job)) continue;
        if (fstatat(e.fd, name, &what, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISSOCK(what.st_mode))
            continue;
        (void)unlinkat(e.fd, name, 0);
    }
    entries_close(&e);
}
