/* check.c: `hark check`: every interleaving of small programs, through the cores that ship. */
#include "check.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check/processes.h"
#include "../check/random.h"
#include "../check/search.h"
#include "../json.h"
#include "values.h"

enum { JOBS = 64 };

struct arguments {
    struct search_options search;
    uint64_t failures;
    bool own_failures; /* --failures was given */
    uint64_t fan;      /* --report-tree */
    uint64_t jobs;
    uint64_t random, count; /* --random SEED:COUNT */
    const char *out, *json;
    char **file;
    int files;
};

static const char usage[] = "usage: hark check [OPTION]... SCENARIO... | --random SEED:COUNT";

void hark_cli_check_help(void)
{
    printf("%s\n%s", usage,
        "Explores every interleaving of small programs and failures through the protocols' own code; see hark-scenario(5).\n"
        "  --protocol P       instead of the scenario's own\n"
        "  --failures F       any F processes fail, one after the other, also during recovery; instead of the scenario's own\n"
        "  --report-tree K    hydee: reports go up a tree with K processes, 2 to 15, below each; not with the exact gate\n"
        "  --atomic           what protocols do by themselves (control frames, announcements, stores) happens at once\n"
        "  --reduce           of steps that commute only one order is gone through: fewer states, the same ends and verdict; a\n"
        "                     violation that is found need not be shortest\n"
        "  --compare          that, and everything, and do they come to the same?\n"
        "  --walks N[:SEED]   instead of everything, N walks by chance, each to the end\n"
        "  --random SEED:N    no scenario, but N programs made by chance, each with failures that the protocol claims to\n"
        "                     survive for its class; it needs --protocol\n"
        "  --jobs N           with so many threads; walks, and programs made by chance, with so many processes (1)\n"
        "  --max-states N     stop after about so many states\n"
        "  --max-memory SIZE  stop at about this much memory: 512M, 16G\n"
        "  -o FILE            where a violation goes, as a scenario with its schedule (NAME-violation.hark)\n"
        "  --json FILE        write the figures\n"
        "Exit status: 0 as expected, or nothing found; 1 a violation; 2 bad usage or input.\n");
}

#define bad(...) hark_cli_bad("check", __VA_ARGS__)

/* A:B; or A alone if `alone`, which then stands for B. */
static bool pair(const char *text, uint64_t *a, uint64_t *b, uint64_t alone)
{
    const char *end;
    if (!hark_cli_number(text, UINT64_MAX, a, &end)) return false;
    if (*end == 0 && alone) *b = alone;
    else return *end == ':' && hark_cli_whole_number(end + 1, UINT64_MAX, b);
    return true;
}

