/* What frames carry, as pictures of schedules say it: of each protocol all that it sends in one run
 * with a failure, in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/check/carries.h"
#include "../../src/check/job.h"

enum { TEXT = 8192 };

struct heard {
    const struct lab *lab;
    char text[TEXT];
    size_t length;
};

/* What a frame lacks is not read: it is cut off everywhere, in memory of just that size; with its
 * sender's core and without. */
static void cut_short(const struct lab *lab, struct hark_bytes header)
{
    for (uint32_t n = 0; n <= header.length; n++) {
        uint8_t *at = malloc(n ? n : 1);
        char text[24];
        struct hark_words w;
        assert_non_null(at);
        memcpy(at, header.at, n);
        for (unsigned i = 0; hark_protocol_at(i); i++) {
            hark_words_begin(&w, text, sizeof text);
            hark_protocol_at(i)->describe(i % 2 ? lab->core : NULL, (struct hark_bytes){at, n}, &w);
            assert_int_equal(strlen(text), w.length);
        }
        hark_words_begin(&w, text, 1);
        lab->protocol->describe(lab->core, (struct hark_bytes){at, n}, &w);
        assert_int_equal(w.length, 0);
        free(at);
    }
}

/* Of each transmission who makes it, to whom, and what it carries. */
static void observe(void *self, const struct hark_event *event, const struct hark_effect *x)
{
    struct heard *h = self;
    char from[16] = "r", to[16] = "r";
    struct carries c;
    if (event || x->type != HARK_TRANSMIT) return;
    cut_short(h->lab, x->u.transmit.header);
    carries(h->lab, x->u.transmit.header, &c);
    if (h->lab->who_now < h->lab->ranks) snprintf(from, sizeof from, "%u", h->lab->who_now);
    if (x->u.transmit.peer != HARK_RECOVERY) snprintf(to, sizeof to, "%u", x->u.transmit.peer);
    h->length +=
        (size_t)snprintf(h->text + h->length, TEXT - h->length, "%s>%s: %s\n", from, to, c.text);
    assert_true(h->length < TEXT);
}

/* The first step that changes something; none: false. Those of failures only if `fail`. */
static bool take_first(struct lab *lab, struct job *job, bool fail, struct heard *heard)
{
    struct job_step step[JOB_STEPS];
    uint32_t failing, n = job_steps(lab, job, step, &failing);
    for (uint32_t k = fail ? n - failing : 0; k < (fail ? n : n - failing); k++) {
        struct job next = *job;
        bool happened;
        assert_int_equal(job_take(lab, &next, step[k], &happened), 0);
        if (!happened || memcmp(&next, job, sizeof next) == 0) continue;
        lab->observe = observe;
        lab->observer = heard;
        (void)local_make(lab, job->at[step[k].who], (enum local_step)step[k].what,
            job_argument(lab, job, step[k]));
        lab->observe = NULL;
        *job = next;
        return true;
    }
    return false;
}

/* The run: to its end, then the failure, and to the end of the recovery. */
static void says(const char *program, const char *golden)
{
    static struct heard heard;
    struct hark_scenario s;
    struct lab lab;
    struct job job;
    char error[HARK_SCENARIO_ERROR];
    if (hark_scenario_parse(&s, program, strlen(program), "program", error) < 0)
        fail_msg("%s", error);
    assert_int_equal(lab_open(&lab, &s, NULL, error), 0);
    heard = (struct heard){.lab = &lab};
    job_first(&lab, &job);
    while (take_first(&lab, &job, false, &heard)) {
    }
    assert_true(take_first(&lab, &job, true, &heard));
    while (take_first(&lab, &job, false, &heard)) {
    }
    assert_false(lab.failed);
    lab_close(&lab);
    hark_scenario_free(&s);
    assert_string_equal(heard.text, golden);
}

static void of_none(void **state)
{
    (void)state;
    says("protocol none\nnetwork fifo\np0: S1 S1\np1: R0 R0\nfails p1\n", "0>1: 1\n0>1: 2\n");
}

static void of_coordinated(void **state)
{
    (void)state;
    says("protocol coordinated\ntree r0\np0: S1 M C R1\np1: R0 B C S0\nfails p1\n",
        "0>1: 1\n0>1: multicast 1\n0>1: ASK\n1>0: COUNT\n0>1: PREPARE\n0>1: MARK\n0>1: MARK\n1>0: "
        "FROZEN\n"
        "0>1: EXPECT\n1>0: READY\n0>1: COMMIT\n1>0: 1\n1>0: 1\n");
}

