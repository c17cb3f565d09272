/* identity.c: what must be the same when a job is resumed: lines NAME=VALUE. Options that are not
 * given are not in it. */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/registry.h"

/* As a shell has it, in one line: two words are not the same as one with a space in it. */
static void put_word(FILE *f, const char *word)
{
    const bool escapes = strpbrk(word, "'\\\n");
    if (*word && !escapes && !strpbrk(word, " \t\"")) {
        fputs(word, f);
        return;
    }
    fputs(escapes ? "$'" : "'", f);
    for (; *word; word++) {
        if (*word == '\'' || *word == '\\') fputc('\\', f);
        if (*word == '\n') fputs("\\n", f);
        else fputc(*word, f);
    }
    fputc('\'', f);
}

/* A program that is given by its path is the same one by another spelling of that. False: no
 * memory. */
static bool name_program(FILE *f, const struct hark_run_program *p)
{
    const char *file = p->file ? p->file : p->argv[0];
    errno = 0;
    char *path = strchr(p->argv[0], '/') ? realpath(file, NULL) : NULL;
    const bool whole = path || errno != ENOMEM;
    put_word(f, path ? path : p->argv[0]);
    for (char *const *word = p->argv + 1; *word; word++) {
        fputc(' ', f);
        put_word(f, *word);
    }
    free(path);
    return whole;
}

char *hark_sup_identity(const struct supervisor *s)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (f == NULL) return NULL;
    char options[HARK_SETUP_OPTIONS];
    struct hark_words w;
    hark_words_begin(&w, options, sizeof options);
    hark_options_write(s->o->protocol->manual->options, &s->o->core, true, &w);
    fprintf(f, "protocol=%s%s", s->o->protocol->name, options);
    if (s->o->journal != HARK_KEEPS_WTIME)
        fprintf(f, "\njournal=%s%s%s", s->o->journal ? "wtime" : "none",
            s->o->journal & HARK_KEEPS_CLOCK ? ",clock" : "",
            s->o->journal & HARK_KEEPS_RANDOM ? ",random" : "");
    char *clusters = hark_clusters_text(&s->o->clusters);
    fprintf(f, "\nclusters=%s\nprogram=", clusters ? clusters : "");
    bool whole = clusters != NULL;
    free(clusters);
    for (uint32_t i = 0; i < s->o->programs; i++) {
        if (i) fputs(" : ", f);
        if (s->o->programs > 1) fprintf(f, "-n %u ", s->o->program[i].ranks);
        whole = name_program(f, &s->o->program[i]) && whole;
    }
    fputc('\n', f);
    if (fclose(f) == 0 && whole) return text;
    free(text);
    return NULL;
}
