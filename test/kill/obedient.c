/* obedient.c: a program that does as its arguments say, a word after the other. For tests of what
 * is done to a run from outside.
 *
 *   [RANK:]WORD        only that rank
 *   make=NAME          makes the file NAME.RANK in PLACE, its process number in it
 *   await=NAME         computes, without a call of hark, until the file NAME is in PLACE
 *   steps-until=NAME   goes round (a reduction, a checkpoint call) until the file NAME is in PLACE;
 *                      prints how often at the end
 *                      (the file is an input of which a process that begins again has to see the
 *                      same: so a test makes it when there is
 *                      the file far.0, which rank 0 makes after 50 rounds of an incarnation, more
 *                      than processes can be apart)
 *   steps-left         the same, until rank 0 has got a signal that it catches
 *   steps=N            N rounds; prints the sum of what was reduced
 *   catch=N ignore=N   signal N, from now on; caught: the file caught.N.RANK
 *   block=N            blocks signal N, sends it to the process, and exits with 92 if it does not
 *                      wait there for this thread
 *   send=RANK.TAG recv=RANK.TAG wait=RANK.TAG probe=RANK.TAG any-of=COUNT     RANK, TAG: a number,
 *                                                                             or -1 for any
 *   barrier reduce checkpoint
 *   much=BYTES         sends so many to the next process in messages of 1000, which takes them all
 *   checked=BYTES      the same, with a checkpoint call behind each message
 *   pour=BYTES         sends so many to the next process in messages of 1000, which takes none
 *   print=TEXT close=DESCRIPTOR exit=STATUS abort=STATUS die=SIGNAL system=COMMAND
 *   status=STATUS      exits with it, behind hark_finalize
 *   linger=NAME        makes the file finished.RANK behind hark_finalize, and exits when there is
 *                      the file NAME
 *   clear-environment-first close-first=DESCRIPTORS   as the first word: before hark_init;
 *                                                     DESCRIPTORS such as 02
 *   expect-closed=DESCRIPTORS  exits with 93 if one of them is open
 * hark_init is called before the first word, hark_finalize behind the last.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/app.h"
#include "../../src/process/process.h"

static char place[600];
static int rank = -1;
static int last_status;
static const char *lingers; /* until there is that file; NULL: it does not */
static volatile sig_atomic_t caught;
static long state[2]; /* rounds, and the sum of what they reduced */

/* Whole when it is there: whoever waits for it reads it at once. */
static void make(const char *name)
{
    char path[900], begun[920], text[20];
    snprintf(path, sizeof path, "%s/%s.%d", place, name, rank);
    snprintf(begun, sizeof begun, "%s.begun", path);
    int fd = open(begun, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (fd < 0 || write(fd, text, (size_t)n) != n || rename(begun, path) < 0) _exit(98);
    close(fd);
}

static void on_signal(int number)
{
    char name[40];
    snprintf(name, sizeof name, "caught.%d", number);
    make(name);
    caught = 1;
}

/* All other threads are the library's, and no business of the application's signals. */
static void block(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), number);
    if (sigpending(&set) != 0 || !sigismember(&set, number)) _exit(92);
}

static bool is_there(const char *name)
{
    char path[900];
    snprintf(path, sizeof path, "%s/%s", place, name);
    return access(path, F_OK) == 0;
}

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("rank %d: %s: %s\n", rank, call, hark_app_error(status));
    exit(1);
}

/* One round; `more` of rank 0 says whether there is another one. */
static bool round_of(bool more)
{
    int64_t mine = rank == 0 && more ? 1 : 0, goes_on = 0;
    check(hark_allreduce(&mine, &goes_on, 1, HARK_INT64, HARK_SUM), "hark_allreduce");
    static int rounds_here;
    state[0]++;
    if (++rounds_here == 50) make("far");
    state[1] += state[0];
    check(hark_checkpoint(), "hark_checkpoint");
    return goes_on != 0;
}

static void any_of(int count)
{
    struct hark_request *request[8];
    static int data[8];
    int index;
    for (int i = 0; i < count && i < 8; i++)
        check(hark_irecv(&data[i], sizeof data[i], 0, i, &request[i]), "hark_irecv");
    check(hark_waitany((size_t)count, request, &index, NULL), "hark_waitany");
}

static void much(long bytes, bool checkpoints)
{
    static char data[1000];
    int size = hark_size();
    for (long sent = 0; sent < bytes; sent += (long)sizeof data) {
        check(hark_send(data, sizeof data, (rank + 1) % size, 1), "hark_send");
        check(hark_recv(data, sizeof data, (rank + size - 1) % size, 1, NULL), "hark_recv");
        if (checkpoints) check(hark_checkpoint(), "hark_checkpoint");
    }
}

