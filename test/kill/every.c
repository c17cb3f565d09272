/* every.c: the kill matrix. Small programs of 3 to 6 processes, with every protocol on every
 * transport:
 *
 *   every       SIGKILL at every delivery of every process
 *   pairs       two of them
 *   points      at named points of the library (src/driver/point.h), of a process, the recovery
 *               process or the supervisor, during
 *               checkpoints and recovery; the job of a killed supervisor is resumed
 *   stop        a process is stopped, and asleep when it is to go back with another one
 *   fence       an earlier incarnation goes on, with its connections, when the next one is up
 *   supervisor  SIGKILL of the supervisor at some moment: everything is gone, and the job is
 *               resumed
 *   cut         messages over TCP, connections cut and delayed, with a kill and without
 *   store       full disks, stores that can only be read, that vanish: tests of their own
 *
 * The answer is the undisturbed one, never are there two incarnations of a rank, nothing is left.
 *
 *   test-kill-every [-j JOBS] [-s SEED:RUNS] [-p NAME] [KIND[:NUMBER]]...
 *       -s: so many runs of each kind, SEED says which; -p: of one protocol, "camel", "scmel, 2
 *       copies"
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "every.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
enum { JOBS = 64, STRIDE = 4, MANY = 60 /* runs, of which one at least does what each may */ };

static const struct program programs[] = {{.ranks = 4, .clusters = "2", .argument = {"4"}},
    {.ranks = 6, .clusters = "3", .argument = {"2"}},
    {.ranks = 3, .clusters = "3", .argument = {"5", "order"}, .by_order = true},
    {.ranks = 4, .clusters = "2", .argument = {"4", "together"}, .together = true},
    {.ranks = 4, .clusters = "2", .argument = {"6", "partners"}, .partners = true},
    {.ranks = 3, .clusters = "3", .argument = {"5", "looks"}, .by_order = true},
    {.ranks = 3, .clusters = "2", .argument = {"4", "started"}}};
/* One of four processes; with collectives, where they are no messages. */
static const struct program *four(const struct variant *v)
{
    return &programs[v->regroups ? 4 : v->groups ? 3 : 0];
}

static const struct variant variants[] = {
    {{"--protocol", "coordinated"}, "coordinated", .with_others = true},
    {{"--protocol", "hydee"}, "hydee", .with_others = true, .has_recovery = true},
    {{"--protocol", "hydee", "--exact-gate"}, "hydee, exact gate", .with_others = true,
        .has_recovery = true},
    {{"--protocol", "hydee", "--report-tree", "2"}, "hydee, tree", .with_others = true,
        .has_recovery = true},
    {{"--protocol", "hydee", "--camel"}, "hydee, multicasts", .with_others = true,
        .has_recovery = true, .groups = 2},
    {{"--protocol", "hydee", "--recluster"}, "hydee, clusters change", .has_recovery = true,
        .regroups = true},
    {{"--protocol", "sendet"}, "sendet", .has_recovery = true},
    {{"--protocol", "scmel"}, "scmel", .any_order = true, .at_once = 1},
    {{"--protocol", "scmel", "--copies", "2"}, "scmel, 2 copies", .any_order = true, .at_once = 2},
    {{"--protocol", "camel"}, "camel", .any_order = true, .groups = 1, .at_once = 1},
    {{"--protocol", "camel", "--copies", "2"}, "camel, 2 copies", .any_order = true, .groups = 2,
        .at_once = 2},
    {{"--protocol", "team"}, "team", .any_order = true, .with_others = true, .at_once = 1},
    {{"--protocol", "team", "--camel"}, "team, groups", .any_order = true, .with_others = true,
        .groups = 1, .at_once = 1},
    {{"--protocol", "team", "--copies", "2"}, "team, 2 copies", .any_order = true,
        .with_others = true, .at_once = 2},
    {{"--protocol", "team", "--team-lost"}, "team, lost", .any_order = true, .with_others = true,
        .at_once = 1}};
static const char *const transports[] = {"shm", "uv"};

static struct kase *list;
static unsigned cases, room;

/* ---- the list -------------------------------------------------------------------------------- */

