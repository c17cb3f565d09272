/* check.c: `hark check`: every interleaving of small programs, through the cores that ship. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check/memory.h"
#include "check_parts.h"
#include "options.h"

enum { JOBS = 64 };

static const char usage[] = "usage: hark check [OPTION]... SCENARIO... | --random SEED:COUNT";

/* Those that a scenario could ask for. */
static bool knows(const struct hark_option *o)
{
    return o->line != NULL;
}

static const struct hark_cli_options check_options = {knows, HARK_SCENARIO_RANKS - 1};

void hark_cli_check_help(void)
{
    printf("%s\n%s", usage,
        "Searches every interleaving of small programs and their failures with the protocols' own "
        "code; see "
        "hark-scenario(5).\n"
        "  --protocol P       instead of the scenario's own\n"
        "  --failures F       any F processes fail, one after the other, also during recovery; "
        "instead of the "
        "scenario's own\n"
        "Options of the protocol, in addition to those of the scenario:\n");
    hark_cli_options_help(&check_options, 21);
    printf("%s", "How it is searched:\n"
                 "  --atomic           everything that protocols do by themselves (control frames, "
                 "announcements, stores) "
                 "happens at once\n"
                 "  --reduce           try only one order of steps that commute: fewer states, the "
                 "same ends and verdict; a "
                 "violation\n"
                 "                     need not be a shortest one\n"
                 "  --compare          search reduced and whole, and compare the ends\n"
                 "  --walks N[:SEED]   N random walks to the end, instead of a whole search\n"
                 "  --random SEED:N    N random programs instead of scenarios, each with failures "
                 "that the protocol claims to "
                 "survive;\n"
                 "                     needs --protocol\n"
                 "  --jobs N           N threads; for walks and random programs N processes (1)\n"
                 "  --max-states N     stop after about N states\n"
                 "  --max-memory SIZE  stop at about this much memory: 512M, 16G; without it, at "
                 "three quarters of what is "
                 "available here\n"
                 "  -o FILE            the file for a violation: a scenario with its schedule "
                 "(NAME-violation.hark)\n"
                 "  --json FILE        write the figures\n"
                 "SIGINT (Ctrl-C) and SIGTERM end a search with its figures so far.\n"
                 "Exit status: 0 as expected, or nothing found; 1 a violation; 2 bad usage or "
                 "input; 3 nothing found, but not "
                 "searched\n"
                 "whole: a limit was reached, there was no more memory, or a signal came.\n");
}

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
static int option(struct check_arguments *a, int c, char **argv)
{
    switch (c) {
    case 'p': a->search.protocol = optarg; break;
    case 'f':
        a->own_failures = true;
        if (!hark_cli_whole_number(optarg, HARK_SCENARIO_FAILS, &a->failures))
            return bad("--failures: expected 0 to %d, found \"%s\"", HARK_SCENARIO_FAILS, optarg);
        break;
    case 'a': a->search.atomic = true; break;
    case 'R': a->search.reduce = SEARCH_REDUCED; break;
    case 'C': a->search.reduce = SEARCH_COMPARED; break;
    case 'w':
        if (!pair(optarg, &a->search.walks, &a->search.seed, 1) || a->search.walks == 0)
            return bad(
                "--walks: expected a number of walks, or that and :SEED, found \"%s\"", optarg);
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
        if (!hark_cli_whole_number(optarg, UINT32_MAX - 2, &a->search.most_states) ||
            a->search.most_states == 0)
            return bad("--max-states: expected 1 to %u, found \"%s\"", UINT32_MAX - 2, optarg);
        break;
    case 'm':
        a->own_memory = true;
        if (!hark_cli_size(optarg, &a->search.most_bytes) || a->search.most_bytes == 0)
            return bad("--max-memory: expected bytes such as 512M or 16G, found \"%s\"", optarg);
        break;
    case 'o': a->out = optarg; break;
    case 'j': a->json = optarg; break;
    case 'h': hark_cli_check_help(); return -1;
    default:
        return c < HARK_CLI_OPTION ? hark_cli_refused("check", c, argv)
                                   : hark_cli_option("check", &check_options, c, optarg, &a->core);
    }
    return 0;
}

