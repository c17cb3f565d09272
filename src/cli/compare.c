/* compare.c: `hark compare`: are the recordings of several runs the same? */
#include "compare.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "values.h"

#define bad(...) hark_cli_bad("compare", __VA_ARGS__)

struct arguments {
    const char *json;
    bool sends; /* the exit status is about sends alone */
    char **path;
    uint32_t paths;
};

void hark_cli_compare_help(void)
{
    fputs("usage: hark compare [--sends] [--json FILE] RECORDING RECORDING...\n"
          "Compares what processes sent and received in several runs of a program, which `hark run "
          "--record FILE`\n"
          "has recorded: all with the first. Prints one of\n"
          "  deterministic        the same sends on each channel, and the same deliveries in each "
          "process\n"
          "  send-deterministic   the same sends on each channel; deliveries differ\n"
          "  neither              sends differ\n"
          "then the first message that differs, and which protocols suit such a program.\n\n"
          "  --sends              the exit status is 0 also if only deliveries differ\n"
          "  --json FILE          write the result\n"
          "Exit status: 0 the recordings are the same; 1 they differ; 2 bad usage or input.\n",
        stdout);
}

/* -1: help was asked for and given. */
static int parse(struct arguments *a, int argc, char **argv)
{
    static const struct option options[] = {{"sends", 0, NULL, 's'}, {"json", 1, NULL, 'j'},
        {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    optind = 0; /* start anew: the dispatcher may have parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":h", options)) != -1) {
        switch (c) {
        case 's': a->sends = true; break;
        case 'j': a->json = optarg; break;
        case 'h': hark_cli_compare_help(); return -1;
        default: return hark_cli_refused("compare", c, argv);
        }
    }
    a->path = argv + optind;
    a->paths = (uint32_t)(argc - optind);
    if (a->paths < 2)
        return bad("expected at least two recordings, which `hark run --record FILE` writes, found "
                   "%" PRIu32,
            a->paths);
    const struct hark_cli_file files[] = {{"--json", a->json}, {NULL, NULL}};
    int status = hark_cli_writable("compare", files);
    for (uint32_t i = 0; i < a->paths && status == 0; i++)
        status = hark_cli_apart("compare", files, a->path[i]);
    return status;
}

/* Of one job? */
static int check(const struct hark_recording *first, const struct hark_recording *r)
{
    if (r->ranks != first->ranks)
        return bad("%s has %" PRIu32 " processes and %s has %" PRIu32
                   ": record runs with the same number",
            first->path, first->ranks, r->path, r->ranks);
    if (strcmp(r->program, first->program) != 0)
        return bad("%s is a recording of %s, and %s of %s: record runs of the same program",
            first->path, first->program, r->path, r->program);
    return 0;
}

static int open_all(struct hark_cli_compared *c, const struct arguments *a)
{
    char error[HARK_RECORDING_ERROR];
    for (; c->count < a->paths; c->count++) {
        struct hark_recording *r = &c->recording[c->count];
        if (hark_recording_open(r, a->path[c->count], error) < 0) return bad("%s", error);
        int status = check(&c->recording[0], r);
        if (status == 0) continue;
        c->count++; /* it is to be closed */
        return status;
    }
    return 0;
}

static int no_memory(void)
{
    (void)bad("no memory for recordings of this size");
    return 2;
}

static int compare_all(struct hark_cli_compared *c)
{
    c->sends_same = c->deliveries_same = c->shapes_same = true;
    for (uint32_t i = 0; i + 1 < c->count; i++) {
        struct hark_comparison *with = &c->with[i];
        if (hark_recording_compare(&c->recording[0], &c->recording[i + 1], with) < 0)
            return no_memory();
        c->sends_same &= !with->send.any;
        c->deliveries_same &= !with->delivery.any;
        c->shapes_same &= with->channels_in_shape == 0;
    }
    return 0;
}

const char *hark_cli_compared_word(const struct hark_cli_compared *c)
{
    if (!c->sends_same) return "neither";
    return c->deliveries_same ? "deterministic" : "send-deterministic";
}

static int compare(struct hark_cli_compared *c, const struct arguments *a)
{
    int status = open_all(c, a);
    if (status == 0) status = compare_all(c);
    if (status) return status;
    hark_cli_compared_text(c);
    if (a->json) status = hark_cli_compared_json(c, a->json);
    if (status) return status;
    return !c->sends_same || (!c->deliveries_same && !a->sends);
}

int hark_cli_compare(int argc, char **argv)
{
    struct arguments a = {.json = NULL};
    struct hark_cli_compared c = {.count = 0};
    int status = parse(&a, argc, argv);
    if (status) return status < 0 ? 0 : status;
    c.recording = calloc(a.paths, sizeof *c.recording);
    c.with = calloc(a.paths, sizeof *c.with);
    status = c.recording && c.with ? compare(&c, &a) : no_memory();
    for (uint32_t i = 0; i < c.count; i++) hark_recording_close(&c.recording[i]);
    free(c.recording);
    free(c.with);
    return status;
}