static struct kase *add(void (*run)(struct run *, const struct kase *), const char *kind,
    const struct program *p, const struct variant *v, const char *transport)
{
    if (cases == room) {
        room = room * 2 + 1024;
        list = realloc(list, room * sizeof *list);
        if (list == NULL) abort();
    }
    unsigned number =
        cases && strcmp(list[cases - 1].kind, kind) == 0 ? list[cases - 1].number + 1 : 0;
    list[cases] = (struct kase){.run = run,
        .kind = kind,
        .number = number,
        .program = p,
        .variant = v,
        .transport = transport,
        .seed = number * UINT64_C(0x9e3779b97f4a7c15) >> 8};
    return &list[cases++];
}

#define EACH_VARIANT   for (const struct variant *v = variants; v < variants + COUNT(variants); v++)
#define EACH_TRANSPORT for (size_t t = 0; t < COUNT(transports); t++)
#define EACH_PROGRAM                                                                               \
    for (const struct program *p = programs; p < programs + COUNT(programs); p++)                  \
        if ((v->any_order || !p->by_order) && (v->groups || !p->together) &&                       \
            v->regroups == p->partners)

static void plan(char kill[24], int rank, unsigned at)
{
    snprintf(kill, 24, "%d@%u", rank, at);
}

static void add_every(void)
{
    EACH_VARIANT EACH_TRANSPORT EACH_PROGRAM for (int rank = 0; rank < p->ranks;
                                                  rank++) for (unsigned at = 1;
                                                               at <= every_deliveries(p, v, rank);
                                                               at++)
    {
        struct kase *k = add(every_kill, "every", p, v, transports[t]);
        plan(k->kill[0], rank, at);
        k->other_way = at % 3 == 0; /* without checkpoints */
    }
}

/* All pairs at a stride, which begins elsewhere for each pair of ranks. */
static void add_pairs(void)
{
    EACH_VARIANT EACH_TRANSPORT EACH_PROGRAM
    {
        if (p->ranks > 4 || (p->by_order && v->at_once == 1)) continue;
        for (int i = 0; i < p->ranks; i++)
            for (int j = i; j < p->ranks; j++)
                for (unsigned a = 1 + (unsigned)(i + j) % STRIDE; a <= every_deliveries(p, v, i);
                     a += STRIDE)
                    for (unsigned b = i == j ? a + 1 : 1 + (unsigned)(i + 2 * j) % STRIDE;
                         b <= every_deliveries(p, v, j); b += STRIDE) {
                        struct kase *k = add(every_kill, "pairs", p, v, transports[t]);
                        plan(k->kill[0], i, a);
                        plan(k->kill[1], j, b);
                        k->other_way = (a + b) % 3 == 0;
                    }
    }
}

/* How often, at most, is a point come to? Each of these is tried. */
static const struct point {
    const char *name;
    unsigned count[6];
} of_process[] = {{"capture", {1, 2}}, {"copied", {1, 2}}, {"written", {1, 2}},
    {"captured", {1, 2}}, {"persist", {1, 2}}, {"persisted", {1, 2}}, {"commit", {1, 2}},
    {"committed", {1, 2}}, {"control", {1, 2, 4, 7, 11, 16}}, {"sent", {1, 5, 12, 20, 30, 45}},
    {"restarted", {1}}, {"up", {1, 2}}, {"hello", {1, 2}}, {"failed", {1}}, {"heard", {1}},
    {"rollback", {1}}, {"again", {1}}, {"execve", {1}}, {"clusters", {1, 2}}, {"told", {1, 2}}},
  of_recovery[] = {{"control", {1, 2, 3, 4, 5, 7}}, {"sent", {1, 2, 3, 4, 5, 7}}, {"failed", {1}},
      {"heard", {1}}, {"up", {1}}, {"hello", {1}}, {"persist", {1}}, {"persisted", {1}}},
  of_supervisor[] = {{"chosen", {1}}, {"durable", {1}}, {"announced", {1}}, {"spawned", {1}},
      {"fact", {1, 2, 3, 5}}, {"noted", {1, 2, 3, 5}}, {"finished", {1}}, {"proposed", {1}},
      {"changed", {1}}};

/* Where clusters stay, nobody comes to these. */
static const char *const of_change[] = {"clusters", "told", "proposed", "changed"};

static bool comes_to(const struct variant *v, const struct point *x)
{
    bool change = false;
    for (size_t i = 0; i < COUNT(of_change); i++) change |= strcmp(x->name, of_change[i]) == 0;
    return v->regroups || !change;
}

