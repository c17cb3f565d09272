/* nth.c: linked into a program, it makes one of its allocations fail: which one is in the
 * environment.
 *
 *   HARK_TEST_FAIL=WHO:N    the N-th of WHO; with a `+` behind N all after it too
 *   HARK_TEST_MARK=FILE     made when the N-th comes
 *
 * WHO is `first`: whoever has no supervisor above it, be it the supervisor or a job of one; or
 * RANK.INC: that incarnation of that process of a job, 4294967295 for the recovery process. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "wrap.h"

/* The number behind `key` in the SETUP that waits in the control socket, as lines. */
static unsigned long said(const char *setup, const char *key)
{
    const char *at = strstr(setup, key);
    return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

static void name_myself(char who[40])
{
    static char setup[4096];
    const char *control = getenv("HARK_CONTROL");
    snprintf(who, 40, "first");
    if (control == NULL) return;
    enum { HEAD = 12 }; /* of the message and of its bytes */
    ssize_t n = recv(atoi(control), setup, sizeof setup - 1, MSG_PEEK);
    if (n > HEAD)
        snprintf(who, 40, "%lu.%lu", said(setup + HEAD, "rank="), said(setup + HEAD, "\ninc="));
}

__attribute__((constructor)) static void begin(void)
{
    char who[40], *end;
    const char *fail = getenv("HARK_TEST_FAIL"), *number = fail ? strchr(fail, ':') : NULL;
    if (number == NULL) return;
    name_myself(who);
    if (strncmp(fail, who, strlen(who)) != 0 || fail + strlen(who) != number) return;
    unsigned n = (unsigned)strtoul(number + 1, &end, 10);
    fault_mark(getenv("HARK_TEST_MARK"));
    fault_arm(FAULT_MEMORY, *end == '+' ? FAULT_FAIL_ON : FAULT_FAIL, n, ENOMEM);
}