/* What goes together. 0; 2: said what does not. */
static int complete(struct check_arguments *a)
{
    if (a->search.protocol && hark_protocol_named(a->search.protocol) == NULL)
        return hark_cli_protocol_unknown("check", a->search.protocol);
    if (a->search.protocol &&
        hark_cli_options_check("check", hark_protocol_named(a->search.protocol), &a->core) != 0)
        return CHECK_WRONG;
    a->search.jobs = (uint32_t)a->jobs;
    if (a->search.reduce != SEARCH_WHOLE && (a->search.atomic || a->search.walks))
        return bad("--%s cannot be combined with %s",
            a->search.reduce == SEARCH_REDUCED ? "reduce" : "compare",
            a->search.atomic ? "--atomic" : "--walks");
    if (a->count && a->files)
        return bad("--random cannot be combined with a scenario, found \"%s\"", a->file[0]);
    if (a->count && a->own_failures)
        return bad("--failures cannot be combined with --random: its programs have the failures "
                   "that the protocol claims to survive");
    if (a->count && a->out)
        return bad("-o cannot be combined with --random: each violation has a file of its own");
    if (a->out && a->files > 1) return bad("-o needs exactly one scenario, found %d", a->files);
    if (a->count && a->search.protocol == NULL) return bad("--random needs --protocol");
    return a->files || a->count ? 0 : bad("%s", usage);
}

