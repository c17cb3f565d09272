/* scenario_text.c: a scenario written down, and its schedule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"
#include "scenario_parts.h"

const char hark_op_letters[] = {
    ' ', 'S', 'R', 'T', 'W', 'C', 'O', '[', '|', 'M', 'B', 'A', 'Q', 'c', 'G', 'P', 'L', 0};

char hark_op_letter(uint8_t type)
{
    return type == HARK_OP_IF ? 'T' : hark_op_letters[type];
}

static void operations(FILE *f, const struct hark_op *op)
{
    uint32_t end = UINT32_MAX; /* of the second part of a branch */
    const char *before = "";
    for (uint32_t i = 0;; i++) {
        if (i == end) fputc(']', f);
        if (op[i].type == HARK_OP_END) break;
        if (op[i].type == HARK_OP_ELSE) end = op[i].to;
        fprintf(f, "%s%c", before, hark_op_letter(op[i].type));
        if (op[i].peer >= 0) fprintf(f, "%d", op[i].peer);
        if (op[i].ssn) fprintf(f, ".%u", op[i].ssn);
        if (op[i].type == HARK_OP_IF) fputc('[', f);
        before = op[i].type == HARK_OP_IF && op[i + 1].type != HARK_OP_ELSE ? "" : " ";
        if (op[i].type == HARK_OP_ELSE && end == i + 1) fputc(' ', f);
    }
}

static void cluster(FILE *f, const struct hark_scenario *s, const uint8_t *of, uint32_t which)
{
    const char *before = " ";
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        uint32_t last = rank;
        if (of[rank] != which) continue;
        while (last + 1 < s->ranks && of[last + 1] == which) last++;
        fprintf(f, "%s%u", before, rank);
        if (last > rank) fprintf(f, "-%u", last);
        before = ",";
        rank = last;
    }
}

static void clusters(FILE *f, const struct hark_scenario *s, const char *keyword, const uint8_t *of)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        if (of[rank] >= count) count = of[rank] + 1u;
    fputs(keyword, f);
    for (uint32_t which = 0; which < count; which++) cluster(f, s, of, which);
    fputc('\n', f);
}

/* Is each alone? Then nothing need be said. */
static bool apart(const struct hark_scenario *s)
{
    for (uint32_t rank = 0; rank < s->ranks; rank++)
        if (s->cluster[rank] != rank) return false;
    return true;
}

static void tree(FILE *f, const struct hark_scenario *s)
{
    for (uint32_t t = 0; t < s->trees; t++) {
        const int8_t *parent = s->parent[t];
        fputs(t ? "tree2 " : "tree ", f);
        for (uint32_t rank = 0; rank < s->ranks; rank++)
            fputc(parent[rank] == -1 ? 'r'
                  : parent[rank] < 0 ? '.'
                                     : "0123456789abcdef"[parent[rank] & 15],
                f);
        fputc('\n', f);
    }
}

static void fails(FILE *f, const struct hark_fail *fail)
{
    static const char *const when[] = {
        "", " nested", " during", " wave", " decided", " damaged", " store", " cluster"};
    if (fail->rank == -1) fputs("fails any", f);
    else if (fail->rank == HARK_FAIL_RECOVERY) fputs("fails recovery", f);
    else if (fail->rank == HARK_FAIL_SERVICE) fputs("fails service", f);
    else fprintf(f, "fails p%d", fail->rank);
    fprintf(f, "%s\n", when[fail->when]);
}

static void options(FILE *f, const struct hark_scenario *s)
{
    const struct hark_option *o;
    for (unsigned i = 0; (o = hark_option_at(i)) != NULL; i++) {
        const uint32_t value = o->line ? hark_option_value(o, &s->core) : 0;
        if (value) fputs(o->line, f);
        if (value && o->value) fprintf(f, " %u", value);
        if (value) fputc('\n', f);
    }
}

