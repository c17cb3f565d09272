/* run_hosts.c: `hark run`: the hosts of a job, from --hostfile, --hosts or a Slurm allocation, and
 * what starts their agents. */
#include "run_parts.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../agent/agent.h"
#include "../control/transports.h"
#include "hark/registry.h"

#define HOSTS_MAX      65536u
#define COPIES_MAX     8u
#define CODE_MAX       32u /* hosts of a set, as asked for: it may get more */
#define DEFAULT_COPIES 2u
#define DEFAULT_MS     5000u
#define LAUNCH_MS      60000u
#define LAUNCHER_MAX   64 /* words */
#define HOST_LINE_MAX  65536

/* Where a name is from, for messages. */
struct source {
    const char *file;
    unsigned line; /* 0: it has none */
};

static int bad_host(const struct source *from, const char *expected, const char *found)
{
    if (from->line)
        return bad("%s:%u: expected %s, found \"%s\"", from->file, from->line, expected, found);
    return bad("%s: expected %s, found \"%s\"", from->file, expected, found);
}

/* ---- lists of names -------------------------------------------------------------------------- */

/* Of letters and digits, as ssh and others take it: also of a user, and an address of IPv6. */
static bool is_name(const char *name)
{
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("-._@:%", *name) && !(*name & 0x80))
            return false;
    return true;
}

static int add(
    struct run_hosts *h, const struct source *from, const char *name, struct hark_run_host as)
{
    if (strlen(name) >= HARK_HOST_NAME || name[0] == 0 || name[0] == '-' || !is_name(name))
        return bad_host(from, "the name of a host", name);
    for (uint32_t i = 0; i < h->count; i++)
        if (strcmp(h->host[i].name, name) == 0) return bad_host(from, "each host once", name);
    if (h->count == HOSTS_MAX) return bad("%s: expected at most %u hosts", from->file, HOSTS_MAX);
    if ((h->count & (h->count - 1)) == 0) { /* full at powers of two */
        struct hark_run_host *more = realloc(h->host, (h->count ? h->count * 2 : 1) * sizeof *more);
        if (more == NULL) return run_no_memory("hosts");
        h->host = more;
    }
    char *copy = strdup(name);
    if (copy == NULL) return run_no_memory("hosts");
    as.name = copy;
    h->host[h->count++] = as;
    return 0;
}

/* Numbers with as many digits as they are written with: 01-16. */
static int add_range(struct run_hosts *h, const struct source *from, const char *text,
    size_t length, const char *before, const char *behind, struct hark_run_host as)
{
    char name[2 * HARK_HOST_NAME], part[64];
    unsigned long first, last;
    int digits = 0, end = 0;
    snprintf(part, sizeof part, "%.*s", (int)length, text);
    while (isdigit((unsigned char)part[digits])) digits++;
    bool ok = digits > 0 && digits < 10 && length < sizeof part;
    first = last = ok ? strtoul(part, NULL, 10) : 0;
    if (ok && part[digits] == '-') {
        ok = isdigit((unsigned char)part[digits + 1]) &&
             sscanf(part + digits + 1, "%9lu%n", &last, &end) == 1 && part[digits + 1 + end] == 0 &&
             last >= first && last - first < HOSTS_MAX;
    } else {
        ok = ok && part[digits] == 0;
    }
    if (!ok) return bad_host(from, "a range such as node[01-16]", part);
    int status = 0;
    for (unsigned long i = first; status == 0 && i <= last; i++) {
        snprintf(name, sizeof name, "%s%0*lu%s", before, digits, i, behind);
        status = add(h, from, name, as);
    }
    return status;
}

/* mpiexec of MPICH has NAME:N for NAME slots=N. False: that is no number. */
static bool take_colon(char *text, struct hark_run_host *as)
{
    uint64_t n;
    char *colon = strchr(text, ':');
    if (colon == NULL || strchr(colon + 1, ':')) return true; /* of an address of IPv6 */
    if (!hark_cli_whole_number(colon + 1, RANKS_MAX, &n) || n == 0) return false;
    as->slots = (uint32_t)n;
    *colon = 0;
    return true;
}

