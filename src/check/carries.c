/* carries.c: what a frame carries, as people read it: what is known of any frame, and behind it
 * what its protocol says. */
#include "carries.h"

#include <stdio.h>

/* What goes along which context: see group_ctx(). */
static const char *const contexts[] = {
    "", "multicasts", "reductions", "multicasts on tree 2", "reductions on tree 2"};

/* Of a reduction: what a member contributes, the result that its root takes, or, between the root
 * and the child that keeps it, what all gave. */
static const char *part_of_reduction(const uint8_t *h, bool whole)
{
    if (hark_get32(h + 4) == hark_get32(h + 8)) return "result of";
    return whole ? "all of" : "contribution to";
}

/* A message to one process; or a multicast, perhaps passed on for another; or a part of a
 * reduction. */
static int message(const struct lab *lab, struct carries *c, const uint8_t *h, bool whole)
{
    const uint32_t ctx = hark_get16(h + 2), from = hark_get32(h + 4);
    char tree[16] = "", whose[16] = "";
    if (ctx > 2) snprintf(tree, sizeof tree, " on tree %u", (ctx + 1) / 2);
    if (ctx && from != lab->who_now) snprintf(whose, sizeof whose, " of p%u", from);
    const char *what = ctx == 0 ? "" : ctx % 2 ? "multicast" : part_of_reduction(h, whole);
    return snprintf(
        c->text, CARRIES_BYTES, "%s%s%s%s%s", what, *what ? " " : "", c->brief, tree, whose);
}

void carries(const struct lab *lab, struct hark_bytes header, struct carries *c)
{
    const uint8_t *h = header.at;
    const bool app = h[1] == HARK_APP;
    const char *name = hark_frame_text(lab->protocol->shape, h[1]);
    char more[CARRIES_BYTES];
    struct hark_words w;
    hark_words_begin(&w, more, sizeof more);
    w.context = contexts;
    w.contexts = HARK_COUNT(contexts);
    lab->protocol->describe(lab->core, header, &w);
    c->spared = w.spared;
    if (app) snprintf(c->brief, CARRIES_BRIEF, "%llu", (unsigned long long)hark_get64(h + 24));
    else snprintf(c->brief, CARRIES_BRIEF, "%s", name);
    int n = app ? message(lab, c, h, w.whole) : snprintf(c->text, CARRIES_BYTES, "%s", name);
    if (n >= 0 && n < CARRIES_BYTES) snprintf(c->text + n, (size_t)(CARRIES_BYTES - n), "%s", more);
}
