#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "check_parts.h"

static const int signals[] = {SIGINT, SIGTERM};

/* The signal that has come; 0: none. In memory that all processes of a search share: whichever of
 * them gets it, all end. */
static _Atomic int *came;
static struct sigaction before[sizeof signals / sizeof signals[0]];

static void caught(int number)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(came, &none, number);
}

bool check_stop_open(struct check_arguments *a)
{
    void *shared =
        mmap(NULL, sizeof *came, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return false;
    came = shared;
    a->search.stop = came;
    struct sigaction catch = {.sa_handler = caught, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &catch, NULL); /* nohup, a job in the background */
    }
    return true;
}

void check_stop_close(struct check_arguments *a)
{
    if (came == NULL) return;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &before[i], NULL);
    munmap(came, sizeof *came);
    a->search.stop = came = NULL;
}

const char *check_stopped_by(const struct check_arguments *a)
{
    int number = a->search.stop ? atomic_load(a->search.stop) : 0;
    return number == 0 ? NULL : number == SIGINT ? "SIGINT" : "SIGTERM";
}