/* As `option`. */
static int parse(int argc, char **argv, struct check_arguments *a)
{
    static const struct option options[] = {{"protocol", required_argument, NULL, 'p'},
        {"failures", required_argument, NULL, 'f'}, {"atomic", no_argument, NULL, 'a'},
        {"reduce", no_argument, NULL, 'R'}, {"compare", no_argument, NULL, 'C'},
        {"walks", required_argument, NULL, 'w'}, {"random", required_argument, NULL, 'r'},
        {"jobs", required_argument, NULL, 'J'}, {"max-states", required_argument, NULL, 's'},
        {"max-memory", required_argument, NULL, 'm'}, {"json", required_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct option *all = hark_cli_options_table(&check_options, options);
    int c, status = all ? 0 : bad("no memory");
    optind = 0; /* start anew: the dispatcher has parsed options of its own */
    opterr = 0;
    while (status == 0 && (c = hark_cli_next(argc, argv, ":ho:", all)) != -1)
        status = option(a, c, argv);
    free(all);
    a->file = argv + optind;
    a->files = argc - optind;
    return status ? status : complete(a);
}

int check_worse(int a, int b)
{
    static const int rank[] = {
        [CHECK_FINE] = 0, [CHECK_NOT_WHOLE] = 1, [CHECK_VIOLATED] = 2, [CHECK_WRONG] = 3};
    return rank[a] > rank[b] ? a : b;
}

void check_plant(const struct check_arguments *a, struct hark_scenario *s)
{
    const struct hark_protocol *p =
        hark_protocol_named(a->search.protocol ? a->search.protocol : s->protocol);
    for (const struct hark_option *o = p ? p->manual->options : NULL, *other; o && o->name; o++) {
        struct hark_config both = s->core;
        const uint32_t value = hark_option_value(o, &a->core);
        if (value == 0) continue;
        hark_option_set(o, value, &both);
        if (hark_options_clash(p->manual->options, &both, &other) == NULL) s->core = both;
    }
}

/* ---- one scenario ---------------------------------------------------------------------------- */

/* Does the scenario expect what was found? */
static bool expected(const struct hark_scenario *s, const struct search_result *r)
{
    const char *found =
        r->verdict == SEARCH_VIOLATED ? lab_violation(r->violated) : check_verdict(r);
    return s->expect[0] && strncmp(s->expect, found, strlen(s->expect)) == 0;
}

/* What the result means for the exit status. */
static int status_of(const struct hark_scenario *s, const struct search_result *r)
{
    if (r->verdict == SEARCH_FAILED) return bad("%s: stopped: %s", s->name, r->why);
    if (r->verdict == SEARCH_LIMIT && r->limit >= SEARCH_STOPPED) return CHECK_NOT_WHOLE;
    if (expected(s, r)) return CHECK_FINE;
    switch (r->verdict) {
    case SEARCH_UNFINISHED: return CHECK_WRONG;
    case SEARCH_VIOLATED: return CHECK_VIOLATED;
    case SEARCH_LIMIT: return CHECK_NOT_WHOLE;
    default: return s->expect[0] ? CHECK_VIOLATED : CHECK_FINE;
    }
}

/* Whoever looks for a fault in the protocol is to know that it does not claim to survive this. */
static void say_claim(const struct check_arguments *a, const struct hark_scenario *s)
{
    const struct hark_protocol *p =
        hark_protocol_named(a->search.protocol ? a->search.protocol : s->protocol);
    const uint32_t copies = s->core.copies ? s->core.copies : 1;
    uint32_t at_once = s->fails ? 1 : 0;
    for (uint32_t i = 1; i < s->fails; i++)
        at_once += s->fail[i].when == HARK_FAIL_NESTED || s->fail[i].when == HARK_FAIL_DURING;
    if (p == NULL || !p->unstable || hark_service_by_cluster(p) || at_once <= copies) return;
    printf(
        "  %u processes may be lost at once here, and %s with %u cop%s of a determinant claims to "
        "survive the loss of %s: try `--copies %u`\n",
        at_once, p->name, copies, copies == 1 ? "y" : "ies", copies == 1 ? "one" : "as many",
        at_once);
}

static int conclude(const struct check_arguments *a, const struct hark_scenario *s,
    const struct search_result *r, FILE *json, bool *first)
{
    const char *protocol = a->search.protocol ? a->search.protocol : s->protocol;
    if (r->least) return check_too_little(a, s->name, r);
    if (r->verdict == SEARCH_FAILED && r->states == 0) return bad("%s: %s", s->name, r->why);
    check_report(a, s->name, protocol, r);
    check_json_row(json, s->name, protocol, r, first);
    int status = status_of(s, r);
    if (status == CHECK_VIOLATED && s->expect[0] &&
        (r->verdict == SEARCH_OK || strcmp(s->expect, "ok") != 0))
        printf("  expected: %s\n", s->expect);
    if (r->verdict == SEARCH_VIOLATED && s->expect[0] == 0) say_claim(a, s);
    if (r->path && (status == CHECK_VIOLATED || a->out) && check_write_story(a, s, r) != 0)
        return CHECK_WRONG;
    return status;
}

static int check_one(
    const struct check_arguments *a, struct hark_scenario *s, FILE *json, bool *first)
{
    struct search_options options = a->search;
    struct check_watch watch;
    const struct hark_protocol *p = hark_protocol_named(s->protocol);
    /* of several scenarios each takes the options that its protocol has */
    if (a->files == 1 && !a->search.protocol && p &&
        hark_cli_options_check("check", p, &a->core) != 0)
        return CHECK_WRONG;
    check_plant(a, s);
    if (a->own_failures) {
        s->fails = (uint32_t)a->failures;
        for (uint32_t i = 0; i < s->fails; i++)
            s->fail[i] = (struct hark_fail){-1, HARK_FAIL_NESTED};
    }
    if (isatty(STDERR_FILENO)) {
        check_watch_begin(&watch, s->name);
        options.progress = check_progress;
        options.self = &watch;
    }
    struct search_result r = search(s, &options);
    if (options.progress) check_watch_end();
    int status = conclude(a, s, &r, json, first);
    free(r.path);
    return status;
}

static int check_scenario(
    struct check_arguments *a, struct hark_scenario *s, FILE *json, bool *first)
{
    if (!check_stop_open(a)) return bad("%s: no memory", s->name);
    int status = check_one(a, s, json, first);
    a->stopped_by = check_stopped_by(a);
    check_stop_close(a);
    return status;
}

/* Faults of the last of them are said before the first is searched, which may take hours.
 * The bad ones are NULL. */
static int read_all(const struct check_arguments *a, struct hark_scenario **all)
{
    char error[HARK_SCENARIO_ERROR];
    int worst = CHECK_FINE;
    for (int i = 0; i < a->files; i++) {
        all[i] = malloc(sizeof *all[i]);
        if (all[i] == NULL) return bad("%s: no memory", a->file[i]);
        if (hark_scenario_read(all[i], a->file[i], error) == 0) continue;
        worst = bad("%s", error);
        free(all[i]);
        all[i] = NULL;
    }
    return worst;
}

static int search_all(struct check_arguments *a, struct hark_scenario **all, FILE *json)
{
    int worst = CHECK_FINE, i = 0;
    bool first = true;
    if (json) {
        fputs("{\"schema\": 1, \"command\": \"check\", ", json);
        fprintf(json, "\"max_memory\": %llu, \"scenarios\": [",
            (unsigned long long)a->search.most_bytes);
    }
    for (; i < a->files && a->stopped_by == NULL; i++)
        if (all[i]) worst = check_worse(worst, check_scenario(a, all[i], json, &first));
    if (i < a->files) {
        printf("stopped by %s: %d more not searched\n", a->stopped_by, a->files - i);
        worst = check_worse(worst, CHECK_NOT_WHOLE);
    }
    if (json) fputs("\n]}\n", json);
    return worst;
}

static int check_all(struct check_arguments *a, FILE *json)
{
    struct hark_scenario **all = calloc((size_t)a->files, sizeof(struct hark_scenario *));
    if (all == NULL) return bad("no memory");
    int worst = read_all(a, all);
    worst = check_worse(worst, search_all(a, all, json));
    for (int i = 0; i < a->files; i++) {
        if (all[i]) hark_scenario_free(all[i]);
        free(all[i]);
    }
    free(all);
    return worst;
}

static int check_by_chance(struct check_arguments *a, FILE *json)
{
    if (!check_stop_open(a)) return bad("--random: no memory");
    int status = check_random(a, json);
    check_stop_close(a);
    return status;
}

/* Without a limit of its own a search takes so much that the machine still has some. */
static void limit_memory(struct check_arguments *a)
{
    if (!a->own_memory) a->search.most_bytes = memory_available("") / 4 * 3;
    check_say_memory(a);
}

/* Can those be written that have names, and are they no scenarios? */
static int check_files(const struct check_arguments *a)
{
    const struct hark_cli_file file[] = {{"-o", a->out}, {"--json", a->json}, {NULL, NULL}};
    int status = hark_cli_writable("check", file);
    for (int i = 0; i < a->files && status == 0; i++)
        status =
            hark_cli_apart("check", file, strcmp(a->file[i], "-") == 0 ? "/dev/stdin" : a->file[i]);
    return status;
}

int hark_cli_check(int argc, char **argv)
{
    struct check_arguments a = {0};
    int status = parse(argc, argv, &a);
    if (status != 0) return status < 0 ? 0 : status;
    if (check_files(&a) != 0) return CHECK_WRONG;
    FILE *json = a.json ? hark_cli_create("check", "--json", a.json) : NULL;
    if (a.json && json == NULL) return CHECK_WRONG;
    limit_memory(&a);
    status = a.count ? check_by_chance(&a, json) : check_all(&a, json);
    return json && hark_cli_close("check", "--json", a.json, json) != 0 ? CHECK_WRONG : status;
}
