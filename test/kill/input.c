/* input.c: a program whose rank 0 reads numbers from standard input, a line each. All processes add
 * them up; rank 0 prints each sum. For tests of where the input goes on after a failure.
 *
 *   input stdio|raw|bytes [head] [die=LINE]
 *
 *   stdio  by fgets, with a buffer of the C library; raw: by read(2), a byte at a time; bytes:
 * counts all bytes by large read(2)s, and prints a checksum head   the first line is read before
 * hark_init, also by a process that begins again: it is added to every number die=N  rank 0 kills
 * itself behind its N-th line, the first time (the file `died` in PLACE)
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"

static bool raw;

/* A line; false at the end. */
static bool next_line(char *line, size_t room)
{
    size_t n = 0;
    if (!raw) return fgets(line, (int)room, stdin) != NULL;
    while (n + 1 < room && read(0, line + n, 1) == 1)
        if (line[n++] == '\n') break;
    line[n] = 0;
    return n > 0;
}

static void die_once(void)
{
    char path[700];
    snprintf(path, sizeof path, "%s/died", getenv("PLACE"));
    if (open(path, O_WRONLY | O_CREAT | O_EXCL, 0600) >= 0) kill(getpid(), SIGKILL);
}

static int count_bytes(long die)
{
    static unsigned char piece[100000];
    unsigned long sum = 0, length = 0, pieces = 0;
    for (ssize_t n; hark_rank() == 0 && (n = read(0, piece, sizeof piece)) > 0;) {
        for (ssize_t i = 0; i < n; i++) sum = sum * 31 + piece[i];
        length += (unsigned long)n;
        if (++pieces == (unsigned long)die) die_once();
    }
    if (hark_rank() == 0) printf("%lu bytes, %lu\n", length, sum);
    return hark_finalize() != 0;
}

int main(int argc, char **argv)
{
    char line[100];
    long head = 0, die = 0;
    struct {
        long lines, sum;
    } state = {0, 0};
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "die=", 4) == 0) die = atol(argv[i] + 4);
    raw = argc > 1 && strcmp(argv[1], "raw") == 0;
    if (argc > 2 && strcmp(argv[2], "head") == 0 && next_line(line, sizeof line)) head = atol(line);
    if (hark_init() != 0) return 2;
    if (argc > 1 && strcmp(argv[1], "bytes") == 0) return count_bytes(die);
    uint64_t restarted;
    if (hark_protect(1, &state, sizeof state) != 0 || hark_restarted(&restarted) != 0) return 3;
    for (;;) {
        long number[2] = {0, 0};
        if (hark_rank() == 0 && next_line(line, sizeof line))
            number[0] = 1, number[1] = atol(line) + head;
        hark_bcast(number, sizeof number, 0);
        if (!number[0]) break;
        state.lines++;
        state.sum += number[1];
        if (hark_rank() == 0) printf("%ld: %ld\n", state.lines, state.sum), fflush(stdout);
        if (hark_rank() == 0 && state.lines == die) die_once();
        hark_checkpoint();
    }
    char rest;
    if (hark_rank() > 0 && read(0, &rest, 1) != 0) printf("rank %d has input\n", hark_rank());
    return hark_finalize() != 0;
}
