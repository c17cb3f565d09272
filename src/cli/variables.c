#include "variables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where it is, or the place behind the last. */
static size_t place_of(const struct hark_cli_variables *v, const char *name)
{
    const size_t length = strlen(name);
    size_t i = 0;
    while (i < v->count && (strncmp(v->at[i], name, length) != 0 || v->at[i][length] != '=')) i++;
    return i;
}

bool hark_cli_variables_set(struct hark_cli_variables *v, const char *name, const char *value)
{
    const size_t i = place_of(v, name);
    char *text = NULL, **more = i < v->count ? v->at : realloc(v->at, (i + 2) * sizeof *more);
    if (more == NULL) return false;
    v->at = more;
    if (i == v->count) v->at[i] = NULL;
    if (asprintf(&text, "%s=%s", name, value) < 0) return false;
    free(v->at[i]);
    v->at[i] = text;
    if (i < v->count) return true;
    v->at[++v->count] = NULL;
    return true;
}

bool hark_cli_variables_prepend(struct hark_cli_variables *v, const char *name, const char *item)
{
    const char *now = hark_cli_variables_get(v, name);
    char *text = NULL;
    if (now == NULL || *now == 0) return hark_cli_variables_set(v, name, item);
    if (asprintf(&text, "%s:%s", item, now) < 0) return false;
    bool done = hark_cli_variables_set(v, name, text);
    free(text);
    return done;
}

const char *hark_cli_variables_get(const struct hark_cli_variables *v, const char *name)
{
    const size_t i = place_of(v, name);
    return i < v->count ? v->at[i] + strlen(name) + 1 : getenv(name);
}

void hark_cli_variables_free(struct hark_cli_variables *v)
{
    for (size_t i = 0; i < v->count; i++) free(v->at[i]);
    free(v->at);
    *v = (struct hark_cli_variables){NULL, 0};
}
