/* replay.c: `hark replay`: one schedule of a scenario, step by step. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check/describe.h"
#include "../check/dialogue.h"
#include "../check/picture.h"
#include "check.h"
#include "output.h"
#include "values.h"

struct arguments {
    const char *file, *protocol, *svg;
    uint64_t step; /* 0: to the end */
    bool states, quiet, story;
};

static const char usage[] = "usage: hark replay [OPTION]... SCENARIO";

void hark_cli_replay_help(void)
{
    printf("%s\n%s", usage,
        "Steps through the schedule of a scenario and prints what each process does; see "
        "hark-scenario(5).\n"
        "  --protocol P  instead of the scenario's own\n"
        "  --step K      only the first K steps; then print the state of every process, with the "
        "paper's names\n"
        "  --state       after every step print the state of the process that moved\n"
        "  --story       as a dialogue: which process says what to which other, and why\n"
        "  --svg FILE    draw the schedule as a space-time diagram\n"
        "  --quiet       print only differences from the transcript\n"
        "Exit status: 0 as the transcript and `expect` say; 1 otherwise; 2 bad usage or input.\n");
}

#define bad(...) hark_cli_bad("replay", __VA_ARGS__)

static int parse(int argc, char **argv, struct arguments *a)
{
    static const struct option options[] = {{"protocol", required_argument, NULL, 'p'},
        {"step", required_argument, NULL, 's'}, {"state", no_argument, NULL, 'S'},
        {"quiet", no_argument, NULL, 'q'}, {"story", no_argument, NULL, 'y'},
        {"svg", required_argument, NULL, 'g'}, {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int c;
    optind = 0;
    opterr = 0;
    while ((c = hark_cli_next(argc, argv, ":h", options)) != -1) {
        switch (c) {
        case 'p': a->protocol = optarg; break;
        case 's':
            if (!hark_cli_whole_number(optarg, UINT32_MAX, &a->step) || a->step == 0)
                return bad("--step: expected a number from 1, found \"%s\"", optarg);
            break;
        case 'S': a->states = true; break;
        case 'q': a->quiet = true; break;
        case 'y': a->story = true; break;
        case 'g': a->svg = optarg; break;
        case 'h': hark_cli_replay_help(); return -1;
        default: return hark_cli_refused("replay", c, argv);
        }
    }
    if (optind + 1 != argc) return bad("%s", usage);
    a->file = argv[optind];
    const struct hark_cli_file files[] = {{"--svg", a->svg}, {NULL, NULL}};
    const int status = hark_cli_writable("replay", files);
    return status ? status : hark_cli_apart("replay", files, a->file);
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Every field that is not 0, by the paper's name where it has one. */
static void show_core(const struct lab *lab, uint32_t who)
{
    const struct hark_shape *shape = (who == lab->ranks ? lab->recovery : lab->protocol)->shape;
    struct hark_cursor cursor = {0};
    const char *table = NULL;
    uint32_t row = UINT32_MAX;
    for (struct hark_item i; hark_inspect(lab->core, shape, &cursor, &i);) {
        if (i.table && (i.table != table || i.row != row)) printf("\n      %s %u:", i.table, i.row);
        table = i.table;
        row = i.row;
        if (i.value == 0) continue;
        printf(" %s", i.symbol && i.symbol[0] ? i.symbol : i.name);
        if (i.element || i.word) printf("[%u.%u]", i.element, i.word);
        if (i.value == HARK_INFINITY) printf("=inf");
        else printf("=%llu", (unsigned long long)i.value);
    }
    putchar('\n');
}

static void show_state(struct lab *lab, const struct job *job, uint32_t who)
{
    if (who == lab->ranks) printf("    recovery:");
    else printf("    p%u:", who);
    local_open_core(lab, job->at[who]);
    if (!lab->running) {
        puts(" not running");
        return;
    }
    printf(" incarnation %u, handed up %u, held %u, log %u, images %u;", lab->at.inc,
        lab->at.inboxes, lab->at.helds, lab->at.payloads, lab->at.images);
    show_core(lab, who);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What could have been done instead. */
static void show_possible(struct lab *lab, const struct job *job)
{
    struct job_step step[JOB_STEPS];
    uint32_t failing, n = job_steps(lab, job, step, &failing);
    fputs("  possible now:", stderr);
    for (uint32_t k = 0; k < n; k++) {
        char text[DESCRIBE_BYTES];
        describe_step(lab, job, step[k], text);
        fprintf(stderr, "%s %s", k ? "," : "", text);
    }
    fputs(n ? "\n" : " nothing\n", stderr);
}

/* What is wrong where nothing but failures can happen any more. */
static uint16_t end_of(struct lab *lab, const struct job *job)
{
    uint32_t signature;
    return job_over(lab, job) ? job_final(lab, job, &signature) : 0;
}

static int draw(const struct arguments *a, struct picture *picture)
{
    char error[HARK_TRACE_ERROR];
    FILE *out = hark_cli_create("replay", "--svg", a->svg);
    if (out == NULL) return 2;
    if (picture_draw(picture, out, error) == 0)
        return hark_cli_close("replay", "--svg", a->svg, out);
    hark_cli_discard(out);
    return bad("--svg %s: %s", a->svg, error);
}

/* What hark check may say of a program that violates nothing. */
static bool word_of_verdict(const char *expect)
{
    static const char *const words[] = {"ok", "unfinished", "limit"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(expect, words[i]) == 0) return true;
    return false;
}

static int replay(const struct arguments *a, const struct hark_scenario *s, struct lab *lab)
{
    struct picture picture;
    struct dialogue dialogue;
    struct job job;
    uint64_t made = 0;
    uint16_t violated = 0;
    bool over = false;
    int status = 0;
    job_first(lab, &job);
    picture_begin(&picture, lab, &job);
    if (a->story) dialogue_begin(&dialogue, lab, stdout);
    for (uint32_t k = 0; k < s->schedule_lines && !lab->failed && (a->step == 0 || made < a->step);
         k++) {
        const struct hark_schedule_line *line = &s->schedule[k];
        const struct hark_schedule_line *golden = k + 1 < s->schedule_lines ? line + 1 : NULL;
        struct job_step step;
        char transcript[TRANSCRIPT_BYTES];
        if (line->transcript) continue;
        made++;
        if (!describe_find(lab, &job, line->text, &step)) {
            (void)bad("%s:%u: step %llu, \"%s\", is not possible here", a->file, line->line,
                (unsigned long long)made, line->text);
            show_possible(lab, &job);
            picture_free(&picture);
            return 1;
        }
        if (a->svg) picture_step(&picture, &job, step);
        if (a->story) dialogue_step(&dialogue, &job, step);
        violated = describe_take(lab, &job, step, transcript);
        if (!a->quiet && !a->story)
            printf("%4llu  %s\n      %s\n", (unsigned long long)made, line->text, transcript);
        if (golden && golden->transcript && strcmp(golden->text, transcript) != 0) {
            (void)bad("%s:%u: step %llu, \"%s\": expected \"%s\", found \"%s\"", a->file,
                golden->line, (unsigned long long)made, line->text, golden->text, transcript);
            status = 1;
        }
        if (a->states) show_state(lab, &job, step.who);
        if (violated) break;
    }
    if (a->step)
        for (uint32_t who = 0; who < lab->who && !lab->failed; who++) show_state(lab, &job, who);
    else if (status == 0 && !violated && !lab->failed) violated = end_of(lab, &job), over = true;
    if (a->story && !lab->failed) dialogue_end(&dialogue, violated, over && job_over(lab, &job));
    else if (violated) printf("violated: %s\n", lab_violation(violated));
    bool missed = over && !violated && s->expect[0] && !word_of_verdict(s->expect);
    if (missed) printf("not violated: expected %s\n", s->expect);
    if (missed) status = 1;
    if (violated &&
        (s->expect[0] == 0 || strncmp(s->expect, lab_violation(violated), strlen(s->expect)) != 0))
        status = 1;
    if (a->svg && !lab->failed) picture_end(&picture, &job, violated, over);
    if (a->svg && !lab->failed && draw(a, &picture) != 0) status = 2;
    picture_free(&picture);
    return lab->failed ? bad("%s: %s", a->file, lab->why) : status;
}

int hark_cli_replay(int argc, char **argv)
{
    struct arguments a = {0};
    struct hark_scenario s;
    struct lab lab;
    char error[HARK_SCENARIO_ERROR];
    int status = parse(argc, argv, &a);
    if (status != 0) return status < 0 ? 0 : status;
    if (hark_scenario_read(&s, a.file, error) < 0) return bad("%s", error);
    if (s.schedule_lines == 0)
        status = bad("%s: it has no schedule; `hark check` writes one for each violation", a.file);
    else if (lab_open(&lab, &s, a.protocol, error) < 0) status = bad("%s: %s", a.file, error);
    else {
        status = replay(&a, &s, &lab);
        lab_close(&lab);
    }
    hark_scenario_free(&s);
    return status;
}
