#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "values.h"

static bool is_known(const struct hark_cli_options *of, const struct hark_option *o)
{
    return of->knows == NULL || of->knows(o);
}

static uint64_t most_of(const struct hark_cli_options *of, const struct hark_option *o)
{
    return of->most && of->most < o->most ? of->most : o->most;
}

struct option *hark_cli_options_table(const struct hark_cli_options *of, const struct option *own)
{
    size_t count = 0, room = HARK_CLI_OPTIONS;
    while (own[count].name) count++;
    struct option *all = calloc(count + room + 1, sizeof *all);
    if (all == NULL) return NULL;
    memcpy(all, own, count * sizeof *all);
    const struct hark_option *o;
    for (unsigned i = 0; i < HARK_CLI_OPTIONS && (o = hark_option_at(i)) != NULL; i++)
        if (is_known(of, o))
            all[count++] =
                (struct option){o->name, o->value != NULL, NULL, HARK_CLI_OPTION + (int)i};
    return all;
}

int hark_cli_option(const char *command, const struct hark_cli_options *of, int number,
    const char *text, struct hark_config *core)
{
    const struct hark_option *o = hark_option_at((unsigned)(number - HARK_CLI_OPTION));
    uint64_t n = 1;
    if (o->value && (!hark_cli_whole_number(text, most_of(of, o), &n) || n < o->least))
        return hark_cli_bad(command, "--%s: expected %u to %u, found \"%s\"", o->name, o->least,
            (unsigned)most_of(of, o), text);
    hark_option_set(o, (uint32_t)n, core);
    return 0;
}

/* ---- what does not go together --------------------------------------------------------------- */

void hark_cli_protocols_that(bool (*has)(const struct hark_protocol *p, const void *what),
    const void *what, char *text, size_t room)
{
    unsigned left = 0, at = 0;
    *text = 0;
    for (unsigned i = 0; hark_protocol_at(i); i++) left += has(hark_protocol_at(i), what);
    for (unsigned i = 0; hark_protocol_at(i); i++) {
        if (!has(hark_protocol_at(i), what)) continue;
        const char *before = at++ == 0 ? "" : left == 1 ? " or " : ", ";
        size_t length = strlen(text);
        snprintf(text + length, room - length, "%s%s", before, hark_protocol_at(i)->name);
        left--;
    }
}

static bool runs(const struct hark_protocol *p, const void *what)
{
    (void)what;
    return hark_protocol_runs(p);
}

int hark_cli_protocol_unknown(const char *command, const char *text)
{
    char known[200];
    hark_cli_protocols_that(runs, NULL, known, sizeof known);
    return hark_cli_bad(command, "--protocol: expected %s, found \"%s\"", known, text);
}

static bool takes(const struct hark_protocol *p, const void *option)
{
    return hark_option_of(p, option) != NULL;
}

int hark_cli_options_check(
    const char *command, const struct hark_protocol *protocol, const struct hark_config *core)
{
    const struct hark_option *o, *other;
    for (unsigned i = 0; (o = hark_option_at(i)) != NULL; i++) {
        char known[200];
        if (!hark_option_asked(o, core) || takes(protocol, o)) continue;
        hark_cli_protocols_that(takes, o, known, sizeof known);
        return hark_cli_bad(
            command, "--%s needs --protocol %s; this run uses %s", o->name, known, protocol->name);
    }
    o = hark_options_clash(protocol->manual->options, core, &other);
    if (o == NULL) return 0;
    char value[16] = "";
    if (other->value) snprintf(value, sizeof value, " %u", hark_option_value(other, core));
    return hark_cli_bad(command, "--%s cannot be combined with --%s%s%s%s", o->name, other->name,
        value, o->why ? ": " : "", o->why ? o->why : "");
}

/* ---- help ------------------------------------------------------------------------------------ */

/* Do these protocols say the same of it? */
static bool alike(
    const struct hark_protocol *a, const struct hark_protocol *b, const struct hark_option *o)
{
    const struct hark_option *of_a = hark_option_of(a, o), *of_b = hark_option_of(b, o);
    return of_a && of_b && strcmp(of_a->help, of_b->help) == 0;
}

/* Has an earlier protocol said what the i-th says of it? */
static bool said(unsigned i, const struct hark_option *o)
{
    for (unsigned k = 0; k < i; k++)
        if (alike(hark_protocol_at(k), hark_protocol_at(i), o)) return true;
    return false;
}

/* "hydee, team: what it does, 1 to 8 (1)": of the i-th protocol and all that say the same. */
static void say(const struct hark_cli_options *of, unsigned i, const struct hark_option *o)
{
    const struct hark_protocol *p = hark_protocol_at(i), *q;
    const struct hark_option *own = hark_option_of(p, o);
    printf("%s", p->name);
    for (unsigned k = i + 1; (q = hark_protocol_at(k)) != NULL; k++)
        if (alike(p, q, o)) printf(", %s", q->name);
    printf(": %s", own->help);
    if (own->value) printf(", %u to %u", own->least, (unsigned)most_of(of, own));
    if (own->usual) printf(" (%u)", own->usual);
    putchar('\n');
}

void hark_cli_options_help(const struct hark_cli_options *of, int column)
{
    const struct hark_option *o;
    for (unsigned i = 0; (o = hark_option_at(i)) != NULL; i++) {
        if (!is_known(of, o)) continue;
        int at = printf("  --%s%s%s  ", o->name, o->value ? " " : "", o->value ? o->value : "");
        for (unsigned k = 0; hark_protocol_at(k); k++) {
            if (hark_option_of(hark_protocol_at(k), o) == NULL || said(k, o)) continue;
            printf("%*s", at < column ? column - at : 0, "");
            say(of, k, o);
            at = 0;
        }
    }
}
