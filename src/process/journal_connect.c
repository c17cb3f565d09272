/* Connects libhark_journal.so, if it was preloaded, to the journal of this process. What hark
 * itself reads of clocks, and the libraries that its transport uses, does not belong there: it
 * differs from one execution to the next. */
#include <dlfcn.h>
#include <string.h>

#include "journal.h"
#include "journal_calls.h"
#include "process.h"

#define P         hark_process
#define PRELOADED (HARK_KEEPS_CLOCK | HARK_KEEPS_RANDOM)

unsigned hark_journal_inside;

static struct hark_journal_calls calls = {
    .inside = &hark_journal_inside, .next = hark_journal_next, .record = hark_journal_record};

static hark_journal_connect_function *connector(void)
{
    hark_journal_connect_function *connect;
    void *found = dlsym(RTLD_DEFAULT, HARK_JOURNAL_CONNECT);
    memcpy(&connect, &found, sizeof found);
    return connect;
}

void hark_journal_connect_calls(void)
{
    hark_journal_connect_function *connect = connector();
    if ((P.setup.journal < 0 && !P.setup.steady) || (P.setup.keeps & PRELOADED) == 0) return;
    if (connect == NULL)
        hark_process_fatal("%s: --journal: libhark_journal.so is not in this process: a program "
                           "that is linked statically, or run by another user than its file's, can "
                           "have --journal wtime only",
            P.name);
    calls.keeps = P.setup.keeps;
    connect(&calls);
}

void hark_journal_disconnect_calls(void)
{
    hark_journal_connect_function *connect = calls.keeps ? connector() : NULL;
    if (connect) connect(NULL);
}

/* ---- the transport --------------------------------------------------------------------------- */

static const struct hark_transport_ops *inner;

static int leave(int status)
{
    hark_journal_inside--;
    return status;
}

static int peer(struct hark_transport *t, uint32_t rank, uint32_t inc, const char *address)
{
    hark_journal_inside++;
    return leave(inner->peer(t, rank, inc, address));
}

static int send_frame(struct hark_transport *t, struct hark_outgoing *frame)
{
    hark_journal_inside++;
    return leave(inner->send(t, frame));
}

static int poll_frames(struct hark_transport *t)
{
    hark_journal_inside++;
    return leave(inner->poll(t));
}

static int wait_for_frames(struct hark_transport *t, int milliseconds)
{
    hark_journal_inside++;
    return leave(inner->wait(t, milliseconds));
}

static int drained(struct hark_transport *t)
{
    hark_journal_inside++;
    return leave(inner->drained(t));
}

static void close_end(struct hark_transport *t)
{
    hark_journal_inside++;
    inner->close(t);
    hark_journal_inside--;
}

void hark_journal_guard(struct hark_transport *t)
{
    static struct hark_transport_ops guarded;
    if ((P.setup.keeps & PRELOADED) == 0) return;
    inner = t->ops;
    guarded = *inner;
    guarded.peer = peer;
    guarded.send = send_frame;
    guarded.poll = poll_frames;
    guarded.wait = wait_for_frames;
    guarded.drained = drained;
    guarded.close = close_end;
    t->ops = &guarded;
}
