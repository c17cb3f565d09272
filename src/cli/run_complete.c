/* run_complete.c: `hark run`: what its options together mean: programs, clusters, planned kills,
 * options of the transport. */
#include "run_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hark/registry.h"
#include "../control/control.h"
#include "../control/transports.h"
#include "journal.h"
#include "options.h"
#include "output.h"

#define RANKS 8u /* if the command line does not say */
#define CHAOS_SPAN                                                                                 \
    10u /* random kills come within the first 2^10 deliveries, early ones more often */
#define CLUSTER_FILE (64u << 20) /* a larger one is none, bytes */
#define TRAFFIC_MAX  4096u       /* with more processes it is not noted who sends to whom */

static int read_file(const char *path, char **text)
{
    struct stat st;
    FILE *f = fopen(path, "re");
    *text = NULL;
    if (f == NULL || fstat(fileno(f), &st) < 0 || S_ISDIR(st.st_mode)) {
        int why = f && S_ISDIR(st.st_mode) ? EISDIR : errno;
        if (f) fclose(f);
        return bad("--clusters: expected a file, a number of clusters or `auto`: %s: %s", path,
            strerror(why));
    }
    size_t length = 0, room = 0;
    for (;;) {
        char *more = length + 1 < room ? *text : realloc(*text, room = room * 2 + 4096);
        if (more == NULL) {
            fclose(f);
            free(*text);
            return run_no_memory("a file of clusters");
        }
        *text = more;
        size_t n = fread(more + length, 1, room - 1 - length, f);
        length += n;
        if (n == 0 || length > CLUSTER_FILE) break;
    }
    bool whole = feof(f) && !ferror(f);
    fclose(f);
    if (whole) (*text)[length] = 0;
    if (whole && strlen(*text) == length) return 0;
    free(*text);
    return bad("--clusters: %s can not be read as text", path);
}

/* A host's death is the death of all that run on it: one cluster's. */
static int clusters_by_host(struct run_arguments *a)
{
    char *text = NULL, error[256];
    size_t length = 0;
    uint32_t first = 0;
    FILE *f = open_memstream(&text, &length);
    for (uint32_t i = 0; f && i < a->o.hosts - a->o.spares && first < a->o.ranks; i++) {
        uint32_t end = first + a->o.host[i].slots;
        if (end > a->o.ranks) end = a->o.ranks;
        if (end == first) continue;
        fprintf(f, "%u-%u\n", first, end - 1);
        first = end;
    }
    int status = -1;
    if (f && fclose(f) == 0)
        status = hark_clusters_parse(&a->o.clusters, a->o.ranks, text, "--hostfile", error);
    free(text);
    return status < 0 ? run_no_memory("clusters") : 0;
}

static int clusters(struct run_arguments *a)
{
    char error[256], *text;
    uint64_t count = 1;
    const char *end;
    if (a->o.hosts && (a->clusters == NULL || strcmp(a->clusters, "auto") == 0) &&
        !hark_service_by_line(a->o.protocol)) {
        return clusters_by_host(a);
    } else if (a->clusters == NULL || strcmp(a->clusters, "auto") == 0) {
        while (count * count < a->o.ranks)
            count++; /* as many clusters as each has members, about */
        if (hark_service_by_line(a->o.protocol)) count = a->o.ranks; /* each checkpoints alone */
    } else if (hark_cli_number(a->clusters, UINT64_MAX, &count, &end) && *end == 0) {
        if (count == 0 || count > a->o.ranks)
            return bad("--clusters: expected 1 to %u clusters of %u processes, found %s",
                a->o.ranks, a->o.ranks, a->clusters);
    } else {
        int status = read_file(a->clusters, &text);
        if (status) return status;
        status = hark_clusters_parse(&a->o.clusters, a->o.ranks, text, a->clusters, error);
        free(text);
        return status < 0 ? bad("%s", error) : 0;
    }
    return hark_clusters_blocks(&a->o.clusters, a->o.ranks, (uint32_t)count) < 0
               ? run_no_memory("clusters")
               : 0;
}

static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static int kills(struct run_arguments *a)
{
    for (uint32_t i = 0; i < a->o.kills; i++)
        if (a->kill[i].rank != HARK_RECOVERY && a->kill[i].rank >= a->o.ranks)
            return bad("--kill: expected a rank below %u, found %u", a->o.ranks, a->kill[i].rank);
        else if (a->kill[i].rank == HARK_RECOVERY && !a->o.protocol->recovery)
            return bad("--kill: protocol %s has no recovery process", a->o.protocol->name);
    for (uint32_t i = 0; i < a->chaos; i++) {
        uint32_t rank = (uint32_t)(next_random(&a->seed) % a->o.ranks);
        uint64_t scale = next_random(&a->seed) % (CHAOS_SPAN + 1);
        int status =
            run_add_kill(a, rank, 1 + next_random(&a->seed) % (UINT64_C(1) << scale), true);
        if (status) return status;
    }
    return 0;
}

