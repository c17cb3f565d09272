/* The picture of a trace: is it XML, does it show what happened and nothing else, can it be read?
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/cli/trace.h"
#include "../../src/view/view.h"
#include "view_fixture.h"

/* ---- looking at a picture -------------------------------------------------------------------- */

/* Draws; the text is the caller's. */
static char *draw(const struct hark_trace *trace, const struct hark_diagram_options *o)
{
    static const struct hark_diagram_options usual;
    char *svg = NULL, error[HARK_TRACE_ERROR] = "";
    size_t length;
    FILE *f = open_memstream(&svg, &length);
    assert_non_null(f);
    int status = hark_view_diagram(trace, o != NULL ? o : &usual, f, error);
    fclose(f);
    if (status != HARK_TRACE_OK) fail_msg("%s", error);
    char *copy = strdup(svg); /* gcc 12 takes what open_memstream writes for a pointer to our frame
                               */
    free(svg);
    assert_non_null(copy);
    return copy;
}

/* Elements before the legend that have `text` in them. */
static unsigned count(const char *svg, const char *text)
{
    const char *end = strstr(svg, "<g class=\"legend\">");
    unsigned n = 0;
    for (const char *p = strstr(svg, text); p != NULL && p < end; p = strstr(p + 1, text)) n++;
    return n;
}

static const char *skip_name(const char *p)
{
    while ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
           *p == '-')
        p++;
    return p;
}

static bool reference(const char *p)
{
    return strncmp(p, "&lt;", 4) == 0 || strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&gt;", 4) == 0;
}

/* The attributes and the end of a tag; NULL if they are not well-formed. */
static const char *skip_attributes(const char *p)
{
    while (*p == ' ') {
        const char *name = ++p;
        p = skip_name(p);
        if (p == name || *p++ != '=' || *p++ != '"') return NULL;
        for (; *p != '"'; p++)
            if (*p == 0 || *p == '<' || (*p == '&' && !reference(p))) return NULL;
        p++;
    }
    return p;
}