/* `text` is one name, or several by ranges in one pair of brackets. It is changed. */
static int add_names(
    struct run_hosts *h, const struct source *from, char *text, struct hark_run_host as)
{
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    const char *colon = strchr(text, ':');
    int status = 0;
    if (as.slots && colon && !strchr(colon + 1, ':'))
        return bad_host(from, "one of HOST:N and slots=N", text);
    if (!take_colon(text, &as)) return bad_host(from, "HOST or HOST:N, N processes at most", text);
    if (open == NULL) return add(h, from, text, as);
    if (close == NULL || strpbrk(close, "[") || strlen(text) >= HARK_HOST_NAME * 8u)
        return bad_host(from, "a range such as node[01-16]", text);
    *open = *close = 0;
    for (const char *at = open + 1; status == 0; at++) {
        const size_t length = strcspn(at, ",");
        status = add_range(h, from, at, length, text, close + 1, as);
        at += length;
        if (*at == 0) break;
    }
    return status;
}

/* ---- a file ---------------------------------------------------------------------------------- */

/* The number of the rack of that name, from 1. Hosts that name none are one rack, 0. */
static int take_rack(struct run_hosts *h, const char *name, uint32_t *rack)
{
    for (*rack = 1; *rack <= h->racks; ++*rack)
        if (strcmp(h->rack[*rack - 1], name) == 0) return 0;
    char **more = realloc(h->rack, (h->racks + 1) * sizeof *more);
    if (more == NULL) return run_no_memory("racks");
    h->rack = more;
    if ((more[h->racks] = strdup(name)) == NULL) return run_no_memory("racks");
    h->racks++;
    return 0;
}

static int take_word(
    struct run_hosts *h, const struct source *from, const char *word, struct hark_run_host *as)
{
    uint64_t n;
    if (as->rack && strncmp(word, "rack=", 5) == 0) return bad_host(from, "one rack=NAME", word);
    if (as->slots && strncmp(word, "slots=", 6) == 0) return bad_host(from, "one slots=N", word);
    if (strncmp(word, "rack=", 5) == 0 && word[5]) return take_rack(h, word + 5, &as->rack);
    if (strncmp(word, "max_slots=", 10) == 0 || strncmp(word, "max-slots=", 10) == 0)
        return 0; /* of Open MPI: no host runs more than its slots here, but what others have lost
                   */
    if (strncmp(word, "slots=", 6) != 0 || !hark_cli_whole_number(word + 6, RANKS_MAX, &n) ||
        n == 0)
        return bad_host(from, "HOST [slots=N] [rack=NAME]", word);
    as->slots = (uint32_t)n;
    return 0;
}

static int take_line(struct run_hosts *h, const struct source *from, char *line)
{
    struct hark_run_host as = {0};
    int status = 0;
    char *rest, *name;
    line[strcspn(line, "#\r\n")] = 0;
    name = strtok_r(line, " \t", &rest);
    if (name == NULL) return 0;
    for (char *word; status == 0 && (word = strtok_r(NULL, " \t", &rest)) != NULL;)
        status = take_word(h, from, word, &as);
    return status ? status : add_names(h, from, name, as);
}

