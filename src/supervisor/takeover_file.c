/* takeover_file.c: what a supervisor leaves to one that takes its place, if it dies: a file in the
 * store, which agents read too (src/agent/takeover.c).
 *
 *     hark takeover 1
 *     supervisor ADDRESS     where it is reached; several
 *     key HEX                with which agents prove themselves
 *     secret HEX             with which processes of different hosts do
 *     number N               so many have taken over before it
 *     frames TEXT            what both ends of a message must have alike
 *     images HEX             a digest of where agents keep images
 *     clusters TEXT          processes have been told them, or soon will be, and they are not in
 *                            force yet (--recluster)
 *     session HEX N HOST     an agent that serves it, on the N-th of its hosts, from 0
 *
 * Only its owner can read it: who can read the store can read the memory of the job anyway.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_file.h"

#define DIGEST 16u
#define RUNS   200u /* more do not take over: rounds of copies have an end */

struct left { /* by the one before */
    char name[HARK_HOST_NAME];
    uint64_t session;
    uint32_t host;
};

struct hark_takeover {
    struct left *left;
    uint32_t count, number;
    char *clusters; /* NULL: none are proposed */
    bool keyed, secret, begun;
    bool other_frames; /* they do not understand ours */
    bool other_images; /* they keep images elsewhere */
    bool settled;      /* who of the run before has not come is not waited for any more */
};

/* ---- what the one before has left ------------------------------------------------------------ */

static bool read_hex(const char *hex, uint8_t *to, size_t length)
{
    size_t n;
    return sodium_hex2bin(to, length, hex, strlen(hex), NULL, &n, NULL) == 0 && n == length;
}

static bool read_session(struct hark_takeover *h, const char *line)
{
    struct left *more = realloc(h->left, (h->count + 1) * sizeof *more), *x;
    if (more == NULL) return false;
    h->left = more;
    x = &more[h->count];
    if (sscanf(line, "%" SCNx64 " %" SCNu32 " %255s", &x->session, &x->host, x->name) == 3 &&
        x->session)
        h->count++;
    return true;
}

/* What both ends of a message must have alike. */
static void put_frames(const struct supervisor *s, FILE *f)
{
    fprintf(f, "%s %d %" PRIu64, s->o->transport->name, s->o->encrypts, s->o->frame_limit);
    for (size_t i = 0; i < sizeof s->o->option / sizeof *s->o->option; i++)
        fprintf(f, " %" PRIu64, s->o->option[i]);
    fputc('\n', f);
}

static bool same_frames(const struct supervisor *s, const char *theirs)
{
    char *ours = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&ours, &length);
    if (f) put_frames(s, f);
    const bool same = f && fclose(f) == 0 && length == strlen(theirs) + 1 &&
                      memcmp(ours, theirs, length - 1) == 0;
    free(ours);
    return same;
}

static void digest_images(const struct supervisor *s, uint8_t digest[DIGEST])
{
    const char *there = s->o->host_store ? s->o->host_store : "";
    const uint8_t shared = s->o->store_interval_ms != 0;
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, DIGEST);
    crypto_generichash_update(&state, &shared, 1);
    crypto_generichash_update(&state, (const uint8_t *)there, strlen(there));
    crypto_generichash_final(&state, digest, DIGEST);
}

static bool same_images(const struct supervisor *s, const char *theirs)
{
    uint8_t ours[DIGEST], digest[DIGEST];
    digest_images(s, ours);
    return read_hex(theirs, digest, sizeof digest) && memcmp(ours, digest, sizeof digest) == 0;
}

static bool read_line(struct supervisor *s, char *line)
{
    struct hark_takeover *h = s->takeover;
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "session ", 8) == 0) return read_session(h, line + 8);
    if (strncmp(line, "key ", 4) == 0)
        h->keyed = read_hex(line + 4, s->agent_key, sizeof s->agent_key);
    if (strncmp(line, "frames ", 7) == 0) h->other_frames = !same_frames(s, line + 7);
    if (strncmp(line, "images ", 7) == 0) h->other_images = !same_images(s, line + 7);
    if (strncmp(line, "clusters ", 9) == 0) {
        free(h->clusters);
        h->clusters = strdup(line + 9);
        return h->clusters != NULL;
    }
    if (strncmp(line, "number ", 7) == 0) h->number = (uint32_t)strtoul(line + 7, NULL, 10);
    if (strncmp(line, "secret ", 7) == 0) h->secret = read_hex(line + 7, s->key, sizeof s->key);
    return true;
}