/* What --option can set of any transport; the others are the transport's own. */
enum { FRAME_LIMIT, ANSWER_MS };
static const struct hark_transport_option common_options[] = {
    {"frame-limit", FRAME_LIMIT, 128u << 10, UINT64_C(1) << 30, false, NULL},
    {"answer-ms", ANSWER_MS, 1, 3600000, false, NULL}, HARK_TRANSPORT_OPTIONS_END};

static int unknown_option(const struct run_arguments *a, const char *text)
{
    const struct hark_transport_option *const tables[] = {common_options, a->o.transport->options};
    char known[200] = "";
    for (size_t i = 0; i < HARK_COUNT(tables); i++)
        for (const struct hark_transport_option *x = tables[i]; x && x->name; x++) {
            size_t at = strlen(known);
            snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", x->name);
        }
    return bad("--option: expected NAME=VALUE, NAME for transport %s one of %s, found \"%s\"",
        a->o.transport->name, known, text);
}

static const struct hark_transport_option *find_option(
    const struct hark_transport_option *x, const char *name, size_t length)
{
    for (; x && x->name; x++)
        if (strlen(x->name) == length && memcmp(x->name, name, length) == 0) return x;
    return NULL;
}

/* The place of a word among those it may be, from 1 on; 0: it is none of them. */
static uint64_t place_of(const char *const *words, const char *word)
{
    for (uint64_t i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0) return i + 1;
    return 0;
}

static int unknown_word(const struct hark_transport_option *x, const char *found)
{
    char known[200] = "";
    for (size_t i = 0; x->words[i]; i++) {
        const size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", x->words[i]);
    }
    return bad("--option: %s: expected one of %s, found \"%s\"", x->name, known, found);
}

static int set_option(struct run_arguments *a, const char *text)
{
    const char *value = strchr(text, '=');
    uint64_t n;
    const size_t length = value ? (size_t)(value - text) : 0;
    const struct hark_transport_option *own =
        value ? find_option(a->o.transport->options, text, length) : NULL;
    const struct hark_transport_option *x =
        value && !own ? find_option(common_options, text, length) : own;
    if (x == NULL) return unknown_option(a, text);
    if (x->words) {
        n = place_of(x->words, value + 1);
        if (n == 0) return unknown_word(x, value + 1);
    } else if (!hark_cli_size(value + 1, &n) || n < x->least || n > x->most ||
               (x->power && (n & (n - 1))))
        return bad("--option: %s: expected %s%" PRIu64 " to %" PRIu64 ", found \"%s\"", x->name,
            x->power ? "a power of two from " : "", x->least, x->most, value + 1);
    if (own) a->o.option[own->at] = n;
    else if (x->at == FRAME_LIMIT) a->o.frame_limit = n;
    else a->o.answer_ms = (uint32_t)n;
    return 0;
}

static int transport_options(struct run_arguments *a)
{
    int status = 0;
    for (uint32_t i = 0; status == 0 && i < a->option_count; i++)
        status = set_option(a, a->option[i]);
    const char *why = hark_transport_bad_options(a->o.transport, a->o.option);
    return status || why == NULL ? status : bad("--option: %s", why);
}

/* What is written at the end is tried at once: better now than at the end of a long run. */
static int outputs(const struct run_arguments *a)
{
    const struct hark_cli_file files[] = {{"--trace", a->o.trace}, {"--json", a->o.json},
        {"--record", a->o.record}, {"--write-matrix", a->advice.matrix}, {NULL, NULL}};
    const char *const read[] = {a->hosts.file, a->clusters, "/dev/stdin"};
    int status = hark_cli_writable("run", files);
    for (size_t i = 0; i < HARK_COUNT(read) && status == 0; i++)
        status = hark_cli_apart("run", files, read[i]);
    return status;
}

static int advise(struct run_arguments *a)
{
    const bool found = a->clusters && strcmp(a->clusters, "auto") == 0;
    if (found && hark_service_by_cluster(a->o.protocol)) a->advice.used = &a->o.clusters;
    const bool regroups = a->o.core.asks & HARK_ASKS_RECLUSTER;
    a->advice.store = a->o.store;
    a->o.traffic =
        a->o.ranks <= TRAFFIC_MAX && (a->advice.used || a->advice.matrix || a->o.json || regroups);
    a->o.better = hark_cli_better;
    if (a->advice.matrix && !a->o.traffic)
        return bad(
            "--write-matrix: expected at most %u processes, found %u", TRAFFIC_MAX, a->o.ranks);
    if (a->advice.used == NULL && a->advice.matrix == NULL) return 0;
    a->o.advise = hark_cli_advise;
    a->o.self = &a->advice;
    return 0;
}

