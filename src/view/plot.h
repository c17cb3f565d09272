/* plot.h: what pictures of curves have in common (SVG): a frame, two axes, moments with their
 * words, names beside curves. */
#ifndef HARK_VIEW_PLOT_H
#define HARK_VIEW_PLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
    HARK_PLOT_WIDTH = 960,
    HARK_PLOT_HEIGHT = 480,
    HARK_PLOT_LEFT = 64,
    HARK_PLOT_RIGHT = 150, /* names of curves are beside the frame */
    HARK_PLOT_TOP = 98,    /* and words of moments above it */
    HARK_PLOT_BOTTOM = 56
};

struct hark_plot_axis { /* from 0 to `most`, marked at round numbers */
    double most;
    const char *unit, *name; /* name: of the axis; NULL: none */
    bool whole;              /* of things that are counted: no marks between whole numbers */
};

/* The least round number (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 and powers of ten) that is not below
 * `least`; 0 of 0 and below. */
double hark_plot_round(double least);
/* The least step of 1, 2, 5 and powers of ten of which `steps` reach up to `most`. */
double hark_plot_step(double most, unsigned steps);

/* Where a value is, `most` being the end of the axis. */
double hark_plot_x(double value, double most);
double hark_plot_y(double value, double most);

/* Begins a picture; `style` is CSS for the classes of its curves. The caller writes the title's
 * text behind it, HARK_PLOT_TITLE characters at most, and hark_plot_title_end. */
enum { HARK_PLOT_TITLE = 110 };
void hark_plot_begin(const char *style, FILE *f);
void hark_plot_title_end(FILE *f);
void hark_plot_axes(const struct hark_plot_axis *x, const struct hark_plot_axis *y, FILE *f);
/* Where the words above the frame end, row by row from below; zeros at first. */
enum { HARK_PLOT_ROWS = 4 };
struct hark_plot_words {
    double end[HARK_PLOT_ROWS];
};
/* A line upright through the picture with its word at the top, from left to right: a word goes
 * below the ones before that it would overlap, so that no line crosses one, and is left out where
 * there is no room for it. */
void hark_plot_moment(
    struct hark_plot_words *w, double x, const char *class, const char *word, FILE *f);
/* A name beside the frame, at the height y. */
void hark_plot_name(double y, const char *class, const char *name, FILE *f);
void hark_plot_end(FILE *f);

#endif
