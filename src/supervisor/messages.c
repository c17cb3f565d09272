/* messages.c: what processes say, and what they are told. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hark/registry.h"

/* ---- telling ----------------------------------------------------------------------------------------------- */

/* As lines of SETUP have them; NULL: none, or no memory (*ok is false then). To be freed. */
static char *undone(const struct child *c, bool *ok)
{
    const uint64_t *id;
    uint32_t n = c->rank == HARK_RECOVERY ? 0 : hark_keeper_undone(c->s->keeper, c->rank, &id);
    char *text = n ? malloc((size_t)n * 21 + 1) : NULL;
    *ok = n == 0 || text;
    for (uint32_t i = 0, at = 0; text && i < n; i++) at += (uint32_t)sprintf(text + at, "%llu,", (unsigned long long)id[i]);
    return text;
}

void hark_sup_setup(struct child *c)
{
    bool ok;
    char *again = undone(c, &ok);
    struct supervisor *s = c->s;
    const struct hark_run_options *o = s->o;
    char options[HARK_SETUP_OPTIONS];
    struct hark_words w;
    hark_words_begin(&w, options, sizeof options);
    hark_options_write(o->protocol->manual->options, &o->core, false, &w);
    struct hark_setup setup = {.rank = c->rank,
        .ranks = o->ranks,
        .inc = c->inc,
        .re = hark_service_epoch(core_of(s)),
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
        .log_limit = o->log_limit,
        .interval_ms = o->interval_ms,
        .mtbf_ms = o->mtbf_ms,
        .generations = o->generations,
        .frame_limit = o->frame_limit,
        .option = {o->option[0], o->option[1], o->option[2], o->option[3]},
        .digest = o->digest,
        .options = options,
        .kill_at = c->rank == HARK_RECOVERY ? 0 : hark_sup_kill_at(c),
        .traffic = s->o->traffic,
        .board = s->board_fd,
        .store_fd = s->store_fd,
        .kept = c->kept};
    c->kept = -1;
    memcpy(setup.key, s->key, sizeof setup.key);
    struct hark_control m;
    char *text = hark_setup_write(&setup);
    hark_control_begin(&m, HARK_C_SETUP);
    if (text && ok && strlen(text) <= UINT16_MAX && (setup.trace || !o->trace)) hark_control_puts(&m, text, strlen(text));
    else m.bad = true;
    hark_control_end(&m);
    hark_sup_tell(c, &m);
    hark_control_free(&m);
    free(text);
    free(again);
}

void hark_sup_announce(struct supervisor *s, struct child *only)
{
    struct hark_control m;
    hark_keeper_announce(s->keeper, &m);
    for (uint32_t i = 0; i < s->count; i++)
        if (only ? only == &s->child[i] : s->child[i].hello) {
            hark_sup_tell(&s->child[i], &m);
            if (s->child[i].goes_back) s->child[i].hello = false; /* the last that this incarnation is told */
        }
    hark_control_free(&m);
}

static void introduce(const struct child *who, struct child *to)
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

static void tell_all(struct supervisor *s, uint16_t type)
{
    struct hark_control m;
    hark_control_begin(&m, type);
    hark_control_end(&m);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->child[i].hello) hark_sup_tell(&s->child[i], &m);
    hark_control_free(&m);
}

void hark_sup_try_finish(struct supervisor *s)
{
    if (s->phase != RUNNING || hark_service_down(core_of(s))) return;
    for (uint32_t i = 0; i < s->o->ranks; i++)
        if (!s->child[i].finished || s->child[i].goes_back || hark_sup_is_dead(&s->child[i])) return;
    /* After a signal they may have left before their work was done: the job is not, and can be resumed. */
    s->finish_waits = s->o->store && !s->signal && !hark_sup_shown(s);
    if (s->finish_waits) return;
    hark_sup_look_for_store(s);
    if (!s->signal && hark_keeper_finish(s->keeper) < 0) hark_sup_trouble(s, NULL, hark_keeper_error(s->keeper));
    s->phase = FINISHING;
    HARK_POINT("finished", HARK_TRACE_SUPERVISOR);
    tell_all(s, HARK_C_ALL_DONE);
}

/* ---- what processes say -------------------------------------------------------------------------------------- */

