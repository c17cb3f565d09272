#include "ways.h"

#include "values.h"

#include <string.h>

static bool gates(const struct hark_protocol *p)
{
    return p->traits & HARK_TRAIT_GATES;
}

static bool loses(const struct hark_protocol *p)
{
    return p->traits & HARK_TRAIT_LOST;
}

static bool regroups(const struct hark_protocol *p)
{
    return p->traits & HARK_TRAIT_REGROUPS;
}

static bool copies(const struct hark_protocol *p)
{
    return p->unstable != NULL;
}

/* `camel` itself is for groups, and takes no option for that. */
static bool camel(const struct hark_protocol *p)
{
    return hark_protocol_groups(p, true) && !hark_protocol_groups(p, false);
}

/* The names of all that have it: "hydee", "hydee or team", "scmel, team or camel". */
static void name(bool (*has)(const struct hark_protocol *), char *text, size_t room)
{
    unsigned left = 0, at = 0;
    for (unsigned i = 0; hark_protocol_at(i); i++) left += has(hark_protocol_at(i));
    for (unsigned i = 0; hark_protocol_at(i); i++) {
        if (!has(hark_protocol_at(i))) continue;
        const char *before = at++ == 0 ? "" : left == 1 ? " or " : ", ";
        size_t length = strlen(text);
        snprintf(text + length, room - length, "%s%s", before, hark_protocol_at(i)->name);
        left--;
    }
}

int hark_cli_ways(const char *command, const struct hark_cli_ways *w)
{
    const struct {
        const char *option;
        bool asked, (*has)(const struct hark_protocol *);
    } way[] = {{"--exact-gate", w->exact_gate, gates}, {"--camel", w->camel, camel}, {"--recluster", w->recluster, regroups},
        {"--report-tree", w->fan != 0, gates}, {"--team-lost", w->team_lost, loses}, {"--copies", w->copies > 1, copies}};
    for (unsigned i = 0; i < HARK_COUNT(way); i++) {
        char known[200] = "";
        if (!way[i].asked || way[i].has(w->protocol)) continue;
        name(way[i].has, known, sizeof known);
        return hark_cli_bad(command, "%s needs --protocol %s; this run uses %s", way[i].option, known, w->protocol->name);
    }
    if (w->team_lost && w->copies > 1) return hark_cli_bad(command, "--team-lost cannot be combined with --copies %u: it is for one copy of each determinant", w->copies);
    if (w->recluster && (w->camel || w->exact_gate))
        return hark_cli_bad(command, "--recluster cannot be combined with %s", w->camel ? "--camel" : "--exact-gate");
    if (w->camel && w->exact_gate) return hark_cli_bad(command, "--camel cannot be combined with --exact-gate");
    if (w->fan && w->exact_gate) return hark_cli_bad(command, "--report-tree cannot be combined with --exact-gate");
    return 0;
}
