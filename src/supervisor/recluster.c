/* recluster.c: clusters that change while the job runs: hark run --recluster. Who should be
 * together is for the options' `better` to say; when it is so is for a checkpoint of all. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *text_of(const struct supervisor *s, const uint32_t *of)
{
    struct hark_clusters clusters = {s->o->ranks, 0, (uint32_t *)(uintptr_t)of};
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (of[r] >= clusters.count) clusters.count = of[r] + 1;
    return hark_clusters_text(&clusters);
}

void hark_sup_tell_clusters(struct supervisor *s, struct child *only)
{
    struct hark_control m;
    const uint32_t *next = hark_keeper_next(s->keeper);
    if (next == NULL) return;
    char *text = text_of(s, next);
    hark_control_begin(&m, HARK_C_CLUSTERS);
    if (text && strlen(text) <= UINT16_MAX) hark_control_puts(&m, text, strlen(text));
    else m.bad = true;
    hark_control_end(&m);
    for (uint32_t i = 0; i < s->o->ranks; i++)
        if (only ? only == &s->child[i] : s->child[i].hello) hark_sup_tell(&s->child[i], &m);
    hark_control_free(&m);
    free(text);
}

/* What was sent lately: since the checkpoint before, and half as much as that counted then. False:
 * no memory. */
static bool look_at_traffic(struct supervisor *s)
{
    const uint64_t n = s->o->ranks;
    if (s->sent == NULL) s->sent = calloc(n * n, sizeof *s->sent);
    if (s->lately == NULL) s->lately = calloc(n * n, sizeof *s->lately);
    if (s->sent == NULL || s->lately == NULL) return false;
    for (uint64_t i = 0; i < n * n; i++) {
        uint64_t now = atomic_load_explicit(
            hark_board_traffic(s->board, (uint32_t)(i / n)) + i % n, memory_order_relaxed);
        s->lately[i] = s->lately[i] / 2 + (now - s->sent[i]);
        s->sent[i] = now;
    }
    return true;
}

/* They are written down before anybody hears of them: whoever takes our place proposes them again.
 */
static bool propose(struct supervisor *s, const uint32_t *of)
{
    char *text = text_of(s, of);
    const bool noted = text && hark_sup_takeover_clusters(s, text);
    free(text);
    if (noted && hark_keeper_propose(s->keeper, of) == HARK_KEEPER_OK) return true;
    (void)hark_sup_takeover_clusters(s, NULL);
    return false;
}

void hark_sup_recluster(struct supervisor *s, bool changed)
{
    if (!hark_sup_reclusters(s) || s->phase != RUNNING) return;
    bool known = look_at_traffic(s);
    uint32_t *of = malloc(s->o->ranks * sizeof *of);
    /* One after the other: of a map that has come into force just now, not all have heard. */
    const uint64_t now = hark_sup_now();
    const bool waits = changed || now < s->ask_after || hark_keeper_next(s->keeper) ||
                       hark_service_down(core_of(s));
    if (!known || of == NULL) {
        s->figures_lost = true;
    } else if (!waits) {
        bool better =
            s->o->better(s->o->self, s->lately, s->o->ranks, hark_keeper_clusters(s->keeper), of);
        uint64_t then = hark_sup_now();
        s->ask_after = then + (then - now) * 20; /* a twentieth of our time is enough for it */
        if (better && propose(s, of)) {
            HARK_POINT("proposed", HARK_TRACE_SUPERVISOR);
            hark_sup_tell_clusters(s, NULL);
        }
    }
    free(of);
}

/* Do the two arrays say the same, with whatever numbers? `n` is the number of entries. */
static bool are_alike(const uint32_t *a, const uint32_t *b, uint32_t n)
{
    for (uint32_t r = 1; r < n; r++)
        for (uint32_t i = 0; i < r; i++)
            if ((a[i] == a[r]) != (b[i] == b[r])) return false;
    return true;
}

bool hark_sup_propose_again(struct supervisor *s)
{
    const char *text = hark_sup_takeover_proposed(s);
    struct hark_clusters clusters = {0};
    char error[256] = "no memory";
    if (text == NULL) return true;
    bool ok = hark_clusters_parse(&clusters, s->o->ranks, text, "clusters", error) == 0;
    const bool in_force =
        ok && are_alike(clusters.of, hark_keeper_clusters(s->keeper), s->o->ranks);
    if (in_force) (void)hark_sup_takeover_clusters(s, NULL);
    else ok = ok && hark_keeper_propose(s->keeper, clusters.of) == HARK_KEEPER_OK;
    if (ok) hark_sup_tell_clusters(s, NULL);
    else
        hark_sup_say(
            "store %s: cannot propose the clusters of the run before: %s", s->store_path, error);
    hark_clusters_free(&clusters);
    return ok;
}

void hark_sup_trace_clusters(struct supervisor *s, uint64_t id)
{
    struct hark_trace_job before = {.ranks = s->o->ranks, .cluster = s->o->clusters.of},
                          now = before;
    if (s->trace == NULL || !hark_sup_reclusters(s)) return;
    now.cluster = hark_keeper_clusters(s->keeper);
    uint32_t *lowest = malloc(s->o->ranks * sizeof *lowest),
             *old = s->lowest ? s->lowest : malloc(s->o->ranks * sizeof *old);
    bool known = lowest && old && hark_trace_lowest(&now, lowest) == HARK_TRACE_OK &&
                 (old == s->lowest || hark_trace_lowest(&before, old) == HARK_TRACE_OK);
    for (uint32_t r = 0; known && r < s->o->ranks; r++) {
        struct hark_trace_record x = {.time = hark_sup_now(),
            .rank = r,
            .inc = hark_service_incarnation(core_of(s), r),
            .peer = lowest[r],
            .kind = HARK_TRACE_CLUSTER,
            .id = id};
        if (old[r] != lowest[r]) (void)hark_trace_add(s->trace, &x);
    }
    if (!known) s->figures_lost = true;
    free(known ? old : lowest);
    if (known) s->lowest = lowest;
    else if (old != s->lowest) free(old);
}

void hark_sup_reclustered(struct supervisor *s, uint64_t id)
{
    const uint32_t *of = hark_keeper_clusters(s->keeper);
    char *more = NULL;
    hark_sup_trace_clusters(s, id);
    HARK_POINT("changed", HARK_TRACE_SUPERVISOR);
    (void)hark_sup_takeover_clusters(s, NULL);
    char *text = text_of(s, of);
    if (text)
        hark_sup_say("from checkpoint %llu on the clusters are %s", (unsigned long long)id, text);
    size_t length;
    FILE *f = text ? open_memstream(&more, &length) : NULL;
    if (f) {
        fprintf(f, "%s%s{\"checkpoint\": %llu, \"clusters\": [\"",
            s->reclusterings ? s->reclusterings : "", s->reclusterings ? ", " : "",
            (unsigned long long)id);
        for (const char *at = text; *at; at++)
            if (*at == ';') fputs("\", \"", f);
            else fputc(*at, f);
        fputs("\"]}", f);
    }
    free(text);
    if (f == NULL || fclose(f) != 0) {
        s->figures_lost = true;
        free(more);
        return;
    }
    free(s->reclusterings);
    s->reclusterings = more;
}
