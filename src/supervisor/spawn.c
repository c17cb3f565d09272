/* spawn.c: a process is started. */
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Between this and its setup others may fail, of which it is told when it has said hello: the epoch
 * is that of now. */
void hark_sup_incarnate(struct child *c)
{
    c->inc = hark_service_incarnation(core_of(c->s), c->rank);
    c->re = hark_service_epoch(core_of(c->s));
}

void hark_sup_fresh(struct child *c)
{
    c->hello = c->finished = c->dead = c->goes_back = c->exited = false;
    c->mark_waits = c->walked_out = false;
    memset(c->shown_said, 0, sizeof c->shown_said); /* its agent may be another one */
    c->answered = c->asked;                         /* by nobody */
    free(c->address);
    c->address = NULL;
    c->began = hark_sup_progress(c);
    c->began_messages = hark_sup_slot(c)->messages;
    c->program = 0;
    c->input_at = 0;
    for (int i = 0; i < 2; i++) hark_output_begin(&c->output[i], c->checkpoint != 0);
}

/* What the recovery process runs: this executable, or another one for tests. */
static struct hark_local_program recovery_program(const struct supervisor *s)
{
    static char *const argv[] = {"hark", HARK_RECOVERY_ARGUMENT, NULL};
    if (s->o->recovery) return (struct hark_local_program){.argv = s->o->recovery};
    return (struct hark_local_program){.argv = argv, .file = "/proc/self/exe"};
}

static struct hark_local_program rank_program(const struct child *c)
{
    const struct hark_run_program *p = program_of(c);
    return (struct hark_local_program){.argv = p->argv,
        .file = p->file,
        .directory = p->directory || !c->s->host ? p->directory : c->s->here,
        .environment = p->environment,
        .preload = c->s->o->preload,
        .same_addresses = p->same_addresses};
}

/* The agent answers STARTED; then it gets its setup (agent_said.c). */
static int start_there(struct child *c, const struct hark_local_program *program)
{
    struct hark_control m;
    if ((c->host == NULL || c->host->lost) && !hark_sup_place(c)) return -1;
    c->left = c->ended = c->lacks_image = false;
    memset(c->paused, 0, sizeof c->paused);
    hark_control_begin(&m, HARK_A_START);
    char *from[HARK_SUP_HOLDERS + 1] = {NULL};
    if (c->checkpoint) (void)hark_sup_holders(c, c->checkpoint, from);
    hark_agent_put_start(&m, hark_sup_slot_number(c), program, c->checkpoint, from);
    if (m.bad) {
        hark_control_free(&m);
        return ENOMEM;
    }
    hark_sup_host_say(c->host, &m);
    c->runs = true;
    return 0;
}

int hark_sup_spawn(struct child *c)
{
    struct supervisor *s = c->s;
    int input = -1, status = hark_sup_journal(c);
    if (status == 0 && c->rank == 0) status = hark_sup_input_pipe(s, &input);
    if (status) return status;
    struct hark_local_program program =
        c->rank == HARK_RECOVERY ? recovery_program(s) : rank_program(c);
    program.input = input;
    program.inherited[0] = s->board_fd;
    program.inherited[1] = s->store_fd;
    program.inherited[2] = c->journal;
    program.ignored = hark_sup_signals_ignored(s);
    hark_sup_fresh(c);
    c->kept = -1;
    if (s->host) return start_there(c, &program);
    status = hark_local_start(&c->local, &program);
    if (status) return status;
    c->runs = true;
    hark_sup_setup(c);
    if (s->o->verbose) {
        char name[32];
        hark_sup_say("%s is process %d", hark_sup_name(c, name), (int)c->local.pid);
    }
    return 0;
}