/* 0: go on; 2: said why not; -1: help was asked for and given. */
static int parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {{"protocol", required_argument, NULL, 'p'},
        {"failures", required_argument, NULL, 'f'}, {"report-tree", required_argument, NULL, 't'}, {"atomic", no_argument, NULL, 'a'},
        {"reduce", no_argument, NULL, 'R'}, {"compare", no_argument, NULL, 'C'},
        {"walks", required_argument, NULL, 'w'}, {"random", required_argument, NULL, 'r'},
        {"jobs", required_argument, NULL, 'J'}, {"max-states", required_argument, NULL, 's'},
        {"max-memory", required_argument, NULL, 'm'}, {"json", required_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int c;
    optind = 0; /* start anew: the dispatcher has parsed options of its own */
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":ho:", options, NULL)) != -1) {
        switch (c) {
        case 'p': a->search.protocol = optarg; break;
        case 'f':
            a->own_failures = true;
            if (!hark_cli_whole_number(optarg, HARK_SCENARIO_FAILS, &a->failures))
                return bad("--failures: expected 0 to %d, found \"%s\"", HARK_SCENARIO_FAILS, optarg);
            break;
        case 't':
            if (!hark_cli_whole_number(optarg, HARK_SCENARIO_RANKS - 1, &a->fan) || a->fan < 2)
                return bad("--report-tree: expected 2 to %d, found \"%s\"", HARK_SCENARIO_RANKS - 1, optarg);
            break;
        case 'a': a->search.atomic = true; break;
        case 'R': a->search.reduce = SEARCH_REDUCED; break;
        case 'C': a->search.reduce = SEARCH_COMPARED; break;
        case 'w':
            if (!pair(optarg, &a->search.walks, &a->search.seed, 1) || a->search.walks == 0)
                return bad("--walks: expected a number of walks, or that and :SEED, found \"%s\"", optarg);
            break;
        case 'r':
            if (!pair(optarg, &a->random, &a->count, 0) || a->count == 0)
                return bad("--random: expected SEED:COUNT, found \"%s\"", optarg);
            break;
        case 'J':
            if (!hark_cli_whole_number(optarg, JOBS, &a->jobs) || a->jobs == 0)
                return bad("--jobs: expected 1 to %d, found \"%s\"", JOBS, optarg);
            break;
        case 's':
            if (!hark_cli_whole_number(optarg, UINT32_MAX - 2, &a->search.most_states) || a->search.most_states == 0)
                return bad("--max-states: expected 1 to %u, found \"%s\"", UINT32_MAX - 2, optarg);
            break;
        case 'm':
            if (!hark_cli_size(optarg, &a->search.most_bytes) || a->search.most_bytes == 0)
                return bad("--max-memory: expected bytes such as 512M or 16G, found \"%s\"", optarg);
            break;
        case 'o': a->out = optarg; break;
        case 'j': a->json = optarg; break;
        case 'h': hark_cli_check_help(); return -1;
        default: return hark_cli_refused("check", c, argv);
        }
    }
    if (a->search.protocol && hark_protocol_named(a->search.protocol) == NULL)
        return bad("--protocol: no protocol is named \"%s\"", a->search.protocol);
    a->search.jobs = (uint32_t)a->jobs;
    a->file = argv + optind;
    a->files = argc - optind;
    if (a->search.reduce != SEARCH_WHOLE && (a->search.atomic || a->search.walks))
        return bad("--%s: expected without %s", a->search.reduce == SEARCH_REDUCED ? "reduce" : "compare",
            a->search.atomic ? "--atomic" : "--walks");
    if (a->count && a->files) return bad("--random: no scenario is read then, found \"%s\"", a->file[0]);
    if (a->count && a->own_failures) return bad("--failures: not with --random: as many as the protocol claims to survive");
    if (a->count && a->out) return bad("-o: not with --random: each violation has a file of its own");
    if (a->out && a->files > 1) return bad("-o: expected one scenario with it, found %d", a->files);
    if (a->count && a->search.protocol == NULL) return bad("--random: expected --protocol with it");
    return a->files || a->count ? 0 : bad("%s", usage);
}

/* --report-tree, where there is something to it. */
static void plant(const struct arguments *a, struct hark_scenario *s)
{
    const struct hark_protocol *p = hark_protocol_named(a->search.protocol ? a->search.protocol : s->protocol);
    if (a->fan && p && p->traits & HARK_TRAIT_GATES && !s->exact_gate) s->fan = (uint8_t)a->fan;
}

/* ---- what is said ------------------------------------------------------------------------------------------------------- */

static void progress(void *self, uint64_t states, uint64_t waiting, uint32_t depth, uint64_t bytes)
{
    fprintf(stderr, "\r%s: %llu states, %llu to do, depth %u, %llu MiB ", (const char *)self, (unsigned long long)states,
        (unsigned long long)waiting, depth, (unsigned long long)(bytes >> 20));
}

static const char *verdict(const struct search_result *r)
{
    static const char *const words[] = {"ok", "violated", "unfinished", "limit", "failed"};
    return words[r->verdict];
}

/* A share of nothing is 0. */
static double per(uint64_t n, double of)
{
    return of > 0 ? (double)n / of : 0;
}