static void on_hello(struct child *c, struct hark_control *m)
{
    struct supervisor *s = c->s;
    size_t length;
    uint32_t inc = hark_control_get32(m);
    uint64_t position[2];
    for (int i = 0; i < 2; i++) position[i] = hark_control_get64(m);
    const char *address = hark_control_gets(m, &length);
    if (m->bad || inc != c->inc || c->hello || c->dying || c->goes_back) return;
    c->address = strndup(address, length);
    if (c->address == NULL) {
        hark_sup_no_memory(s, "an address");
        return;
    }
    bool any = m->next < m->length && hark_control_get32(m); /* bytes of pending, which are bytes of each stream */
    for (int i = 0; i < 2; i++) { /* printed before hello: before the position */
        uint32_t pending = 0;
        const uint8_t *text = any ? hark_control_get_bytes(m, &pending) : NULL;
        hark_sup_drain(c, i ? LINK_ERR : LINK_OUT, true);
        hark_output_position(&c->output[i], position[i], (const char *)text, pending <= position[i] ? pending : 0);
    }
    c->program = m->next < m->length ? (pid_t)hark_control_get32(m) : 0;
    c->hello = true;
    hark_sup_checkpoint_wanted(c);
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *other = &s->child[i];
        if (other == c || !other->hello) continue;
        introduce(other, c);
        introduce(c, other);
    }
    if (hark_service_epoch(core_of(s))) hark_sup_announce(s, c);
    hark_sup_ask(c); /* it may have printed before */
    hark_sup_tell_clusters(s, c);
    if (s->phase == FINISHING) { /* the recovery process of a very short job */
        struct hark_control m_done;
        hark_control_begin(&m_done, HARK_C_ALL_DONE);
        hark_control_end(&m_done);
        hark_sup_tell(c, &m_done);
        hark_control_free(&m_done);
    }
    if (s->recoveries && s->recovery[s->recoveries - 1].restarted == 0) {
        for (uint32_t i = 0; i < s->count; i++)
            if (!s->child[i].hello) return;
        s->recovery[s->recoveries - 1].restarted = hark_sup_now();
    }
}

/* ---- a store that fails -------------------------------------------------------------------------------------- */

static bool is_troubled(const struct supervisor *s)
{
    bool any = s->record_failed;
    for (uint32_t i = 0; i < s->count; i++) any |= s->child[i].troubled;
    return any;
}

void hark_sup_trouble(struct supervisor *s, struct child *whose, const char *line)
{
    s->troubles++;
    hark_sup_look_for_store(s);
    if (!is_troubled(s) && !s->store_gone) hark_sup_say("%s; the run goes on with the checkpoints that it has", line);
    if (whose) whose->troubled = true;
    else s->record_failed = true;
}

static void on_trouble(struct child *c, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    char line[512];
    if (m->bad) return;
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    hark_sup_trouble(c->s, c, line);
}

/* A wave of the group of `rank` was decided: its members' images are written again, and so is the record. */
static void works_again(struct supervisor *s, uint32_t rank)
{
    s->record_failed = false;
    for (uint32_t r = 0; r < s->o->ranks; r++)
        if (hark_service_same_wave(core_of(s), r, rank)) s->child[r].troubled = false;
}

static void on_persist(struct child *c, struct hark_control *m)
{
    struct supervisor *s = c->s;
    struct hark_fact fact = {.kind = hark_control_get32(m)};
    fact.rank = hark_control_get32(m);
    fact.re = hark_control_get32(m);
    fact.id = hark_control_get64(m);
    fact.oldest = hark_control_get64(m);
    if (m->bad) return;
    fact.new_map = m->next < m->length && hark_control_get32(m);
    HARK_POINT("fact", HARK_TRACE_SUPERVISOR);
    int status = hark_keeper_fact(s->keeper, &fact);
    HARK_POINT("noted", HARK_TRACE_SUPERVISOR);
    const bool decided = status == HARK_KEEPER_OK && fact.kind == HARK_FACT_WAVE;
    if (status == HARK_KEEPER_EDURABLE) hark_sup_trouble(s, NULL, hark_keeper_error(s->keeper));
    if (decided) works_again(s, fact.rank);
    if (decided && fact.new_map) hark_sup_reclustered(s, fact.id);
    struct hark_control answer;
    hark_control_begin(&answer, HARK_C_STORED);
    hark_control_put32(&answer, fact.kind);
    hark_control_put64(&answer, fact.id);
    /* The end of recovery holds without the record too: what is lost is only that a resumed run would know it. */
    hark_control_put32(&answer, status == HARK_KEEPER_OK ||
        (status == HARK_KEEPER_EDURABLE && fact.kind == HARK_FACT_DONE));
    hark_control_end(&answer);
    hark_sup_tell(c, &answer);
    hark_control_free(&answer);
    if (decided) {
        hark_sup_recluster(s, fact.new_map);
        hark_sup_checkpointed(s, fact.rank);
    }
    if (fact.kind == HARK_FACT_DONE && status != HARK_KEEPER_REFUSED) hark_sup_recovered(s);
    if (fact.kind == HARK_FACT_LINE && (status == HARK_KEEPER_OK || status == HARK_KEEPER_EDURABLE)) hark_sup_line(s);
}

