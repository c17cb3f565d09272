#include "service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service_record.h"

const char *hark_service_error(const struct hark_service *s)
{
    return s->error;
}

bool hark_service_resumed(const struct hark_service *s)
{
    return s->resumed;
}

bool hark_service_finished(const struct hark_service *s)
{
    return s->finished;
}

uint32_t hark_service_re(const struct hark_service *s)
{
    return s->re;
}

uint32_t hark_service_inc(const struct hark_service *s, uint32_t rank)
{
    return rank == HARK_RECOVERY ? s->recovery_inc : s->inc[rank];
}

uint32_t hark_service_down(const struct hark_service *s)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < s->ranks; r++) n += s->down[r];
    return n;
}

bool hark_service_is_down(const struct hark_service *s, uint32_t rank)
{
    return s->down[rank] != 0;
}

/* Processes that checkpoint together: the cluster where clusters roll back, each alone where a line says who does, else all. */
static uint32_t group_of(const struct hark_service *s, uint32_t rank)
{
    if (s->config.protocol->rolls == HARK_ROLLS_LINE) return rank;
    return s->config.protocol->rolls == HARK_ROLLS_GROUP && !s->config.together ? s->config.clusters->of[rank] : 0;
}

const uint32_t *hark_service_clusters(const struct hark_service *s)
{
    return s->map[s->maps - 1].of;
}

const uint32_t *hark_service_next(const struct hark_service *s)
{
    return s->next;
}

bool hark_service_behind(const struct hark_service *s)
{
    return s->behind;
}

/* Do they go back together? */
static bool one_unit(const struct hark_service *s, uint32_t a, uint32_t b)
{
    switch (s->config.protocol->rolls) {
    case HARK_ROLLS_PROCESS: return a == b;
    case HARK_ROLLS_GROUP: return hark_service_clusters(s)[a] == hark_service_clusters(s)[b];
    default: return group_of(s, a) == group_of(s, b);
    }
}

/* Are there others whose checkpoints are the same ones? They need not fall back when this one does. */
static bool others_too(const struct hark_service *s)
{
    return s->config.protocol->rolls == HARK_ROLLS_PROCESS || s->config.together;
}

static uint64_t last_wave(const struct hark_service_group *g)
{
    return g->count ? g->wave[g->count - 1] : 0;
}

uint64_t hark_service_wave(const struct hark_service *s, uint32_t rank)
{
    return last_wave(&s->group[group_of(s, rank)]);
}

uint32_t hark_service_undone(const struct hark_service *s, uint32_t rank, const uint64_t **id)
{
    const struct hark_epochs *e = &s->epochs[rank];
    uint32_t first = hark_epochs_beyond(e, hark_service_wave(s, rank));
    *id = e->id ? e->id + first : NULL;
    return e->count - first;
}

void hark_service_again(const struct hark_service *s, uint8_t *member)
{
    if (s->config.protocol->rolls != HARK_ROLLS_LINE) return;
    for (uint32_t r = 0; r < s->ranks; r++) member[r] |= s->down[r];
}

/* ---- images ------------------------------------------------------------------------------------------------ */

/* Is the wave older than the map of clusters? Behind a change of the map all go back, if one does. */
static bool is_behind(const struct hark_service *s, uint64_t wave)
{
    return wave < s->map[s->maps - 1].since;
}

/* Are the images `id` of all whose images are needed together with that of `rank` whole? */
static bool whole(struct hark_service *s, uint32_t rank, uint64_t id)
{
    if (s->config.images == NULL) return true;
    for (uint32_t r = 0; r < s->ranks; r++) {
        if (!is_behind(s, id) && !one_unit(s, r, rank)) continue;
        if (s->config.images->ops->verify(s->config.images, r, id) == HARK_S_OK) continue;
        snprintf(s->error, sizeof s->error, "%s", s->config.images->error);
        return false;
    }
    return true;
}

/* How many decided waves there are up to the newest whose images are whole: *wave. */
static uint32_t newest_whole(struct hark_service *s, uint32_t rank, uint64_t *wave)
{
    const struct hark_service_group *g = &s->group[group_of(s, rank)];
    uint32_t n = g->count;
    while (n && !whole(s, rank, g->wave[n - 1])) n--;
    *wave = n ? g->wave[n - 1] : 0;
    return n;
}

bool hark_service_unit(struct hark_service *s, uint32_t rank, uint8_t *member)
{
    uint64_t wave = UINT64_MAX;
    if (s->config.protocol->rolls == 0) return false;
    /* The images need only be looked at if there is one to go back to that is older than the map. */
    const struct hark_service_group *g = &s->group[group_of(s, rank)];
    if (!s->behind && is_behind(s, g->decided < s->config.generations ? 0 : g->wave[0])) (void)newest_whole(s, rank, &wave);
    for (uint32_t r = 0; r < s->ranks; r++)
        if (s->behind || is_behind(s, wave) || one_unit(s, r, rank)) member[r] = 1;
    return true;
}

