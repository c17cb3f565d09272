/* scenario.c: reads the text of a scenario, a line at a time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"
#include "../utf8.h"
#include "scenario_parts.h"

enum { FILE_MOST = 16 << 20 /* a larger one is none, bytes */ };

enum keyword {
    NAME,
    ABOUT,
    PROTOCOL,
    CLUSTERS,
    REGROUP,
    NETWORK,
    CONTENT,
    GENERATIONS,
    EPOCHS,
    WAVES,
    IMAGES,
    RECEIVES,
    TREE,
    TREE2,
    FAILS,
    EXPECT,
    SCHEDULE,
    PROGRAM,
    OPTION /* the first of the protocols' */
};
static const char *const keywords[] = {"name", "about", "protocol", "clusters", "regroup",
    "network", "content", "generations", "epochs", "waves", "images", "receives", "tree", "tree2",
    "fails", "expect", "schedule"};

/* ---- messages -------------------------------------------------------------------------------- */

static struct hark_scenario_place place(const struct hark_scenario_reader *r, const char *at)
{
    return (struct hark_scenario_place){r->line, (uint32_t)(at - r->begin) + 1};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What stands at `at` instead of what was expected. A file of any bytes may end up here: only
 * printable ones are shown. */
static int unexpected(struct hark_scenario_reader *r, const char *at, const char *expected)
{
    char found[25];
    size_t n = 0;
    if (at == r->end)
        return hark_scenario_wrong(
            r, place(r, at), "found the end of the line, expected %s", expected);
    for (; n < sizeof found - 1 && at + n < r->end && (n == 0 || !is_blank(at[n])); n++)
        found[n] = at[n] >= ' ' && at[n] <= '~' ? at[n] : '?';
    found[n] = 0;
    return hark_scenario_wrong(r, place(r, at), "found '%s', expected %s", found, expected);
}

static int no_memory(char *error, const char *name)
{
    snprintf(error, HARK_SCENARIO_ERROR, "%.90s: out of memory", name);
    return -1;
}

/* ---- pieces of a line ------------------------------------------------------------------------ */

static void blanks(struct hark_scenario_reader *r)
{
    while (r->at < r->end && is_blank(*r->at)) r->at++;
}

static bool character(struct hark_scenario_reader *r, char c)
{
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool digit(const struct hark_scenario_reader *r)
{
    return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

/* A decimal number of least .. most; else nothing is read. */
static bool number(struct hark_scenario_reader *r, uint32_t least, uint32_t most, uint32_t *value)
{
    const char *begin = r->at;
    for (*value = 0; digit(r); r->at++)
        if (*value <= most) *value = *value * 10 + (uint32_t)(*r->at - '0');
    if (r->at > begin && *value >= least && *value <= most) return true;
    r->at = begin;
    return false;
}

/* The word `w`, if it is the next one. */
static bool word(struct hark_scenario_reader *r, const char *w)
{
    size_t n = strlen(w);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, w, n) != 0) return false;
    if (r->at + n < r->end && !is_blank(r->at[n])) return false;
    r->at += n;
    blanks(r);
    return true;
}

/* One of `words`, the end of which is a NULL; its index, or -1 and the error. */
static int one_of(struct hark_scenario_reader *r, const char *const *words, const char *expected)
{
    for (int i = 0; words[i]; i++)
        if (word(r, words[i])) return i;
    return unexpected(r, r->at, expected);
}

static int end_of_line(struct hark_scenario_reader *r)
{
    return r->at == r->end ? 0 : unexpected(r, r->at, "the end of the line");
}

/* The length of the character at `at`, 0 if it is none that may be shown: no UTF-8, or a control
 * character. */
static uint32_t shown(const char *at, const char *end)
{
    uint32_t code;
    size_t n = hark_utf8(at, (size_t)(end - at), &code);
    return code == '\t' || (code >= ' ' && (code < 0x7f || code >= 0xa0)) ? (uint32_t)n : 0;
}

static int only_characters(struct hark_scenario_reader *r, bool ascii)
{
    for (const char *at = r->at; at < r->end;) {
        uint32_t n = shown(at, r->end);
        if (n == 0 || (ascii && n > 1))
            return hark_scenario_wrong(r, place(r, at), "found the byte 0x%02x, expected %s",
                (uint8_t)*at, ascii ? "ASCII" : "text in UTF-8");
        at += n;
    }
    return 0;
}

/* The rest of the line, of at most room - 1 bytes. */
static int rest(struct hark_scenario_reader *r, char *to, size_t room, const char *expected)
{
    size_t n = (size_t)(r->end - r->at);
    if (n == 0) return unexpected(r, r->at, expected);
    if (n >= room)
        return hark_scenario_wrong(
            r, place(r, r->at + room - 1), "found more text, expected at most %zu bytes", room - 1);
    memcpy(to, r->at, n);
    to[n] = 0;
    r->at = r->end;
    return 0;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The rank and message behind the letter of an operation. */
static int operation_peer(struct hark_scenario_reader *r, struct hark_op *op)
{
    uint32_t peer, ssn;
    if ((op->type == HARK_OP_RECEIVE || hark_op_looks(op->type)) && !digit(r)) return 0;
    if (!number(r, 0, HARK_SCENARIO_RANKS - 1, &peer))
        return unexpected(r, r->at, "a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    op->peer = (int8_t)peer;
    if (op->type == HARK_OP_SEND || !character(r, '.')) return 0;
    if (!number(r, 1, HARK_SCENARIO_SSN, &ssn))
        return unexpected(r, r->at, "a message of the channel, from 1 to 16 (HARK_SCENARIO_SSN)");
    op->ssn = (uint8_t)ssn;
    return 0;
}

/* T j[ | ] : where to go on is known when the part ends. */
static int branch(struct hark_scenario_reader *r, uint32_t rank, char c, struct hark_op op)
{
    struct hark_op *fork = &r->s->op[rank][r->fork[rank]];
    const uint8_t next = (uint8_t)r->ops[rank];
    if (c == ']') {
        if (r->part[rank] != 2)
            return unexpected(r, r->at - 1, r->part[rank] ? "| before it" : "T j[ before it");
        fork->to = next;
        r->part[rank] = 0;
        return 0;
    }
    if (c == '|') {
        if (r->part[rank] != 1)
            return unexpected(r, r->at - 1, r->part[rank] ? "] after two parts" : "T j[ before it");
        op.type = HARK_OP_ELSE;
        fork->to = (uint8_t)(next + 1);
    } else if (r->part[rank]) {
        struct hark_scenario_place at = {op.line, op.column};
        return hark_scenario_wrong(
            r, at, "a branch inside a branch, expected branches that are not nested");
    }
    r->fork[rank] = next;
    r->part[rank]++;
    return hark_scenario_op(r, rank, op);
}

static int operation(struct hark_scenario_reader *r, uint32_t rank)
{
    static const char expected[] = "an operation (S R T W P L C c O M B A Q G = | ])";
    const struct hark_scenario_place at = place(r, r->at);
    struct hark_op op = {.peer = -1, .line = (uint16_t)at.line, .column = (uint16_t)at.column};
    const char c = *r->at++, *letter = strchr(hark_op_letters, c);
    if (at.line > UINT16_MAX || at.column > UINT16_MAX)
        return hark_scenario_wrong(
            r, at, "found an operation, expected it in the first %d lines and columns", UINT16_MAX);
    if (c == ']' || c == '|') return branch(r, rank, c, op);
    if (c == '=') {
        if (r->part[rank]) return unexpected(r, r->at - 1, "barriers outside of branches");
        op.type = HARK_OP_BARRIER;
        return hark_scenario_op(r, rank, op);
    }
    if (letter == NULL || c == '[') return unexpected(r, r->at - 1, expected);
    op.type = (uint8_t)(letter - hark_op_letters);
    if ((op.type <= HARK_OP_WAIT || hark_op_looks(op.type)) && operation_peer(r, &op) < 0)
        return -1;
    if (op.type >= HARK_OP_MULTICAST && op.type <= HARK_OP_RESULT && character(r, '2')) op.peer = 2;
    if (op.type != HARK_OP_TEST || !character(r, '[')) return hark_scenario_op(r, rank, op);
    op.type = HARK_OP_IF;
    return branch(r, rank, '[', op);
}

static int program(struct hark_scenario_reader *r, uint32_t rank, const char *keyword)
{
    if (r->program[rank].line == 0) r->program[rank] = place(r, keyword);
    if (rank >= r->s->ranks) r->s->ranks = rank + 1;
    for (blanks(r); r->at < r->end; blanks(r))
        if (operation(r, rank) < 0) return -1;
    return 0;
}

/* ---- what else a line may be ----------------------------------------------------------------- */

static int protocol(struct hark_scenario_reader *r)
{
    char expected[120] = "one of";
    for (unsigned i = 0; hark_protocol_at(i); i++) {
        const struct hark_protocol *p = hark_protocol_at(i);
        size_t n = strlen(expected);
        if (!hark_protocol_runs(p)) continue;
        if (word(r, p->name)) {
            snprintf(r->s->protocol, sizeof r->s->protocol, "%s", p->name);
            return 0;
        }
        snprintf(expected + n, sizeof expected - n, " %s", p->name);
    }
    return unexpected(r, r->at, expected);
}

static int cluster_part(
    struct hark_scenario_reader *r, uint8_t cluster, struct hark_scenario_place *where, uint8_t *of)
{
    const char *begin = r->at;
    const struct hark_scenario_place at = place(r, begin);
    uint32_t first, last;
    if (!number(r, 0, HARK_SCENARIO_RANKS - 1, &first))
        return unexpected(r, r->at, "a rank, or a range such as 0-3");
    last = first;
    if (character(r, '-') && !number(r, 0, HARK_SCENARIO_RANKS - 1, &last))
        return unexpected(r, r->at, "the last rank of a range");
    if (last < first) return unexpected(r, begin, "an ascending range");
    for (uint32_t rank = first; rank <= last; rank++) {
        if (where[rank].line)
            return hark_scenario_wrong(
                r, at, "found rank %u again, expected every rank once", rank);
        where[rank] = at;
        of[rank] = cluster;
    }
    return 0;
}

/* The places are for messages: of the line, and of each rank. */
static int clusters(struct hark_scenario_reader *r, struct hark_scenario_place *line,
    struct hark_scenario_place *where, uint8_t *of)
{
    uint8_t cluster = 0;
    *line = place(r, r->at);
    do {
        do {
            if (cluster_part(r, cluster, where, of) < 0) return -1;
        } while (character(r, ','));
        if (r->at < r->end && !is_blank(*r->at))
            return unexpected(r, r->at, "a comma, a blank or the end of the line");
        blanks(r);
        cluster++;
    } while (r->at < r->end);
    return 0;
}

static int tree(struct hark_scenario_reader *r, uint32_t t)
{
    static const char parents[] = "0123456789abcdef";
    bool root = false;
    if (t > r->s->trees)
        return hark_scenario_wrong(
            r, place(r, r->begin), "found tree2, expected a line tree before it");
    r->tree[t] = place(r, r->at);
    r->s->trees = (uint8_t)(t + 1);
    for (; r->at < r->end && !is_blank(*r->at) && r->tree_length[t] < HARK_SCENARIO_RANKS;
         r->at++) {
        const char *parent = strchr(parents, *r->at);
        if (*r->at == 'r' && root) return unexpected(r, r->at, "one root");
        if (!parent && *r->at != 'r' && *r->at != '.')
            return unexpected(r, r->at, "r, the rank of a parent, or .");
        root |= *r->at == 'r';
        r->s->parent[t][r->tree_length[t]++] = (int8_t)(parent          ? parent - parents
                                                        : *r->at == 'r' ? -1
                                                                        : -2);
    }
    if (!root) return unexpected(r, r->at, "a root r");
    blanks(r);
    return 0;
}

static int fails(struct hark_scenario_reader *r)
{
    static const char *const when[] = {
        "nested", "during", "wave", "decided", "damaged", "store", "cluster", NULL};
    const struct hark_scenario_place at = place(r, r->at);
    struct hark_fail *fail = &r->s->fail[r->s->fails];
    uint32_t rank;
    if (r->s->fails == HARK_SCENARIO_FAILS)
        return hark_scenario_wrong(r, at,
            "found one more failure, expected at most %d (HARK_SCENARIO_FAILS)",
            HARK_SCENARIO_FAILS);
    if (word(r, "any")) fail->rank = -1;
    else if (word(r, "recovery")) fail->rank = HARK_FAIL_RECOVERY;
    else if (word(r, "service")) fail->rank = HARK_FAIL_SERVICE;
    else if (character(r, 'p') && number(r, 0, HARK_SCENARIO_RANKS - 1, &rank) &&
             (r->at == r->end || is_blank(*r->at)))
        fail->rank = (int8_t)rank;
    else return unexpected(r, r->begin + at.column - 1, "p0 to p15, any, recovery or service");
    r->fail[r->s->fails++] = at;
    blanks(r);
    if (r->at == r->end) return 0;
    const char *word_at = r->at;
    int which = one_of(
        r, when, "nested, during, wave, decided, damaged, store, cluster or the end of the line");
    if (which < 0) return -1;
    fail->when = (uint8_t)(HARK_FAIL_NESTED + which);
    if (fail->rank < -1 && fail->when >= HARK_FAIL_WAVE)
        return unexpected(r, word_at, "a process that takes checkpoints, or nested or during");
    return 0;
}

static int limited(struct hark_scenario_reader *r, uint8_t *to, const char *expected)
{
    uint32_t value;
    if (!number(r, 1, 8, &value)) return unexpected(r, r->at, expected);
    *to = (uint8_t)value;
    blanks(r);
    return 0;
}

/* A line of an option: what is behind its keyword. */
static int option(struct hark_scenario_reader *r, const struct hark_option *o)
{
    const char *more = o->line + strcspn(o->line, " ");
    const uint32_t most = o->most < HARK_SCENARIO_RANKS - 1 ? o->most : HARK_SCENARIO_RANKS - 1;
    uint32_t value = 1;
    more += strspn(more, " ");
    if (*more && !word(r, more)) return unexpected(r, r->at, more);
    if (o->value && !number(r, o->least, most, &value)) {
        char expected[48];
        snprintf(expected, sizeof expected, "a number from %u to %u", o->least, most);
        return unexpected(r, r->at, expected);
    }
    hark_option_set(o, value, &r->s->core);
    blanks(r);
    return 0;
}

/* One number for each rank. */
static int epochs(struct hark_scenario_reader *r)
{
    r->epochs = place(r, r->at);
    do {
        const struct hark_scenario_place at = place(r, r->at);
        if (r->epochs_length == HARK_SCENARIO_RANKS)
            return hark_scenario_wrong(r, at,
                "found one more epoch, expected at most %d (HARK_SCENARIO_RANKS)",
                HARK_SCENARIO_RANKS);
        if (limited(r, &r->s->epoch[r->epochs_length++], "an epoch from 1 to 8") < 0) return -1;
    } while (r->at < r->end);
    return 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* What the keyword is about; r->at is behind it. */
static int values(struct hark_scenario_reader *r, unsigned k)
{
    static const char *const networks[] = {"unordered", "fifo", NULL}, *const contents[] = {"fixed",
                                                                           "history", NULL};
    static const char *const waves[] = {"all", NULL}, *const images[] = {"copied", NULL},
                             *const receives[] = {"nested", NULL};
    struct hark_scenario *s = r->s;
    int which = 0;
    switch (k) {
    case NAME: return rest(r, s->name, sizeof s->name, "a name");
    case ABOUT: return rest(r, s->about, sizeof s->about, "a sentence");
    case EXPECT: return rest(r, s->expect, sizeof s->expect, "ok, or how the violation begins");
    case PROTOCOL: return protocol(r);
    case CLUSTERS: return clusters(r, &r->clusters, r->cluster, s->cluster);
    case REGROUP: s->regroups = true; return clusters(r, &r->regroup, r->next, s->next);
    case NETWORK:
        which = one_of(r, networks, "fifo or unordered");
        s->fifo = which > 0;
        return which;
    case CONTENT:
        which = one_of(r, contents, "fixed or history");
        s->content = (uint8_t)(HARK_CONTENT_FIXED + which);
        return which;
    case GENERATIONS: return limited(r, &s->generations, "a number from 1 to 8");
    case EPOCHS: return epochs(r);
    case WAVES: s->waves_all = true; return one_of(r, waves, "all");
    case IMAGES: s->images_copied = true; return one_of(r, images, "copied");
    case RECEIVES: s->receives_nested = true; return one_of(r, receives, "nested");
    case TREE: return tree(r, 0);
    case TREE2: return tree(r, 1);
    case FAILS: return fails(r);
    default: return k >= OPTION ? option(r, hark_option_at(k - OPTION)) : 0;
    }
}

/* How long the keyword is with which the lines of an option begin; 0: there are none. */
static size_t keyword_of(const struct hark_option *o)
{
    return o->line ? strcspn(o->line, " ") : 0;
}

/* What was expected where there is no keyword. */
static int no_keyword(struct hark_scenario_reader *r, const char *at)
{
    char expected[512] = "";
    size_t n = 0;
    const struct hark_option *o;
    for (int k = 0; k < FAILS; k++)
        n += (size_t)snprintf(expected + n, sizeof expected - n, "%s, ", keywords[k]);
    for (unsigned i = 0; (o = hark_option_at(i)) != NULL && n + 64 < sizeof expected; i++)
        if (o->line)
            n += (size_t)snprintf(
                expected + n, sizeof expected - n, "%.*s, ", (int)keyword_of(o), o->line);
    snprintf(expected + n, sizeof expected - n, "p0:, fails, expect or schedule");
    return unexpected(r, at, expected);
}

/* Is it the next word, of n bytes? Then it is read, but for one that is there already: -1 and the
 * error. */
static int this_keyword(struct hark_scenario_reader *r, int k, const char *name, size_t n)
{
    const char *begin = r->at;
    if (n == 0 || (size_t)(r->end - begin) < n || memcmp(begin, name, n) != 0) return 0;
    if (begin + n < r->end && !is_blank(begin[n])) return 0;
    r->at = begin + n;
    blanks(r);
    if (k != FAILS && r->first[k])
        return hark_scenario_wrong(r, place(r, begin),
            "found %.*s again, expected it once (it is in line %u)", (int)n, name, r->first[k]);
    r->first[k] = r->line;
    return 1;
}

/* The keyword at r->at, which moves behind it; of PROGRAM *rank. -1 and the error. */
static int keyword(struct hark_scenario_reader *r, uint32_t *rank)
{
    const char *begin = r->at;
    const struct hark_option *o;
    int found = 0;
    for (int k = 0; k < PROGRAM; k++)
        if ((found = this_keyword(r, k, keywords[k], strlen(keywords[k]))) != 0)
            return found < 0 ? -1 : k;
    for (int i = 0;
         OPTION + i < HARK_SCENARIO_KEYWORDS && (o = hark_option_at((unsigned)i)) != NULL; i++)
        if ((found = this_keyword(r, OPTION + i, o->line, keyword_of(o))) != 0)
            return found < 0 ? -1 : OPTION + i;
    if (!character(r, 'p') || !digit(r)) return no_keyword(r, begin);
    if (!number(r, 0, HARK_SCENARIO_RANKS - 1, rank))
        return unexpected(r, r->at, "a rank from 0 to 15 (HARK_SCENARIO_RANKS)");
    if (!character(r, ':')) return unexpected(r, r->at, "a colon");
    return PROGRAM;
}

static int line(struct hark_scenario_reader *r)
{
    const char *begin = r->at;
    uint32_t rank = 0;
    int k = keyword(r, &rank), status;
    if (k < 0) return -1;
    bool text = k == ABOUT || k == EXPECT;
    const char *comment = text ? NULL : memchr(r->at, '#', (size_t)(r->end - r->at));
    if (comment) r->end = comment;
    while (r->end > r->at && is_blank(r->end[-1])) r->end--;
    if (only_characters(r, k != ABOUT) < 0) return -1;
    status = k == PROGRAM ? program(r, rank, begin) : values(r, (unsigned)k);
    return status < 0 ? -1 : end_of_line(r);
}

static int schedule_line(struct hark_scenario_reader *r)
{
    struct hark_scenario *s = r->s;
    const char *begin = r->at;
    bool transcript = character(r, '=');
    if (only_characters(r, true) < 0) return -1;
    if (transcript && s->schedule_lines == 0)
        return unexpected(r, begin, "a step before its transcript");
    if (hark_scenario_line(s, transcript, r->at, (size_t)(r->end - r->at)) < 0)
        return no_memory(r->error, r->name);
    s->schedule[s->schedule_lines - 1].line = r->line;
    return 0;
}

static int lines(struct hark_scenario_reader *r, const char *text, size_t length)
{
    const char *next = text, *end = text + length;
    while (next < end) {
        const char *newline = memchr(next, '\n', (size_t)(end - next));
        r->begin = r->at = next;
        r->end = newline ? newline : end;
        next = newline ? newline + 1 : end;
        r->line++;
        while (r->end > r->at && (is_blank(r->end[-1]) || r->end[-1] == '\r')) r->end--;
        blanks(r);
        if (r->at == r->end || *r->at == '#') continue;
        if ((r->first[SCHEDULE] ? schedule_line(r) : line(r)) < 0) return -1;
    }
    return 0;
}

int hark_scenario_parse(struct hark_scenario *s, const char *text, size_t length, const char *name,
    char error[HARK_SCENARIO_ERROR])
{
    struct hark_scenario_reader r = {.s = s, .name = name, .error = error};
    memset(s, 0, sizeof *s);
    *error = 0;
    if (lines(&r, text, length) == 0 && hark_scenario_check(&r) == 0) return 0;
    hark_scenario_free(s);
    return -1;
}

/* All of a file; NULL and the error. */
static char *whole(FILE *f, const char *name, size_t *length, char error[HARK_SCENARIO_ERROR])
{
    size_t room = 1 << 12;
    char *text = malloc(room);
    for (*length = 0; text != NULL;) {
        *length += fread(text + *length, 1, room - *length, f);
        if (*length < room || room > FILE_MOST) break;
        room *= 2;
        char *more = realloc(text, room);
        if (more == NULL) free(text);
        text = more;
    }
    if (text == NULL) no_memory(error, name);
    else if (ferror(f)) snprintf(error, HARK_SCENARIO_ERROR, "%.90s: %s", name, strerror(errno));
    else if (*length > FILE_MOST)
        snprintf(error, HARK_SCENARIO_ERROR, "%.90s: more than %d bytes", name, FILE_MOST);
    else return text;
    free(text);
    return NULL;
}

/* What has no name is called as its file is: as a name that a scenario may have, and a file without
 * its folder. */
static void name_after(struct hark_scenario *s, const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t n = strlen(slash ? name = slash + 1 : name);
    if (n > 5 && strcmp(name + n - 5, ".hark") == 0) n -= 5;
    if (n >= sizeof s->name) n = sizeof s->name - 1;
    for (size_t i = 0; i < n; i++) s->name[i] = name[i] > ' ' && name[i] <= '~' ? name[i] : '_';
    s->name[n] = 0;
}

int hark_scenario_read(struct hark_scenario *s, const char *path, char error[HARK_SCENARIO_ERROR])
{
    bool input = strcmp(path, "-") == 0;
    const char *name = input ? "stdin" : path;
    FILE *f = input ? stdin : fopen(path, "rb");
    size_t length;
    memset(s, 0, sizeof *s);
    if (f == NULL) {
        snprintf(error, HARK_SCENARIO_ERROR, "%.90s: %s", name,
            errno == ENOMEM ? "out of memory" : strerror(errno));
        return -1;
    }
    char *text = whole(f, name, &length, error);
    int status = text ? hark_scenario_parse(s, text, length, name, error) : -1;
    free(text);
    if (status == 0 && s->name[0] == 0) name_after(s, name);
    if (!input) fclose(f);
    return status;
}