static void add_point(
    const struct point *x, const char *rank, const struct variant *v, const char *transport)
{
    bool supervisor = strcmp(rank, "supervisor") == 0;
    for (int i = 0; i < 6 && x->count[i] && comes_to(v, x); i++) {
        struct kase *k =
            add(supervisor ? every_supervisor : every_point, "points", four(v), v, transport);
        snprintf(k->point, sizeof k->point, "%s@%s:%u", x->name, rank, x->count[i]);
        k->always = strcmp(x->name, "finished") == 0;
        plan(k->kill[0], 1, 4 + k->number % 7); /* what there is to be recovered from */
    }
}

static void add_points(void)
{
    char rank[16];
    EACH_VARIANT EACH_TRANSPORT
    {
        for (size_t i = 0; i < COUNT(of_process); i++)
            for (int r = 0; r < four(v)->ranks; r++) {
                snprintf(rank, sizeof rank, "%d", r);
                add_point(&of_process[i], rank, v, transports[t]);
            }
        for (size_t i = 0; i < COUNT(of_recovery) && v->has_recovery; i++)
            add_point(&of_recovery[i], "recovery", v, transports[t]);
        for (size_t i = 0; i < COUNT(of_supervisor); i++)
            add_point(&of_supervisor[i], "supervisor", v, transports[t]);
        /* It hears of the end, and is through with it, while its other thread is about to wake it.
         */
        struct kase *k = add(every_point, "points", four(v), v, transports[t]);
        snprintf(k->point, sizeof k->point, "finishing@1=-20,wake@1=-40");
        k->always = t == 1;
    }
}

static void add_stop(void)
{
    EACH_VARIANT EACH_TRANSPORT for (int rank = 0; rank < four(v)->ranks;
                                     rank++) for (unsigned at = 1;
                                                  at <= every_deliveries(four(v), v, rank); at += 2)
    {
        struct kase *k = add(every_stop, "stop", four(v), v, transports[t]);
        snprintf(k->point, sizeof k->point, "delivered@%d:%u=19", rank, at); /* SIGSTOP */
        k->rank = rank;
        k->other_way = !v->with_others || at % 4 == 1;
        k->long_asleep = k->always = !v->with_others && t == 1 && rank == 0 && at == 1;
    }
}

static void add_rest(const char *const test[], size_t tests)
{
    EACH_VARIANT EACH_TRANSPORT for (int i = 0; i < 2 * four(v)->ranks; i++)
    {
        struct kase *k = add(every_fence, "fence", &programs[0], v, transports[t]);
        k->rank = i / 2;
        k->other_way = i % 2;
    }
    EACH_VARIANT EACH_TRANSPORT EACH_PROGRAM for (int i = 0; i < 20 && !p->by_order; i++)
    { /* with it all processes are lost at once */
        struct kase *k = add(every_supervisor, "supervisor", p, v, transports[t]);
        unsigned rank = (unsigned)(k->seed % (unsigned)p->ranks),
                 last = every_deliveries(p, v, (int)rank);
        if (i % 4)
            snprintf(
                k->point, sizeof k->point, "delivered@%u:%u=0", rank, 1 + (unsigned)i * last / 20);
        if (i % 2)
            plan(k->kill[0], i % p->ranks, 1 + (unsigned)i * 3 / 4); /* during a recovery, perhaps
                                                                      */
    }
    EACH_VARIANT EACH_PROGRAM for (int i = 0; i < 20; i++)
    {
        struct kase *k = add(every_cut, "cut", p, v, "uv");
        if (i % 2) plan(k->kill[0], i % p->ranks, 1 + (unsigned)i % 7);
    }
    for (size_t i = 0; i < tests; i++) add(every_test, "store", NULL, NULL, NULL)->test = test[i];
}

/* ---- one case -------------------------------------------------------------------------------- */

static const struct kase *present;

static void case_of_present(void **state)
{
    present->run(*state, present);
}

/* A failed case may have left its job running. */
static int teardown(void **state)
{
    struct run *r = *state;
    if (r->pid > 0) kill(r->pid, SIGKILL);
    return run_teardown(state);
}