int hark_service_verify(struct hark_service *s, uint32_t rank, uint64_t *wave)
{
    struct hark_service_group *g = &s->group[group_of(s, rank)];
    uint32_t n = newest_whole(s, rank, wave);
    if (n == g->count) return HARK_SERVICE_OK;
    /* Logs are trimmed to the oldest image kept: the initial state is one until `generations` others are. */
    if (n == 0 && g->decided >= s->config.generations) return HARK_SERVICE_ELOST;
    s->behind |= is_behind(s, *wave);
    if (s->behind || !others_too(s)) {
        memset(&g->wave[n], 0, sizeof g->wave[0] * (g->count - n));
        g->count = n;
    }
    for (; is_behind(s, *wave); s->maps--) free(s->map[s->maps - 1].of), s->map[s->maps - 1].of = NULL;
    return HARK_SERVICE_FELL_BACK;
}

/* ---- changes ----------------------------------------------------------------------------------------------- */

int hark_service_fail(struct hark_service *s, const uint8_t *rolls, bool recovery)
{
    for (uint32_t r = 0; rolls && r < s->ranks; r++) {
        if (!rolls[r]) continue;
        s->inc[r]++;
        s->down[r] = 1;
    }
    s->recovery_inc += recovery;
    s->re++;
    s->behind = false;
    return hark_service_write(s);
}

int hark_service_propose(struct hark_service *s, const uint32_t *of)
{
    if (s->next || !s->config.together || s->config.protocol->rolls != HARK_ROLLS_GROUP) return HARK_SERVICE_REFUSED;
    s->next = malloc(sizeof *s->next * s->ranks);
    if (s->next == NULL) return HARK_SERVICE_EMEMORY;
    memcpy(s->next, of, sizeof *s->next * s->ranks);
    return HARK_SERVICE_OK;
}

/* Maps that no checkpoint which is kept goes by are forgotten. */
static void trim_maps(struct hark_service *s)
{
    const struct hark_service_group *g = &s->group[0];
    bool initial = g->decided < s->config.generations; /* then the beginning is one of those kept */
    while (s->maps > 2 && !initial && s->map[2].since <= g->wave[0]) {
        free(s->map[1].of);
        memmove(&s->map[1], &s->map[2], sizeof s->map[0] * (s->maps - 2));
        s->map[--s->maps].of = NULL;
    }
}

static int decide(struct hark_service *s, uint32_t peer, uint64_t id, uint64_t oldest, bool map)
{
    if (peer >= s->ranks) return HARK_SERVICE_REFUSED;
    struct hark_service_group *g = &s->group[group_of(s, peer)], before = *g;
    if (id <= last_wave(g)) return id && id == last_wave(g) && (!map || s->map[s->maps - 1].since == id) ? HARK_SERVICE_OK : HARK_SERVICE_REFUSED;
    if (map && s->next == NULL) return HARK_SERVICE_REFUSED;
    bool line = s->config.protocol->rolls == HARK_ROLLS_LINE;
    int began = line ? hark_epochs_begin(&s->epochs[peer], id) : 0;
    if (began < 0) {
        snprintf(s->error, sizeof s->error, "the record of failures: no memory");
        return HARK_SERVICE_EDURABLE;
    }
    if (g->count == s->config.generations) {
        memmove(g->wave, g->wave + 1, sizeof g->wave[0] * (g->count - 1));
        g->count--;
    }
    g->wave[g->count++] = id;
    if (g->decided < UINT32_MAX) g->decided++;
    if (map) {
        s->map[s->maps++] = (struct hark_service_map){id, s->next};
        s->next = NULL;
    }
    int status = hark_service_write(s);
    if (status < 0) *g = before;
    if (status < 0 && map) { /* it is still to come */
        s->next = s->map[--s->maps].of;
        s->map[s->maps].of = NULL;
    }
    if (status >= 0) trim_maps(s);
    if (status < 0 && began) hark_epochs_forget(&s->epochs[peer], id);
    if (status >= 0 && line) hark_epochs_trim(&s->epochs[peer], oldest);
    return status;
}

/* A rank goes back too, to its checkpoint `id`: what it decided later has not been, but is remembered (N-11). */
static void send_back(struct hark_service *s, uint32_t rank, uint64_t id)
{
    struct hark_service_group *g = &s->group[group_of(s, rank)];
    while (g->count && g->wave[g->count - 1] > id) g->wave[--g->count] = 0;
    if (id && last_wave(g) != id && g->count < s->config.generations) g->wave[g->count++] = id; /* older than those remembered */
    s->inc[rank]++;
    s->down[rank] = 1;
}

/* Recovery of `peer`, or of all, is over. What was undone has been done again, as far as anybody asks for it. */
static void done(struct hark_service *s, uint32_t peer)
{
    if (peer != HARK_RECOVERY) {
        s->down[peer] = 0;
        return;
    }
    memset(s->down, 0, s->ranks);
    for (uint32_t r = 0; r < s->ranks; r++) hark_epochs_cut(&s->epochs[r], hark_service_wave(s, r));
}