/* Processes know the hosts by their numbers. */
static bool same_hosts(const struct supervisor *s)
{
    for (uint32_t i = 0; i < s->takeover->count; i++) {
        const struct left *x = &s->takeover->left[i];
        if (x->host >= s->o->hosts || strcmp(s->o->host[x->host].name, x->name) != 0) return false;
    }
    return true;
}

bool hark_sup_takeover_open(struct supervisor *s)
{
    char *line = NULL;
    size_t room = 0;
    if (s->o->store == NULL) return true;
    s->takeover = calloc(1, sizeof *s->takeover);
    FILE *f = s->takeover && s->belongs
                  ? hark_sup_store_stream(s->store_path, HARK_AGENT_TAKEOVER, "r")
                  : NULL;
    bool ok = s->takeover != NULL;
    while (f && ok && getline(&line, &room, f) > 0) ok = read_line(s, line);
    if (line) sodium_memzero(line, room);
    free(line);
    if (f) fclose(f);
    if (ok && (!s->takeover->keyed || !s->takeover->secret || s->takeover->number >= RUNS))
        s->takeover->count = 0;
    if (ok && !same_hosts(s)) {
        hark_sup_say(
            "the hosts are not those of the run before, in the same order, so its processes "
            "are not taken over");
        s->takeover->count = 0;
    }
    if (ok && s->takeover->count && s->takeover->other_frames) {
        hark_sup_say("--transport, --option and --encrypt are not those of the run before, so its "
                     "processes are not taken over");
        s->takeover->count = 0;
    }
    if (ok && s->takeover->count && s->takeover->other_images) {
        hark_sup_say("--host-store, or whether there is a --store-interval, is not as in the run "
                     "before, so its processes are not taken over");
        s->takeover->count = 0;
    }
    if (!ok) hark_sup_say("no memory for the hosts of the run before");
    return ok;
}

uint32_t hark_sup_takeover_left(const struct supervisor *s)
{
    return s->takeover ? s->takeover->count : 0;
}

struct host *hark_sup_takeover_host(struct supervisor *s, uint64_t session)
{
    for (uint32_t i = 0; i < hark_sup_takeover_left(s); i++)
        if (s->takeover->left[i].session == session) return &s->host[s->takeover->left[i].host];
    return NULL;
}

bool hark_sup_takeover_has_all(const struct supervisor *s)
{
    uint32_t ready = 0;
    for (uint32_t i = 0; i < s->o->hosts; i++) ready += s->host[i].adopted && s->host[i].ready;
    return ready && ready == hark_sup_takeover_left(s);
}

/* ---- what we leave --------------------------------------------------------------------------- */

static void put_hex(FILE *f, const char *what, const uint8_t *at, size_t length)
{
    char hex[2 * 32 + 1];
    sodium_bin2hex(hex, sizeof hex, at, length);
    fprintf(f, "%s %s\n", what, hex);
    sodium_memzero(hex, sizeof hex);
}

static void put_session(FILE *f, uint64_t session, uint32_t host, const char *name)
{
    fprintf(f, "session %" PRIx64 " %" PRIu32 " %s\n", session, host, name);
}

