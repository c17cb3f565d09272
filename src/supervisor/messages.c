/* messages.c: what processes say. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

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
    uint32_t kept = m->next < m->length ? hark_control_get32(m) : 0; /* bytes of pending */
    const size_t behind = m->next + kept;
    for (int i = 0; i < 2; i++) { /* printed before hello: before the position */
        uint32_t pending = 0;
        const uint8_t *text = kept ? hark_control_get_bytes(m, &pending) : NULL;
        hark_sup_drain(c, i ? HARK_PIPE_ERR : HARK_PIPE_OUT, true);
        hark_output_position(
            &c->output[i], position[i], (const char *)text, pending <= position[i] ? pending : 0);
    }
    if (m->next < behind) c->input_at = hark_control_get64(m);
    c->program = m->next < m->length ? (pid_t)hark_control_get32(m) : 0;
    c->hello = true;
    hark_sup_checkpoint_wanted(c);
    for (uint32_t i = 0; i < s->count; i++) {
        struct child *other = &s->child[i];
        if (other == c || !other->hello) continue;
        hark_sup_introduce(other, c);
        hark_sup_introduce(c, other);
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

static void on_trouble(struct child *c, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    char line[512];
    if (m->bad) return;
    snprintf(line, sizeof line, "%.*s", (int)length, text);
    hark_sup_trouble(c->s, c, line);
}

static void persist(struct child *c, const struct hark_fact *fact)
{
    struct supervisor *s = c->s;
    HARK_POINT("fact", HARK_TRACE_SUPERVISOR);
    if (fact->kind == HARK_FACT_WAVE) hark_sup_missed_settle(s);
    int status = hark_keeper_fact(s->keeper, fact);
    HARK_POINT("noted", HARK_TRACE_SUPERVISOR);
    const bool decided = status == HARK_KEEPER_OK && fact->kind == HARK_FACT_WAVE;
    if (status == HARK_KEEPER_EDURABLE) hark_sup_trouble(s, NULL, hark_keeper_error(s->keeper));
    if (status == HARK_KEEPER_ELOST) hark_sup_lost(s);
    if (decided) hark_sup_works_again(s, fact->rank);
    if (decided && fact->new_map) hark_sup_reclustered(s, fact->id);
    struct hark_control answer;
    hark_control_begin(&answer, HARK_C_STORED);
    hark_control_put32(&answer, fact->kind);
    hark_control_put64(&answer, fact->id);
    /* The end of recovery holds without the record too: what is lost is only that a resumed run
     * would know it. */
    hark_control_put32(&answer, status == HARK_KEEPER_OK || (status == HARK_KEEPER_EDURABLE &&
                                                                fact->kind == HARK_FACT_DONE));
    hark_control_end(&answer);
    hark_sup_tell(c, &answer);
    hark_control_free(&answer);
    if (decided) {
        hark_sup_copies_drop(s, fact);
        hark_sup_flush_look(s);
        hark_sup_recluster(s, fact->new_map);
        hark_sup_checkpointed(s, fact->rank);
    }
    if (fact->kind == HARK_FACT_DONE && status != HARK_KEEPER_REFUSED) hark_sup_recovered(s);
    if (fact->kind == HARK_FACT_LINE &&
        (status == HARK_KEEPER_OK || status == HARK_KEEPER_EDURABLE))
        hark_sup_on_recovery_line(s);
}

static void on_persist(struct child *c, struct hark_control *m)
{
    struct hark_fact fact = {.kind = hark_control_get32(m)};
    fact.rank = hark_control_get32(m);
    fact.re = hark_control_get32(m);
    fact.id = hark_control_get64(m);
    fact.oldest = hark_control_get64(m);
    if (m->bad) return;
    fact.new_map = m->next < m->length && hark_control_get32(m);
    if (fact.kind == HARK_FACT_WAVE && hark_sup_wave_waits(c, &fact)) return;
    persist(c, &fact);
}

void hark_sup_waves(struct supervisor *s)
{
    struct child *c;
    struct hark_fact fact;
    while (s->phase != ENDING && hark_sup_wave_ready(s, &c, &fact)) persist(c, &fact);
    s->waves_due = false;
}

static void on_mark(struct child *c, struct hark_control *m)
{
    c->mark = hark_control_get64(m);
    c->ahead = m->next < m->length ? hark_control_get64(m) : 0;
    c->mark_waits = !m->bad;
    hark_sup_room(c->s);
}

/* Its memory is as in its image now; so is its place in the input. */
static void on_input(struct child *c)
{
    struct hark_control answer;
    int status = c->rank == 0 ? hark_sup_input_seek(c->s, c->input_at) : 0;
    if (status) {
        hark_sup_say("rank 0 can not read its input again: %s", strerror(status));
        hark_sup_end(c->s, 1);
        return;
    }
    hark_control_begin(&answer, HARK_C_INPUT_SET);
    hark_control_end(&answer);
    hark_sup_tell(c, &answer);
    hark_control_free(&answer);
}

static void on_note(struct child *c, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    if (m->bad || c->s->noted) return;
    c->s->noted = true;
    hark_sup_say("%.*s", (int)length, text);
}

/* DIVERGED, FATAL: one line, and the end. */
static void on_last_line(struct child *c, struct hark_control *m)
{
    size_t length;
    const char *text = hark_control_gets(m, &length);
    c->s->diverged += m->type == HARK_C_DIVERGED;
    if (c->s->phase == ENDING || (c->goes_back && m->type == HARK_C_FATAL))
        return; /* what it did is void */
    hark_sup_say("%.*s", (int)length, text);
    if (m->type == HARK_C_DIVERGED) hark_sup_advise_diverged(c->s);
    hark_sup_end(c->s, 1);
}

/* No failure to recover from: the program wants the end. */
static void on_abort(struct child *c, struct hark_control *m)
{
    char name[32];
    const uint32_t status = hark_control_get32(m) & 255;
    if (m->bad || c->s->phase == ENDING || c->goes_back) return; /* what it did is void */
    hark_sup_say("%s aborted the job with status %u", hark_sup_name(c, name), status);
    hark_sup_end(c->s, status ? (int)status : 1);
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
        c->s->finish_due = true;
        break;
    case HARK_C_WAITS: hark_sup_waits(c, m); break;
    case HARK_C_NOTE: on_note(c, m); break;
    case HARK_C_APART: hark_sup_apart(c, m); break;
    case HARK_C_AGAIN: hark_sup_on_rollback_request(c, m); break;
    case HARK_C_ABORT: on_abort(c, m); break;
    case HARK_C_INPUT: on_input(c); break;
    case HARK_C_READINGS: hark_sup_on_readings(c, m); break;
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
