/* diagram_layout.c: where things are.
 *
 * Time is not drawn to scale: a burst of messages would be a black bar between empty plains. All
 * processes share one map from time to x that never goes back, so that what is left of something
 * was before it. Going through the events by time, each gets the least x at which (1) it is not
 * left of the event before, and a bit more right the more time passed, idle time counting only up
 * to a limit; (2) it has room on its own line; (3) the arrow that ends in it still has a slope.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagram.h"

#define IDLE_MOST   30.0 /* px for a pause, however long */
#define IDLE_MARKED 4.0  /* a pause is marked when it is drawn so many times too short */
#define LEFT        118.0
#define INSET       16.0  /* between the border of the bands and the first event */
#define COLUMN_MOST 44.0  /* px of a step of a schedule */
#define REST_MOST   150.0 /* px of what is before or behind a window */

/* ---- rows ------------------------------------------------------------------------------------ */

struct seat {
    uint32_t rank, cluster, lowest; /* lowest rank of the cluster */
    bool hit;                       /* someone in the cluster went back */
};

static int by_interest(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    if (x->hit != y->hit) return x->hit ? -1 : 1;
    if (x->lowest != y->lowest) return x->lowest < y->lowest ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_place(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    if (x->lowest != y->lowest) return x->lowest < y->lowest ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_cluster(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Which clusters went back, and the lowest rank of each. Leaves the seats by cluster. */
static void know_clusters(const struct dg_layout *l, struct seat *seat, uint32_t ranks)
{
    for (uint32_t i = 0; i < ranks; i++)
        seat[i] = (struct seat){i, hark_diagram_cluster(l->story.trace, i), i, false};
    for (uint32_t i = 0; i < l->story.spans; i++)
        if (l->story.span[i].kind == DG_LOST || l->story.span[i].kind == DG_DEAD)
            seat[l->story.span[i].rank].hit = true;
    qsort(seat, ranks, sizeof *seat, by_cluster);
    for (uint32_t i = 0, j; i < ranks; i = j) {
        bool hit = false;
        for (j = i; j < ranks && seat[j].cluster == seat[i].cluster; j++) hit = hit || seat[j].hit;
        for (uint32_t k = i; k < j; k++) {
            seat[k].lowest = seat[i].rank;
            seat[k].hit = hit;
        }
    }
}

static void forget_hidden(struct dg_layout *l)
{
    struct dg_story *s = &l->story;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->messages; i++) {
        const struct dg_message *m = &s->message[i];
        if (l->row[m->from] != DG_NONE && l->row[m->to] != DG_NONE) s->message[n++] = *m;
    }
    s->messages = n;
}

int hark_diagram_rows_choose(struct dg_layout *l)
{
    uint32_t ranks = l->story.trace->job.ranks;
    struct seat *seat = calloc(ranks, sizeof *seat);
    l->row = calloc(ranks, sizeof *l->row);
    l->rows = ranks < DG_ROWS_MOST ? ranks : DG_ROWS_MOST;
    l->rank = calloc(l->rows, sizeof *l->rank);
    l->y = calloc(l->rows, sizeof *l->y);
    if (seat == NULL || l->row == NULL || l->rank == NULL || l->y == NULL) {
        free(seat);
        return HARK_TRACE_ESYSTEM;
    }
    know_clusters(l, seat, ranks);
    qsort(seat, ranks, sizeof *seat, by_interest);
    qsort(seat, l->rows, sizeof *seat, by_place);
    memset(l->row, 0xff, ranks * sizeof *l->row);
    for (uint32_t i = 0; i < l->rows; i++) {
        l->rank[i] = seat[i].rank;
        l->row[seat[i].rank] = i;
    }
    free(seat);
    forget_hidden(l);
    return HARK_TRACE_OK;
}

static void place_rows(struct dg_layout *l)
{
    l->pitch = l->rows <= 10 ? 50 : l->rows <= 20 ? 36 : l->rows <= 40 ? 24 : 17;
    if (l->story.schedule != NULL) l->pitch = l->rows <= 6 ? 64 : 50; /* arrows have labels */
    double y = l->top + l->pitch * 0.5;
    for (uint32_t i = 0; i < l->rows; i++) {
        const struct hark_trace *trace = l->story.trace;
        if (i > 0) y += l->pitch;
        if (i > 0 &&
            hark_diagram_cluster(trace, l->rank[i]) != hark_diagram_cluster(trace, l->rank[i - 1]))
            y += l->pitch > 20 ? 10 : 6;
        l->y[i] = y;
    }
    l->bottom = y + l->pitch * 0.5;
}

/* ---- points ---------------------------------------------------------------------------------- */

static double mark_half(const struct dg_mark *m)
{
    switch (m->kind) {
    case HARK_TRACE_CHECKPOINT: return m->id < 100 ? 9 : m->id < 10000 ? 14 : 22;
    case HARK_TRACE_KILL:
    case HARK_TRACE_RESTART: return 10;
    case HARK_TRACE_ROLLBACK:
    case HARK_TRACE_DIVERGED: return 8;
    case HARK_TRACE_RECOVERED: return 6;
    case HARK_TRACE_SUPPRESS: return 4.5;
    default: return 3;
    }
}

static void add_point(struct dg_layout *l, uint64_t time, uint32_t row, uint32_t index,
    enum dg_what what, double half)
{
    if (time < l->from || time > l->to) return;
    l->point[l->points++] = (struct dg_point){time, 0, half, row, index, (uint8_t)what};
}

static int by_time(const void *a, const void *b)
{
    const struct dg_point *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    /* A head must come after its tail even if the clock did not move in between. */
    if ((x->what == DG_HEAD) != (y->what == DG_HEAD)) return x->what == DG_HEAD ? 1 : -1;
    if (x->what != y->what) return x->what < y->what ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int make_points(struct dg_layout *l)
{
    struct dg_story *s = &l->story;
    double half = l->shown > DG_SINGLE ? 0.5 : l->light ? 2 : 3.5;
    size_t most = 0;
    for (uint32_t i = 0; i < s->marks; i++) most += s->mark[i].shown;
    l->point = calloc(most + 3 * (size_t)l->shown + 1, sizeof *l->point);
    if (l->point == NULL) return HARK_TRACE_ESYSTEM;
    for (uint32_t i = 0; i < s->messages; i++) {
        const struct dg_message *m = &s->message[i];
        if (!m->shown) continue;
        if (m->posted < m->sent) add_point(l, m->posted, l->row[m->from], i, DG_POST, 0);
        add_point(l, m->sent, l->row[m->from], i, DG_TAIL, half);
        if (m->got != DG_NEVER) add_point(l, m->got, l->row[m->to], i, DG_HEAD, half);
    }
    for (uint32_t i = 0; i < s->marks; i++) {
        const struct dg_mark *m = &s->mark[i];
        uint32_t row = m->rank < s->trace->job.ranks ? l->row[m->rank] : DG_NONE;
        if (m->shown) add_point(l, m->time, row, i, DG_MARK, mark_half(m));
    }
    qsort(l->point, l->points, sizeof *l->point, by_time);
    return HARK_TRACE_OK;
}

/* ---- x --------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The usual time between two events: the mean without the longest tenth, which are the pauses. */
static double usual_step(const struct dg_layout *l)
{
    uint64_t *step = calloc((size_t)l->points + 1, sizeof *step);
    double sum = 0;
    uint32_t n = l->points > 0 ? l->points - 1 : 0;
    if (step == NULL) return -1;
    for (uint32_t i = 0; i < n; i++) step[i] = l->point[i + 1].time - l->point[i].time;
    qsort(step, n, sizeof *step, by_number);
    uint32_t counted = n - n / 10;
    for (uint32_t i = 0; i < counted; i++) sum += (double)step[i];
    if (sum <= 0 && n > 0) sum = (double)(l->point[n].time - l->point[0].time);
    free(step);
    return sum > 0 ? sum / (counted ? counted : 1) : 1;
}

static double slope(const struct dg_layout *l, const struct dg_message *m)
{
    if (l->story.schedule != NULL) return 0; /* a step apart, or more */
    uint32_t a = l->row[m->from], b = l->row[m->to];
    double rows = a > b ? a - b : b - a;
    double px = l->light ? 6 + 3 * rows : 11 + 4 * rows;
    return px < 40 ? px : 40;
}

static void keep_gap(struct dg_layout *l, const struct dg_gap *g)
{
    uint32_t least = 0;
    if (l->gaps < DG_GAPS_MOST) {
        l->gap[l->gaps++] = *g;
        return;
    }
    for (uint32_t i = 1; i < l->gaps; i++)
        if (l->gap[i].to - l->gap[i].from < l->gap[least].to - l->gap[least].from) least = i;
    if (g->to - g->from <= l->gap[least].to - l->gap[least].from) return;
    /* Gaps stay in their order. */
    memmove(&l->gap[least], &l->gap[least + 1], (l->gaps - least - 1) * sizeof *g);
    l->gap[l->gaps - 1] = *g;
}

/* The x at which a point has room on its row, and its arrow a slope. */
static double needed(const struct dg_layout *l, const struct dg_point *p, const double *free_from)
{
    double x = p->row != DG_NONE ? free_from[p->row] + p->half : 0;
    if (p->what == DG_HEAD) {
        const struct dg_message *m = &l->story.message[p->index];
        double tail = m->sent >= l->from ? m->x_sent : l->first;
        if (tail + slope(l, m) > x) x = tail + slope(l, m);
    }
    return x;
}

static void note_x(struct dg_layout *l, const struct dg_point *p)
{
    struct dg_story *s = &l->story;
    switch (p->what) {
    case DG_MARK: s->mark[p->index].x = p->x; break;
    case DG_POST: s->message[p->index].x_posted = p->x; break;
    case DG_TAIL: s->message[p->index].x_sent = p->x; break;
    default: s->message[p->index].x_got = p->x; break;
    }
}

static int place_points(struct dg_layout *l, double rest)
{
    double usual = usual_step(l);
    double *free_from = calloc(l->rows, sizeof *free_from);
    if (usual < 0 || free_from == NULL) {
        free(free_from);
        return HARK_TRACE_ESYSTEM;
    }
    double per_step = 4.0 / l->rows < 0.4 ? 0.4 : 4.0 / l->rows;
    if (l->light) per_step /= 2;
    l->first = l->left + (l->chosen && l->from > l->story.start ? rest : 0);
    double x = l->first + INSET;
    for (uint32_t i = 0; i < l->points; i++) {
        struct dg_point *p = &l->point[i];
        uint64_t passed = i > 0 ? p->time - p[-1].time : 0;
        double idle = per_step * (double)passed / usual, before = x;
        x += idle < IDLE_MOST ? idle : IDLE_MOST;
        double need = needed(l, p, free_from);
        if (need > x) x = need;
        p->x = x;
        if (p->row != DG_NONE) free_from[p->row] = x + p->half;
        note_x(l, p);
        struct dg_gap gap = {p->time - passed, p->time, before, x};
        if (idle > IDLE_MARKED * IDLE_MOST) keep_gap(l, &gap);
    }
    l->last = x + INSET;
    l->right = l->last + (l->chosen && l->to < l->story.end ? rest : 0);
    free(free_from);
    return HARK_TRACE_OK;
}

/* A schedule: every step has its column, of whole and half px, so that every machine draws the
 * same. */
static void place_columns(struct dg_layout *l, double least, double most)
{
    const struct hark_diagram_schedule *plan = l->story.schedule;
    double steps = (double)(l->story.end - l->story.start) / (double)plan->step,
           room = most - l->left - 2 * INSET;
    double column = room / (steps > 1 ? steps : 1);
    if (column > COLUMN_MOST) column = COLUMN_MOST;
    if (column * steps < least - l->left - 2 * INSET)
        column = (least - l->left - 2 * INSET) / (steps > 1 ? steps : 1);
    l->column = (double)(uint32_t)(2 * column) / 2;
    if (l->column < 4) l->column = 4;
    for (uint32_t i = 0; i < l->points; i++) {
        struct dg_point *p = &l->point[i];
        p->x = hark_diagram_x(l, p->time);
        note_x(l, p);
    }
    l->right = l->left + 2 * INSET + l->column * steps;
    if (l->right < least) l->right = least;
    l->first = l->left;
    l->last = l->right;
}

static double left_of(const struct dg_layout *l)
{
    const struct hark_diagram_schedule *plan = l->story.schedule;
    double left = 60;
    for (uint32_t i = 0; plan != NULL && i < l->story.trace->job.ranks; i++) {
        left = fmax(left, 24 + hark_diagram_text_width(plan->program[i], 10));
        left = fmax(left, 28 + hark_diagram_text_width(plan->name[i], 12));
    }
    return plan == NULL ? LEFT : (double)(uint32_t)left;
}

/* All distances of the window keep their proportion, so nothing that was in order gets out of it.
 */
static void stretch(struct dg_layout *l, double width)
{
    double behind = dg_behind(l), by = (width - behind - l->first) / (l->last - l->first);
    for (uint32_t i = 0; i < l->points; i++) {
        l->point[i].x = l->first + (l->point[i].x - l->first) * by;
        note_x(l, &l->point[i]);
    }
    for (uint32_t i = 0; i < l->gaps; i++) {
        l->gap[i].x0 = l->first + (l->gap[i].x0 - l->first) * by;
        l->gap[i].x1 = l->first + (l->gap[i].x1 - l->first) * by;
    }
    l->last = width - behind;
    l->right = width;
}

int hark_diagram_layout_make(struct dg_layout *l, double width_most)
{
    const double margin = 24, least = 860;
    l->left = left_of(l);
    l->top = l->story.schedule != NULL ? 126 : 106;
    place_rows(l);
    int status = make_points(l);
    if (status == HARK_TRACE_OK && l->story.schedule != NULL)
        place_columns(l, least - margin, width_most - margin);
    else if (status == HARK_TRACE_OK) status = place_points(l, fmin(REST_MOST, width_most / 8));
    if (status != HARK_TRACE_OK) return status;
    if (l->story.schedule != NULL) {
        /* as wide as its steps */
    } else if (l->right > width_most - margin) stretch(l, width_most - margin);
    else if (l->right < least - margin && width_most > least) stretch(l, least - margin);
    l->width = l->right + margin;
    l->height = l->bottom + 46 + hark_diagram_draw_legend(l, 0, NULL) + 12;
    return HARK_TRACE_OK;
}

/* ---- between time and x ---------------------------------------------------------------------- */

static double between(uint64_t time, uint64_t t0, uint64_t t1, double x0, double x1)
{
    return t1 > t0 ? x0 + (x1 - x0) * (double)(time - t0) / (double)(t1 - t0) : x0;
}

static uint64_t moment(double x, double x0, double x1, uint64_t t0, uint64_t t1)
{
    double part = x1 > x0 ? (x - x0) / (x1 - x0) : 0;
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return t0 + (uint64_t)(part * (double)(t1 - t0));
}

double hark_diagram_x(const struct dg_layout *l, uint64_t time)
{
    if (l->story.schedule != NULL)
        return l->left + INSET +
               l->column * (double)(time - l->story.start) / (double)l->story.schedule->step;
    const struct dg_story *s = &l->story;
    if (time < l->from) return between(time, s->start, l->from, l->left, l->first);
    if (time > l->to) return between(time, l->to, s->end, l->last, l->right);
    uint32_t low = 0, high = l->points;
    while (low < high) { /* the first point after `time` */
        uint32_t middle = low + (high - low) / 2;
        if (l->point[middle].time <= time) low = middle + 1;
        else high = middle;
    }
    if (time == l->from && low == 0) return l->first;
    if (low > 0 && l->point[low - 1].time == time) return l->point[low - 1].x;
    uint64_t t0 = low > 0 ? l->point[low - 1].time : l->from,
             t1 = low < l->points ? l->point[low].time : l->to;
    double x0 = low > 0 ? l->point[low - 1].x : l->first,
           x1 = low < l->points ? l->point[low].x : l->last;
    return between(time, t0, t1, x0, x1);
}

bool hark_diagram_waited(const struct dg_layout *l, const struct dg_message *m, double *x)
{
    if (m->got == DG_NEVER || m->arrived >= m->got || m->arrived < l->from || m->sent < l->from ||
        m->got > l->to)
        return false;
    *x = hark_diagram_x(l, m->arrived);
    if (*x < m->x_sent + slope(l, m)) *x = m->x_sent + slope(l, m);
    return m->x_got - *x > (l->story.schedule != NULL ? 8 : 14);
}

uint64_t hark_diagram_time(const struct dg_layout *l, double x)
{
    if (x < l->first) return moment(x, l->left, l->first, l->story.start, l->from);
    if (x > l->last) return moment(x, l->last, l->right, l->to, l->story.end);
    uint32_t low = 0, high = l->points;
    while (low < high) { /* the first point right of x */
        uint32_t middle = low + (high - low) / 2;
        if (l->point[middle].x <= x) low = middle + 1;
        else high = middle;
    }
    uint64_t t0 = low > 0 ? l->point[low - 1].time : l->from,
             t1 = low < l->points ? l->point[low].time : l->to;
    double x0 = low > 0 ? l->point[low - 1].x : l->first,
           x1 = low < l->points ? l->point[low].x : l->last;
    return moment(x, x0, x1, t0, t1);
}

void hark_diagram_layout_free(struct dg_layout *l)
{
    free(l->story.message);
    free(l->story.mark);
    free(l->story.span);
    free(l->story.phase);
    free(l->row);
    free(l->rank);
    free(l->y);
    free(l->point);
}
