/* small.c: a small program for the kill matrix: everything of app.h in a few rounds, and an answer
 * that depends on every message. A round: two messages round the ring, taken in the other order by
 * tags; the last rank gathers from whoever comes first, by requests, and tells everybody the sum; a
 * test, which may miss; a checkpoint, which is due at each round.
 *
 *   small ROUNDS          what is sent does not depend on the order of arrivals
 *   small ROUNDS order    it does: the verdict is the order in which they came, and everybody
 *                         prints it
 *   small ROUNDS looks    the same, and what the last rank saw before it took anything is part of
 *                         it: it tells rank 0 that first
 *   small ROUNDS together what everybody is told comes of collectives instead
 *   small ROUNDS partners most of what is sent goes between a rank and the one half of all ranks
 *   away, whose number is even
 *   small ROUNDS started  in each round first a long message round the ring, of which nothing may
 *                         have left its memory when a checkpoint is taken
 *   small ROUNDS fence=R  at its third round rank R leaves a copy of itself that is stopped, with
 *                         all its connections, and dies. The
 *                         copy goes on when somebody lets it, and makes PLACE/spoke when it has
 *                         sent, which is wrong if there is
 *                         PLACE/lie; PLACE/again: R is up again.
 *                         Before the end R makes PLACE/meet and waits for PLACE/meet.go
 *
 * With PLACE, each incarnation holds a lock while it lives: if a second one of a rank begins
 * meanwhile, it says so and fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "hark/app.h"

enum {
    TAG_A = 1,
    TAG_B,
    TAG_GATHER,
    TAG_VERDICT,
    TAG_MUCH,
    TAG_SEEN,
    MOST = 16,
    TAG_LONG,
    MUCH = 1000,
    WORDS = 12000,
    FENCE_ROUND = 2
};

static struct {
    int64_t round, taken; /* done; messages taken */
    uint64_t digest;
    int64_t half; /* the round's long message is sent, and not received */
} state;
static int rank, size, lock = -1, fence = -1;
static bool by_order, looks, together, with_partners, started, is_copy, lies;

