/* store.c: `hark store`: what is in a store of checkpoints, and is it whole. */
#include "store.h"

#include <dirent.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../json.h"
#include "../supervisor/inventory.h"
#include "output.h"
#include "values.h"

#define IDS_MAX                                                                                    \
    64 /* checkpoints of a process that are listed; there are as many as generations, and those    \
          not dropped yet */

struct arguments {
    const char *path, *json;
    bool verify;
};

struct figures { /* of all processes */
    uint64_t images, bytes, damaged;
    bool resumable; /* the job can go on from what is in it */
};

void hark_cli_store_help(void)
{
    fputs("usage: hark store list DIR [--json FILE]\n"
          "       hark store verify DIR [--json FILE]\n"
          "Shows what is in DIR, a store of `hark run --store DIR`: the job, its options, and the "
          "checkpoints of each\n"
          "process. verify also reads every checkpoint, and shows whether the job can be resumed, "
          "and from where.\n"
          "Exit status: 0; 1 verify found damage; 2 bad usage, or no store.\n",
        stdout);
}

static int parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"json", 1, NULL, 'j'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    optind = 0; /* start anew: the dispatcher may have parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":h", options)) != -1) {
        if (c == 'h') {
            hark_cli_store_help();
            return -1;
        }
        if (c != 'j') return hark_cli_refused("store", c, argv);
        a->json = optarg;
    }
    const char *what = optind < argc ? argv[optind] : "";
    a->verify = strcmp(what, "verify") == 0;
    if (!a->verify && strcmp(what, "list") != 0)
        return hark_cli_bad("store", "expected list or verify, found \"%s\"", what);
    if (optind + 2 != argc)
        return hark_cli_bad("store", "expected one directory: hark store %s DIR", what);
    a->path = argv[optind + 1];
    const struct hark_cli_file files[] = {{"--json", a->json}, {NULL, NULL}};
    return hark_cli_writable("store", files);
}

/* ---- the images ------------------------------------------------------------------------------ */

/* Of one that is damaged the length of its file. */
static struct hark_store_bytes bytes_of(
    const struct arguments *a, struct hark_store *images, uint32_t rank, uint64_t id)
{
    char path[4200];
    struct stat st;
    struct hark_store_bytes bytes;
    if (hark_store_image_bytes(images, rank, id, &bytes) == HARK_S_OK) return bytes;
    snprintf(path, sizeof path, "%.4096s/r%" PRIu32 "/%" PRIu64, a->path, rank, id);
    bytes.own = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    bytes.older = 0;
    return bytes;
}

static void print_bytes(uint64_t id, struct hark_store_bytes b)
{
    printf(" %" PRIu64 " (%" PRIu64 " bytes", id, b.own);
    if (b.older) printf(" and %" PRIu64 " in older ones", b.older);
    putchar(')');
}