static void pour(long bytes)
{
    static char data[1000];
    for (long sent = 0; sent < bytes; sent += (long)sizeof data)
        check(hark_send(data, sizeof data, (rank + 1) % hark_size(), 1), "hark_send");
}

static void wait_for(int from, int tag)
{
    struct hark_request *request;
    int data;
    check(hark_irecv(&data, sizeof data, from, tag, &request), "hark_irecv");
    check(hark_wait(&request, NULL), "hark_wait");
}

static void message(const char *word, int from, int tag)
{
    int data = 0;
    if (strcmp(word, "send") == 0) check(hark_send(&data, sizeof data, from, tag), word);
    else if (strcmp(word, "recv") == 0) check(hark_recv(&data, sizeof data, from, tag, NULL), word);
    else if (strcmp(word, "probe") == 0) check(hark_probe(from, tag, NULL), word);
    else if (strcmp(word, "wait") == 0) wait_for(from, tag);
    else _exit(97);
}

static void rounds(const char *word, const char *value)
{
    if (strcmp(word, "steps") == 0)
        while (state[0] < atol(value)) (void)round_of(true);
    else if (strcmp(word, "steps-left") == 0)
        while (round_of(!caught)) {
        }
    else
        while (round_of(!is_there(value))) {
        }
    if (rank == 0) printf("sum %ld\n", strcmp(word, "steps") == 0 ? state[1] : 0L);
}

static void obey(const char *word, const char *value)
{
    int from, tag;
    int64_t one = 1, all;
    if (strcmp(word, "make") == 0) make(value);
    else if (strcmp(word, "await") == 0)
        while (!is_there(value)) (void)poll(NULL, 0, 1);
    else if (strncmp(word, "steps", 5) == 0) rounds(word, value);
    else if (strcmp(word, "catch") == 0) signal(atoi(value), on_signal);
    else if (strcmp(word, "ignore") == 0) signal(atoi(value), SIG_IGN);
    else if (strcmp(word, "block") == 0) block(atoi(value));
    else if (strcmp(word, "barrier") == 0) check(hark_barrier(), word);
    else if (strcmp(word, "reduce") == 0)
        check(hark_reduce(&one, &all, 1, HARK_INT64, HARK_SUM, 0), word);
    else if (strcmp(word, "checkpoint") == 0) check(hark_checkpoint(), word);
    else if (strcmp(word, "any-of") == 0) any_of(atoi(value));
    else if (strcmp(word, "much") == 0) much(atol(value), false);
    else if (strcmp(word, "checked") == 0) much(atol(value), true);
    else if (strcmp(word, "pour") == 0) pour(atol(value));
    else if (strcmp(word, "system") == 0) {
        if (system(value) != 0) exit(94);
    } else if (strcmp(word, "print") == 0) printf("%s\n", value);
    else if (strcmp(word, "close") == 0) close(atoi(value));
    else if (strcmp(word, "expect-closed") == 0) {
        for (; *value; value++)
            if (fcntl(*value - '0', F_GETFD) >= 0) _exit(93);
    } else if (strcmp(word, "exit") == 0) exit(atoi(value));
    else if (strcmp(word, "status") == 0) last_status = atoi(value);
    else if (strcmp(word, "linger") == 0) lingers = value;
    else if (strcmp(word, "abort") == 0) hark_process_abort(atoi(value));
    else if (strcmp(word, "die") == 0) kill(getpid(), atoi(value));
    else if (sscanf(value, "%d.%d", &from, &tag) == 2) message(word, from, tag);
    else if (strcmp(word, "clear-environment-first") != 0 && strcmp(word, "close-first") != 0)
        _exit(96);
}

int main(int count, char **argument)
{
    uint64_t restarted;
    snprintf(place, sizeof place, "%s", getenv("PLACE") ? getenv("PLACE") : ".");
    if (count > 1 && strcmp(argument[1], "clear-environment-first") == 0) clearenv();
    if (count > 1 && strncmp(argument[1], "close-first=", 12) == 0)
        for (const char *c = argument[1] + 12; *c; c++) close(*c - '0');
    check(hark_init(), "hark_init");
    rank = hark_rank();
    check(hark_protect(1, state, sizeof state), "hark_protect");
    check(hark_restarted(&restarted), "hark_restarted");
    for (int i = 1; i < count; i++) {
        char word[64], *end;
        long only = strtol(argument[i], &end, 10);
        const char *text = end != argument[i] && *end == ':' ? end + 1 : argument[i];
        if (text != argument[i] && only != rank) continue;
        size_t length = strcspn(text, "=");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        obey(word, text[length] ? text + length + 1 : "");
    }
    fflush(NULL);
    check(hark_finalize(), "hark_finalize");
    if (lingers) make("finished");
    while (lingers && !is_there(lingers)) (void)poll(NULL, 0, 1);
    return last_status;
}
