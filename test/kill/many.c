/* Many receives posted, and many messages that nobody has taken: COUNT at a time, in orders that
 * are bad for lists. many COUNT: rank 0 sends, rank 1 receives, and says what it has received. It
 * knows what that must be; a wrong message ends the job. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/process/app_state.h"

enum { SENDER = 0, RECEIVER = 1 };
enum { GO = HARK_TAG_MAX, ALL_SENT = HARK_TAG_MAX - 1 };
enum { MARKED = HARK_APP_CONTEXTS, ACKNOWLEDGEMENTS = MARKED + 2 };

static int count;
static struct hark_request **request, *posted;
static int64_t *place;

static void check(int64_t got, int64_t expected, const char *where)
{
    if (got == expected) return;
    fprintf(stderr, "many: %s: message %lld was received for message %lld\n", where, (long long)got,
        (long long)expected);
    exit(1);
}

static void *array(size_t of)
{
    void *p = calloc((size_t)count, of);
    if (p == NULL) exit(1);
    return p;
}

static void send_all(void)
{
    for (int64_t i = 0; i < count; i++) hark_send(&i, sizeof i, RECEIVER, (int)i);
    hark_send(NULL, 0, RECEIVER, ALL_SENT);
}

/* All receives are posted before the first message is sent, and waited for from the last on. */
static void receive_posted(const char *name)
{
    for (int i = 0; i < count; i++)
        hark_irecv(&place[i], sizeof *place, i % 2 ? SENDER : HARK_ANY_SOURCE, i, &request[i]);
    hark_send(NULL, 0, SENDER, GO);
    for (int i = count - 1; i >= 0; i--) hark_wait(&request[i], NULL);
    for (int i = 0; i < count; i++) check(place[i], i, name);
    hark_recv(NULL, 0, SENDER, ALL_SENT, NULL);
}

static void wait_for_all(void)
{
    hark_send(NULL, 0, SENDER, GO);
    hark_recv(NULL, 0, SENDER, ALL_SENT, NULL);
}

static int64_t receive_one(int from, int tag)
{
    int64_t got = -1;
    struct hark_info info = {-1, -1, 0};
    hark_recv(&got, sizeof got, from, tag, &info);
    return info.tag == got && info.source == SENDER && info.length == sizeof got ? got : -1;
}

static void receive_last_first(const char *name)
{
    wait_for_all();
    for (int i = count - 1; i >= 0; i--) check(receive_one(SENDER, i), i, name);
}

static void receive_of_any_source(const char *name)
{
    wait_for_all();
    for (int i = count - 1; i >= 0; i--) check(receive_one(HARK_ANY_SOURCE, i), i, name);
}

/* Every second by its tag, from the last on, and a probe before each; then the others. */
static void receive_of_any_tag(const char *name)
{
    struct hark_info info;
    bool found;
    wait_for_all();
    for (int i = (count - 1) | 1; i > 0; i -= 2) {
        if (i >= count) continue;
        hark_probe(HARK_ANY_SOURCE, i, &info);
        check(info.tag, i, name);
        check(receive_one(SENDER, i), i, name);
    }
    for (int i = 0; i < count; i += 2) {
        hark_iprobe(HARK_ANY_SOURCE, HARK_ANY_TAG, &found, &info);
        check(found ? info.tag : -1, i, name);
        check(receive_one(i % 4 ? SENDER : HARK_ANY_SOURCE, HARK_ANY_TAG), i, name);
    }
}

/* ---- marked messages, as the MPI library has them ---------------------------------------------
 */

static void acknowledge(void)
{
    for (unsigned i = 0; i < hark_app.taken_count; i++)
        hark_app_send(NULL, 0, hark_app.taken[i].from, ACKNOWLEDGEMENTS,
            hark_app.taken[i].tag & ~HARK_APP_MARK);
    hark_app.taken_count = 0;
}

static void post(int i, int from, uint16_t ctx)
{
    posted[i] = (struct hark_request){.data = &place[i],
        .room = sizeof *place,
        .from = from,
        .tag = i,
        .mask = hark_app_mask(i, ctx),
        .ctx = ctx};
    hark_app_post(&posted[i]);
}

static void wait_for_posted(void)
{
    for (int i = count - 1; i >= 0; i--)
        if (!posted[i].done) hark_app_complete(&posted[i], "many");
}

static void send_marked(void)
{
    for (int64_t i = 0; i < count; i++)
        hark_app_send(&i, sizeof i, RECEIVER, MARKED, (int)i | HARK_APP_MARK);
    for (int i = 0; i < count; i++) post(i, RECEIVER, ACKNOWLEDGEMENTS);
    wait_for_posted();
}

static void receive_marked(const char *name)
{
    hark_app.acknowledge = acknowledge;
    for (int i = 0; i < count; i++) post(i, i % 3 ? SENDER : HARK_ANY_SOURCE, MARKED);
    hark_send(NULL, 0, SENDER, GO);
    wait_for_posted();
    for (int i = 0; i < count; i++) check(place[i], i, name);
}

/* ---- the job ----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*receive)(const char *name), (*send)(void);
} part[] = {
    {"posted", receive_posted, send_all},
    {"untaken", receive_last_first, send_all},
    {"of any source", receive_of_any_source, send_all},
    {"of any tag, and probed", receive_of_any_tag, send_all},
    {"marked", receive_marked, send_marked},
};

static int stall(void)
{
    enum { TAG = 7, OTHER_TAG = 8 };
    if (hark_rank() == SENDER) {
        for (int of = 0; of < 4; of++)
            hark_app_send(NULL, 0, RECEIVER, (uint16_t)(MARKED + of), TAG | HARK_APP_MARK);
        hark_send(NULL, 0, RECEIVER, GO);
    } else {
        hark_recv(NULL, 0, SENDER, GO, NULL);
        hark_recv(NULL, 0, SENDER, OTHER_TAG, NULL);
    }
    return hark_finalize() < 0;
}

int main(int argc, char **argv)
{
    enum { PARTS = sizeof part / sizeof *part };
    uint64_t restarted;
    int done = 0;
    if (argc > 1 && strcmp(argv[1], "stall") == 0 && hark_init() == HARK_A_OK) return stall();
    count = argc > 1 ? atoi(argv[1]) : 0;
    if (count < 1 || hark_init() < 0 || hark_size() != 2) {
        fprintf(stderr, "many: expected `hark run -n 2 -- many COUNT`, COUNT at least 1\n");
        return 2;
    }
    request = array(sizeof *request);
    posted = array(sizeof *posted);
    place = array(sizeof *place);
    hark_protect(1, &done, sizeof done);
    hark_restarted(&restarted);
    while (done < PARTS) {
        if (hark_rank() == RECEIVER) {
            part[done].receive(part[done].name);
            printf("%s: %d\n", part[done].name, count);
        } else {
            hark_recv(NULL, 0, RECEIVER, GO, NULL);
            part[done].send();
        }
        done++;
        hark_checkpoint();
    }
    free(request);
    free(posted);
    free(place);
    return hark_finalize() < 0;
}