/* Every file of the images, those too that dropped images left for newer ones. */
static uint64_t bytes_on_disk(const struct arguments *a, uint32_t rank)
{
    char path[4200];
    uint64_t sum = 0;
    struct stat st;
    snprintf(path, sizeof path, "%.4096s/r%" PRIu32, a->path, rank);
    DIR *list = opendir(path);
    for (struct dirent *e; list && (e = readdir(list));)
        if (fstatat(dirfd(list), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    if (list) closedir(list);
    return sum;
}

static void one_rank(const struct arguments *a, struct hark_inventory *v, uint32_t rank,
    struct figures *sum, FILE *json)
{
    uint64_t id[IDS_MAX];
    int have = v->images->ops->list(v->images, rank, id, IDS_MAX);
    printf("  %-6" PRIu32, rank);
    if (v->keeper)
        printf(" %-11" PRIu32, hark_service_incarnation(hark_keeper_core(v->keeper), rank));
    if (have <= 0)
        printf(" %s", have < 0 ? v->images->error : v->host_store ? "on its hosts" : "none");
    if (json)
        fprintf(json, "%s\n    {\"rank\": %" PRIu32 ", \"checkpoints\": [", rank ? "," : "", rank);
    for (int i = 0; i < have && i < IDS_MAX; i++) {
        const struct hark_store_bytes bytes = bytes_of(a, v->images, rank, id[i]);
        bool whole = !a->verify || v->images->ops->verify(v->images, rank, id[i]) == HARK_S_OK;
        if (i) putchar(',');
        print_bytes(id[i], bytes);
        if (!whole) fputs(" DAMAGED", stdout);
        if (json)
            fprintf(json,
                "%s{\"id\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"older_bytes\": %" PRIu64,
                i ? ", " : "", id[i], bytes.own, bytes.older);
        if (json && a->verify) fprintf(json, ", \"whole\": %s", whole ? "true" : "false");
        if (json) fputs("}", json);
        if (!whole) fprintf(stderr, "hark store: %s\n", v->images->error);
        sum->images++;
        sum->damaged += !whole;
    }
    sum->bytes += bytes_on_disk(a, rank);
    if (have > IDS_MAX) printf(" and %d more", have - IDS_MAX);
    putchar('\n');
    if (json) fputs("]}", json);
}

/* ---- the job --------------------------------------------------------------------------------- */

static void say_hosts(const struct hark_inventory *v)
{
    printf("Its checkpoints are on its hosts' own disks, below %s (--host-store), and are not read "
           "from here",
        v->host_store);
    if (v->hosts && v->hosts[0]) printf(": %s", v->hosts);
    putchar('\n');
}

static void head(const struct arguments *a, const struct hark_inventory *v, const char *error)
{
    static const char *const lines[] = {"protocol", "clusters", "program"};
    printf("%s: job %s of %" PRIu32 " processes, %s%s\n", a->path, v->job, v->ranks,
        v->keeper == NULL ? "of which there is no record"
        : v->finished     ? "finished"
                          : "not finished",
        v->in_use ? ", in use by a run" : "");
    if (*error) fprintf(stderr, "hark store: %s: %s\n", a->path, error);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char *value = hark_inventory_value(v, lines[i]);
        if (value) printf("  %-9s %s\n", lines[i], value);
        free(value);
    }
}

/* From where those go on that go back together; false: some can not. */
static bool say_restart(const struct hark_inventory *v)
{
    const struct hark *core = hark_keeper_core(v->keeper);
    uint32_t lost = UINT32_MAX; /* of those from there on nothing is known */
    if (hark_keeper_resume(v->keeper, false) != HARK_KEEPER_OK) lost = v->lost;
    for (uint32_t r = 0; r < v->ranks && r <= lost; r++) {
        uint32_t first = 0;
        while (first < r && !hark_service_mates(core, first, r)) first++;
        if (first < r) continue;
        const uint64_t from = hark_service_restart(core, r).checkpoint;
        printf("  rank %" PRIu32, r);
        for (uint32_t mate = r + 1; mate < v->ranks; mate++)
            if (hark_service_mates(core, mate, r)) printf(" %" PRIu32, mate);
        if (r == lost && v->host_store) puts(": from what its hosts have");
        else if (r == lost) puts(": can not go on, no checkpoint is whole");
        else if (from)
            printf(": from checkpoint %" PRIu64 "%s\n", from,
                v->fell_back && v->fell_back[r] ? ", a newer one is damaged" : "");
        else
            printf(": from the beginning%s\n",
                v->fell_back && v->fell_back[r] ? ", for its checkpoints are damaged" : "");
    }
    return lost == UINT32_MAX;
}

static void put_end(const struct arguments *a, const struct hark_inventory *v,
    const struct figures *sum, FILE *json)
{
    const bool unknown = v->host_store && v->keeper && !v->finished && !sum->resumable;
    if (json == NULL) return;
    if (a->verify)
        fprintf(json, ", \"damaged\": %" PRIu64 ", \"resumable\": %s", sum->damaged,
            unknown          ? "null"
            : sum->resumable ? "true"
                             : "false");
    if (v->host_store) {
        fputs(", \"host_store\": ", json);
        hark_json_string(json, v->host_store);
    }
    fputs("\n}\n", json);
}

static int report(
    const struct arguments *a, struct hark_inventory *v, const char *error, FILE *json)
{
    struct figures sum = {.resumable = v->keeper && !v->finished};
    head(a, v, error);
    printf("  RANK  %s CHECKPOINTS\n", v->keeper ? " INCARNATION" : "");
    if (json)
        fprintf(json,
            "{\n  \"schema\": 1, \"command\": \"store\", \"job\": \"%s\", \"ranks\": %" PRIu32
            ", \"protocol\": \"%s\", \"finished\": %s, "
            "\"in_use\": %s,\n  \"processes\": [",
            v->job, v->ranks, v->protocol ? v->protocol->name : "", v->finished ? "true" : "false",
            v->in_use ? "true" : "false");
    for (uint32_t r = 0; r < v->ranks; r++) one_rank(a, v, r, &sum, json);
    printf("%" PRIu64 " checkpoint%s, %" PRIu64 " bytes", sum.images, sum.images == 1 ? "" : "s",
        sum.bytes);
    if (a->verify) printf(", %" PRIu64 " damaged", sum.damaged);
    putchar('\n');
    if (v->host_store) say_hosts(v);
    if (a->verify && sum.resumable && !(v->host_store && sum.images == 0)) {
        puts(v->host_store ? "With --resume the job goes on, unless its hosts have newer ones:"
                           : "With --resume the job goes on:");
        sum.resumable = say_restart(v);
    } else if (v->host_store) {
        sum.resumable = false; /* as far as is known here */
    }
    if (json)
        fprintf(json, "],\n  \"images\": %" PRIu64 ", \"bytes\": %" PRIu64, sum.images, sum.bytes);
    put_end(a, v, &sum, json);
    bool lost = v->keeper && !v->finished && !sum.resumable && !v->host_store;
    return a->verify && (sum.damaged || *error || lost) ? 1 : 0;
}

int hark_cli_store(int argc, char **argv)
{
    struct arguments a = {0};
    struct hark_inventory v;
    char error[HARK_KEEPER_ERROR];
    int status = parse(&a, argc, argv);
    if (status) return status < 0 ? 0 : status;
    if (hark_inventory_open(&v, a.path, error) < 0) return hark_cli_bad("store", "%s", error);
    FILE *json = a.json ? hark_cli_create("store", "--json", a.json) : NULL;
    if (a.json == NULL || json) status = report(&a, &v, error, json);
    else status = 2;
    if (json && hark_cli_close("store", "--json", a.json, json)) status = 2;
    hark_inventory_close(&v);
    return status;
}
