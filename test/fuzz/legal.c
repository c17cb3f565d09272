/* Whole jobs of which only legal events are asked, in any order: no step of a search finds a
 * violation, and neither do these. The input: which program, and a choice for each step. */
#include "../../src/check/job.h"
#include "fuzz.h"

#define FAILS "fails any\nfails any nested\n"
static const char *const programs[] = {
    "protocol hydee\np0: S1 C R1 S1 R1\np1: R0 S0 C R0 S0\n" FAILS,
    "protocol hydee\nclusters 0-1 2-3\np0: S1 R2 S3\np1: R0 S2\np2: R1 S0\np3: R0\n" FAILS,
    "protocol hydee\nclusters 0-1 2\np0: S1 S2 C R1 R2 S1 R1\np1: R0 S0 C R0 R2 S0\np2: R0 S0 "
    "S1\n" FAILS,
    "protocol hydee\ngate exact\np0: R3 S1 R2\np1: R0 S2\np2: R1 S0\np3: S0\n" FAILS,
    "protocol hydee\ngate exact\nclusters 0-1 2-3\np0: S1 C R2 S3\np1: R0 C S2\np2: C R1 S0\np3: C "
    "R0\n" FAILS,
    "protocol scmel\ncopies 1\np0: R R S1 S2 C\np1: S0 R0 C\np2: S0 R0 C\n"
    "fails any\nfails any\n",
    "protocol scmel\ncopies 2\np0: R R S1 S2 C\np1: S0 R0 C\np2: S0 R0 C\n"
    "fails any\nfails any\n",
    "protocol team\nclusters 0-1 2\np0: R C R S1 S2\np1: S0 C R0\np2: S0 R0 C\n"
    "fails any\nfails any\n",
    "protocol team\nteams lost\nclusters 0-1 2\np0: R R C S1\np1: S0 C R0 S2\np2: S0 C R1\n"
    "fails any\nfails p0 cluster\n",
    "protocol coordinated\np0: S1 C R2 S1 C\np1: R0 C S2 R0 C\np2: C R1 S0 C\n" FAILS,
    "protocol camel\ntree r01\np0: R M A Q S1 C A Q\np1: S0 B A C A R\np2: B A C A\nfails "
    "any\nfails any\n",
    "protocol sendet\np0: S1 C R1 S2 R\np1: R0 S0 C S2\np2: S0 C R R\n" FAILS,
    "protocol hydee\nreports tree 2\nclusters 0,3 1 2 4\np0: S3 C R1 S4\np1: S0 R4\np2: R4 C\np3: "
    "R0 C\np4: R0 S1 C S2\n" FAILS,
    "protocol hydee\nclusters 0-1 2\nregroup 0 1-2\nwaves all\np0: G S1 C R1 S1 C S2\np1: R0 S0 G "
    "C R0 S2 C\np2: G C R1 C R0\n"
    "fails any nested\nfails any damaged\n"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hark_scenario scenario[HARK_COUNT(programs)];
    static struct lab lab[HARK_COUNT(programs)];
    static struct job begin[HARK_COUNT(programs)];
    struct choices c = {data, size};
    unsigned which = choose(&c) % HARK_COUNT(programs);
    struct lab *l = &lab[which];
    char error[HARK_SCENARIO_ERROR];
    if (l->scenario && lab_bytes(l) > (64u << 20)) lab_close(l);
    if (l->scenario == NULL) {
        struct hark_scenario *s = &scenario[which];
        if (s->ranks == 0 &&
            hark_scenario_parse(s, programs[which], strlen(programs[which]), "program", error) < 0)
            finding("%s", error);
        if (lab_open(l, s, NULL, error) < 0) finding("%s", error);
        job_first(l, &begin[which]);
    }
    struct job job = begin[which];
    while (c.left > 0 && !l->failed) {
        struct job_step step[JOB_STEPS];
        uint32_t failures, n = job_steps(l, &job, step, &failures), signature;
        bool happened;
        uint16_t violated = 0;
        if (n == failures) violated = job_final(l, &job, &signature);
        if (n > 0 && !violated) violated = job_take(l, &job, step[choose(&c) % n], &happened);
        /* Where determinants say what is taken, a message may come before its cause has been sent
         * again: I7 is HydEE's. */
        if (violated == VIOLATED_PAST && l->protocol->unstable) break;
        if (violated) finding("%s", lab_violation(violated));
        if (n == 0) break;
    }
    if (l->failed) finding("%s", l->why);
    return 0;
}
