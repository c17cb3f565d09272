/* input.c: a program whose rank 0 reads numbers from standard input, a line each. All processes add
 * them up; rank 0 prints each sum. For tests of where the input goes on after a failure.
 *
 *   input stdio|raw|bytes|blocks|idle [head] [die=PLACE,...]
 *
 *   stdio   by fgets, with a buffer of the C library
 *   raw     by read(2), a byte at a time
 *   bytes   counts all bytes by large read(2)s, and prints a checksum
 *   blocks  the same by read(2)s of many lengths, with a checkpoint behind each, and whether there
 * is more behind the end idle    reads nothing, and takes checkpoints head    the first line is
 * read before hark_init, also by a process that begins again: it is added to every number die rank
 * 0 kills itself behind its N-th line or read, or (Nh) its parent, an agent, with all that it runs;
 * each place once, in this order (the file `died` in PLACE has a byte for each that was)
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static const char *places = "";

static void die_at(long now)
{
    char path[700], *mode;
    struct stat st = {.st_size = 0};
    const char *at = places;
    snprintf(path, sizeof path, "%s/died", getenv("PLACE"));
    (void)stat(path, &st);
    for (long done = (long)st.st_size; at && done > 0; done--)
        if ((at = strchr(at, ',')) != NULL) at++;
    if (at == NULL || strtol(at, &mode, 10) != now) return;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (write(fd, ".", 1) != 1) exit(4);
    kill(*mode == 'h' ? getppid() : getpid(), SIGKILL);
    for (;;) pause(); /* the agent's end is ours */
}

static int count_bytes(void)
{
    static unsigned char piece[100000];
    unsigned long sum = 0, length = 0;
    long pieces = 0;
    for (ssize_t n; hark_rank() == 0 && (n = read(0, piece, sizeof piece)) > 0;) {
        for (ssize_t i = 0; i < n; i++) sum = sum * 31 + piece[i];
        length += (unsigned long)n;
        die_at(++pieces);
    }
    if (hark_rank() == 0) printf("%lu bytes, %lu\n", length, sum);
    return hark_finalize() != 0;
}

static size_t read_all(unsigned char *at, size_t length)
{
    size_t done = 0;
    for (ssize_t n; done < length && (n = read(0, at + done, length - done)) > 0;)
        done += (size_t)n;
    return done;
}

static int count_blocks(void)
{
    static unsigned char block[200000];
    struct {
        unsigned long length, sum, random;
        long blocks;
        bool ended;
    } state = {0, 0, 1, 0, false};
    uint64_t restarted;
    if (hark_protect(1, &state, sizeof state) != 0 || hark_restarted(&restarted) != 0) return 3;
    while (!state.ended) {
        state.random = state.random * 6364136223846793005 + 1442695040888963407;
        const unsigned order = state.random >> 32 & 15; /* most are short, some are long */
        const size_t wanted = 1 + (state.random >> 40) % (sizeof block >> order);
        const size_t n = hark_rank() == 0 ? read_all(block, wanted) : 0;
        for (size_t i = 0; i < n; i++) state.sum = state.sum * 31 + block[i];
        state.length += n;
        state.ended = n < wanted;
        hark_bcast(&state.ended, sizeof state.ended, 0);
        hark_barrier();
        state.blocks++;
        if (hark_rank() == 0) die_at(state.blocks);
        hark_checkpoint();
    }
    if (hark_rank() == 0)
        printf(
            "%lu bytes, %lu%s\n", state.length, state.sum, read(0, block, 1) ? ", and more" : "");
    return hark_finalize() != 0;
}

static int idle(void)
{
    for (int i = 0; i < 300; i++) hark_barrier(), hark_checkpoint(), usleep(1000);
    return hark_finalize() != 0;
}

int main(int argc, char **argv)
{
    char line[100];
    long head = 0;
    struct {
        long lines, sum;
    } state = {0, 0};
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "die=", 4) == 0) places = argv[i] + 4;
    raw = argc > 1 && strcmp(argv[1], "raw") == 0;
    if (argc > 2 && strcmp(argv[2], "head") == 0 && next_line(line, sizeof line)) head = atol(line);
    if (hark_init() != 0) return 2;
    if (argc > 1 && strcmp(argv[1], "bytes") == 0) return count_bytes();
    if (argc > 1 && strcmp(argv[1], "blocks") == 0) return count_blocks();
    if (argc > 1 && strcmp(argv[1], "idle") == 0) return idle();
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
        if (hark_rank() == 0) die_at(state.lines);
        hark_checkpoint();
    }
    char rest;
    if (hark_rank() > 0 && read(0, &rest, 1) != 0) printf("rank %d has input\n", hark_rank());
    return hark_finalize() != 0;
}
