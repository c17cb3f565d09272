#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check/processes.h"
#include "../check/random.h"
#include "check_parts.h"

struct tally {
    uint64_t programs, unfinished, class[4], limit, violated, deadlocks, states;
};

static void tally_add(struct tally *all, const struct tally *t)
{
    all->programs += t->programs;
    all->unfinished += t->unfinished;
    for (uint32_t i = 0; i < 4; i++) all->class[i] += t->class[i];
    all->limit += t->limit;
    all->violated += t->violated;
    all->deadlocks += t->deadlocks;
    all->states += t->states;
}

/* Its receives vary, and the protocol brings it back by what it sends: then it waits by exact
 * dependencies. */
static bool waits_by_order(const struct hark_protocol *p, enum search_class class)
{
    return p->recovery && class == SEARCH_SD;
}

/* Only what the protocol claims for a program of this class. */
static void claim(struct hark_scenario *s, const struct hark_protocol *p, enum search_class class)
{
    uint32_t kept = 0;
    if (!hark_service_survives(p)) { /* no failures, and the order of messages is the network's */
        s->fails = 0;
        s->fifo = true;
    }
    for (uint32_t i = 0; i < s->fails; i++)
        if (s->fail[i].rank != HARK_FAIL_RECOVERY || p->recovery) s->fail[kept++] = s->fail[i];
    s->fails = kept;
    for (uint32_t i = 0; p->unstable && s->core.copies < s->fails && i < s->fails; i++) { /* k at
                                                                                             once,
                                                                                             not
                                                                                             more */
        uint8_t *when = &s->fail[i].when;
        if (*when == HARK_FAIL_NESTED || (i > 0 && *when != HARK_FAIL_STORE))
            *when = HARK_FAIL_AFTER;
    }
    if (!waits_by_order(p, class)) return;
    s->core.flags |= HARK_EXACT_GATE;
    /* One cluster each: the gate's dependencies are between clusters, and a program whose receives
     * vary may need what a mate does. */
    for (uint32_t i = 0; i < s->ranks; i++) s->cluster[i] = (uint8_t)i;
}

/* Programs made by chance, of which each process takes the next when it is through with one: they
 * differ by much, and by their seed. */
struct chance {
    struct check_arguments a;
    uint32_t processes;
    int speech; /* file that is locked by whoever says something; -1: there is one process */
};

struct share { /* what one of them came to */
    struct tally tally;
    int worst;
    _Atomic uint64_t done, states, bytes; /* for the line of progress: programs, their states;
                                             memory for the present one */
    /* Of the first: */
    _Atomic uint64_t next; /* the program that nobody has taken yet */
    _Atomic bool refused;  /* there is too little memory for any, and that has been said */
};

/* The first process tells what all have done. */
struct telling {
    const struct chance *c;
    struct share *share;
    struct check_watch watch;
};

static void tell(void *self, const struct search_progress *now)
{
    struct telling *t = self;
    uint64_t done = 0, states = now->walks ? 0 : now->done, bytes = 0;
    double rate;
    char size[16];
    t->share->bytes = now->bytes;
    for (uint32_t i = 0; i < t->c->processes; i++) {
        done += t->share[i].done;
        states += t->share[i].states;
        bytes += t->share[i].bytes;
    }
    if (!check_watch_due(&t->watch, states, &rate)) return;
    check_size(bytes, size);
    fprintf(stderr, "\r\033[K%llu of %llu programs, %llu states, depth %u, %.0f states/s, %s ",
        (unsigned long long)done, (unsigned long long)t->c->a.count, (unsigned long long)states,
        now->depth, rate, size);
}

/* What several processes say does not mix. */
static void speak(const struct chance *c)
{
    while (c->speech >= 0 && lockf(c->speech, F_LOCK, 0) < 0 && errno == EINTR) continue;
}

static void spoken(const struct chance *c)
{
    fflush(stdout);
    if (c->speech >= 0) (void)lockf(c->speech, F_ULOCK, 0);
}

static int random_failed(const struct chance *c, uint64_t seed, const char *why)
{
    speak(c);
    int status = bad("--random %llu:1: %s", (unsigned long long)seed, why);
    spoken(c);
    return status;
}