static void report(const char *name, const char *protocol, const struct search_result *r)
{
    bool walks = r->states == 0; /* they keep none */
    printf("%-24s %-12s %-10s %10llu %s %11llu steps %4u deep %8.2f s ", name, protocol, verdict(r),
        (unsigned long long)(walks ? r->finals : r->states), walks ? "walks to an end" : "states", (unsigned long long)r->transitions,
        r->depth, r->seconds);
    if (walks) printf("%8.0f steps/s\n", per(r->transitions, r->seconds));
    else printf("%8.0f states/s %5.0f bytes/state\n", per(r->states, r->seconds), per(r->bytes, (double)r->states));
    switch (r->verdict) {
    case SEARCH_VIOLATED:
        if (r->path) printf("  after %u steps: %s\n", r->path_length, lab_violation(r->violated));
        else printf("  %s\n  no way to it: it had to be searched for again, and a limit was reached first\n", lab_violation(r->violated));
        if (r->whole) printf("  as in the search of all\n");
        break;
    case SEARCH_UNFINISHED:
        printf("  the program can not finish even without failures%s: %s%s%s\n", r->needs ? "" : " and protocol", lab_violation(r->violated),
            r->why[0] ? ": " : "", r->why);
        break;
    case SEARCH_OK:
        if (r->whole) printf("  the same ends as all of its %llu states\n", (unsigned long long)r->whole);
        break;
    case SEARCH_LIMIT: puts("  nothing wrong as far as it went: the limit of states or memory was reached"); break;
    default: break;
    }
    fflush(stdout);
}

static void json_row(FILE *json, const char *name, const char *protocol, const struct search_result *r, bool *first)
{
    if (json == NULL) return;
    fprintf(json, "%s\n  {\"name\": ", *first ? "" : ",");
    *first = false;
    hark_json_string(json, name);
    fprintf(json, ", \"protocol\": \"%s\", \"verdict\": \"%s\", \"violated\": \"%s\", \"states\": %llu, "
        "\"steps\": %llu, \"finals\": %llu, \"depth\": %u, \"seconds\": %.3f, \"bytes\": %llu, \"core_steps_made\": %llu, "
        "\"core_steps_known\": %llu, \"whole\": %llu}", protocol, verdict(r), lab_violation(r->violated),
        (unsigned long long)r->states, (unsigned long long)r->transitions, (unsigned long long)r->finals, r->depth,
        r->seconds, (unsigned long long)r->bytes, (unsigned long long)r->made, (unsigned long long)r->looked_up,
        (unsigned long long)r->whole);
}

/* ---- one scenario ------------------------------------------------------------------------------------------------------- */

/* The violation as a scenario: what it did, step by step. */
static int write_story(const struct arguments *a, const struct hark_scenario *s, const struct search_result *r)
{
    struct hark_scenario story;
    char path[128];
    snprintf(path, sizeof path, "%s-violation.hark", s->name);
    for (char *at = path; *at; at++)
        if (!isalnum((unsigned char)*at) && strchr("._-+", *at) == NULL) *at = '_'; /* a name may be any words */
    if (*path == '-') *path = '_';
    const char *out = a->out ? a->out : path;
    char *text = search_story(s, &a->search, r, &story) == 0 ? hark_scenario_text(&story) : NULL;
    FILE *file = text ? fopen(out, "we") : NULL;
    int status = 0;
    if (text == NULL) status = bad("%s: no memory for the way to the violation", s->name);
    else if (file == NULL || fputs(text, file) == EOF) status = bad("%s: %s", out, strerror(errno));
    if (file && fclose(file) != 0 && status == 0) status = bad("%s: %s", out, strerror(errno));
    if (status == 0)
        printf("  written to %s%s: see it by `hark replay %s`\n", out,
            r->violated == VIOLATED_FOREVER ? ", the way to where no step leads to an end any more" : "", out);
    free(text);
    for (uint32_t i = 0; i < story.schedule_lines; i++) free(story.schedule[i].text);
    free(story.schedule);
    return status;
}