static int run_case(const struct kase *k, int log)
{
    const struct CMUnitTest test[] = {{k->kind, case_of_present, run_setup, teardown, NULL}};
    if (dup2(log, 1) < 0 || dup2(log, 2) < 0) return 1;
    present = k;
    return cmocka_run_group_tests(test, NULL, NULL);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct slot {
    pid_t pid;
    int log;
    const struct kase *k;
} slot[JOBS];

static struct figures {
    const char *kind;
    unsigned runs, passed, failed, reached, beyond, could_change, changed, cuts;
    long gone_ms;
    double seconds;
} present_kind;

static struct outcome *outcomes;
static unsigned passed, failed;
static bool reached_point[COUNT(of_process) + COUNT(of_recovery) + COUNT(of_supervisor)];

static void note_point(const struct kase *k)
{
    const struct point *table[] = {of_process, of_recovery, of_supervisor};
    const size_t count[] = {COUNT(of_process), COUNT(of_recovery), COUNT(of_supervisor)};
    size_t which = strstr(k->point, "@recovery")     ? 1
                   : strstr(k->point, "@supervisor") ? 2
                                                     : 0,
           at = 0;
    for (size_t i = 0; i < which; i++) at += count[i];
    for (size_t i = 0; i < count[which]; i++)
        if (strcspn(k->point, "@") == strlen(table[which][i].name) &&
            strncmp(k->point, table[which][i].name, strlen(table[which][i].name)) == 0)
            reached_point[at + i] = true;
}

/* The lines of a failure: what failed, in one line that reproduces it; then why. */
static void say_failure(const struct kase *k, int log)
{
    char text[1200], line[2000];
    FILE *f = fdopen(dup(log), "r");
    int lines = 0;
    every_show(k, text);
    printf("FAILED %s:%u: %s\n", k->kind, k->number, text);
    if (f == NULL) return;
    rewind(f);
    while (lines < 40 && fgets(line, sizeof line, f))
        if (strncmp(line, "[====", 5) != 0 && strncmp(line, "[ RUN", 5) != 0 && ++lines)
            printf("    %s", line);
    fclose(f);
    fflush(stdout);
}

/* The tests of a program that ran: how many passed; those that were skipped are named. */
static unsigned count_tests(int log)
{
    char line[2000];
    unsigned n = 0;
    FILE *f = fdopen(dup(log), "r");
    if (f == NULL) return 0;
    rewind(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "[       OK ] ", 13) == 0 && strncmp(line + 13, "store\n", 6) != 0) n++;
        if (strncmp(line, "[  SKIPPED ] ", 13) == 0 && strspn(line + 13, "0123456789") == 0)
            printf("%s", line);
    }
    fclose(f);
    return n;
}

static void ended(struct slot *s, int status)
{
    struct figures *f = &present_kind;
    const struct outcome *o = &outcomes[s - slot];
    bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    unsigned n = ok && s->k->test ? count_tests(s->log) : 1;
    f->runs += n;
    *(ok ? &f->passed : &f->failed) += n;
    f->reached += o->reached;
    f->beyond += o->beyond;
    f->could_change += s->k->variant && s->k->variant->regroups;
    f->changed += o->changed;
    f->cuts += o->cuts;
    if (o->gone_ms > f->gone_ms) f->gone_ms = o->gone_ms;
    if (o->reached && strcmp(s->k->kind, "points") == 0) note_point(s->k);
    if (!ok) say_failure(s->k, s->log);
    close(s->log);
    s->pid = 0;
}

static void begin(struct slot *s, const struct kase *k)
{
    s->k = k;
    s->log = memfd_create("log", MFD_CLOEXEC);
    outcomes[s - slot] = (struct outcome){0};
    fflush(NULL);
    s->pid = fork();
    if (s->pid != 0) return;
    every_outcome = &outcomes[s - slot];
    exit(run_case(k, s->log));
}

static void wait_for_one(unsigned jobs)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    for (unsigned i = 0; i < jobs; i++)
        if (pid > 0 && slot[i].pid == pid) ended(&slot[i], status);
}

static bool is_busy(unsigned jobs)
{
    bool busy = false;
    for (unsigned i = 0; i < jobs; i++) busy |= slot[i].pid != 0;
    return busy;
}