static void put_all(const struct supervisor *s, FILE *f)
{
    const struct hark_takeover *h = s->takeover;
    uint8_t images[DIGEST];
    digest_images(s, images);
    fputs("hark takeover 1\n", f);
    (void)hark_sup_addresses(s, f);
    fprintf(f, "number %" PRIu32 "\nframes ", h->number);
    put_frames(s, f);
    put_hex(f, "images", images, sizeof images);
    if (h->clusters) fprintf(f, "clusters %s\n", h->clusters);
    put_hex(f, "key", s->agent_key, sizeof s->agent_key);
    put_hex(f, "secret", s->key, sizeof s->key);
    for (uint32_t i = 0; h->begun && i < s->o->hosts; i++)
        if (s->host[i].ready && !s->host[i].lost && s->host[i].session_name)
            put_session(f, s->host[i].session_name, i, s->host[i].name);
    for (uint32_t i = 0; !h->begun && i < h->count; i++)
        put_session(f, h->left[i].session, h->left[i].host, h->left[i].name);
}

static bool write_all(const struct supervisor *s)
{
    hark_sup_away(s);
    FILE *f = hark_sup_store_stream(s->store_path, HARK_AGENT_TAKEOVER ".new", "w");
    bool ok = f != NULL;
    if (f) put_all(s, f);
    ok = ok && fflush(f) == 0 && fsync(fileno(f)) == 0;
    if (f) ok = fclose(f) == 0 && ok;
    ok = ok &&
         renameat(s->store_fd, HARK_AGENT_TAKEOVER ".new", s->store_fd, HARK_AGENT_TAKEOVER) == 0;
    hark_sup_back(s);
    if (ok) return true;
    hark_sup_say("store %s: cannot write down which agents serve this run: %s; if hark run dies, "
                 "its processes are not taken over",
        s->store_path, strerror(errno));
    return false;
}

/* What is still on its way of copies that the run before has asked for is of earlier rounds. */
void hark_sup_takeover_begin(struct supervisor *s)
{
    s->takes_over = true;
    s->takeover->number++;
    for (uint32_t r = 0; s->holdings && r < s->o->ranks; r++)
        s->holdings[r].round = s->takeover->number << 24;
}

/* An agent that comes later is too late: its processes end. */
void hark_sup_takeover_give_up(struct supervisor *s)
{
    if (s->takeover) s->takeover->count = 0;
}

/* With the addresses of this run those that wait for one find it. */
void hark_sup_takeover_call(struct supervisor *s)
{
    if (hark_sup_takeover_left(s)) (void)write_all(s);
}

void hark_sup_takeover_forget(const struct supervisor *s)
{
    if (s->store_fd < 0 || s->o->store == NULL) return;
    (void)unlinkat(s->store_fd, HARK_AGENT_TAKEOVER, 0);
    (void)unlinkat(s->store_fd, HARK_AGENT_TAKEOVER ".new", 0);
}

void hark_sup_takeover_leave(struct supervisor *s)
{
    if (s->takeover == NULL) return;
    s->takeover->settled = true;
    /* No process that is left behind is to be believed. */
    if (!s->takes_over && s->takeover->secret) randombytes_buf(s->key, sizeof s->key);
    if (!s->takes_over) {
        s->takeover->number = 0;
        free(s->takeover->clusters);
        s->takeover->clusters = NULL;
    }
    if (hark_sup_takeover_allowed(s)) s->takeover->begun = true, (void)write_all(s);
    else hark_sup_takeover_forget(s);
    s->takeover->count = 0;
}

void hark_sup_takeover_changed(struct supervisor *s)
{
    if (s->takeover && s->takeover->begun) (void)write_all(s);
}

bool hark_sup_takeover_clusters(struct supervisor *s, const char *text)
{
    struct hark_takeover *h = s->takeover;
    if (h == NULL || !h->begun || (text == NULL && h->clusters == NULL)) return true;
    char *copy = text ? strdup(text) : NULL;
    if (text && copy == NULL) return false;
    free(h->clusters);
    h->clusters = copy;
    return write_all(s);
}

const char *hark_sup_takeover_proposed(const struct supervisor *s)
{
    return s->takeover ? s->takeover->clusters : NULL;
}

void hark_sup_takeover_close(struct supervisor *s, bool all_ended)
{
    if (s->takeover == NULL) return;
    if (all_ended && s->takeover->settled) hark_sup_takeover_forget(s);
    free(s->takeover->left);
    free(s->takeover->clusters);
    free(s->takeover);
    s->takeover = NULL;
}