static void of_hydee(void **state)
{
    (void)state;
    says("protocol hydee\ngenerations 1\np0: S1 C S2 R1\np1: R0 C S2 S0\np2: C R R\nfails p1\n",
        "0>1: 1, phase 1\n0>1: GC has 0\n0>2: 1, phase 1\n1>0: GC has 1\n1>2: 1, phase 2\n1>0: 1, "
        "phase 2\n"
        "2>0: GC has 1\n2>1: GC has 1\n0>1: POS sent 1, has 1\n1>0: POS sent 0, has 1\n0>1: ORPH "
        "1, phase 2\n"
        "0>r: REPORT 1 of p1, phase 2\n1>r: REPORT\n2>1: POS sent 0, has 1\n1>2: POS sent 0, has "
        "0\n"
        "2>1: ORPH 1, phase 2\n2>r: REPORT 1 of p1, phase 2\nr>0: RELEASE up to 2\nr>1: RELEASE up "
        "to 2\n"
        "r>2: RELEASE up to 2\n1>r: NOTIFY 1 to p0\n1>r: NOTIFY 1 to p2\nr>0: RELEASE all\nr>1: "
        "RELEASE all\n"
        "r>2: RELEASE all\n0>r: DRAINED\n1>r: DRAINED\n2>r: DRAINED\nr>0: RECDONE\nr>1: "
        "RECDONE\nr>2: RECDONE\n");
}

static void of_hydee_tree(void **state)
{
    (void)state;
    says("protocol hydee\nreports tree 2\ntree r0\np0: M S1\np1: B R0\nfails p0\n",
        "0>1: multicast 1, phase 1\n0>1: 1, phase 1\n0>1: POS sent 0, has 0\n1>0: POS sent 0, has "
        "1\n"
        "1>0: ORPH 1, phase 1\n1>0: ORPH 1, phase 1\n1>0: UP phase 1\n0>r: UP phase 1\n0>1: NOTIFY "
        "1\n"
        "0>1: NOTIFY 1\n1>0: UP nothing\n0>r: UP nothing\nr>0: RELEASE up to 1\nr>0: RELEASE all\n"
        "0>1: RELEASE up to 1\n0>1: RELEASE all\n1>0: DRAINED\n0>r: DRAINED\nr>0: RECDONE\n0>1: "
        "RECDONE\n");
}

static void of_scmel(void **state)
{
    (void)state;
    says("protocol scmel\ngenerations 1\ncopies 2\np0: S1 C S1 R1\np1: R C R S0 O\np2: S1 C\nfails "
         "p1\n",
        "0>1: 1\n0>1: ASK\n0>2: ASK\n1>0: COUNT\n2>0: COUNT\n0>1: PREPARE\n0>2: PREPARE\n0>1: "
        "MARK\n"
        "1>0: FROZEN\n2>1: 1\n2>1: MARK\n2>0: FROZEN\n0>1: EXPECT\n0>2: EXPECT\n1>0: READY\n2>0: "
        "READY\n"
        "0>1: COMMIT\n0>2: COMMIT\n0>1: 2\n1>0: 1, p1 took p0.2\n0>1: ACK 2 of p1\n1>2: SPREAD p1 "
        "took p0.2\n"
        "2>1: ACK 2 of p1\n0>1: DETS p1 took p0.2, p0 took p1.1; sent 2, has 1\n1>0: ACK 1 of p0\n"
        "2>1: DETS p1 took p0.2; sent 1, has 0\n1>0: READY has 1\n1>2: READY has 1\n0>1: 2\n1>0: "
        "DONE\n"
        "1>2: DONE\n1>0: 1, p1 took p0.1\n0>1: ACK 1 of p1\n");
}

static void of_team(void **state)
{
    (void)state;
    says("protocol team\nclusters 0-1 2\ngenerations 1\np0: S1 C S1 R1\np1: R R C R S0 S2\np2: S1 "
         "C R1\nfails p2\n",
        "0>1: 1\n0>1: ASK\n1>0: COUNT\n0>1: PREPARE\n0>1: MARK\n2>1: 1\n1>0: FROZEN\n0>1: "
        "EXPECT\n1>0: READY\n"
        "0>1: COMMIT\n0>1: 2\n1>2: TRIM has 1; rsn 2\n1>0: 1, p1 took p0.2\n0>1: ACK 3 of p1\n1>2: "
        "1\n"
        "2>1: TRIM has 1; rsn 0\n0>2: DETS p0 took p1.1\n1>2: DETS sent 1, has 1\n2>0: ACK 1 of "
        "p0\n"
        "2>0: READY\n2>1: READY has 1\n2>0: DONE\n2>1: DONE\n");
}

