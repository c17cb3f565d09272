#include "protocols.h"

#include <stdio.h>

/* docs/which-protocol.md has the same, with examples. */
void hark_cli_protocols_help(void)
{
    fputs(
        "Which --protocol does a program need? Take the first answer that is yes.\n\n"
        "1. Does what it sends depend on a clock, on random numbers from outside, on its process number, or on "
        "anything else than\n"
        "   its arguments and what it has received?                              coordinated: all processes go back\n"
        "2. Does what it sends depend on the order in which messages come, or on whether a look found one: a master "
        "that gives\n"
        "   the next task to whoever answers first, work stealing, a loop over hark_iprobe or hark_test?\n"
        "                                                                        scmel: only the lost process goes "
        "back\n"
        "     and it sends much inside groups of processes                       team --clusters K\n"
        "     and many of its messages are broadcasts and reductions             camel\n"
        "3. Otherwise it is send-deterministic: whatever comes first, each process sends the same messages in the "
        "same order on\n"
        "   each channel. Most stencils, solvers and FFTs are, also with HARK_ANY_SOURCE, where all are received "
        "before anything is\n"
        "   sent.                                                                hydee: the cluster of the lost "
        "process goes back\n"
        "     and its processes can not make equally many hark_checkpoint calls  sendet\n\n"
        "If you do not know: scmel is right for 2 and for 3. hydee and sendet notice when they are not (diverged), "
        "and say so.\n"
        "Under all but sendet the processes that take checkpoints together must call hark_checkpoint equally often: "
        "those of a\n"
        "cluster under hydee, else all.\n",
        stdout);
}