static void check(int status, const char *call)
{
    if (status >= 0) return;
    printf("rank %d: %s: %s\n", rank, call, hark_app_error(status));
    exit(1);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static const char *path_of(const char *name, int number)
{
    static char path[600];
    if (number < 0) snprintf(path, sizeof path, "%s/%s", getenv("PLACE"), name);
    else snprintf(path, sizeof path, "%s/%s-%d", getenv("PLACE"), name, number);
    return path;
}

static void be_the_only_one(void)
{
    if (getenv("PLACE") == NULL) return;
    lock = open(path_of("lock", rank), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) return;
    printf("rank %d: two incarnations at once: %s\n", rank, strerror(errno));
    exit(1);
}

static void wait_a_little(void)
{
    struct timespec t = {0, 1500000}; /* so that a checkpoint is due */
    nanosleep(&t, NULL);
}

static bool make(const char *name, int number)
{
    int fd = open(path_of(name, number), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

static void send_to(uint64_t word, int to, int tag)
{
    uint64_t message[2] = {word ^ lies, state.digest}; /* to be seen where it is heard */
    check(hark_send(message, by_order ? sizeof message : sizeof *message, to, tag), "hark_send");
}

static void take(uint64_t word)
{
    state.digest = by_order ? state.digest : mix(state.digest ^ word);
    state.taken++;
}

/* In order mode whoever gets a message knows as many verdicts as its sender: a later one, or
 * another one, is of an orphan. */
static void see(uint64_t digest)
{
    if (by_order && digest != state.digest)
        printf("rank %d: round %" PRId64 ": another order\n", rank, state.round);
}

static uint64_t recv_from(int from, int tag)
{
    uint64_t message[2];
    check(hark_recv(message, sizeof message, from, tag, NULL), "hark_recv");
    see(message[1]);
    return message[0];
}

static void ring(void)
{
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    send_to(mix((uint64_t)(rank * 1000 + state.round)), next, TAG_A);
    send_to(mix(state.digest), next, TAG_B);
    if (is_copy) make("spoke", -1);
    uint64_t b = recv_from(previous, TAG_B), a = recv_from(previous, TAG_A);
    take(a);
    take(b + 1);
}

/* Much to the partner, of which every word counts. */
static void exchange(void)
{
    uint64_t out[MUCH], in[MUCH], sum = 0;
    const int partner = (rank + size / 2) % size;
    for (uint64_t i = 0; i < MUCH; i++) out[i] = mix(state.digest ^ i);
    check(hark_send(out, sizeof out, partner, TAG_MUCH), "hark_send");
    check(hark_recv(in, sizeof in, partner, TAG_MUCH, NULL), "hark_recv");
    for (int i = 0; i < MUCH; i++) sum = mix(sum ^ in[i]);
    take(sum);
}

/* A checkpoint between a send that is started and its receive. */
static void start_and_take(void)
{
    static uint64_t out[WORDS], in[WORDS];
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    uint64_t sum = 0;
    if (!state.half) {
        struct hark_request *request;
        for (uint64_t i = 0; i < WORDS; i++) out[i] = mix(state.digest ^ i);
        check(hark_isend(out, sizeof out, next, TAG_LONG, &request), "hark_isend");
        state.half = 1;
        wait_a_little();
        check(hark_checkpoint(), "hark_checkpoint");
        check(hark_wait(&request, NULL), "hark_wait");
        memset(out, 0, sizeof out);
    }
    check(hark_recv(in, sizeof in, previous, TAG_LONG, NULL), "hark_recv");
    for (int i = 0; i < WORDS; i++) sum = mix(sum ^ in[i]);
    take(sum);
    state.half = 0;
}

static uint64_t gather(void)
{
    uint64_t message[MOST][2], by[MOST] = {0}, sum = state.digest;
    struct hark_request *request[MOST];
    for (int i = 0; i < size - 1; i++)
        check(hark_irecv(message[i], sizeof message[i], HARK_ANY_SOURCE, TAG_GATHER, &request[i]),
            "hark_irecv");
    for (int i = 0; i < size - 1; i++) {
        struct hark_info info;
        int index;
        check(hark_waitany((size_t)size - 1, request, &index, &info), "hark_waitany");
        by[info.source] = message[index][0];
        see(message[index][1]);
        if (by_order) sum = mix(sum ^ (uint64_t)(info.source + 1));
    }
    for (int i = 0; !by_order && i < size - 1; i++) sum = mix(sum ^ by[i]);
    state.taken += size - 1;
    return sum;
}

/* In every other round what was seen first is not what is taken first. Its last byte is what was
 * seen first. */
static uint64_t look_and_gather(void)
{
    uint64_t sum = state.digest, first = 0;
    for (int i = 0; i < size - 1; i++) {
        struct hark_info info, other;
        bool found;
        check(hark_probe(HARK_ANY_SOURCE, TAG_GATHER, &info), "hark_probe");
        if (i == 0) send_to(first = (uint64_t)info.source + 1, 0, TAG_SEEN);
        check(hark_iprobe((info.source + 1) % (size - 1), HARK_ANY_TAG, &found, &other),
            "hark_iprobe");
        sum = mix(sum ^ (uint64_t)(info.source * 2 + found));
        check(hark_iprobe(HARK_ANY_SOURCE, HARK_ANY_TAG, &found, &other), "hark_iprobe");
        sum = mix(sum ^ (uint64_t)(other.source + 1));
        (void)recv_from(
            i == 0 && state.round % 2 ? (info.source + 1) % (size - 1) : HARK_ANY_SOURCE,
            TAG_GATHER);
    }
    state.taken += size - 1;
    return (sum & ~UINT64_C(255)) | first;
}

/* The sum by a reduction that goes to all, the greatest to a root that is another each round, which
 * tells it. */
static uint64_t agree(void)
{
    const int root = (int)state.round % size;
    int64_t mine = (int64_t)(mix(state.digest ^ (uint64_t)rank) >> 8), sum, most = 0;
    check(hark_allreduce(&mine, &sum, 1, HARK_INT64, HARK_SUM), "hark_allreduce");
    check(hark_reduce(&mine, &most, 1, HARK_INT64, HARK_MAX, root), "hark_reduce");
    check(hark_bcast(&most, sizeof most, root), "hark_bcast");
    if (state.round % 2) check(hark_barrier(), "hark_barrier");
    return mix((uint64_t)sum ^ (uint64_t)most);
}

static void verdict(void)
{
    uint64_t sum = 0;
    if (together) {
        sum = agree();
    } else if (rank == size - 1) {
        sum = looks ? look_and_gather() : gather();
        for (int i = 0; i < size - 1; i++) send_to(sum, i, TAG_VERDICT);
    } else {
        struct hark_request *request;
        uint64_t message[2];
        bool done;
        send_to(mix(state.digest ^ (uint64_t)rank), size - 1, TAG_GATHER);
        const uint64_t seen = looks && rank == 0 ? recv_from(size - 1, TAG_SEEN) : 0;
        check(hark_irecv(message, sizeof message, size - 1, TAG_VERDICT, &request), "hark_irecv");
        check(hark_test(&request, &done, NULL), "hark_test");
        if (!done) check(hark_wait(&request, NULL), "hark_wait");
        see(message[1]);
        sum = message[0];
        if (seen && seen != (sum & 255))
            printf("rank 0: round %" PRId64 ": it has seen something else\n", state.round);
        state.taken += 1 + (seen != 0);
    }
    state.digest = sum;
    if (by_order)
        printf("round %" PRId64 " of rank %d: order %016" PRIx64 "\n", state.round, rank, sum);
    else if (rank == 0) printf("round %" PRId64 "\n", state.round);
    /* The rest of the digest is the rank's own. */
    if (!by_order) state.digest = mix(state.digest ^ (uint64_t)rank);
}

/* The copy has all that the process had but its threads. Outside of its group, as somebody who is
 * not found when it dies. */
static void leave_a_copy(void)
{
    if (rank != fence || state.round != FENCE_ROUND || !make("copied", -1)) return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0) {
        while (access(path_of("copy", -1), F_OK) < 0) (void)poll(NULL, 0, 1);
        raise(SIGKILL);
    }
    close(lock);
    setsid();
    FILE *f = fopen(path_of("copy.new", -1), "we");
    if (f) fprintf(f, "%d", (int)getpid());
    if (f) fclose(f);
    char to[600];
    snprintf(to, sizeof to, "%s", path_of("copy", -1));
    if (rename(path_of("copy.new", -1), to) < 0) abort();
    is_copy = true;
    raise(SIGSTOP);
    lies = access(path_of("lie", -1), F_OK) == 0;
}

int main(int argc, char **argv)
{
    uint64_t from;
    int64_t rounds = argc > 1 ? atoll(argv[1]) : 3, sum = 0;
    check(hark_init(), "hark_init");
    rank = hark_rank();
    size = hark_size();
    be_the_only_one();
    looks = argc > 2 && strcmp(argv[2], "looks") == 0;
    by_order = looks || (argc > 2 && strcmp(argv[2], "order") == 0);
    together = argc > 2 && strcmp(argv[2], "together") == 0;
    with_partners = argc > 2 && strcmp(argv[2], "partners") == 0;
    started = argc > 2 && strcmp(argv[2], "started") == 0;
    if (argc > 2 && strncmp(argv[2], "fence=", 6) == 0) fence = atoi(argv[2] + 6);
    check(hark_protect(1, &state, sizeof state), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    if (rank == fence && access(path_of("copied", -1), F_OK) == 0) make("again", -1);
    while (state.round < rounds) {
        leave_a_copy();
        if (started) start_and_take();
        ring();
        if (with_partners) exchange();
        verdict();
        state.round++;
        wait_a_little();
        check(hark_checkpoint(), "hark_checkpoint");
    }
    check(hark_allreduce(&state.taken, &sum, 1, HARK_INT64, HARK_SUM), "hark_allreduce");
    printf("rank %d: %" PRId64 " of %" PRId64 " messages, digest %016" PRIx64 "\n", rank,
        state.taken, sum, state.digest);
    fflush(stdout);
    if (rank == fence && make("meet", -1))
        while (access(path_of("meet.go", -1), F_OK) < 0) (void)poll(NULL, 0, 1);
    check(hark_finalize(), "hark_finalize");
    return 0;
}
