/* tell.c: what processes are told. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../control/transports.h"
#include "hark/registry.h"

/* As lines of SETUP have them; NULL: none, or no memory (*ok is false then). To be freed. */
static char *undone(const struct child *c, bool *ok)
{
    const uint64_t *id;
    uint32_t n = c->rank == HARK_RECOVERY ? 0 : hark_keeper_undone(c->s->keeper, c->rank, &id);
    char *text = n ? malloc((size_t)n * 21 + 1) : NULL;
    *ok = n == 0 || text;
    for (uint32_t i = 0, at = 0; text && i < n; i++)
        at += (uint32_t)sprintf(text + at, "%llu,", (unsigned long long)id[i]);
    return text;
}

/* What is otherwise on another host. `listen` and *part last until hark_setup_write(). False: no
 * memory. */
static bool set_host(const struct child *c, struct hark_setup *setup, char listen[200], char **part)
{
    const struct host *h = c->host;
    const char *name = setup->trace ? strrchr(setup->trace, '/') : NULL;
    if (name && asprintf(part, "%s%s", h->directory, name) < 0) {
        *part = NULL;
        return false;
    }
    (void)hark_transport_between_hosts(c->s->o->transport, h->number, h->address, listen);
    setup->directory = h->directory;
    setup->spill = h->spill[0] ? h->spill : NULL;
    setup->trace = *part;
    setup->listen = listen;
    setup->store = h->store_path;
    setup->board = h->board;
    setup->store_fd = h->store;
    setup->journal = c->journal_there;
    return true;
}

void hark_sup_setup(struct child *c)
{
    bool ok;
    char *again = undone(c, &ok);
    struct supervisor *s = c->s;
    const struct hark_run_options *o = s->o;
    char options[HARK_SETUP_OPTIONS];
    struct hark_words w;
    char listen[200] = "", *part = NULL;
    hark_words_begin(&w, options, sizeof options);
    hark_options_write(o->protocol->manual->options, &o->core, false, &w);
    struct hark_setup setup = {.rank = c->rank,
        .ranks = o->ranks,
        .inc = c->inc,
        .re = c->re,
        .checkpoint = c->checkpoint,
        .job = s->job,
        .directory = s->directory,
        .store = s->store_path,
        .protocol = (char *)(uintptr_t)o->protocol->name,
        .transport = (char *)(uintptr_t)o->transport->name,
        .clusters = s->clusters_text,
        .trace = (char *)(uintptr_t)hark_sup_part(s, c->rank, c->inc),
        .spill = s->spill_path,
        .again = again,
        .host = (char *)(uintptr_t)hark_sup_first_host(c),
        .log_limit = o->log_limit,
        .interval_ms = o->interval_ms,
        .mtbf_ms = o->mtbf_ms,
        .generations = o->generations,
        .frame_limit = o->frame_limit,
        .option = {o->option[0], o->option[1], o->option[2], o->option[3], o->option[4],
            o->option[5]},
        .encrypts = o->encrypts,
        .digest = o->digest,
        .waits = o->waits,
        .incremental = o->incremental,
        .compression = o->compression,
        .options = options,
        .kill_at = c->rank == HARK_RECOVERY ? 0 : hark_sup_next_kill(c),
        .traffic = s->o->traffic,
        .program = c->rank == HARK_RECOVERY ? 0 : (uint32_t)(program_of(c) - o->program),
        .record = s->o->record != NULL,
        .steady = s->o->steady,
        .keeps = o->journal,
        .readings = s->o->journal != 0 && c->host != NULL && c->rank != HARK_RECOVERY,
        .restores = hark_sup_readings_elsewhere(c),
        .board = s->board_fd,
        .journal = c->journal,
        .store_fd = s->store_fd,
        .kept = c->kept};
    c->kept = -1;
    ok = ok && (c->host == NULL || set_host(c, &setup, listen, &part));
    memcpy(setup.key, s->key, sizeof setup.key);
    struct hark_control m;
    char *text = hark_setup_write(&setup);
    hark_control_begin(&m, HARK_C_SETUP);
    if (text && ok && (setup.trace || !o->trace))
        hark_control_put_bytes(&m, text, (uint32_t)strlen(text));
    else m.bad = true;
    hark_control_end(&m);
    hark_sup_tell(c, &m);
    hark_control_free(&m);
    if (setup.restores) hark_sup_readings_give(c);
    free(text);
    free(again);
    free(part);
}

void hark_sup_announce(struct supervisor *s, struct child *only)
{
    struct hark_control m;
    hark_keeper_announce(s->keeper, &m);
    for (uint32_t i = 0; i < s->count; i++)
        if (only ? only == &s->child[i] : s->child[i].hello) {
            hark_sup_tell(&s->child[i], &m);
            if (s->child[i].goes_back)
                s->child[i].hello = false; /* the last that this incarnation is told */
        }
    hark_control_free(&m);
}

void hark_sup_introduce(const struct child *who, struct child *to)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_C_PEER);
    hark_control_put32(&m, who->rank);
    hark_control_put32(&m, who->inc);
    hark_control_puts(&m, who->address, strlen(who->address));
    hark_control_end(&m);
    hark_sup_tell(to, &m);
    hark_control_free(&m);
}

void hark_sup_tell_all(struct supervisor *s, uint16_t type)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_end(&m);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].hello) hark_sup_tell(&s->child[i], &m);
    hark_control_free(&m);
}
