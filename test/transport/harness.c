/* harness.c: see harness.h. */
#include "harness.h"

#include <dirent.h>
#include <execinfo.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

bool in_child;

void must(bool holds, const char *what, const char *file, int line)
{
    if (holds) return;
    fprintf(stderr, "%s:%d: must hold: %s\n", file, line, what);
    if (in_child) _exit(9);
    _fail(file, line);
}

static void stands_still(int number)
{
    static const char line[] = "this process has stood still for too long:\n";
    void *frames[40];
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
    (void)written;
    backtrace_symbols_fd(frames, backtrace(frames, 40), STDERR_FILENO);
    signal(number, SIG_DFL);
    raise(number);
}

void hang_after(unsigned seconds)
{
    void *frame;
    backtrace(&frame, 1); /* loads what it needs now, not within a handler */
    signal(SIGALRM, stands_still);
    alarm(seconds);
}

/* Every eight bytes depend on the seed and on their place, so a lost or doubled chunk shows. */
void fill(uint8_t *at, uint64_t length, uint64_t seed)
{
    for (uint64_t i = 0; i < length; i += 8) {
        uint64_t word = (seed + i) * 0x9e3779b97f4a7c15u;
        memcpy(at + i, &word, length - i < 8 ? (size_t)(length - i) : 8);
    }
}

bool filled(const uint8_t *at, uint64_t length, uint64_t seed)
{
    for (uint64_t i = 0; i < length; i += 8) {
        uint64_t word = (seed + i) * 0x9e3779b97f4a7c15u;
        if (memcmp(at + i, &word, length - i < 8 ? (size_t)(length - i) : 8) != 0) return false;
    }
    return true;
}

bool starts_slowly(void)
{
    return conformance_subject.slow_start && conformance_subject.slow_start();
}

int test_begin(void **state)
{
    (void)state;
    hang_after(PATIENCE); /* each has so long: together they take long where much else runs */
    if (conformance_subject.begin) conformance_subject.begin();
    return 0;
}

int test_end(void **state)
{
    (void)state;
    if (conformance_subject.end) conformance_subject.end();
    return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

void job_begin(struct job *job, uint32_t ranks)
{
    static unsigned number;
    memset(job, 0, sizeof *job);
    snprintf(job->name, sizeof job->name, "test-%ld-%u", (long)getpid(), number++);
    snprintf(job->directory, sizeof job->directory, "/tmp/hark-conformance.XXXXXX");
    MUST(mkdtemp(job->directory) != NULL);
    job->ranks = ranks;
}

static size_t entries(const char *directory, const char *part)
{
    size_t count = 0;
    DIR *d = opendir(directory);
    if (!d) return 0;
    for (struct dirent *entry = readdir(d); entry; entry = readdir(d)) {
        if (entry->d_name[0] == '.') continue;
        count += part == NULL || strstr(entry->d_name, part) != NULL;
    }
    closedir(d);
    return count;
}

size_t job_things(const struct job *job)
{
    return entries("/dev/shm", job->name) + entries(job->directory, NULL);
}

void job_end(struct job *job)
{
    size_t things = job_things(job);
    if (things) {
        char command[160];
        snprintf(command, sizeof command, "ls /dev/shm %s | grep -e %s -e hark >&2", job->directory,
            job->name);
        if (system(command) != 0) fprintf(stderr, "(not listed)\n");
    }
    MUST(things == 0);
    MUST(rmdir(job->directory) == 0);
}

/* ---- the sink -------------------------------------------------------------------------------- */

static void check_header(struct end *e, const struct hark_frame *frame, struct label *label)
{
    MUST(frame->header.length >= sizeof *label);
    memcpy(label, frame->header.at, sizeof *label);
    MUST(label->header == frame->header.length);
    MUST(label->length == frame->length);
    MUST(label->from == frame->from && label->from_inc == frame->from_inc);
    MUST(label->to == e->me && label->to_inc == e->inc);
    MUST(
        filled(frame->header.at + sizeof *label, frame->header.length - sizeof *label, ~label->id));
}

static void *sink_place(void *self, const struct hark_frame *frame)
{
    struct end *e = self;
    struct label label;
    MUST(e->polling && !e->inside);
    check_header(e, frame, &label);
    if (e->refuse_places || (e->decline_offers && frame->offered)) return NULL;
    e->placed++;
    e->open_places++;
    /* exactly as long as needed, so that a sanitizer sees a byte too many */
    void *at = malloc(frame->length ? (size_t)frame->length : 1);
    MUST(at != NULL);
    e->inside = true;
    if (e->on_placed) e->on_placed(e, &label);
    e->inside = false;
    return at;
}

static void keep(struct end *e, const struct hark_frame *frame, uint64_t id)
{
    if (e->count == e->room) {
        e->room = e->room ? 2 * e->room : 64;
        e->got = realloc(e->got, e->room * sizeof *e->got);
        MUST(e->got != NULL);
    }
    e->got[e->count++] = (struct got){id, frame->length, frame->from, frame->from_inc};
}

static void sink_arrived(void *self, const struct hark_frame *frame, const void *payload)
{
    struct end *e = self;
    struct label label;
    MUST(e->polling && !e->inside);
    check_header(e, frame, &label);
    if (payload != NULL) MUST(filled(payload, frame->length, label.id));
    else MUST(frame->length == 0 || e->refuse_places);
    keep(e, frame, label.id);
    e->inside = true;
    if (e->on_arrived) e->on_arrived(e, &label);
    e->inside = false;
}

/* Whether memory came from place() is known by the flag that the harness keeps in front of it. */
struct placed {
    struct placed *next;
    void *at;
    struct end *owner;
};
static struct placed *all_placed;

static void *place_and_note(void *self, const struct hark_frame *frame)
{
    void *at = sink_place(self, frame);
    if (!at) return NULL;
    struct placed *note = malloc(sizeof *note);
    MUST(note != NULL);
    *note = (struct placed){all_placed, at, self};
    all_placed = note;
    return at;
}

static bool forget(const void *at, const struct end *owner)
{
    for (struct placed **p = &all_placed; *p; p = &(*p)->next) {
        if ((*p)->at != at || (*p)->owner != owner) continue;
        struct placed *gone = *p;
        *p = gone->next;
        free(gone->at);
        free(gone);
        return true;
    }
    return false;
}

static void arrived_and_free(void *self, const struct hark_frame *frame, const void *payload)
{
    struct end *e = self;
    sink_arrived(self, frame, payload);
    if (payload && forget(payload, e)) e->open_places--;
}

static void sink_broken(void *self, const struct hark_frame *frame, void *payload)
{
    struct end *e = self;
    struct label label;
    MUST(e->polling && !e->inside);
    check_header(e, frame, &label);
    MUST(forget(payload, e)); /* only what place() answered can be broken, and only once */
    e->open_places--;
    e->broken++;
}

/* ---- ends ------------------------------------------------------------------------------------ */

void end_config(struct hark_transport_config *config, const struct job *job, uint32_t me,
    uint32_t inc, struct end *e)
{
    memset(config, 0, sizeof *config);
    config->job = job->name;
    config->directory = job->directory;
    config->me = me;
    config->inc = inc;
    config->ranks = job->ranks;
    config->frame_limit = job->frame_limit;
    for (size_t i = 0; i < sizeof config->key; i++) config->key[i] = (uint8_t)(i * 7 + 1);
    config->sink = (struct hark_sink){e, place_and_note, arrived_and_free, sink_broken};
    if (conformance_subject.configure) conformance_subject.configure(config);
}

void end_open(struct end *e, const struct job *job, uint32_t me, uint32_t inc)
{
    char error[200] = "";
    memset(e, 0, sizeof *e);
    e->me = me;
    e->inc = inc;
    end_config(&e->config, job, me, inc, e);
    int status = conformance_subject.ops->open(&e->t, &e->config, error);
    if (status != HARK_T_OK) fprintf(stderr, "open: %d %s\n", status, error);
    MUST(status == HARK_T_OK && e->t != NULL);
    MUST(e->t->ops == conformance_subject.ops);
}

void end_close(struct end *e)
{
    if (!e->t) return;
    e->t->ops->close(e->t);
    e->t = NULL;
    for (struct placed *p = all_placed, *next; p; p = next) { /* what was half arrived stays the
                                                                 sink's */
        next = p->next;
        if (p->owner == e) forget(p->at, e);
    }
    free(e->got);
    e->got = NULL;
}

void ends_meet(struct end *ends, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            struct hark_transport *t = ends[i].t;
            MUST(t->ops->peer(t, ends[j].me, ends[j].inc, ends[j].t->ops->address(ends[j].t)) ==
                 HARK_T_OK);
        }
}