static int random_violated(const struct chance *c, const struct hark_scenario *s, uint64_t seed,
    const struct search_result *r)
{
    speak(c);
    check_report(&c->a, s->name, s->protocol, r);
    printf(
        "  again: hark check --protocol %s --random %llu:1", s->protocol, (unsigned long long)seed);
    char options[200];
    struct hark_words w;
    hark_words_begin(&w, options, sizeof options);
    hark_options_write(hark_protocol_named(s->protocol)->manual->options, &c->a.core, false, &w);
    fputs(options, stdout);
    putchar('\n');
    int status = r->path && check_write_story(&c->a, s, r) ? 2 : 1;
    spoken(c);
    return status;
}

/* It could not be searched at all. Too little memory for one is too little for all, and said once.
 */
static int random_impossible(
    const struct chance *c, uint64_t seed, const struct search_result *r, struct share *all)
{
    if (r->least == 0) return random_failed(c, seed, r->why);
    if (atomic_exchange(&all->refused, true)) return CHECK_WRONG;
    struct search_result together = *r;
    together.least *= c->processes;
    speak(c);
    int status = check_too_little(&c->a, "these programs", &together);
    spoken(c);
    return status;
}

/* The program of this seed, if it can finish; else one whose receives name their senders. */
static struct search_result random_program(const struct check_arguments *a, uint64_t seed,
    const struct search_options *options, struct hark_scenario *s, struct intern *outcomes)
{
    const struct hark_protocol *protocol = hark_protocol_named(a->search.protocol);
    const bool groups =
        protocol && (hark_protocol_groups(protocol, false) || seed % 3 == 0); /* of
                                                                                 the
                                                                                 others,
                                                                                 every
                                                                                 third
                                                                               */
    uint32_t traits = protocol ? protocol->traits : 0;
    if (!groups) traits &= HARK_TRAIT_WAVES | (seed % 3 == 1 ? HARK_TRAIT_RECLUSTERS : 0);
    struct search_result r = {.verdict = SEARCH_UNFINISHED};
    for (uint32_t named = 0;
         named < 2 && (r.verdict == SEARCH_UNFINISHED || r.verdict == SEARCH_LIMIT); named++) {
        const bool looks = protocol && protocol->unstable && seed % 2; /* where what is seen is
                                                                          recorded */
        hark_scenario_random(s, seed, traits, named, looks);
        snprintf(s->protocol, sizeof s->protocol, "%s", a->search.protocol);
        intern_free(outcomes);
        r = search_classify(s, options, outcomes);
        free(r.path);
    }
    return r;
}

/* What came of a search with failures. */
static int random_result(const struct chance *c, uint64_t seed, const struct hark_scenario *s,
    const struct search_result *r, struct tally *t)
{
    t->programs++;
    t->class[r->class]++;
    t->states += r->states + r->transitions * (c->a.search.walks > 0);
    t->limit += r->verdict == SEARCH_LIMIT;
    if (r->verdict == SEARCH_LIMIT) return CHECK_NOT_WHOLE;
    if (r->verdict != SEARCH_VIOLATED) return CHECK_FINE;
    if (s->core.flags & HARK_EXACT_GATE && r->violated == VIOLATED_WAITS) {
        t->deadlocks++; /* E25: no gate lets all of these live */
        return CHECK_FINE;
    }
    t->violated++;
    return random_violated(c, s, seed, r);
}

static int random_one(const struct chance *c, const struct search_options *options, uint64_t seed,
    struct share *all, struct tally *t)
{
    struct hark_scenario s;
    struct intern outcomes = {0};
    struct search_result alone = random_program(&c->a, seed, options, &s, &outcomes), r = {0};
    int status = CHECK_FINE;
    if (alone.verdict == SEARCH_OK) {
        claim(&s, hark_protocol_named(s.protocol), alone.class);
        check_plant(&c->a, &s);
        r = search_classified(&s, options, &alone, &outcomes);
        status = r.verdict == SEARCH_FAILED ? random_impossible(c, seed, &r, all)
                                            : random_result(c, seed, &s, &r, t);
        free(r.path);
    } else if (alone.verdict == SEARCH_FAILED) {
        status = random_impossible(c, seed, &alone, all);
    } else if (alone.limit == SEARCH_STOPPED || alone.limit == SEARCH_NO_MEMORY) {
        status = CHECK_NOT_WHOLE;
    } else {
        t->unfinished++;
    }
    intern_free(&outcomes);
    return status;
}