/* Does the scenario expect what was found? */
static bool expected(const struct hark_scenario *s, const struct search_result *r)
{
    const char *found = r->verdict == SEARCH_VIOLATED ? lab_violation(r->violated) : verdict(r);
    return s->expect[0] && strncmp(s->expect, found, strlen(s->expect)) == 0;
}

static int check_one(const struct arguments *a, struct hark_scenario *s, FILE *json, bool *first)
{
    struct search_options options = a->search;
    if (a->own_failures) {
        s->fails = (uint32_t)a->failures;
        for (uint32_t i = 0; i < s->fails; i++) s->fail[i] = (struct hark_fail){-1, HARK_FAIL_NESTED};
    }
    if (isatty(STDERR_FILENO)) {
        options.progress = progress;
        options.self = s->name;
    }
    struct search_result r = search(s, &options);
    if (options.progress) fputs("\r\033[K", stderr);
    const char *protocol = a->search.protocol ? a->search.protocol : s->protocol;
    int status = 0;
    if (r.verdict == SEARCH_FAILED && r.states == 0) {
        status = bad("%s: %s", s->name, r.why);
    } else {
        report(s->name, protocol, &r);
        json_row(json, s->name, protocol, &r, first);
        if (r.verdict == SEARCH_FAILED) status = bad("%s: stopped: %s", s->name, r.why);
        if (r.verdict == SEARCH_UNFINISHED && !expected(s, &r)) status = 2;
        if (r.verdict == SEARCH_VIOLATED && !expected(s, &r)) status = 1;
        if (status == 1 && s->expect[0] && strcmp(s->expect, "ok") != 0) printf("  expected: %s\n", s->expect);
        if (r.path && (status == 1 || a->out) && write_story(a, s, &r) != 0) status = 2;
        if (r.verdict == SEARCH_OK && s->expect[0] && !expected(s, &r)) {
            printf("  expected: %s\n", s->expect);
            status = 1;
        }
    }
    free(r.path);
    return status;
}

/* ---- programs made by chance ---------------------------------------------------------------------------------------------- */

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

/* Only what the protocol claims for a program of this class. */
static void claim(struct hark_scenario *s, const struct hark_protocol *p, enum search_class class)
{
    uint32_t kept = 0;
    if (p->rolls == 0) { /* no failures, and the order of messages is the network's */
        s->fails = 0;
        s->fifo = true;
    }
    for (uint32_t i = 0; i < s->fails; i++)
        if (s->fail[i].rank != HARK_FAIL_RECOVERY || p->recovery) s->fail[kept++] = s->fail[i];
    s->fails = kept;
    for (uint32_t i = 0; p->unstable && s->copies < s->fails && i < s->fails; i++) { /* k at once, not more */
        uint8_t *when = &s->fail[i].when;
        if (*when == HARK_FAIL_NESTED || (i > 0 && *when != HARK_FAIL_STORE)) *when = HARK_FAIL_AFTER;
    }
    s->exact_gate = p->recovery && class == SEARCH_SD;
    if (!s->exact_gate) return;
    /* One cluster each: the gate's dependencies are between clusters, and a program whose receives vary may need what a mate does. */
    for (uint32_t i = 0; i < s->ranks; i++) s->cluster[i] = (uint8_t)i;
}

/* Programs made by chance, of which each process takes the next when it is through with one: they differ by much, and by their seed. */
struct chance {
    struct arguments a;
    uint32_t processes;
    int speech; /* file that is locked by whoever says something; -1: there is one process */
};

struct share { /* what one of them came to */
    struct tally tally;
    int worst;
    _Atomic uint64_t next; /* of the first: the program that nobody has taken yet */
};

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