void end_poll(struct end *e)
{
    size_t before = e->count;
    e->polling = true;
    int arrived = e->t->ops->poll(e->t);
    e->polling = false;
    if (arrived < 0) fprintf(stderr, "poll: %d %s\n", arrived, e->t->error);
    MUST(arrived >= 0);
    MUST((size_t)arrived == e->count - before);
    if (arrived == 0) sched_yield();
}

void ends_poll(struct end *ends, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ends[i].t) end_poll(&ends[i]);
}

size_t end_heard(const struct end *e, uint64_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < e->count; i++) count += e->got[i].id == id;
    return count;
}

void until_count(struct end *e, size_t count, struct end *ends, size_t ends_count)
{
    while (e->count < count) ends_poll(ends, ends_count);
    MUST(e->count == count);
}

/* ---- frames ---------------------------------------------------------------------------------- */

void parcel_make(struct parcel *p, const struct end *from, uint32_t to, uint32_t inc, uint64_t id,
    uint32_t header, uint64_t length)
{
    if (header < sizeof p->label) header = sizeof p->label;
    memset(p, 0, sizeof *p);
    p->label = (struct label){id, length, header, from->me, from->inc, to, inc, 0};
    p->header = malloc(header);
    p->payload = malloc(length ? (size_t)length : 1);
    MUST(p->header != NULL && p->payload != NULL);
    memcpy(p->header, &p->label, sizeof p->label);
    fill(p->header + sizeof p->label, header - sizeof p->label, ~id);
    fill(p->payload, length, id);
    p->out.to = to;
    p->out.inc = inc;
    p->out.header = (struct hark_bytes){p->header, header};
    p->out.part[0] = (struct hark_part){p->payload, length};
}

void parcel_free(struct parcel *p)
{
    free(p->header);
    free(p->payload);
    memset(p, 0, sizeof *p);
}

int parcel_send(struct parcel *p, struct end *from)
{
    int status = from->t->ops->send(from->t, &p->out);
    if (status == HARK_T_ESYSTEM) fprintf(stderr, "send: %s\n", from->t->error);
    return status;
}

void send_wholly(struct end *from, uint32_t to, uint32_t inc, uint64_t id, uint32_t header,
    uint64_t length, struct end *ends, size_t count)
{
    struct parcel p;
    parcel_make(&p, from, to, inc, id, header, length);
    int status;
    while ((status = parcel_send(&p, from)) == HARK_T_AGAIN) ends_poll(ends, count);
    MUST(status == HARK_T_OK);
    parcel_free(&p);
}
