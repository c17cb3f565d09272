#include "protocols.h"

#include <stdio.h>
#include <string.h>

#include "hark/registry.h"

enum { COLUMN = 72 }; /* where protocols are named */

/* "scmel: only the lost process goes back", behind what is so of the program. */
static void answer(const struct hark_protocol *p, const char *before)
{
    const struct hark_manual *m = p->manual;
    const int n = m->when ? printf("     %s", m->when) : printf("%s", before);
    printf("%*s%s%s%s%s%s\n", n < COLUMN ? COLUMN - n : 1, "", p->name, m->usage ? " " : "",
        m->usage ? m->usage : "", m->back ? ": " : "", m->back ? m->back : "");
}

/* The protocols for such programs: first that which is the first to take. */
static void answers(uint32_t programs, const char *before)
{
    const struct hark_protocol *first = hark_protocol_for(programs), *p;
    if (first) answer(first, before);
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL; i++)
        if (p->manual->programs == programs && p != first) answer(p, "");
}

void hark_cli_protocols_for(uint32_t programs, char *text, size_t room)
{
    const struct hark_protocol *p;
    size_t n = 0;
    *text = 0;
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL && n < room; i++)
        if (p->manual->programs == programs)
            n += (size_t)snprintf(text + n, room - n, "%s%s", n ? ", " : "", p->name);
    char *last = strrchr(text, ',');
    if (last && strlen(text) + 4 < room) {
        memmove(last + 4, last + 1, strlen(last + 1) + 1);
        memcpy(last, " and", 4);
    }
}

/* docs/which-protocol.md has the same, with examples. */
void hark_cli_protocols_help(void)
{
    char notice[200];
    const struct hark_protocol *p;
    fputs("Which --protocol does a program need? Take the first question whose answer is yes.\n\n"
          "1. Does what a process sends depend on anything but its arguments and the messages it "
          "has received: on a "
          "clock or\n"
          "   random numbers that --journal does not keep, on its process id, on a file that "
          "changes?\n",
        stdout);
    answers(HARK_FOR_ANY, "");
    fputs("2. Does it depend on the order in which messages arrive, or on whether hark_test or "
          "hark_iprobe found one? "
          "Examples:\n"
          "   a master that gives the next task to the worker that answers first; work stealing.\n",
        stdout);
    answers(HARK_FOR_PIECEWISE, "");
    fputs("3. Otherwise the program is send-deterministic: each process sends the same messages in "
          "the same order on "
          "each\n"
          "   channel, in whatever order messages arrive. Most stencils, solvers and FFTs are, "
          "even with "
          "HARK_ANY_SOURCE, if a\n"
          "   process receives all messages of a round before it sends.\n",
        stdout);
    answers(HARK_FOR_SENDS, "");
    hark_cli_protocols_for(HARK_FOR_SENDS, notice, sizeof notice);
    printf(
        "\nIf you do not know, take %s: it is right for 2 and for 3. %s end a program that is not\n"
        "send-deterministic with a line (diverged), if a failure shows it.\n"
        "Processes that take checkpoints together must call hark_checkpoint equally often:\nall "
        "processes",
        hark_protocol_for(HARK_FOR_PIECEWISE)->name, notice);
    for (unsigned i = 0; (p = hark_protocol_at(i)) != NULL; i++)
        if (p->manual->calls) printf("; under %s %s", p->name, p->manual->calls);
    puts(".\nTo see which of them a program is, record two runs with `hark run --record FILE`, and "
         "compare "
         "them with `hark compare`.");
}
