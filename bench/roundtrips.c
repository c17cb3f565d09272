/* Two processes, N round trips of 8 bytes, no checkpoint: each message depends on the one before
 * it, so under hydee each has a phase of its own. recovery-messages.sh runs it and kills one of the
 * two. roundtrips N */
#include <stdio.h>
#include <stdlib.h>

#include <hark/app.h>

int main(int argc, char **argv)
{
    uint64_t rounds = argc == 2 ? strtoull(argv[1], NULL, 10) : 0, mine, other = 0;
    if (rounds == 0) {
        fprintf(stderr, "usage: roundtrips N\n");
        return 2;
    }
    hark_init();
    int me = hark_rank();
    mine = (uint64_t)me + 1;
    for (uint64_t i = 0; i < rounds; i++) {
        hark_send(&mine, sizeof mine, 1 - me, 0);
        hark_recv(&other, sizeof other, 1 - me, 0, NULL);
        mine = mine * 6364136223846793005u + other;
    }
    printf("%d: %016llx\n", me, (unsigned long long)mine);
    return hark_finalize();
}
