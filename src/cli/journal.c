#include "journal.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../control/control.h"
#include "hark/parts/block.h"
#include "values.h"

#define NAME     "libhark_journal.so"
#define bad(...) hark_cli_bad("run", __VA_ARGS__)

/* hark_wtime is always among them, unless nothing is. */
int hark_cli_journal(const char *text, uint32_t *keeps)
{
    static const struct {
        const char *name;
        uint32_t keeps;
    } names[] = {
        {"wtime", HARK_KEEPS_WTIME}, {"clock", HARK_KEEPS_CLOCK}, {"random", HARK_KEEPS_RANDOM}};
    *keeps = 0;
    if (strcmp(text, "none") == 0) return 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;
        while (i < HARK_COUNT(names) &&
               (strlen(names[i].name) != length || memcmp(names[i].name, at, length) != 0))
            i++;
        if (i == HARK_COUNT(names))
            return bad("--journal: expected none, or some of wtime,clock,random with commas "
                       "between, found \"%s\"",
                text);
        *keeps |= HARK_KEEPS_WTIME | names[i].keeps;
        at += length;
        if (*at == 0) return 0;
    }
}

/* Beside the command in a build, or where it was installed, also if all of that was moved. */
static char *find_library(void)
{
    static const char *const from_command[] = {"../process", HARK_JOURNAL_FROM_BINDIR};
    char command[PATH_MAX], path[PATH_MAX + 100];
    ssize_t n = readlink("/proc/self/exe", command, sizeof command - 1);
    if (n > 0) command[n] = 0;
    char *folder = n > 0 ? strrchr(command, '/') : NULL;
    if (folder) *folder = 0;
    for (size_t i = 0; folder && i < HARK_COUNT(from_command); i++) {
        snprintf(path, sizeof path, "%s/%s/" NAME, command, from_command[i]);
        if (access(path, R_OK) == 0) return realpath(path, NULL);
    }
    return realpath(HARK_JOURNAL_INSTALLED "/" NAME, NULL);
}

int hark_cli_journal_library(uint32_t keeps, char **library)
{
    *library = NULL;
    if ((keeps & (HARK_KEEPS_CLOCK | HARK_KEEPS_RANDOM)) == 0) return 0;
    *library = find_library();
    if (*library == NULL)
        return bad("--journal: " HARK_JOURNAL_INSTALLED "/" NAME ": %s; install hark, or use "
                   "--journal wtime",
            strerror(errno));
    if (strpbrk(*library, ": ") == NULL) return 0;
    return bad(
        "--journal: %s: a library whose path has a space or a colon cannot be preloaded", *library);
}