static void write_text(FILE *f, const struct hark_scenario *s)
{
    static const char *const contents[] = {"", "fixed", "history"};
    if (*s->name) fprintf(f, "name %s\n", s->name);
    if (*s->about) fprintf(f, "about %s\n", s->about);
    if (*s->protocol) fprintf(f, "protocol %s\n", s->protocol);
    if (!apart(s)) clusters(f, s, "clusters", s->cluster);
    if (s->regroups) clusters(f, s, "regroup", s->next);
    if (s->fifo) fputs("network fifo\n", f);
    if (s->content) fprintf(f, "content %s\n", contents[s->content]);
    if (s->generations) fprintf(f, "generations %u\n", s->generations);
    for (uint32_t rank = 0; s->epoch[0] && rank < s->ranks; rank++)
        fprintf(
            f, "%s%u%s", rank ? " " : "epochs ", s->epoch[rank], rank + 1 == s->ranks ? "\n" : "");
    options(f, s);
    if (s->waves_all) fputs("waves all\n", f);
    if (s->images_copied) fputs("images copied\n", f);
    if (s->receives_nested) fputs("receives nested\n", f);
    tree(f, s);
    for (uint32_t rank = 0; rank < s->ranks; rank++) {
        fprintf(f, "p%u:%s", rank, s->op[rank][0].type ? " " : "");
        operations(f, s->op[rank]);
        fputc('\n', f);
    }
    for (uint32_t i = 0; i < s->fails; i++) fails(f, &s->fail[i]);
    if (*s->expect) fprintf(f, "expect %s\n", s->expect);
    if (s->schedule_lines) fputs("schedule\n", f);
    for (uint32_t i = 0; i < s->schedule_lines; i++) {
        const struct hark_schedule_line *l = &s->schedule[i];
        fprintf(
            f, "%s%s%s\n", l->transcript ? "=" : "", l->transcript && *l->text ? " " : "", l->text);
    }
}

char *hark_scenario_program(const struct hark_scenario *s, uint32_t rank)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return NULL;
    operations(f, s->op[rank]);
    bool failed = ferror(f) != 0;
    if (fclose(f) == 0 && !failed) return text;
    free(text);
    return NULL;
}

char *hark_scenario_text(const struct hark_scenario *s)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return NULL;
    write_text(f, s);
    bool failed = ferror(f) != 0;
    if (fclose(f) == 0 && !failed) return text;
    free(text);
    return NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_line(const char *text, size_t n, bool transcript)
{
    for (size_t i = 0; i < n; i++)
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\t') return false;
    return transcript || (n > 0 && *text != '#' && *text != '=');
}

int hark_scenario_line(struct hark_scenario *s, bool transcript, const char *text, size_t n)
{
    while (n && is_blank(*text)) text++, n--;
    while (n && is_blank(text[n - 1])) n--;
    if (!is_line(text, n, transcript) || (transcript && s->schedule_lines == 0)) return -1;
    if ((s->schedule_lines & (s->schedule_lines - 1)) == 0) { /* as much room as the next power of
                                                                 two */
        size_t room = s->schedule_lines ? (size_t)s->schedule_lines * 2 : 1;
        struct hark_schedule_line *more = realloc(s->schedule, room * sizeof *more);
        if (more == NULL) return -1;
        s->schedule = more;
    }
    char *copy = malloc(n + 1);
    if (copy == NULL) return -1;
    memcpy(copy, text, n);
    copy[n] = 0;
    s->schedule[s->schedule_lines++] =
        (struct hark_schedule_line){.transcript = transcript, .text = copy};
    return 0;
}

int hark_scenario_add(struct hark_scenario *s, bool transcript, const char *text)
{
    return hark_scenario_line(s, transcript, text, strlen(text));
}

void hark_scenario_free(struct hark_scenario *s)
{
    for (uint32_t i = 0; i < s->schedule_lines; i++) free(s->schedule[i].text);
    free(s->schedule);
    memset(s, 0, sizeof *s);
}