/* The option that asks for it. */
static const char *asker(uint32_t what)
{
    const struct hark_option *o;
    for (unsigned i = 0; (o = hark_option_at(i)) != NULL; i++)
        if (o->at == HARK_SETS(asks) && o->bits & what) return o->name;
    return "?";
}

static int find_programs(struct run_arguments *a)
{
    uint64_t ranks_of_all;
    int status = hark_cli_programs_find(&a->programs, a->mpi, RANKS, &ranks_of_all);
    if (status) return status;
    if (ranks_of_all > RANKS_MAX)
        return bad("-n: expected %u processes at most, found %" PRIu64 " of all programs",
            RANKS_MAX, ranks_of_all);
    a->o.ranks = (uint32_t)ranks_of_all;
    a->o.program = a->programs.run;
    a->o.programs = a->programs.count;
    return 0;
}

static int encryption(const struct run_arguments *a)
{
    char listen[200];
    if (hark_transport_encrypts(a->o.transport, a->o.option)) return 0;
    if (a->o.transport == hark_transport_of_hosts())
        return bad("--encrypt cannot be used with --option between=fabric: nothing is encrypted "
                   "over libfabric");
    if (hark_transport_between_hosts(a->o.transport, 0, "127.0.0.1", listen))
        return bad("--encrypt cannot be used with --transport %s, which does not encrypt",
            a->o.transport->name);
    return bad("--encrypt needs several hosts, or --transport uv or mixed: with %s nothing leaves "
               "this machine",
        a->o.transport->name);
}

/* Where hosts die as many are needed as a host runs, also if there are fewer processes elsewhere;
 * and a process alone needs none. */
static int copies(const struct run_arguments *a)
{
    const uint32_t asked = a->o.core.copies;
    if (a->o.hosts || asked <= 1 || asked < a->o.ranks || a->o.ranks == 1) return 0;
    return bad("--copies: expected at most %u, for other processes have them, found %u",
        a->o.ranks - 1, asked);
}

int run_complete(struct run_arguments *a)
{
    int found = find_programs(a);
    if (found) return found;
    if (a->o.standby && !a->o.store)
        return bad("--standby needs --store DIR, the store of the job that is waited for");
    if (a->o.resume && !a->o.store)
        return bad("--resume needs --store DIR, the store of the job that is to go on");
    a->o.resume |= a->o.standby;
    if (a->o.incremental && !a->o.store)
        return bad("--incremental needs --store DIR, where the checkpoints are kept");
    if (a->o.compression != HARK_COMPRESS_NONE && !a->o.store)
        return bad("--compress needs --store DIR, where the checkpoints are kept");
    if (a->o.steady && !a->o.record)
        return bad("--steady needs --record FILE: its clocks are of use to compare runs only");
    if (a->o.steady && a->o.journal == 0)
        return bad("--steady cannot be used with --journal none: the readings that --journal lists "
                   "are steady");
    if (a->o.resume && a->o.record)
        return bad("--record cannot be used with --resume: the job would be recorded from its "
                   "middle on");
    if (a->o.spill && !a->o.log_limit)
        return bad("--spill needs --log-limit SIZE, over which the log spills");
    if (a->o.then_stop && !a->o.checkpoint_on)
        return bad("--then-stop needs --checkpoint-on SIGNAL");
    if (a->o.then_stop && !a->o.store)
        return bad("--then-stop needs --store DIR, or the checkpoint would be gone with the run");
    if (a->o.checkpoint_on && !hark_service_survives(a->o.protocol))
        return bad("--checkpoint-on cannot be used with --protocol %s, which takes no checkpoints",
            a->o.protocol->name);
    if (hark_cli_options_check("run", a->o.protocol, &a->o.core)) return 2;
    if (a->o.core.asks & HARK_ASKS_RECLUSTER && a->o.ranks > TRAFFIC_MAX)
        return bad("--%s: expected at most %u processes, found %u", asker(HARK_ASKS_RECLUSTER),
            TRAFFIC_MAX, a->o.ranks);
    if (a->o.store_interval_ms && !(a->o.store && a->o.host_store))
        return bad(
            "--store-interval needs --host-store DIR, where checkpoints are, and --store DIR, "
            "where some go too");
    if (a->o.transport == NULL) return bad("no transport was built in");
    int status = run_hosts_complete(a);
    if (status == 0) status = copies(a);
    if (status == 0) status = transport_options(a);
    if (status == 0 && a->o.encrypts) status = encryption(a);
    if (status == 0) status = clusters(a);
    if (status == 0) status = kills(a);
    if (status == 0) status = outputs(a);
    if (status == 0) status = advise(a);
    if (status == 0) status = hark_cli_journal_library(a->o.journal, &a->preload);
    a->o.preload = a->preload;
    return status;
}