static void of_camel(void **state)
{
    (void)state;
    says("protocol camel\ntree r01\np0: R A Q M\np1: A B S0\np2: S0 A B\nfails p1\n",
        "2>0: 1\n2>1: contribution to 1\n1>0: contribution to 1\n0>0: result of 1\n"
        "0>1: all of 1, p0 took p2.1\n0>1: multicast 1, p0 took p2.1 p0.1\n1>2: RACK reductions up "
        "to 1\n"
        "1>0: RACK reductions up to 1\n1>2: multicast 1 of p0\n1>0: 1, p1 took p0.1\n0>1: ACK 1 of "
        "p1\n"
        "0>1: DETS p1 took p0.1, p0 took p2.1 p0.1; sent 0, has 1; multicasts sent 1, has 0; "
        "reductions sent 1, has "
        "1\n"
        "1>0: ACK 1-2 of p0\n2>1: DETS p2 took p0.1; reductions sent 1, has 0\n"
        "1>0: READY has 0; multicasts has 0; reductions has 0\n1>2: READY reductions has 1\n1>2: "
        "ACK 1 of p2\n"
        "0>1: multicast 1\n0>1: all of 1\n1>2: RACK reductions up to 1\n1>0: RACK reductions up to "
        "1\n"
        "1>2: multicast 1 of p0\n1>0: DONE\n1>2: DONE\n1>0: 1\n");
}

static void of_sendet(void **state)
{
    (void)state;
    says("protocol sendet\ngenerations 1\np0: S1 C S1 R1\np1: R0 C R2 R0 S0 S2\np2: S1 C R1\nfails "
         "p1\n",
        "0>1: 1, phase 1, epoch 1\n0>r: EPOCH 2, needs 2\n0>1: 2, phase 2, epoch 2\n1>r: EPOCH 2, "
        "needs 2\n"
        "1>0: ACK 1-2 in epoch 1\n2>1: 1, phase 1, epoch 1\n1>0: 1, phase 2, epoch 2\n0>1: ACK 1 "
        "in epoch 2\n"
        "1>2: 1, phase 2, epoch 2; ACK 1 in epoch 2\n2>r: EPOCH 2, needs 2\n2>1: ACK 1 in epoch "
        "1\nr>0: MIN 2\n"
        "r>1: MIN 2\nr>2: MIN 2\n0>1: GC has 0\n1>0: GC has 2\n2>1: GC has 1\n0>1: POS sent 2, has "
        "1\n"
        "1>0: POS sent 0, has 2\n0>1: ORPH 1, phase 2, epochs 2, 2\n"
        "0>r: REPORT epoch 2; 1 of p1, phase 2; sent p1 in epoch 2 what it took in 1; image 1 of "
        "epoch 2; image of "
        "epoch 2 has 0 of p1\n"
        "1>r: REPORT epoch 2; image 0 of epoch 1; image 1 of epoch 2; image of epoch 2 has 2 of "
        "p0\n"
        "2>1: POS sent 1, has 1\n1>2: POS sent 0, has 0\n2>1: ORPH 1, phase 2, epochs 2, 1\n"
        "2>r: REPORT epoch 2; 1 of p1, phase 2; image 1 of epoch 2; image of epoch 2 has 1 of p1\n"
        "r>0: RELEASE up to 2\nr>1: RELEASE up to 2\nr>2: RELEASE up to 2\n2>1: 1, phase 1, epoch "
        "1\n"
        "1>r: NOTIFY 1 to p0\n1>r: NOTIFY 1 to p2\n1>2: ACK 1 in epoch 2\nr>0: RELEASE all\nr>1: "
        "RELEASE all\n"
        "r>2: RELEASE all\n0>r: DRAINED\n1>r: DRAINED\n2>r: DRAINED\nr>0: RECDONE\nr>1: "
        "RECDONE\nr>2: RECDONE\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_none), cmocka_unit_test(of_coordinated),
        cmocka_unit_test(of_hydee), cmocka_unit_test(of_hydee_tree), cmocka_unit_test(of_scmel),
        cmocka_unit_test(of_team), cmocka_unit_test(of_camel), cmocka_unit_test(of_sendet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