static int random_violated(const struct chance *c, const struct hark_scenario *s, uint64_t seed, const struct search_result *r)
{
    speak(c);
    report(s->name, s->protocol, r);
    printf("  again: hark check --protocol %s --random %llu:1", s->protocol, (unsigned long long)seed);
    if (c->a.fan) printf(" --report-tree %llu", (unsigned long long)c->a.fan);
    putchar('\n');
    int status = r->path && write_story(&c->a, s, r) ? 2 : 1;
    spoken(c);
    return status;
}

static int random_one(const struct chance *c, uint64_t seed, struct tally *t)
{
    const struct arguments *a = &c->a;
    struct hark_scenario s;
    struct search_options options = a->search;
    if (options.most_states == 0) options.most_states = 200000;
    const struct hark_protocol *protocol = hark_protocol_named(a->search.protocol);
    const bool groups = protocol && (hark_protocol_groups(protocol, false) || seed % 3 == 0); /* of the others, every third */
    uint32_t traits = protocol ? protocol->traits : 0;
    if (!groups) traits &= HARK_TRAIT_WAVES | (seed % 3 == 1 ? HARK_TRAIT_REGROUPS : 0);
    struct search_result r = {.verdict = SEARCH_UNFINISHED}, alone;
    struct intern outcomes = {0};
    for (uint32_t named = 0; named < 2 && (r.verdict == SEARCH_UNFINISHED || r.verdict == SEARCH_LIMIT); named++) { /* one that can finish */
        hark_scenario_random(&s, seed, traits, named, protocol && protocol->unstable && seed % 2); /* where what is seen is recorded */
        snprintf(s.protocol, sizeof s.protocol, "%s", a->search.protocol);
        intern_free(&outcomes);
        r = search_classify(&s, &options, &outcomes);
        free(r.path);
    }
    if (r.verdict != SEARCH_OK) {
        intern_free(&outcomes);
        t->unfinished += r.verdict != SEARCH_FAILED;
        return r.verdict == SEARCH_FAILED ? random_failed(c, seed, r.why) : 0;
    }
    alone = r;
    claim(&s, protocol, r.class);
    plant(a, &s);
    r = search_classified(&s, &options, &alone, &outcomes);
    intern_free(&outcomes);
    t->programs++;
    t->class[r.class]++;
    t->states += r.states + r.transitions * (options.walks > 0);
    t->limit += r.verdict == SEARCH_LIMIT;
    int status = 0;
    if (r.verdict == SEARCH_FAILED) status = random_failed(c, seed, r.why);
    if (r.verdict == SEARCH_VIOLATED && s.exact_gate && r.violated == VIOLATED_WAITS) {
        t->deadlocks++; /* E25: no gate lets all of these live */
    } else if (r.verdict == SEARCH_VIOLATED) {
        t->violated++;
        status = random_violated(c, &s, seed, &r);
    }
    free(r.path);
    return status;
}

static void random_share(void *self, uint32_t number, void *shared)
{
    const struct chance *c = self;
    struct share *share = shared, *mine = share + number;
    bool terminal = number == 0 && isatty(STDERR_FILENO);
    for (uint64_t i; (i = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed)) < c->a.count;) {
        int status = random_one(c, c->a.random + i, &mine->tally);
        if (status > mine->worst) mine->worst = status;
        if (terminal) fprintf(stderr, "\r%llu of %llu ", (unsigned long long)i + 1, (unsigned long long)c->a.count);
    }
    if (terminal) fputs("\r\033[K", stderr);
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
    struct share *share = processes_run(c->processes, c->processes * sizeof *share, random_share, c, error);
    close(c->speech);
    if (share == NULL) {
        bad("--random: %s", error);
        return -1;
    }
    for (uint32_t i = 0; i < c->processes; i++) {
        tally_add(&all->tally, &share[i].tally);
        if (share[i].worst > all->worst) all->worst = share[i].worst;
    }
    processes_free(share, c->processes * sizeof *share);
    return 0;
}