static void random_share(void *self, uint32_t number, void *shared)
{
    const struct chance *c = self;
    struct share *share = shared, *mine = share + number;
    struct telling telling = {.c = c, .share = share};
    struct search_options options = c->a.search;
    if (options.most_states == 0) options.most_states = 200000;
    if (number == 0 && isatty(STDERR_FILENO)) {
        check_watch_begin(&telling.watch, "");
        options.progress = tell;
        options.self = &telling;
    }
    while (!share->refused && check_stopped_by(&c->a) == NULL) {
        uint64_t i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed);
        if (i >= c->a.count) break;
        mine->worst =
            check_worse(mine->worst, random_one(c, &options, c->a.random + i, share, &mine->tally));
        mine->states = mine->tally.states;
        mine->done++;
    }
    if (options.progress) check_watch_end();
}

/* By several processes. -1: said why not. */
static int random_shared(struct chance *c, struct share *all)
{
    char error[PROCESSES_ERROR];
    c->speech = memfd_create("hark check", MFD_CLOEXEC);
    if (c->speech < 0) {
        bad("--jobs: %s", strerror(errno));
        return -1;
    }
    struct share *share =
        processes_run(c->processes, c->processes * sizeof *share, random_share, c, error);
    close(c->speech);
    if (share == NULL) {
        bad("--random: %s", error);
        return -1;
    }
    for (uint32_t i = 0; i < c->processes; i++) {
        tally_add(&all->tally, &share[i].tally);
        all->done += share[i].done;
        all->worst = check_worse(all->worst, share[i].worst);
    }
    processes_free(share, c->processes * sizeof *share);
    return 0;
}

static void random_json(FILE *json, const struct check_arguments *a, const struct tally *t)
{
    fprintf(json, "{\"schema\": 1, \"command\": \"check\", \"max_memory\": %llu, ",
        (unsigned long long)a->search.most_bytes);
    fprintf(json,
        "\"random\": {\"protocol\": \"%s\", \"seed\": %llu, \"count\": %llu, "
        "\"programs\": %llu, \"deterministic\": %llu, \"rsd\": %llu, \"sd\": %llu, \"other\": "
        "%llu, \"unfinished\": "
        "%llu, "
        "\"violated\": %llu, \"limit\": %llu, \"waiting\": %llu, \"states\": %llu, \"stopped\": "
        "%s}}\n",
        a->search.protocol, (unsigned long long)a->random, (unsigned long long)a->count,
        (unsigned long long)t->programs, (unsigned long long)t->class[SEARCH_DETERMINISTIC],
        (unsigned long long)t -> class[SEARCH_RSD], (unsigned long long)t -> class[SEARCH_SD],
        (unsigned long long)t -> class[SEARCH_OTHER], (unsigned long long)t -> unfinished,
        (unsigned long long)t -> violated, (unsigned long long)t -> limit,
        (unsigned long long)t -> deadlocks, (unsigned long long)t -> states,
        check_stopped_by(a) ? "true" : "false");
}

static void random_report(const struct check_arguments *a, const struct tally *t, uint64_t begun)
{
    printf("%s: %llu programs (deterministic %llu, RSD %llu, SD %llu, other %llu), %llu more can "
           "not always finish "
           "or are too large, %llu "
           "violated, %llu states, %llu not to the end",
        a->search.protocol, (unsigned long long)t->programs,
        (unsigned long long)t->class[SEARCH_DETERMINISTIC],
        (unsigned long long)t -> class[SEARCH_RSD], (unsigned long long)t -> class[SEARCH_SD],
        (unsigned long long)t -> class[SEARCH_OTHER], (unsigned long long)t -> unfinished,
        (unsigned long long)t -> violated, (unsigned long long)t -> states,
        (unsigned long long)t -> limit);
    if (t->deadlocks)
        printf(", %llu wait for ever as SD programs may (E25)", (unsigned long long)t->deadlocks);
    putchar('\n');
    if (check_stopped_by(a))
        printf("  not searched whole: stopped by %s in program %llu of %llu\n", check_stopped_by(a),
            (unsigned long long)begun, (unsigned long long)a->count);
}

int check_random(const struct check_arguments *a, FILE *json)
{
    struct chance c = {*a, a->search.jobs < a->count ? a->search.jobs : (uint32_t)a->count, -1};
    struct share all = {0};
    c.a.search.jobs = 1;
    if (c.processes < 2) c.processes = 1;
    else if (a->search.most_bytes) c.a.search.most_bytes = a->search.most_bytes / c.processes + 1;
    if (c.processes == 1) random_share(&c, 0, &all);
    else if (random_shared(&c, &all) < 0) return CHECK_WRONG;
    random_report(a, &all.tally, all.done);
    if (json) random_json(json, a, &all.tally);
    return check_stopped_by(a) ? check_worse(all.worst, CHECK_NOT_WHOLE) : all.worst;
}