/* A parser for as much of XML as a picture uses: what it accepts is well-formed. */
static bool well_formed(const char *p)
{
    struct {
        const char *at;
        size_t length;
    } open[32];
    unsigned depth = 0, roots = 0;
    if (strncmp(p, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", 39) != 0) return false;
    for (p += 39; *p != 0;) {
        if (*p == '&' && !reference(p)) return false;
        if (*p != '<') {
            if (depth == 0 && *p != '\n') return false;
            if ((unsigned char)*p < ' ' && *p != '\n') return false;
            p++;
            continue;
        }
        bool closing = p[1] == '/';
        const char *name = p + 1 + closing;
        p = skip_name(name);
        size_t length = (size_t)(p - name);
        if (length == 0) return false;
        if (closing) {
            if (depth-- == 0 || open[depth].length != length ||
                memcmp(open[depth].at, name, length) != 0)
                return false;
        } else {
            if ((p = skip_attributes(p)) == NULL) return false;
            if (depth == 0 && roots++ > 0) return false;
            if (*p == '/') p++;
            else if (depth == 32) return false;
            else open[depth].at = name, open[depth++].length = length;
        }
        if (*p++ != '>') return false;
    }
    return depth == 0 && roots == 1;
}

/* Every arrow goes to the right, and starts and ends inside of the picture. */
static void assert_forward(const char *svg)
{
    double width = atof(strstr(svg, "width=\"") + 7);
    for (const char *p = svg; (p = strstr(p, "<path class=\"m ")) != NULL; p++) {
        const char *d = strstr(p, " d=\"M"), *end = strchr(d + 4, '"'), *last = d + 5;
        double x0 = atof(last), x1;
        for (const char *q = last; q < end; q++)
            if (*q == 'L') last = q + 1;
            else if (*q == 'Q') last = strchr(strchr(q, ' ') + 1, ' ') + 1; /* to itself */
        x1 = atof(last);
        if (!(x0 < x1) || x0 < 0 || x1 > width)
            fail_msg("an arrow from %.1f to %.1f of %.1f", x0, x1, width);
    }
}

/* Texts of one class on one line keep off each other. */
static void assert_apart(const char *svg, const char *class, double size, bool middle)
{
    double ends[4096][2]; /* y, right end */
    unsigned n = 0;
    for (const char *p = svg; (p = strstr(p, class)) != NULL; p++) {
        double x = atof(strstr(p, " x=\"") + 4), y = atof(strstr(p, " y=\"") + 4);
        const char *text = strchr(p, '>') + 1;
        double wide = 0.55 * size * (double)(strchr(text, '<') - text),
               left = middle ? x - wide / 2 : x;
        for (unsigned i = 0; i < n; i++)
            if (fabs(ends[i][0] - y) < 0.01 && left < ends[i][1])
                fail_msg("%s: texts overlap at %.1f, %.1f", class, x, y);
        if (n < 4096) ends[n][0] = y, ends[n++][1] = left + wide;
    }
}

static void assert_readable(const char *svg)
{
    assert_true(well_formed(svg));
    assert_forward(svg);
    assert_apart(svg, "<text class=\"time\"", 10, true);
    assert_apart(svg, "<text class=\"pause\"", 9, true);
    assert_apart(svg, "<text class=\"phase\"", 9, false);
    assert_null(strstr(svg, "nan"));
    assert_null(strstr(svg, "inf\""));
}

static void the_parser_can_fail(void **state)
{
    (void)state;
#define XML "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    assert_true(well_formed(XML "<a b=\"c\"><d/>x &lt;</a>\n"));
    assert_false(well_formed(XML "<a><b></a></b>"));
    assert_false(well_formed(XML "<a>&</a>"));
    assert_false(well_formed(XML "<a b=c></a>"));
    assert_false(well_formed(XML "<a b=\"<\"/>"));
    assert_false(well_formed(XML "<a/><b/>"));
    assert_false(well_formed(XML "<a>"));
    assert_false(well_formed("<a/>"));
}

/* ---- a run small enough to count by hand ----------------------------------------------------- */

/* Two clusters: {0} and {1}. 0 checkpoints, sends #1 (delivered: an orphan later) and #2 (lost in
 * flight with 1's inattention), is killed, restarts, does not send #1 again, sends #2; 1 replays
 * its #1; a duplicate is discarded. */
static const uint32_t two[] = {0, 1};
static struct hark_trace_record small[] = {
    {.time = 100, .rank = 0, .phase = 1, .kind = HARK_TRACE_START},
    {.time = 110, .rank = 1, .phase = 1, .kind = HARK_TRACE_START},
    {.time = 500, .rank = 0, .id = 1, .phase = 1, .kind = HARK_TRACE_CHECKPOINT},
    {.time = 600, .rank = 0, .id = 1, .kind = HARK_TRACE_COMMIT},
    {.time = 700, .rank = 0, .peer = 1, .ssn = 1, .phase = 1, .kind = HARK_TRACE_SEND},
    {.time = 710, .rank = 0, .peer = 1, .ssn = 1, .phase = 1, .kind = HARK_TRACE_TRANSMIT},
    {.time = 800, .rank = 1, .peer = 0, .ssn = 1, .phase = 1, .kind = HARK_TRACE_ARRIVE},
    {.time = 810, .rank = 1, .peer = 0, .ssn = 1, .phase = 2, .kind = HARK_TRACE_DELIVER},
    {.time = 850, .rank = 1, .peer = 0, .ssn = 1, .phase = 1, .kind = HARK_TRACE_TRANSMIT},
    {.time = 890, .rank = 0, .peer = 1, .ssn = 1, .phase = 2, .kind = HARK_TRACE_DELIVER},
    {.time = 900, .rank = 0, .peer = 1, .ssn = 2, .phase = 2, .kind = HARK_TRACE_TRANSMIT},
    {.time = 950, .rank = 0, .id = 2, .phase = 2, .kind = HARK_TRACE_CHECKPOINT}, /* never committed
                                                                                   */
    {.time = 1000, .rank = 0, .kind = HARK_TRACE_KILL},
    {.time = 1100,
        .rank = HARK_TRACE_SUPERVISOR,
        .id = 1,
        .peer = 0,
        .last = 0,
        .kind = HARK_TRACE_FAILED},
    {.time = 9000, .rank = 0, .inc = 1, .id = 1, .phase = 1, .kind = HARK_TRACE_RESTART},
    {.time = 9100,
        .rank = 0,
        .inc = 1,
        .peer = 1,
        .ssn = 1,
        .phase = 1,
        .kind = HARK_TRACE_SUPPRESS},
    {.time = 9150, .rank = HARK_RECOVERY, .phase = 2, .kind = HARK_TRACE_RELEASE},
    {.time = 9200, .rank = 1, .peer = 0, .ssn = 1, .phase = 1, .kind = HARK_TRACE_REPLAY},
    {.time = 9210, .rank = 1, .peer = 0, .ssn = 1, .phase = 1, .kind = HARK_TRACE_REPLAY},
    {.time = 9300,
        .rank = 0,
        .inc = 1,
        .peer = 1,
        .ssn = 1,
        .phase = 2,
        .kind = HARK_TRACE_DELIVER},
    {.time = 9310, .rank = 0, .inc = 1, .peer = 1, .ssn = 1, .kind = HARK_TRACE_DISCARD},
    {.time = 9400,
        .rank = 0,
        .inc = 1,
        .peer = 1,
        .ssn = 2,
        .phase = 2,
        .kind = HARK_TRACE_TRANSMIT},
    {.time = 9500, .rank = 1, .peer = 0, .ssn = 2, .phase = 3, .kind = HARK_TRACE_DELIVER},
    {.time = 9600, .rank = 0, .inc = 1, .kind = HARK_TRACE_RECOVERED},
    {.time = 9700, .rank = 0, .inc = 1, .peer = 1, .ssn = 9, .id = 9, .kind = HARK_TRACE_DIVERGED},
    {.time = 9800, .rank = 0, .inc = 1, .kind = HARK_TRACE_FINISH},
    {.time = 9900, .rank = 1, .kind = HARK_TRACE_FINISH},
};

static struct hark_trace small_trace(void)
{
    return (struct hark_trace){
        {2, "hydee", "shm", two}, small, sizeof small / sizeof *small, 0, false};
}

static void everything_is_shown_once(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        unsigned times;
    } expected[] = {
        {"<path class=\"m orphan\"", 1},
        {"<path class=\"m inter undone\"", 1},
        {"<path class=\"m inter\"", 1},
        {"<path class=\"m replay\"", 1},
        {"<path class=\"m replay discarded\"", 1},
        {"<path class=\"m ", 5},
        {"<path class=\"f inter\"", 1},
        {"<path class=\"kill\"", 1},
        {"<rect class=\"ck\"", 1},
        {"<rect class=\"ck open\"", 1},
        {"<path class=\"commit\"", 1},
        {"<path class=\"restart\"", 1},
        {"<path class=\"s\"", 1},
        {"<path class=\"recovered\"", 1},
        {"<path class=\"diverged\"", 1},
        {"<path class=\"failed\"", 1},
        {"<path class=\"release\"", 1},
        {"<rect class=\"lost\"", 1},
        {"<path class=\"dead\"", 1},
        {"<path class=\"redo\"", 1},
        {"<path class=\"alive\"", 3},
        {"<path class=\"end\"", 4},
        {"<rect class=\"band", 2},
        {"class=\"phase\"", 7},
        {"from 1</text>", 1},
        {"failure 1, back: 0<", 1},
    };
    struct hark_trace trace = small_trace();
    char *svg = draw(&trace, NULL);
    assert_readable(svg);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (count(svg, expected[i].what) != expected[i].times)
            fail_msg("%s: %u, not %u", expected[i].what, count(svg, expected[i].what),
                expected[i].times);
    assert_non_null(strstr(svg,
        "process 0 killed at 0.001 ms; 1 restart from a checkpoint; 2 messages replayed; 1 orphan "
        "not sent again"));
    assert_non_null(strstr(svg, "hydee over shm, 2 processes in 2 clusters"));
    free(svg);
}

/* A message counts as one of the clusters that there are when it is sent. */
static void clusters_change(void **state)
{
    struct hark_trace_record r[] = {{.time = 100, .rank = 0, .kind = HARK_TRACE_START},
        {.time = 100, .rank = 1, .kind = HARK_TRACE_START},
        {.time = 200, .rank = 0, .peer = 1, .ssn = 1, .kind = HARK_TRACE_TRANSMIT},
        {.time = 300, .rank = 1, .peer = 0, .ssn = 1, .kind = HARK_TRACE_DELIVER},
        {.time = 400, .rank = 1, .id = 7, .peer = 0, .kind = HARK_TRACE_CLUSTER},
        {.time = 500, .rank = 0, .peer = 1, .ssn = 2, .kind = HARK_TRACE_TRANSMIT},
        {.time = 600, .rank = 1, .peer = 0, .ssn = 2, .kind = HARK_TRACE_DELIVER},
        {.time = 700, .rank = 1, .id = 9, .peer = 1, .kind = HARK_TRACE_CLUSTER},
        {.time = 800, .rank = 0, .peer = 1, .ssn = 3, .kind = HARK_TRACE_TRANSMIT},
        {.time = 900, .rank = 1, .peer = 0, .ssn = 3, .kind = HARK_TRACE_DELIVER}};
    struct hark_trace trace = {{2, "hydee", "shm", two}, r, sizeof r / sizeof *r, 0, false};
    char *svg = draw(&trace, NULL);
    (void)state;
    assert_readable(svg);
    assert_int_equal(count(svg, "<path class=\"m inter\""), 2);
    assert_int_equal(count(svg, "<path class=\"m intra\""), 1);
    assert_int_equal(count(svg, "<path class=\"change\""), 2);
    assert_int_equal(count(svg, "clusters change at checkpoint 7<"), 1);
    assert_int_equal(count(svg, "\xe2\x86\x92 p0<"), 1);
    assert_non_null(strstr(svg, "from here on in the cluster of this rank"));
    free(svg);
    static const uint32_t many[48]; /* too close to one another to say it */
    trace.job.ranks = 48;
    trace.job.cluster = many;
    svg = draw(&trace, NULL);
    assert_readable(svg);
    assert_int_equal(count(svg, "clusters change at checkpoint 7<"), 1);
    assert_int_equal(count(svg, "\xe2\x86\x92 p0<"), 0);
    assert_null(strstr(svg, "from here on in the cluster of this rank"));
    free(svg);
}

static void a_quiet_run_has_no_legend_of_failures(void **state)
{
    (void)state;
    struct hark_trace trace = small_trace();
    trace.count = 4;
    char *svg = draw(&trace, NULL);
    assert_readable(svg);
    assert_non_null(strstr(svg, "no failure in this picture"));
    assert_null(strstr(svg, ">killed<"));
    assert_null(strstr(svg, ">replayed from the log<"));
    free(svg);
}

static void incarnations_keep_messages_apart(void **state)
{
    (void)state;
    /* The same name twice on the way: what was meant for the dead incarnation never arrives. */
    struct hark_trace_record r[] = {{.time = 1,
                                        .rank = 0,
                                        .peer = 1,
                                        .ssn = 1,
                                        .peer_inc = 1,
                                        .flags = HARK_TRACE_PEER_INC,
                                        .kind = HARK_TRACE_TRANSMIT},
        {.time = 2,
            .rank = 0,
            .peer = 1,
            .ssn = 1,
            .peer_inc = 0,
            .flags = HARK_TRACE_PEER_INC,
            .kind = HARK_TRACE_TRANSMIT},
        {.time = 3, .rank = 1, .inc = 1, .peer = 0, .ssn = 1, .kind = HARK_TRACE_DELIVER},
        {.time = 4, .rank = 1, .inc = 1, .peer = 0, .ssn = 1, .kind = HARK_TRACE_DELIVER}};
    struct hark_trace trace = {{2, "none", "fake", NULL}, r, 4, 0, false};
    char *svg = draw(&trace, NULL);
    assert_readable(svg);
    assert_int_equal(count(svg, "<path class=\"m intra\""), 1);
    assert_int_equal(count(svg, "<path class=\"f intra\""), 1);
    assert_non_null(strstr(svg, "0.000 ms to 0.000 ms")); /* one tooltip, of the arrow */
    free(svg);
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* 0 sends to 1, fails, and comes back; 1 tells 0 what it has, and the recovery process that it is
 * done, which does not arrive. */
static struct hark_trace_record steps[] = {
    {.time = 0, .rank = 0, .phase = 1, .kind = HARK_TRACE_START},
    {.time = 0, .rank = 1, .phase = 1, .kind = HARK_TRACE_START},
    {.time = 0, .rank = 2, .phase = HARK_INFINITY, .kind = HARK_TRACE_START},
    {.time = 1000, .rank = 0, .peer = 1, .ssn = 1, .phase = 1, .kind = HARK_TRACE_TRANSMIT},
    {.time = 2000, .rank = 1, .peer = 0, .ssn = 1, .phase = 2, .kind = HARK_TRACE_DELIVER},
    {.time = 3000, .rank = 0, .kind = HARK_TRACE_KILL},
    {.time = 3000,
        .rank = HARK_TRACE_SUPERVISOR,
        .id = 1,
        .peer = 0,
        .last = 0,
        .kind = HARK_TRACE_FAILED},
    {.time = 4000, .rank = 0, .inc = 1, .phase = 1, .kind = HARK_TRACE_RESTART},
    {.time = 5000, .rank = 1, .peer = 0, .kind = HARK_TRACE_TRANSMIT},
    {.time = 5000, .rank = 1, .peer = 2, .kind = HARK_TRACE_TRANSMIT},
    {.time = 6000, .rank = 0, .inc = 1, .phase = 1, .kind = HARK_TRACE_SEND, .peer = 1, .ssn = 1},
};
static const struct hark_diagram_word carried[sizeof steps / sizeof *steps] = {
    [3] = {UINT64_MAX, "1, phase 1", "1"},
    [8] = {6000, "POS has <1>", "POS"},
    [9] = {UINT64_MAX, "REPORT", "REPORT"}};

/* Boxes of labels, as wide as letters are at most: none lies on another. */
static unsigned assert_labels_apart(const char *svg)
{
    double box[64][4];
    unsigned n = 0;
    for (const char *p = svg;
         (p = strstr(p, "<text class=\"l l-")) != NULL && p < strstr(svg, "<g class=\"legend");
         p++) {
        double x = atof(strstr(p, " x=\"") + 4), y = atof(strstr(p, " y=\"") + 4);
        const char *text = strchr(p, '>') + 1;
        double wide = 4.9 * (double)(strchr(text, '<') - text);
        bool end = strncmp(strchr(p + 13, '"') - 2, " e", 2) == 0;
        if (end) x -= wide;
        if (strncmp(p + 17, "step", 4) == 0) x -= wide / 2;
        for (unsigned i = 0; i < n; i++)
            if (x < box[i][1] && box[i][0] < x + wide && y - 7 < box[i][3] && box[i][2] < y)
                fail_msg("labels overlap at %.1f, %.1f", x, y);
        assert_true(n < 64);
        box[n][0] = x, box[n][1] = x + wide, box[n][2] = y - 7, box[n++][3] = y;
    }
    return n;
}

static void a_schedule_says_what_every_frame_carries_and_where_it_went_wrong(void **state)
{
    (void)state;
    static const uint32_t cluster[] = {0, 1, 2};
    static const char *const name[] = {"p0", "p1", "recovery"}, *const program[] = {"S1", "R0", ""};
    static const struct hark_diagram_note note[] = {{1000, 0, 0, HARK_NOTE_STEP, "S1"},
        {2000, 0, 1, HARK_NOTE_STEP, "R0"}, {5000, 0, 1, HARK_NOTE_TOLD, ""},
        {6000, 7000, 0, HARK_NOTE_HELD, ""}, {6000, 0, 0, HARK_NOTE_STEP, "S1"},
        {6000, 0, 0, HARK_NOTE_NONE, "not this"}, {7000, 0, 2, HARK_NOTE_STOP, "is not done"}};
    struct hark_diagram_schedule plan = {.title = "A & B",
        .about = "about",
        .summary = "6 steps",
        .name = name,
        .program = program,
        .plain = true,
        .word = carried,
        .note = note,
        .notes = sizeof note / sizeof *note,
        .step = 1000,
        .end = 7000,
        .violated = "after step 6: I8",
        .violated_at = 7000};
    struct hark_diagram_options o = {.width = 1200, .schedule = &plan};
    struct hark_trace trace = {
        {3, "hydee", "search", cluster}, steps, sizeof steps / sizeof *steps, 0, false};
    char *svg = draw(&trace, &o);
    assert_readable(svg);
    assert_true(atof(strstr(svg, "width=\"") + 7) <= 1200);
    assert_int_equal(assert_labels_apart(svg), 6); /* three frames, three operations */
    static const struct {
        const char *what;
        unsigned times;
    } expected[] = {{"<path class=\"m control\"", 1}, {"<path class=\"f control\"", 1},
        {"<path class=\"m orphan\"", 1}, {"<path class=\"held\"", 1}, {"<circle class=\"told\"", 1},
        {"<circle class=\"stop\"", 1}, {">recovery</text>", 1}, {">1, phase 1</text>", 1},
        {">POS has &lt;1&gt;</text>", 1}, {"<title>POS has &lt;1&gt;, step 5 to 6</title>", 1},
        {">REPORT</text>", 1}, {">is not done</text>", 1}, {">after step 6: I8</text>", 1},
        {"<text class=\"time\"", 6}, {"not this", 0}, {"class=\"phase\"", 3}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        if (count(svg, expected[i].what) != expected[i].times)
            fail_msg("%s: %u, not %u", expected[i].what, count(svg, expected[i].what),
                expected[i].times);
    assert_non_null(strstr(svg, ">A &amp; B</text>"));
    free(svg);
}

/* ---- runs like real ones --------------------------------------------------------------------- */

static unsigned records(const struct hark_trace *trace, uint8_t kind)
{
    unsigned n = 0;
    for (uint64_t i = 0; i < trace->count; i++) n += trace->record[i].kind == kind;
    return n;
}

static void a_halo_exchange_is_whole(void **state)
{
    (void)state;
    struct hark_trace trace;
    char error[HARK_TRACE_ERROR];
    assert_int_equal(
        hark_trace_read(HARK_TEST_DATA "/hydee-8.trace", &trace, error), HARK_TRACE_OK);
    char *svg = draw(&trace, NULL);
    assert_readable(svg);
    assert_int_equal(count(svg, "<path class=\"m "), records(&trace, HARK_TRACE_DELIVER));
    assert_int_equal(count(svg, "<path class=\"m replay"), records(&trace, HARK_TRACE_REPLAY));
    assert_int_equal(count(svg, "<path class=\"f "), records(&trace, HARK_TRACE_TRANSMIT) +
                                                         records(&trace, HARK_TRACE_REPLAY) -
                                                         records(&trace, HARK_TRACE_ARRIVE));
    assert_int_equal(count(svg, "<path class=\"s\""), records(&trace, HARK_TRACE_SUPPRESS));
    assert_int_equal(count(svg, "<path class=\"m orphan\""), records(&trace, HARK_TRACE_SUPPRESS));
    assert_int_equal(count(svg, "<rect class=\"ck\""), records(&trace, HARK_TRACE_CHECKPOINT));
    assert_int_equal(count(svg, "<path class=\"kill\""), 1);
    assert_int_equal(count(svg, "<path class=\"rollback\""), 1);
    assert_int_equal(count(svg, "<path class=\"restart\""), 2);
    assert_int_equal(count(svg, "<rect class=\"lost\""), 2);
    assert_int_equal(count(svg, "<path class=\"recovered\""), 2);
    assert_int_equal(count(svg, "<rect class=\"band"), 4);
    assert_true(count(svg, "<path class=\"held\"") > 0);
    assert_null(strstr(svg, "--from"));
    assert_true(strlen(svg) < 200000);
    free(svg);

    struct hark_diagram_options part = {.window = true, .from_ms = 10, .to_ms = INFINITY};
    svg = draw(&trace, &part);
    assert_readable(svg);
    assert_int_equal(count(svg, "<path class=\"kill\""), 0);
    assert_int_equal(count(svg, "<path class=\"restart\""), 2);
    assert_non_null(strstr(svg, "10.000 to 18."));
    free(svg);
    hark_trace_free(&trace);
}

/* Which sizes are tried: ranks, ranks a cluster, iterations, iterations between checkpoints, who
 * dies, when. */
static const struct synthetic sizes[] = {
    {2, 1, 5, 2, 0, 5},
    {8, 2, 12, 4, 3, 13},
    {8, 8, 20, 7, 3, 31},
    {8, 2, 130, 10, 3, 150},
    {8, 2, 130, 10, 3, 0},
    {16, 4, 40, 10, 5, 61},
    {24, 1, 30, 5, 7, 33},
    {130, 4, 12, 5, 33, 13},
    {8, 2, 250, 40, 3, 300},
    {8, 2, 250, 1000, 3, 450},
};

/* The time axis is of the whole run, whatever part of it has its messages drawn: its numbers rise,
 * from the first quarter to the end. So are the lines: whoever begins and ends in the trace does so
 * in the picture. */
static void assert_whole(const char *svg, const struct hark_trace *trace, bool windowed)
{
    const double whole =
        (double)(trace->record[trace->count - 1].time - trace->record[0].time) / 1e6;
    double before = -1, last = -1;
    unsigned ticks = 0;
    for (const char *p = svg; (p = strstr(p, "<text class=\"time\"")) != NULL; p++, ticks++) {
        before = last;
        last = atof(strchr(p, '>') + 1);
        if (ticks == 0) assert_true(last < whole / 4);
        assert_true(last > before);
    }
    if (windowed && fabs(last - whole) > whole / 50)
        fail_msg("the axis ends at %f of %f ms", last, whole);
    assert_true(ticks >= 3 && last <= whole * 1.001);
    if (trace->job.ranks <= 64)
        assert_int_equal(count(svg, "<path class=\"end\""),
            records(trace, HARK_TRACE_START) + records(trace, HARK_TRACE_FINISH));
}

static void every_size_can_be_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hark_trace trace;
        uint32_t cluster[130];
        synthetic_make(&trace, &sizes[i], cluster);
        char *svg = draw(&trace, NULL);
        assert_readable(svg);
        assert_int_equal(count(svg, "<path class=\"kill\""), sizes[i].kill_at ? 1 : 0);
        assert_true(strlen(svg) < 1000000);
        bool windowed = strstr(svg, "--from, --to show another part") != NULL;
        unsigned messages =
            records(&trace, HARK_TRACE_TRANSMIT) + records(&trace, HARK_TRACE_REPLAY);
        unsigned budget = sizes[i].ranks * 40 > 300 ? sizes[i].ranks * 40 : 300;
        if (sizes[i].ranks <= 64 && messages <= budget) assert_false(windowed);
        if (sizes[i].ranks <= 64 && messages > 3 * budget) assert_true(windowed);
        assert_whole(svg, &trace, windowed);
        free(svg);

        struct hark_diagram_options all = {.window = true, .to_ms = INFINITY, .width = 2000};
        svg = draw(&trace, &all);
        assert_readable(svg);
        assert_int_equal(count(svg, "<path class=\"kill\""), sizes[i].kill_at ? 1 : 0);
        assert_true(count(svg, "<path class=\"m ") <= 2500);
        assert_true(strlen(svg) < 2000000);
        assert_true(atof(strstr(svg, "width=\"") + 7) <= 2000);
        free(svg);
        synthetic_free(&trace);
    }
}

static uint32_t noise(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

static void nonsense_is_drawn_without_harm(void **state)
{
    (void)state;
    static const uint64_t odd[] = {0, 1, 2, 1000000, UINT64_MAX - 1, UINT64_MAX};
    static const uint32_t who[] = {HARK_RECOVERY, HARK_TRACE_SUPERVISOR};
    struct hark_trace_record r[300];
    uint32_t cluster[5] = {0, UINT32_MAX, 0, 7, 7};
    for (uint32_t seed = 1; seed < 400; seed++) {
        uint32_t s = seed, n = 1 + noise(&s, 299);
        uint64_t time = noise(&s, 2) ? 0 : 77, step = noise(&s, 3) ? 1000 : UINT64_MAX / 400;
        for (uint32_t i = 0; i < n; i++) {
            time += noise(&s, 3) ? step * noise(&s, 2) : noise(&s, 50);
            r[i] = (struct hark_trace_record){.time = time,
                .ssn = noise(&s, 4) ? noise(&s, 5) : odd[noise(&s, 6)],
                .phase = odd[noise(&s, 6)],
                .id = noise(&s, 3) ? noise(&s, 4) : odd[noise(&s, 6)],
                .bytes = odd[noise(&s, 6)],
                .rank = noise(&s, 9) ? noise(&s, 5) : who[noise(&s, 2)],
                .inc = noise(&s, 3),
                .peer = noise(&s, 9) ? noise(&s, 5) : who[noise(&s, 2)],
                .peer_inc = noise(&s, 2),
                .last = 4,
                .flags = (uint8_t)noise(&s, 4),
                .kind = (uint8_t)(1 + noise(&s, HARK_TRACE_KINDS - 1))};
        }
        struct hark_trace trace = {{5, "a", "b", cluster}, r, n, seed % 3, false};
        struct hark_diagram_options o = {.messages = seed % 2 ? 5 : 0, .width = seed % 5 ? 0 : 600};
        char *svg = draw(&trace, &o);
        if (!well_formed(svg)) fail_msg("seed %u is not well-formed", seed);
        assert_forward(svg);
        free(svg);
    }
}

static void refusals(void **state)
{
    (void)state;
    char error[HARK_TRACE_ERROR];
    struct hark_trace trace = small_trace();
    struct hark_diagram_options o = {.window = true, .from_ms = 2, .to_ms = 1};
    FILE *null = fopen("/dev/null", "w"), *full = fopen("/dev/full", "w");
    assert_int_equal(hark_view_diagram(&trace, &o, null, error), HARK_TRACE_EINVAL);
    o.from_ms = NAN;
    assert_int_equal(hark_view_diagram(&trace, &o, null, error), HARK_TRACE_EINVAL);
    o = (struct hark_diagram_options){.window = true, .from_ms = 500, .to_ms = 600};
    assert_int_equal(hark_view_diagram(&trace, &o, null, error), HARK_TRACE_EINVAL);
    assert_string_equal(error, "the trace ends before the window begins");
    o = (struct hark_diagram_options){.width = 10};
    assert_int_equal(hark_view_diagram(&trace, &o, null, error), HARK_TRACE_EINVAL);
    o.width = 0;
    assert_int_equal(hark_view_diagram(&trace, &o, full, error), HARK_TRACE_ESYSTEM);
    assert_string_equal(error, "No space left on device");
    trace.count = 0;
    assert_int_equal(hark_view_diagram(&trace, &o, null, error), HARK_TRACE_EINVAL);
    fclose(null);
    fclose(full);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Runs `hark trace` with these words; what it said on stderr is in `said`. */
static int command(char *said, size_t room, ...)
{
    char *argv[12] = {(char *)(uintptr_t) "trace"}, *word;
    int argc = 1, kept = dup(2);
    FILE *f = tmpfile();
    va_list list;
    va_start(list, room);
    while ((word = va_arg(list, char *)) != NULL) argv[argc++] = word;
    va_end(list);
    fflush(stderr);
    dup2(fileno(f), 2);
    int status = hark_cli_trace(argc, argv);
    dup2(kept, 2);
    close(kept);
    rewind(f);
    said[fread(said, 1, room - 1, f)] = 0;
    fclose(f);
    return status;
}

static void the_command_draws_or_says_why_not(void **state)
{
    (void)state;
    const char *file = HARK_TEST_DATA "/hydee-8.trace", *tmp = getenv("TMPDIR");
    char said[600], out[128];
    snprintf(
        out, sizeof out, "%.80s/hark-diagram-%ld.svg", tmp != NULL ? tmp : "/tmp", (long)getpid());
    assert_int_equal(
        command(said, sizeof said, file, "--svg", out, "--from", "2", "--to", "16.5", NULL), 0);
    assert_string_equal(said, "");
    assert_int_equal(access(out, R_OK), 0);
    assert_int_equal(command(said, sizeof said, "--svg", out, file, NULL), 0); /* options may come
                                                                                  first */
    static const struct {
        const char *word[6];
        const char *says;
    } bad[] = {
        {{NULL}, "usage:"},
        {{"FILE"}, "--svg OUT is missing"},
        {{"FILE", "--svg"}, "--svg needs a value"},
        {{"FILE", "--pdf", "x"}, "--pdf: no such option, see `hark help trace`"},
        {{"FILE", "FILE", "--svg", "OUT"}, "usage:"},
        {{"FILE", "--svg", "OUT", "--from", "x"}, "--from: expected milliseconds, found \"x\""},
        {{"FILE", "--svg", "OUT", "--from", "0x10"},
            "--from: expected milliseconds, found \"0x10\""},
        {{"FILE", "--svg", "OUT", "--to", "-1"}, "--to: expected milliseconds, found \"-1\""},
        {{"FILE", "--svg", "OUT", "--to", "0"}, "--to must be greater than --from"},
        {{"FILE", "--svg", "OUT", "--from", "1e9"}, "the trace ends before the window begins"},
        {{"/nonexistent/t", "--svg", "OUT"}, "/nonexistent/t: No such file"},
        {{"FILE", "--svg", "/nonexistent/o"}, "--svg /nonexistent/o: No such file"},
        {{"FILE", "--svg", "/dev/full"}, "--svg /dev/full: No space left on device"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *w[6];
        for (int k = 0; k < 6; k++) {
            w[k] = bad[i].word[k];
            if (w[k] != NULL && strcmp(w[k], "FILE") == 0) w[k] = file;
            if (w[k] != NULL && strcmp(w[k], "OUT") == 0) w[k] = out;
        }
        int status = command(said, sizeof said, w[0], w[1], w[2], w[3], w[4], w[5], NULL);
        if (status != 2 || strstr(said, bad[i].says) == NULL)
            fail_msg("case %zu: %d, %s", i, status, said);
        assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1); /* one line */
    }
    unlink(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parser_can_fail),
        cmocka_unit_test(everything_is_shown_once),
        cmocka_unit_test(clusters_change),
        cmocka_unit_test(a_quiet_run_has_no_legend_of_failures),
        cmocka_unit_test(incarnations_keep_messages_apart),
        cmocka_unit_test(a_schedule_says_what_every_frame_carries_and_where_it_went_wrong),
        cmocka_unit_test(a_halo_exchange_is_whole),
        cmocka_unit_test(every_size_can_be_read),
        cmocka_unit_test(nonsense_is_drawn_without_harm),
        cmocka_unit_test(refusals),
        cmocka_unit_test(the_command_draws_or_says_why_not),
    };
    return cmocka_run_group_tests_name("diagram", tests, NULL, NULL);
}