static void random_json(FILE *json, const struct arguments *a, const struct tally *t)
{
    fprintf(json, "{\"schema\": 1, \"command\": \"check\", \"random\": {\"protocol\": \"%s\", \"seed\": %llu, \"count\": %llu, "
        "\"programs\": %llu, \"deterministic\": %llu, \"rsd\": %llu, \"sd\": %llu, \"other\": %llu, \"unfinished\": %llu, "
        "\"violated\": %llu, \"limit\": %llu, \"waiting\": %llu, \"states\": %llu}}\n", a->search.protocol,
        (unsigned long long)a->random, (unsigned long long)a->count, (unsigned long long)t->programs,
        (unsigned long long)t->class[SEARCH_DETERMINISTIC], (unsigned long long)t->class[SEARCH_RSD],
        (unsigned long long)t->class[SEARCH_SD], (unsigned long long)t->class[SEARCH_OTHER], (unsigned long long)t->unfinished,
        (unsigned long long)t->violated, (unsigned long long)t->limit, (unsigned long long)t->deadlocks, (unsigned long long)t->states);
}

static int random_all(const struct arguments *a, FILE *json)
{
    struct chance c = {*a, a->search.jobs < a->count ? a->search.jobs : (uint32_t)a->count, -1};
    struct share all = {0};
    c.a.search.jobs = 1;
    if (c.processes < 2) c.processes = 1;
    else if (a->search.most_bytes) c.a.search.most_bytes = a->search.most_bytes / c.processes + 1;
    if (c.processes == 1) random_share(&c, 0, &all);
    else if (random_shared(&c, &all) < 0) return 2;
    const struct tally t = all.tally;
    printf("%s: %llu programs (deterministic %llu, RSD %llu, SD %llu, other %llu), %llu more can not always finish or are too large, %llu "
        "violated, %llu states, %llu not to the end", a->search.protocol, (unsigned long long)t.programs,
        (unsigned long long)t.class[SEARCH_DETERMINISTIC], (unsigned long long)t.class[SEARCH_RSD],
        (unsigned long long)t.class[SEARCH_SD], (unsigned long long)t.class[SEARCH_OTHER], (unsigned long long)t.unfinished,
        (unsigned long long)t.violated, (unsigned long long)t.states, (unsigned long long)t.limit);
    if (t.deadlocks) printf(", %llu wait for ever as SD programs may (E25)", (unsigned long long)t.deadlocks);
    putchar('\n');
    if (json) random_json(json, a, &t);
    return all.worst;
}

static int check_all(struct arguments *a, FILE *json)
{
    int worst = 0;
    bool first = true;
    if (json) fputs("{\"schema\": 1, \"command\": \"check\", \"scenarios\": [", json);
    for (int i = 0; i < a->files; i++) {
        struct hark_scenario s;
        char error[HARK_SCENARIO_ERROR];
        int status = 2;
        if (hark_scenario_read(&s, a->file[i], error) < 0) fprintf(stderr, "hark check: %s\n", error);
        else {
            plant(a, &s);
            status = check_one(a, &s, json, &first);
        }
        hark_scenario_free(&s);
        if (status > worst) worst = status;
    }
    if (json) fputs("\n]}\n", json);
    return worst;
}

int hark_cli_check(int argc, char **argv)
{
    struct arguments a = {0};
    int status = parse(argc, argv, &a);
    if (status != 0) return status < 0 ? 0 : status;
    const struct hark_cli_file file[] = {{"-o", a.out}, {NULL, NULL}};
    if (hark_cli_writable("check", file) != 0) return 2;
    FILE *json = a.json ? hark_cli_create("check", "--json", a.json) : NULL;
    if (a.json && json == NULL) return 2;
    status = a.count ? random_all(&a, json) : check_all(&a, json);
    return json && hark_cli_close("check", "--json", a.json, json) != 0 ? 2 : status;
}