int hark_service_fact(struct hark_service *s, uint32_t fact, uint32_t peer, uint32_t re, uint64_t id, uint64_t oldest, bool map)
{
    if (re != s->re) return HARK_SERVICE_REFUSED;
    if (fact == HARK_FACT_WAVE) return decide(s, peer, id, oldest, map);
    if (fact == HARK_FACT_BACK || fact == HARK_FACT_LINE) {
        if (s->config.protocol->rolls != HARK_ROLLS_LINE || peer >= s->ranks) return HARK_SERVICE_REFUSED;
        send_back(s, peer, id);
        if (fact == HARK_FACT_LINE) s->re++;
        return hark_service_write(s);
    }
    if (fact != HARK_FACT_DONE || (peer >= s->ranks && peer != HARK_RECOVERY)) return HARK_SERVICE_REFUSED;
    done(s, peer);
    return hark_service_write(s);
}

int hark_service_finish(struct hark_service *s)
{
    s->finished = true;
    return hark_service_write(s);
}

/* ---- telling ----------------------------------------------------------------------------------------------- */

static uint32_t lowest_rank(const struct hark_service *s, uint32_t group)
{
    for (uint32_t r = 0; r < s->ranks; r++)
        if (group_of(s, r) == group) return r;
    return 0;
}

void hark_service_announce(const struct hark_service *s, struct hark_control *m)
{
    uint32_t incs = s->recovery_inc != 0, waves = 0;
    for (uint32_t r = 0; r < s->ranks; r++) incs += s->inc[r] != 0;
    for (uint32_t g = 0; g < s->groups; g++) waves += s->group[g].count != 0;
    hark_control_begin(m, HARK_C_FAILED);
    hark_control_put32(m, s->re);
    hark_control_put32(m, hark_service_down(s));
    for (uint32_t r = 0; r < s->ranks; r++)
        if (s->down[r]) hark_control_put32(m, r);
    hark_control_put32(m, incs);
    for (uint32_t r = 0; r < s->ranks; r++) {
        if (s->inc[r] == 0) continue;
        hark_control_put32(m, r);
        hark_control_put32(m, s->inc[r]);
    }
    if (s->recovery_inc) {
        hark_control_put32(m, HARK_RECOVERY);
        hark_control_put32(m, s->recovery_inc);
    }
    hark_control_put32(m, waves);
    for (uint32_t g = 0; g < s->groups; g++) { /* numbered by lowest rank, so ascending */
        if (s->group[g].count == 0) continue;
        hark_control_put32(m, lowest_rank(s, g));
        hark_control_put64(m, last_wave(&s->group[g]));
    }
    hark_control_end(m);
}

/* ---- open and close ---------------------------------------------------------------------------------------- */

int hark_service_open(struct hark_service **out, const struct hark_service_config *config,
    char error[HARK_SERVICE_ERROR])
{
    struct hark_service *s = calloc(1, sizeof *s);
    *out = NULL;
    snprintf(error, HARK_SERVICE_ERROR, "no memory for the failure service");
    if (s == NULL) return HARK_SERVICE_EMEMORY;
    s->config = *config;
    if (s->config.generations == 0) s->config.generations = 2;
    s->ranks = config->clusters->ranks;
    s->map[0].of = config->clusters->of;
    s->maps = 1;
    s->groups = config->protocol->rolls == HARK_ROLLS_GROUP && !config->together ? config->clusters->count : 1;
    if (config->protocol->rolls == HARK_ROLLS_LINE) s->groups = s->ranks;
    s->inc = calloc(s->ranks, sizeof *s->inc);
    s->down = calloc(s->ranks, sizeof *s->down);
    s->group = calloc(s->groups, sizeof *s->group);
    s->epochs = calloc(s->ranks, sizeof *s->epochs);
    int status = s->inc && s->down && s->group && s->epochs ? HARK_SERVICE_OK : HARK_SERVICE_EMEMORY;
    if (s->config.generations > HARK_SERVICE_GENERATIONS) {
        status = HARK_SERVICE_EINVAL;
        snprintf(error, HARK_SERVICE_ERROR, "expected 1 to %d generations", HARK_SERVICE_GENERATIONS);
    }
    if (status == HARK_SERVICE_OK && config->record) {
        status = hark_service_read(s);
        if (status == HARK_SERVICE_OK && !s->resumed) status = hark_service_write(s);
        if (status < 0) snprintf(error, HARK_SERVICE_ERROR, "%s", s->error);
    }
    if (status < 0) hark_service_close(s);
    else *out = s;
    return status;
}

void hark_service_close(struct hark_service *s)
{
    if (s == NULL) return;
    free(s->inc);
    free(s->down);
    free(s->group);
    for (uint32_t r = 0; s->epochs && r < s->ranks; r++) free(s->epochs[r].id);
    free(s->epochs);
    for (uint32_t m = 1; m < sizeof s->map / sizeof s->map[0]; m++) free(s->map[m].of);
    free(s->next);
    free(s);
}