static void say_kind(void)
{
    const struct figures *f = &present_kind;
    if (f->kind == NULL) return;
    printf("%-10s %5u runs: %5u passed, %u failed, %.0f s", f->kind, f->runs, f->passed, f->failed,
        f->seconds);
    if (strcmp(f->kind, "points") == 0) printf("; %u came to their point", f->reached);
    if (strcmp(f->kind, "supervisor") == 0) printf("; %u killed before their end", f->reached);
    if (strcmp(f->kind, "points") == 0 || strcmp(f->kind, "supervisor") == 0)
        printf("; everything gone %ld ms after a supervisor at the latest", f->gone_ms);
    if (f->beyond)
        printf("; %u lost more at once than the protocol survives, and said so", f->beyond);
    if (f->could_change)
        printf("; clusters changed in %u of %u that may", f->changed, f->could_change);
    if (f->cuts) printf("; %u connections cut", f->cuts);
    printf("\n");
    if (f->could_change >= MANY && f->changed == 0) {
        printf("FAILED %s: in none of these runs the clusters changed\n", f->kind);
        failed++;
    }
    fflush(stdout);
    passed += f->passed;
    failed += f->failed;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_kind(const struct kase *const chosen[], unsigned count, unsigned jobs)
{
    double begun = now();
    present_kind = (struct figures){.kind = count ? chosen[0]->kind : NULL};
    for (unsigned next = 0; next < count || is_busy(jobs);) {
        unsigned i = 0;
        while (i < jobs && slot[i].pid) i++;
        if (i < jobs && next < count) begin(&slot[i], chosen[next++]);
        else wait_for_one(jobs);
    }
    present_kind.seconds = now() - begun;
    say_kind();
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool is_named(const struct kase *k, const char *protocol, int argc, char **argv)
{
    char name[40];
    if (protocol && (k->variant == NULL || strcmp(k->variant->name, protocol) != 0)) return false;
    snprintf(name, sizeof name, "%s:%u", k->kind, k->number);
    for (int i = optind; i < argc; i++)
        if (strcmp(argv[i], k->kind) == 0 || strcmp(argv[i], name) == 0) return true;
    return optind == argc;
}

static void expect_all_points(void)
{
    const struct point *table[] = {of_process, of_recovery, of_supervisor};
    const size_t count[] = {COUNT(of_process), COUNT(of_recovery), COUNT(of_supervisor)};
    const char *const whose[] = {"process", "recovery process", "supervisor"};
    size_t at = 0;
    for (size_t w = 0; w < 3; w++)
        for (size_t i = 0; i < count[w]; i++, at++)
            if (!reached_point[at]) {
                printf("FAILED points: no %s came to %s\n", whose[w], table[w][i].name);
                failed++;
            }
}

int main(int argc, char **argv)
{
    static const char *const tests[] = {HARK_FAULTS, HARK_STORE_FAULTS};
    const char *protocol = NULL;
    unsigned jobs = 1, seed = 1, sample = 0;
    for (int c; (c = getopt(argc, argv, "j:s:p:")) != -1;) {
        if (c == 'j') jobs = (unsigned)atoi(optarg);
        else if (c == 'p') protocol = optarg;
        else if (c != 's' || sscanf(optarg, "%u:%u", &seed, &sample) != 2) return 2;
    }
    if (jobs == 0 || jobs > JOBS) return 2;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    outcomes = mmap(
        NULL, sizeof *outcomes * JOBS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcomes == MAP_FAILED) return 1;
    every_prepare(programs, COUNT(programs));
    add_every();
    add_pairs();
    add_points();
    add_stop();
    add_rest(tests, sample ? 0 : COUNT(tests)); /* where there is a sample, they run by themselves
                                                 */
    const struct kase **chosen = malloc((cases + 1) * sizeof *chosen);
    if (chosen == NULL) return 1;
    bool all_points = sample == 0 && protocol == NULL;
    for (unsigned first = 0, next; first < cases; first = next) {
        unsigned count = 0;
        for (next = first; next < cases && list[next].kind == list[first].kind; next++)
            if (is_named(&list[next], protocol, argc, argv)) chosen[count++] = &list[next];
        all_points &= list[first].run != every_point || count == next - first;
        unsigned always = 0;
        for (unsigned i = 0; sample && i < count; i++) { /* those always, then the first of a
                                                            shuffle of the others */
            const struct kase *k = chosen[i];
            if (!k->always) continue;
            chosen[i] = chosen[always];
            chosen[always++] = k;
        }
        for (unsigned i = always; sample && i < count; i++) {
            unsigned other =
                i + (unsigned)(mix(seed * UINT64_C(0x9e3779b97f4a7c15) + i + first) % (count - i));
            const struct kase *k = chosen[i];
            chosen[i] = chosen[other];
            chosen[other] = k;
        }
        run_kind(chosen, sample && sample < count ? sample : count, jobs);
    }
    if (all_points) expect_all_points();
    printf("%u passed, %u failed\n", passed, failed);
    free(chosen);
    free(list);
    return failed != 0;
}
