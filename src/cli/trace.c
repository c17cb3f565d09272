/* trace.c: `hark trace`: pictures of a run that is over. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../view/view.h"
#include "output.h"
#include "values.h"
#include "trace.h"

static const char usage[] = "usage: hark trace FILE --svg OUT [--from MS] [--to MS]";

struct arguments {
    const char *file, *svg;
    struct hark_diagram_options options;
};

static int bad(const char *what, const char *which)
{
    fprintf(stderr, "hark trace: %s%s%s\n", what, which[0] ? ": " : "", which);
    return 2;
}

static bool milliseconds(const char *text, double *ms)
{
    const char *end;
    return hark_cli_real(text, INFINITY, ms, &end) && *end == 0;
}

/* 0: go on; 2: said why not; -1: help was asked for and given. */
static int parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {{"svg", required_argument, NULL, 's'},
        {"from", required_argument, NULL, 'f'}, {"to", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    int c;
    a->options.to_ms = INFINITY;
    optind = 0; /* start anew: the dispatcher has parsed options of its own */
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":h", options)) != -1) {
        switch (c) {
        case 's': a->svg = optarg; break;
        case 'f':
        case 't':
            a->options.window = true;
            if (!milliseconds(optarg, c == 'f' ? &a->options.from_ms : &a->options.to_ms))
                return hark_cli_bad("trace", "--%s: expected milliseconds, found \"%s\"",
                    c == 'f' ? "from" : "to", optarg);
            break;
        case 'h': puts(usage); return -1;
        default: return hark_cli_refused("trace", c, argv);
        }
    }
    if (optind + 1 == argc && a->svg == NULL)
        return bad("--svg OUT is missing: hark trace FILE --svg OUT [--from MS] [--to MS]", "");
    if (optind + 1 != argc) return bad(usage, "");
    if (!(a->options.to_ms > a->options.from_ms))
        return bad("--to must be greater than --from", "");
    a->file = argv[optind];
    const struct hark_cli_file files[] = {{"--svg", a->svg}, {NULL, NULL}};
    const int status = hark_cli_writable("trace", files);
    return status ? status : hark_cli_apart("trace", files, a->file);
}

static int write_file(const char *path, const char *text, size_t length)
{
    FILE *out = hark_cli_create("trace", "--svg", path);
    if (out == NULL) return 2;
    (void)fwrite(text, 1, length, out);
    return hark_cli_close("trace", "--svg", path, out);
}

/* The picture is drawn in memory first: a pipe gets no part of a picture that cannot be drawn. */
static int write_svg(const struct arguments *a, const struct hark_trace *trace)
{
    char error[HARK_TRACE_ERROR], *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL) return bad("--svg", strerror(errno));
    int status = hark_view_diagram(trace, &a->options, memory, error);
    if (fclose(memory) != 0 && status == HARK_TRACE_OK) {
        status = HARK_TRACE_ESYSTEM;
        snprintf(error, sizeof error, "out of memory");
    }
    int answer = 2;
    if (status == HARK_TRACE_OK) answer = write_file(a->svg, text, length);
    else fprintf(stderr, "hark trace: %s: %s\n", a->file, error);
    free(text);
    return answer;
}

int hark_cli_trace(int argc, char **argv)
{
    struct arguments a;
    struct hark_trace trace;
    char error[HARK_TRACE_ERROR];
    memset(&a, 0, sizeof a);
    int status = parse(argc, argv, &a);
    if (status != 0) return status < 0 ? 0 : status;
    if (hark_trace_read(a.file, &trace, error) != HARK_TRACE_OK) return bad(error, "");
    if (trace.unfinished)
        fprintf(stderr,
            "hark trace: %s: the run did not end, hark was killed; this is what was known by "
            "then\n",
            a.file);
    status = write_svg(&a, &trace);
    hark_trace_free(&trace);
    return status;
}