static int read_hosts(struct run_hosts *h)
{
    struct source from = {h->file, 0};
    FILE *f = fopen(h->file, "re");
    char *line = NULL;
    size_t room = 0;
    int status = 0;
    if (f == NULL) return bad("--hostfile: %s: %s", h->file, strerror(errno));
    errno = 0;
    for (ssize_t n; status == 0 && (n = getline(&line, &room, f)) >= 0;) {
        from.line++;
        if (n > HOST_LINE_MAX || strlen(line) != (size_t)n)
            status = bad_host(&from, "HOST [slots=N] [rack=NAME]", "what is no text");
        else status = take_line(h, &from, line);
    }
    if (status == 0 && ferror(f)) status = bad("--hostfile: %s: %s", h->file, strerror(errno));
    free(line);
    fclose(f);
    if (status == 0 && h->count == 0)
        status =
            bad("--hostfile: %s: expected lines HOST [slots=N] [rack=NAME], found none", h->file);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Names are separated by commas that are in no brackets. */
static int read_list(struct run_hosts *h, const struct source *from, const char *list)
{
    char *text = strdup(list);
    int status = text ? 0 : run_no_memory("hosts"), depth = 0;
    for (char *at = text, *name = text; status == 0 && at; at++) {
        const bool end = *at == 0;
        depth += (*at == '[') - (*at == ']');
        if (!end && (*at != ',' || depth)) continue;
        *at = 0;
        status = add_names(h, from, name, (struct hark_run_host){0});
        name = at + 1;
        if (end) break;
    }
    free(text);
    return status;
}

/* "2(x3),1": what each node of the list may run. */
static void take_tasks(struct run_hosts *h, const char *text)
{
    uint32_t i = 0;
    while (text && *text && i < h->count) {
        char *end;
        const unsigned long slots = strtoul(text, &end, 10);
        unsigned long times = 1;
        if (end == text) return;
        if (strncmp(end, "(x", 2) == 0) {
            times = strtoul(end + 2, &end, 10);
            if (*end == ')') end++;
        }
        while (times-- && i < h->count) h->host[i++].slots = (uint32_t)slots;
        text = *end == ',' ? end + 1 : end;
    }
}

static int read_slurm(struct run_hosts *h, const char *list)
{
    const int status = read_list(h, &(struct source){"SLURM_JOB_NODELIST", 0}, list);
    take_tasks(h, getenv("SLURM_TASKS_PER_NODE"));
    return status;
}

/* ---- the launcher ---------------------------------------------------------------------------- */

static int words(struct run_hosts *h, const char *text)
{
    int count = 0;
    char *rest;
    h->launcher = calloc(LAUNCHER_MAX + 1, sizeof *h->launcher);
    h->launcher_text = strdup(text);
    if (h->launcher == NULL || h->launcher_text == NULL) return run_no_memory("a launcher");
    for (char *word = strtok_r(h->launcher_text, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        if (count == LAUNCHER_MAX)
            return bad("--launcher: expected at most %d words", LAUNCHER_MAX);
        h->launcher[count++] = word;
    }
    return count ? 0 : bad("--launcher: expected a command such as `ssh %%h`, found none");
}

static int usual_launcher(struct run_hosts *h, const char *nodes)
{
    char text[4096];
    if (nodes == NULL) return words(h, "ssh -o BatchMode=yes %h");
    const int n = snprintf(text, sizeof text,
        "srun --no-kill --kill-on-bad-exit=0 --overlap --mpi=none --nodes=%u --ntasks=%u "
        "--ntasks-per-node=1 "
        "--nodelist=%s",
        h->count, h->count, nodes);
    if (n < 0 || (size_t)n >= sizeof text)
        return bad("SLURM_JOB_NODELIST: its list is too long; use --hostfile and --launcher");
    return words(h, text);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Where others hold copies of what a process has seen, a host takes the copies of its own processes
 * with it: as many more are needed as it runs. */
static int enough_copies(struct run_arguments *a)
{
    const struct hark_option *o = a->o.protocol->manual->options;
    uint32_t most = 0;
    while (o && o->name && o->at != HARK_SETS(copies)) o++;
    if (o == NULL || o->name == NULL || a->o.core.flags & HARK_TEAM_LOST) return 0;
    for (uint32_t i = 0; i < a->hosts.count - a->hosts.spares; i++)
        if (a->hosts.host[i].slots > most) most = a->hosts.host[i].slots;
    const uint32_t given = a->o.core.copies;
    if (most > o->most)
        return bad(
            "under %s a host may run %u processes at most, since all that it runs are lost at "
            "once; found one with %u slots",
            a->o.protocol->name, o->most, most);
    if (given && given < most)
        return bad("--%s: expected at least %u, as many as a host runs and loses at once, found %u",
            o->name, most, given);
    if (given == 0) a->o.core.copies = most;
    return 0;
}

static int bad_code(const struct run_arguments *a)
{
    const struct hark_code *c = &a->hosts.code;
    if (c->hosts == 0) return 0;
    if (a->hosts.copies > 1)
        return bad("--host-code cannot be used with --host-copies %u: a checkpoint is protected by "
                   "copies, or by a code",
            a->hosts.copies);
    if (a->o.host_store == NULL)
        return bad("--host-code needs --host-store DIR, where each host has checkpoints");
    if (hark_service_by_line(a->o.protocol))
        return bad(
            "--host-code cannot be used with --protocol %s: its processes may go back to any "
            "of their checkpoints, and a code has the last ones",
            a->o.protocol->name);
    if (c->hosts > a->hosts.count)
        return bad("--host-code: expected at most the %u hosts, found %u+%u", a->hosts.count,
            c->hosts - c->parity, c->parity);
    return 0;
}

static int suits(struct run_arguments *a)
{
    char listen[200];
    const struct run_hosts *h = &a->hosts;
    if (h->spares >= h->count)
        return bad("--spares: expected fewer than the %u hosts, found %u", h->count, h->spares);
    /* Those that say nothing get equal shares of what is left. */
    uint32_t used = h->count - h->spares, open = 0;
    uint64_t slots = 0;
    for (uint32_t i = 0; i < used; i++) slots += h->host[i].slots, open += !h->host[i].slots;
    const uint64_t left = slots < a->o.ranks ? a->o.ranks - slots : 0;
    for (uint32_t i = 0, k = 0; i < used; i++) {
        if (h->host[i].slots) continue;
        h->host[i].slots = (uint32_t)(left / open + (k < left % open));
        slots += h->host[i].slots;
        k++;
    }
    if (slots < a->o.ranks)
        return bad("-n: expected at most %" PRIu64
                   " processes, as many as the hosts have slots, found %u",
            slots, a->o.ranks);
    if (a->o.host_store && a->o.host_store[0] != '/')
        return bad("--host-store: expected a whole path, such as /var/tmp/hark, found \"%s\"",
            a->o.host_store);
    if (h->copies > h->count)
        return bad("--host-copies: expected at most the %u hosts, found %u", h->count, h->copies);
    if (h->copies && a->o.host_store == NULL)
        return bad("--host-copies needs --host-store DIR, where each host has them");
    if (bad_code(a)) return 2;
    if (a->o.host_store && a->o.incremental)
        return bad("--incremental cannot be used with --host-store, whose checkpoints are copied "
                   "one by one");
    if (a->o.host_store && a->o.compression != HARK_COMPRESS_NONE)
        return bad(
            "--compress cannot be used with --host-store: a compressed checkpoint is more than "
            "one file, and one is copied");
    if (a->o.store == NULL && a->o.host_store == NULL && hark_service_survives(a->o.protocol))
        return bad("several hosts need --host-store DIR, on the disk of each, or --store DIR, "
                   "which all of them see");
    if (a->o.supervisor_timeout_ms && !hark_service_survives(a->o.protocol))
        return bad("--supervisor-timeout needs a --protocol that survives failures, found %s",
            a->o.protocol->name);
    if (a->o.supervisor_timeout_ms && a->o.store == NULL)
        return bad(
            "--supervisor-timeout needs --store DIR, which all hosts see: there they find who "
            "takes over");
    if (enough_copies(a)) return 2;
    if (!hark_transport_between_hosts(a->o.transport, 0, "127.0.0.1", listen))
        return bad("--transport: expected one that goes from host to host, found %s",
            a->o.transport->name);
    return 0;
}

/* The first that was given of those that need hosts; NULL: none. */
static const char *option_of_hosts(const struct run_arguments *a)
{
    const struct run_hosts *h = &a->hosts;
    return h->spares                    ? "--spares"
           : h->launcher                ? "--launcher"
           : h->timeout_ms              ? "--host-timeout"
           : a->o.host_store            ? "--host-store"
           : h->copies                  ? "--host-copies"
           : h->code.hosts              ? "--host-code"
           : h->interface               ? "--interface"
           : a->o.supervisor_timeout_ms ? "--supervisor-timeout"
                                        : NULL;
}

int run_hosts_complete(struct run_arguments *a)
{
    struct run_hosts *h = &a->hosts;
    const char *job = getenv("SLURM_JOB_ID"), *nodes = getenv("SLURM_JOB_NODELIST"),
               *many = getenv("SLURM_JOB_NUM_NODES");
    const bool slurm = job && nodes && many && atoi(many) > 1;
    int status = 0;
    if (h->file && h->list) return bad("expected one of --hosts and --hostfile, found both");
    if (h->file == NULL && h->list == NULL && !slurm) {
        const char *option = option_of_hosts(a);
        return option ? bad("%s needs hosts: --hostfile FILE, --hosts LIST, or a Slurm allocation "
                            "of several nodes",
                            option)
                      : 0;
    }
    if (h->file) status = read_hosts(h);
    else if (h->list) status = read_list(h, &(struct source){"--hosts", 0}, h->list);
    else status = read_slurm(h, nodes);
    if (status == 0 && h->launcher == NULL)
        status = usual_launcher(h, slurm && !h->file && !h->list ? nodes : NULL);
    if (status == 0 && !a->transport_given) a->o.transport = hark_transport_of_hosts();
    if (status == 0) status = suits(a);
    a->o.host = h->host;
    a->o.hosts = h->count;
    a->o.spares = h->spares;
    a->o.host_copies = h->copies ? h->copies : h->code.hosts ? 1 : DEFAULT_COPIES;
    a->o.host_code = h->code;
    a->o.launcher = h->launcher;
    a->o.host_timeout_ms = h->timeout_ms ? h->timeout_ms : DEFAULT_MS;
    a->o.launch_ms = LAUNCH_MS;
    a->o.interface = h->interface;
    return status;
}

int run_hosts_launcher(struct run_hosts *h, const char *text)
{
    free(h->launcher);
    free(h->launcher_text);
    h->launcher = NULL;
    h->launcher_text = NULL;
    return words(h, text);
}

int run_hosts_spares(struct run_hosts *h, const char *text)
{
    uint64_t n;
    if (!hark_cli_whole_number(text, HOSTS_MAX, &n))
        return bad("--spares: expected a number of hosts, found \"%s\"", text);
    h->spares = (uint32_t)n;
    return 0;
}

int run_hosts_copies(struct run_hosts *h, const char *text)
{
    uint64_t n;
    if (!hark_cli_whole_number(text, COPIES_MAX, &n) || n == 0)
        return bad("--host-copies: expected 1 to %u hosts that have each checkpoint, found \"%s\"",
            COPIES_MAX, text);
    h->copies = (uint32_t)n;
    return 0;
}

int run_hosts_code(struct run_hosts *h, const char *text)
{
    uint64_t data = 0, parity = 0;
    char first[8];
    const size_t length = strcspn(text, "+");
    const bool two = text[length] == '+' && length < sizeof first;
    snprintf(first, sizeof first, "%.*s", two ? (int)length : 0, text);
    if (!two || !hark_cli_whole_number(first, CODE_MAX, &data) ||
        !hark_cli_whole_number(text + length + 1, CODE_MAX, &parity) || data == 0 || parity == 0 ||
        data + parity > CODE_MAX)
        return bad("--host-code: expected N+M, such as 3+1, with at most %u hosts in all, found "
                   "\"%s\"",
            CODE_MAX, text);
    if (!hark_code_built((uint32_t)parity))
        return bad("--host-code: hark was built without isa-l, expected N+1, found %s; install its "
                   "library and build hark again",
            text);
    h->code = (struct hark_code){(uint32_t)(data + parity), (uint32_t)parity};
    return 0;
}

void run_hosts_free(struct run_hosts *h)
{
    for (uint32_t i = 0; i < h->racks; i++) free(h->rack[i]);
    free(h->rack);
    for (uint32_t i = 0; i < h->count; i++) free((void *)(uintptr_t)h->host[i].name);
    free(h->host);
    free(h->launcher);
    free(h->launcher_text);
}
