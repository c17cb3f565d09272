/* coder.c: what the supervisor and other agents say about codes: see coder.h.
 *
 * A generation is made in two steps. CODE: each host of the set links its images, and says how long
 * they are. COMBINE, when all have: each computes its parities, from pieces that it asks the others
 * for. So nobody is asked for what it does not know yet, and memory is bounded.
 */
#include "coder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART_MS 5000 /* a code is not made for so long before it is said */

static void go_on(struct agent *a);
static void answer_all(struct hark_generation *g);
static bool check(
    struct hark_coder *c, struct hark_generation *g, struct hark_connection *connection);

/* ---- what the supervisor hears --------------------------------------------------------------- */

/* How long its own images are. */
static void tell_prepared(struct agent *a, const struct hark_coded *g)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_PREPARED);
    hark_control_put64(&m, g->number);
    hark_control_put64(&m, g->run);
    for (uint32_t i = 0; i < g->items; i++) {
        if (g->item[i].host != g->me) continue;
        hark_control_put64(&m, g->item[i].length);
        hark_control_put_bytes(&m, g->item[i].sum, HARK_CODED_SUM);
    }
    hark_agent_say(a, &m);
}

static void tell_kept(struct agent *a, const struct hark_coded *g)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_CODES);
    hark_coded_put(&m, g);
    hark_agent_say(a, &m);
}

/* ---- one is made ----------------------------------------------------------------------------- */

static void end_generation(struct hark_coder *c, struct hark_generation *g, bool remove)
{
    if (remove) { /* whoever waits for it hears that there is none */
        g->check = HARK_CHECK_BAD;
        answer_all(g);
        hark_rebuild_checked(c, g);
    }
    if (g->combine) hark_combine_end(c, g->combine);
    hark_combine_forget(c, g);
    hark_generation_end(c, g, remove);
}

static void give_up(struct hark_coder *c, struct hark_generation *g)
{
    hark_coder_tell(c->a, g->table.number, g->table.run, HARK_CODED_NOT);
    end_generation(c, g, true);
}

static bool get_addresses(struct hark_control *m, uint32_t hosts, char **address)
{
    for (uint32_t i = 0; i < hosts; i++) {
        size_t length;
        const char *text = hark_control_gets(m, &length);
        address[i] = m->bad ? NULL : strndup(text, length);
        if (address[i] == NULL) return false;
    }
    return true;
}

static void prepare(struct hark_coder *c, struct hark_control *m)
{
    struct hark_coded table;
    char *address[HARK_CODE_MOST] = {NULL};
    struct hark_generation *g = NULL;
    bool ok = hark_coded_get(m, &table) && get_addresses(m, table.code.hosts, address);
    const uint64_t number = table.number, run = table.run;
    if (ok && hark_generation_find(c, number, run) == NULL) g = hark_generation_new(c, &table);
    if (g) {
        memcpy(g->address, address, sizeof address);
        tell_prepared(c->a, &g->table);
        return;
    }
    for (uint32_t i = 0; i < HARK_CODE_MOST; i++) free(address[i]);
    hark_coded_free(&table);
    hark_coder_tell(c->a, number, run, HARK_CODED_NOT);
}

static void next_parity(struct hark_coder *c, struct hark_generation *g);

static bool keep_piece(void *self, uint64_t offset, const uint8_t *at, size_t length)
{
    struct hark_generation *g = self;
    crypto_generichash_update(&g->hash, at, length);
    errno = ENOSPC; /* of what is cut short */
    if (pwrite(g->parity_fd, at, length, (off_t)offset) == (ssize_t)length) return true;
    hark_coder_say_trouble(g->coder, strerror(errno));
    return false;
}

/* Not the first time: a host that dies is soon in no set. But who does not reach each other stays,
 * no checkpoint is decided then, and the program may not notice. */
static void note_apart(struct hark_coder *c)
{
    char why[HARK_HOST_NAME + 80];
    const uint64_t now = uv_now(&c->a->loop);
    if (c->cut[0] == 0) return;
    snprintf(why, sizeof why, "host %s is not reached from here, or does not answer; %s", c->cut,
        "checkpoints wait for it");
    if (c->apart == 0) c->apart = now;
    else if (now - c->apart >= APART_MS) hark_coder_say_trouble(c, why);
}