static void on_mark(struct child *c, struct hark_control *m)
{
    c->mark = hark_control_get64(m);
    c->mark_waits = !m->bad;
    hark_sup_room(c->s);
}

static void on_note(struct child *c, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    if (m->bad || c->s->noted) return;
    c->s->noted = true;
    hark_sup_say("%.*s", (int)length, text);
}

void hark_sup_advise_diverged(const struct supervisor *s)
{
    const struct hark_protocol *p = s->o->protocol;
    if (p->unstable)
        hark_sup_say("under %s a process must do the same again when it receives the same in the same order: nothing may depend on a clock, "
                     "a process number or chance; a program that can not do without needs --protocol %s: see `hark help protocols`",
            p->name, hark_protocol_for(HARK_FOR_ANY)->name);
    else if (!hark_service_by_all(p))
        hark_sup_say("under %s a process that begins again must send the same, in whatever order messages come: is all that it needs protected "
                     "as it is when hark_checkpoint is called, the counter of a loop too? For a program in which that order matters use "
                     "--protocol %s: see `hark help protocols`", p->name, hark_protocol_for(HARK_FOR_PIECEWISE)->name);
}

/* DIVERGED, FATAL: one line, and the end. */
static void on_last_line(struct child *c, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    c->s->diverged += m->type == HARK_C_DIVERGED;
    if (c->s->phase == ENDING || (c->goes_back && m->type == HARK_C_FATAL)) return; /* what it did is void */
    hark_sup_say("%.*s", (int)length, text);
    if (m->type == HARK_C_DIVERGED) hark_sup_advise_diverged(c->s);
    hark_sup_end(c->s, 1);
}

static void on_message(struct child *c, struct hark_control *m)
{
    switch (m->type) {
    case HARK_C_HELLO: on_hello(c, m); break;
    case HARK_C_PERSIST: on_persist(c, m); break;
    case HARK_C_MARK: on_mark(c, m); break;
    case HARK_C_FINISHED:
        c->finished = !c->goes_back;
        hark_sup_checkpoint_done(c->s);
        hark_sup_try_finish(c->s);
        break;
    case HARK_C_WAITS: hark_sup_waits(c, m); break;
    case HARK_C_NOTE: on_note(c, m); break;
    case HARK_C_AGAIN: hark_sup_again(c, m); break;
    case HARK_C_STABLE: hark_sup_stable(c, hark_control_get64(m)); break;
    case HARK_C_TROUBLE: on_trouble(c, m); break;
    case HARK_C_DIVERGED:
    case HARK_C_FATAL: on_last_line(c, m); break;
    default: break; /* a newer library may say more */
    }
}

void hark_sup_take(struct child *c)
{
    size_t at = 0;
    while (c->in_length > at && c->s->phase != ENDING) {
        struct hark_control m;
        long n = hark_control_parse(&m, c->in + at, c->in_length - at);
        if (n == 0) break;
        if (n < 0) { /* not our library at the other end: as good as dead */
            char name[32];
            hark_sup_say("%s speaks garbage on its control socket", hark_sup_name(c, name));
            hark_sup_end(c->s, 1);
            break;
        }
        on_message(c, &m);
        at += (size_t)n;
    }
    if (at) memmove(c->in, c->in + at, c->in_length - at);
    c->in_length -= at;
}
