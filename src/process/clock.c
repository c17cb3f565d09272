/* hark_wtime: the clock of a program. */
#include "app_state.h"
#include "journal.h"

static double latest, ahead; /* seconds */

/* CLOCK_MONOTONIC: its origin is common to all processes of a machine. */
static double now(void)
{
    const double seconds = (double)hark_process_now() * 1e-9 + ahead;
    if (seconds >= latest) return seconds;
    ahead += latest - seconds; /* the machine was restarted, or it is another one */
    return latest;
}

double hark_wtime(void)
{
    double seconds;
    if (hark_journal_next(HARK_JOURNAL_WTIME, &seconds, sizeof seconds))
        return latest = seconds > latest ? seconds : latest, seconds;
    seconds = now();
    hark_journal_time(&seconds);
    return latest = seconds;
}

double hark_wtime_latest(void)
{
    return latest;
}

void hark_wtime_restart(double before)
{
    latest = before;
}