static void parity_done(void *self, bool whole)
{
    struct hark_generation *g = self;
    struct hark_coder *c = g->coder;
    g->combine = NULL;
    if (!whole) {
        note_apart(c);
        give_up(c, g);
        return;
    }
    crypto_generichash_final(&g->hash, g->sum[g->making], HARK_CODED_SUM);
    close(g->parity_fd);
    g->parity_fd = -1;
    g->making++;
    next_parity(c, g);
}

static bool begin_parity(struct hark_coder *c, struct hark_generation *g)
{
    const struct hark_coded *t = &g->table;
    uint8_t have[HARK_CODE_MOST] = {0};
    char name[32];
    struct hark_combine_of of = {.number = t->number,
        .run = t->run,
        .stripe = hark_code_parity_stripe(&t->code, t->me, g->making),
        .hosts = t->code.hosts,
        .end = t->rows * HARK_CODE_UNIT,
        .self = g,
        .out = keep_piece,
        .done = parity_done};
    memcpy(of.address, g->address, sizeof of.address);
    for (uint32_t h = 0; h < t->code.hosts; h++)
        have[h] = hark_code_chunk(&t->code, of.stripe, h) != HARK_CODE_NONE;
    if (!hark_code_factors(&t->code, of.stripe, t->me, have, of.factor)) return false;
    hark_generation_parity_name(name, g->making);
    g->parity_fd = openat(g->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    crypto_generichash_init(&g->hash, NULL, 0, HARK_CODED_SUM);
    if (g->parity_fd >= 0) g->combine = hark_combine_begin(c, &of);
    return g->combine != NULL;
}

static void next_parity(struct hark_coder *c, struct hark_generation *g)
{
    const bool last = g->making == g->table.code.parity;
    if (!(last ? hark_coder_task_finish(c, g) : begin_parity(c, g))) give_up(c, g);
}

/* The table has the lengths of all images now. */
static void combine(struct hark_coder *c, struct hark_control *m)
{
    struct hark_coded table;
    struct hark_generation *g = NULL;
    if (hark_coded_get(m, &table)) g = hark_generation_find(c, table.number, table.run);
    if (g == NULL || g->kept || g->combine || table.code.hosts != g->table.code.hosts ||
        table.me != g->table.me) {
        hark_coded_free(&table);
        return;
    }
    hark_coded_free(&g->table);
    g->table = table;
    next_parity(c, g);
    go_on(c->a);
}

static void finished(struct hark_coder *c, struct hark_generation *g, bool good)
{
    if (!good) {
        give_up(c, g);
        return;
    }
    g->kept = true;
    c->trouble = false;
    c->apart = 0;
    c->cut[0] = 0;
    g->check = HARK_CHECK_NOT;
    hark_coder_tell(c->a, g->table.number, g->table.run, HARK_CODED);
    hark_coder_undone(c->a);
}

static void drop(struct hark_coder *c, struct hark_control *m)
{
    const uint64_t number = hark_control_get64(m), run = hark_control_get64(m);
    struct hark_generation *g = m->bad ? NULL : hark_generation_find(c, number, run);
    if (g) end_generation(c, g, true);
    go_on(c->a);
}

void hark_coder_serve(struct agent *a, struct hark_control *m)
{
    if (a->coder == NULL) return;
    switch (m->type) {
    case HARK_A_CODE: prepare(a->coder, m); break;
    case HARK_A_COMBINE: combine(a->coder, m); break;
    case HARK_A_UNCODE: drop(a->coder, m); break;
    default: break;
    }
}

void hark_coder_undo(struct agent *a, uint32_t rank, uint64_t above)
{
    struct hark_coder *c = a->coder;
    for (struct hark_generation *g = c ? c->generation : NULL; g; g = g->next)
        for (uint32_t i = 0; i < g->table.items; i++) {
            struct hark_coded_item *x = &g->table.item[i];
            if (x->rank == rank && x->id > above && !x->undone) x->undone = g->stale = true;
        }
    if (c) hark_rebuild_undo(c, rank, above);
}

/* Durably: when the number is given again, another image bears it. */
void hark_coder_undone(struct agent *a)
{
    for (struct hark_generation *g = a->coder ? a->coder->generation : NULL, *next; g; g = next) {
        size_t length;
        next = g->next;
        if (!g->stale || !g->kept) continue; /* else when it is kept */
        uint8_t *table = hark_generation_table(g, &length);
        g->stale = false;
        if (table == NULL || !hark_generation_write(g->fd, table, length)) {
            hark_coder_tell(a, g->table.number, g->table.run, HARK_CODED_GONE);
            end_generation(a->coder, g, true);
        }
        free(table);
    }
    go_on(a);
}

/* ---- what other agents ask ------------------------------------------------------------------- */

static void say(struct hark_connection *to, struct hark_control *m)
{
    hark_control_end(m);
    if (!m->bad) (void)hark_connection_say(to, m->at, m->length);
    hark_control_free(m);
}

static void answer_shard(struct hark_coder *c, struct hark_connection *from, struct hark_control *m)
{
    static uint8_t piece[HARK_CODER_PIECE];
    struct hark_control answer;
    const uint64_t number = hark_control_get64(m), run = hark_control_get64(m);
    const uint32_t tag = hark_control_get32(m), stripe = hark_control_get32(m);
    const uint64_t offset = hark_control_get64(m);
    const uint32_t length = hark_control_get32(m);
    const struct hark_generation *g = m->bad ? NULL : hark_generation_find(c, number, run);
    const ssize_t n = g ? hark_generation_piece(g, stripe, offset, length, piece) : -1;
    hark_control_begin(&answer, HARK_A_PIECE);
    hark_control_put32(&answer, tag);
    hark_control_put32(&answer, g ? g->table.me : 0);
    hark_control_put64(&answer, offset);
    hark_control_put32(&answer, n >= 0);
    hark_control_put_bytes(&answer, piece, n > 0 ? (uint32_t)n : 0);
    say(from, &answer);
}

static void answer_ask(const struct hark_generation *g, struct hark_connection *to)
{
    struct hark_control m;
    hark_control_begin(&m, HARK_A_CODED_IS);
    hark_control_put64(&m, g->table.number);
    hark_control_put64(&m, g->table.run);
    hark_control_put32(&m, g->table.me);
    hark_control_put32(&m, g->check == HARK_CHECK_GOOD);
    if (g->check == HARK_CHECK_GOOD) hark_coded_put(&m, &g->table);
    say(to, &m);
}

/* Those that wait for what the check finds. */
static void answer_all(struct hark_generation *g)
{
    while (g->asker) {
        struct hark_asker *x = g->asker;
        g->asker = x->next;
        answer_ask(g, x->connection);
        free(x);
    }
}

static void on_ask(struct hark_coder *c, struct hark_connection *from, struct hark_control *m)
{
    struct hark_control answer;
    const uint64_t number = hark_control_get64(m), run = hark_control_get64(m);
    const uint32_t host = hark_control_get32(m);
    struct hark_generation *g = m->bad ? NULL : hark_generation_find(c, number, run);
    if (g && g->kept && check(c, g, from)) return;
    hark_control_begin(&answer, HARK_A_CODED_IS);
    hark_control_put64(&answer, number);
    hark_control_put64(&answer, run);
    hark_control_put32(&answer, host);
    hark_control_put32(&answer, 0);
    say(from, &answer);
}

static bool check(
    struct hark_coder *c, struct hark_generation *g, struct hark_connection *connection)
{
    if (connection && (g->check == HARK_CHECK_GOOD || g->check == HARK_CHECK_BAD)) {
        answer_ask(g, connection);
        return true;
    }
    struct hark_asker *x = connection ? calloc(1, sizeof *x) : NULL;
    if (connection && x == NULL) return false;
    if (g->check == HARK_CHECK_NOT && !hark_coder_task_check(c, g)) {
        free(x);
        return false;
    }
    g->check = HARK_CHECK_RUNS;
    if (x) {
        *x = (struct hark_asker){g->asker, connection};
        g->asker = x;
    }
    return true;
}

static void checked(struct hark_coder *c, struct hark_generation *g, bool good)
{
    g->check = good ? HARK_CHECK_GOOD : HARK_CHECK_BAD;
    if (!good) hark_coder_tell(c->a, g->table.number, g->table.run, HARK_CODED_GONE);
    answer_all(g);
    hark_rebuild_checked(c, g);
    go_on(c->a);
}

static void message(struct agent *a, struct hark_connection *from, struct hark_control *m)
{
    struct hark_coder *c = a->coder;
    if (c == NULL) return;
    switch (m->type) {
    case HARK_A_SHARD: answer_shard(c, from, m); return;
    case HARK_A_ASK: on_ask(c, from, m); return;
    case HARK_A_PIECE: hark_combine_piece(c, m); break;
    case HARK_A_CODED_IS: hark_rebuild_table(c, m); break;
    default: return;
    }
    go_on(a);
}

static void go_on(struct agent *a)
{
    if (a->coder == NULL) return;
    hark_combine_go_on(a->coder);
    hark_rebuild_go_on(a->coder);
    hark_combine_go_on(a->coder);
}

static void note_cut(struct hark_coder *c, const char *address)
{
    for (const struct hark_generation *g = c->generation; g; g = g->next)
        for (uint32_t h = 0; !g->kept && h < g->table.code.hosts; h++)
            if (g->address[h] && strcmp(g->address[h], address) == 0)
                snprintf(c->cut, sizeof c->cut, "%s", g->table.host[h]);
}

static void cut(struct agent *a, const struct hark_connection *connection, const char *address)
{
    struct hark_coder *c = a->coder;
    for (struct hark_generation *g = c ? c->generation : NULL; g; g = g->next)
        for (struct hark_asker **at = &g->asker; *at;) {
            struct hark_asker *x = *at;
            if (x->connection != connection) {
                at = &x->next;
                continue;
            }
            *at = x->next;
            free(x);
        }
    if (c == NULL || address[0] == 0) return;
    note_cut(c, address);
    hark_combine_cut(c, address);
    hark_rebuild_cut(c, address);
    go_on(a);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static void load(struct hark_coder *c, const char *name)
{
    char *path = NULL;
    const size_t length = strlen(name);
    const bool made =
        name[0] >= '0' && name[0] <= '9' && (length < 4 || strcmp(name + length - 4, ".new") != 0);
    if (name[0] == '.' || (made && hark_generation_load(c, name))) return;
    if (asprintf(&path, "%s/codes/%s", c->a->store_path, name) < 0) return;
    if (unlink(path) < 0) hark_remove_tree(path); /* of one that was being made */
    free(path);
}

bool hark_coder_open(struct agent *a, char error[256])
{
    struct hark_coder *c = a->coder = calloc(1, sizeof *c);
    if (c) {
        c->a = a;
        c->check = check;
        c->checked = checked;
        c->finished = finished;
        a->coder_message = message;
        a->coder_go_on = go_on;
        a->coder_cut = cut;
        (void)mkdirat(a->store_fd, "codes", 0700);
        c->directory = openat(a->store_fd, "codes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    const int listed = c && c->directory >= 0 ? dup(c->directory) : -1;
    DIR *all = listed >= 0 ? fdopendir(listed) : NULL;
    if (all == NULL) {
        snprintf(error, 256, "%.200s/codes: %s", a->store_path, strerror(errno));
        if (listed >= 0) close(listed);
        return false;
    }
    for (const struct dirent *e; (e = readdir(all)) != NULL;) load(c, e->d_name);
    closedir(all);
    return true;
}

void hark_coder_list(struct agent *a)
{
    for (struct hark_generation *g = a->coder ? a->coder->generation : NULL; g; g = g->next)
        tell_kept(a, &g->table);
}

/* Another supervisor asks for it again, under other numbers. */
void hark_coder_give_up(struct agent *a)
{
    if (a->coder == NULL) return;
    hark_rebuild_end_all(a->coder);
    for (struct hark_generation *g = a->coder->generation, *next; g; g = next) {
        next = g->next;
        if (!g->kept) end_generation(a->coder, g, true);
    }
}

void hark_coder_close(struct agent *a, bool remove)
{
    struct hark_coder *c = a->coder;
    if (c == NULL) return;
    hark_rebuild_end_all(c);
    while (c->generation) end_generation(c, c->generation, false);
    hark_coder_tasks_part(c, remove);
    if (c->directory >= 0) close(c->directory);
    free(c);
    a->coder = NULL;
}
