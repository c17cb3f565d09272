/* diagram.h: what the parts of the space-time diagram tell each other.
 *
 *   diagram_story.c   records -> messages, marks, spans: what happened, without any picture
 *   diagram_window.c  which time and which processes are shown
 *   diagram_layout.c  x for every moment, y for every process
 *   diagram_draw.c, diagram_messages.c, diagram_legend.c    SVG
 *   diagram_schedule.c   what only schedules have: labels of arrows, notes, the violation
 */
#ifndef HARK_VIEW_DIAGRAM_H
#define HARK_VIEW_DIAGRAM_H

#include "view.h"

#define DG_NEVER     UINT64_MAX /* a time that did not come */
#define DG_NONE      UINT32_MAX
#define DG_SINGLE    2500u /* above so many, several messages share an arrow */
#define DG_ROWS_MOST 64u

enum dg_fate { DG_FLYING, DG_ARRIVED, DG_DELIVERED, DG_DISCARDED };
enum dg_class { DG_CONTROL, DG_INTRA, DG_INTER, DG_ORPHAN, DG_REPLAY, DG_CLASSES };

struct dg_message {                      /* one transmission */
    uint64_t posted, sent, arrived, got; /* ns; got: delivered, else arrived or discarded; or
                                            DG_NEVER */
    uint64_t ssn, phase, bytes;
    uint32_t from, to, from_inc, to_inc;
    uint32_t meant;  /* incarnation it was transmitted to, if `meant_known` */
    uint32_t older;  /* index of the transmission of the same name before this one, or DG_NONE */
    uint32_t record; /* of the trace */
    uint16_t ctx;
    uint8_t fate, class;
    bool meant_known;
    bool undone; /* either end was rolled back, and it is no orphan */
    bool shown;
    double x_posted, x_sent, x_got;
};

struct dg_mark { /* what is drawn on, or across, the lines */
    uint64_t time, id, phase;
    uint32_t rank, inc, peer, last;
    uint8_t kind;   /* HARK_TRACE_* */
    bool committed; /* CHECKPOINT: a commit followed */
    bool shown;
    double x;
};

enum dg_span_kind { DG_ALIVE, DG_DEAD, DG_LOST, DG_REDO };
struct dg_span {
    uint64_t from, to; /* ns */
    uint32_t rank;
    uint8_t kind; /* enum dg_span_kind */
};

struct dg_phase { /* the phase of a process became this */
    uint64_t time, phase;
    uint32_t rank;
    uint32_t pad;
};

struct dg_story {
    const struct hark_trace *trace;
    const struct hark_diagram_schedule *schedule; /* or NULL */
    struct dg_message *message;
    struct dg_mark *mark;
    struct dg_span *span;
    struct dg_phase *phase;
    uint32_t messages, marks, spans, phases;
    uint32_t all; /* messages of the trace; `messages` of them are between processes that are shown
                   */
    uint64_t start, end; /* of the trace, ns */
};

struct dg_point { /* something that needs its own x */
    uint64_t time;
    double x;
    double half;    /* px it needs to each side on its row */
    uint32_t row;   /* or DG_NONE */
    uint32_t index; /* of the message or mark */
    uint8_t what;   /* enum dg_what */
};
enum dg_what { DG_MARK, DG_POST, DG_TAIL, DG_HEAD };

struct dg_gap { /* time that is drawn much shorter than the rest */
    uint64_t from, to;
    double x0, x1;
};
#define DG_GAPS_MOST 8u

struct dg_layout {
    struct dg_story story;
    uint64_t from, to; /* the window, ns */
    bool windowed;     /* something of the trace lies outside */
    bool chosen;       /* nobody asked for this window */
    bool light;        /* many messages: arrows are thin and without details */
    uint32_t shown;    /* messages in the window */
    uint32_t episodes; /* failures in the trace, those during a recovery not counted */
    uint32_t *row;     /* row of each rank, or DG_NONE */
    uint32_t *rank;    /* rank of each row */
    uint32_t rows;
    double *y; /* of each row */
    struct dg_point *point;
    uint32_t points;
    struct dg_gap gap[DG_GAPS_MOST];
    uint32_t gaps;
    double left, right, top, bottom; /* where the lines are, px */
    double first, last; /* of that, the window; of one that nobody asked for the rest of the run
                           lies beside it */
    double column;      /* px of a step of a schedule */
    double pitch;       /* px between rows */
    double width, height;
};

/* Is there room to say whose cluster a process is in from a change on? */
static inline bool dg_says_cluster(const struct dg_layout *l)
{
    return l->pitch >= 20;
}

/* Each returns HARK_TRACE_OK, or HARK_TRACE_ESYSTEM when memory ran out. hark_diagram_layout_free
 * frees everything.
 */
int hark_diagram_story_tell(struct dg_story *s, const struct hark_trace *trace,
    const struct hark_diagram_schedule *schedule);
int hark_diagram_rows_choose(struct dg_layout *l); /* also forgets messages of processes that are
                                                      not shown */
int hark_diagram_layout_make(struct dg_layout *l, double width_most);
void hark_diagram_layout_free(struct dg_layout *l);

/* Sets the window, and which messages and marks lie in it. */
void hark_diagram_window_choose(struct dg_layout *l, const struct hark_diagram_options *o);

/* Px of the run before the window, and behind it, that are left for it; 0: none. */
static inline double dg_before(const struct dg_layout *l)
{
    return l->first - l->left;
}

static inline double dg_behind(const struct dg_layout *l)
{
    return l->right - l->last;
}

/* x of a moment, inside of left .. right. */
double hark_diagram_x(const struct dg_layout *l, uint64_t time);
/* Whether a message visibly arrived before it was delivered, and at which x. */
bool hark_diagram_waited(const struct dg_layout *l, const struct dg_message *m, double *x);
/* The moment at x, ns. */
uint64_t hark_diagram_time(const struct dg_layout *l, double x);
/* Number of the cluster of a rank. */
uint32_t hark_diagram_cluster(const struct hark_trace *trace, uint32_t rank);
/* From where to where an arrow goes in a straight line first, px. False: nowhere, nothing of it is
 * drawn so. */
struct dg_leg {
    double x0, y0, x1, y1;
};
bool hark_diagram_leg_of(const struct dg_layout *l, const struct dg_message *m, struct dg_leg *leg);

/* Drawing. The order of calls is the order from back to front. */
void hark_diagram_draw_ground(const struct dg_layout *l, FILE *out);
int hark_diagram_draw_messages(const struct dg_layout *l, FILE *out);
void hark_diagram_draw_lines(const struct dg_layout *l, FILE *out);
void hark_diagram_draw_marks(const struct dg_layout *l, FILE *out);
void hark_diagram_draw_schedule(const struct dg_layout *l, FILE *out);
void hark_diagram_draw_axis(const struct dg_layout *l, FILE *out);
void hark_diagram_draw_title(const struct dg_layout *l, FILE *out);
/* Draws the legend below `y` in so much width; returns the px it is high. out NULL: only measures.
 */
double hark_diagram_draw_legend(const struct dg_layout *l, double y, FILE *out);

/* Px that a text needs in a generic sans font of this size, about. */
double hark_diagram_text_width(const char *text, double size);

#endif
