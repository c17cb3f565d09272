/* master.c: rank 0 gives tasks to free workers, and receives the answers in the order in which they
 * come.
 *
 *     hark run -n 8 --protocol scmel -- ./master [ROUNDS]
 *     hark run -n 8 --protocol scmel --kill 0@300 --kill 5@40 -- ./master
 *
 * Shows: a master and its workers. The faster worker gets the next task, so the messages of rank 0
 * differ from run to run: the program is not send-deterministic. Protocols hydee and sendet are not
 * for it, and say so when a process dies (diverged). scmel, team and camel record the order in
 * which messages were received, and repeat it.
 *
 * Checkpoint calls: all processes must make equally many. Suppose the master made one after each
 * task it hands out, and a worker one after each task it has done. They would soon stand still,
 * each in a call of another number. So tasks come in rounds: when all answers of a round are in,
 * the master tells every worker, and then each process makes one call.
 */
#include <inttypes.h>
#include <stdbool.h>

#include "common.h"

enum { TASKS = 40 /* in a round */, REGION_STATE = 1 };
enum { TAG_ANSWER = 1, TAG_TASK };
enum { ROUND_OVER = -1 };

struct state {
    int64_t round; /* done */
    uint64_t sum;  /* of the answers: the same in whatever order they are added up */
    uint64_t tasks;
};

struct answer {
    int64_t task; /* ROUND_OVER: none yet, I am free */
    uint64_t value;
};

static uint64_t labour(int64_t task)
{
    uint64_t value = (uint64_t)task;
    for (uint64_t i = 0, n = 1000 + mix(value) % 20000; i < n; i++) value = mix(value + i);
    return value;
}

static void hand_out(struct state *s)
{
    int64_t next = s->round * TASKS, end = next + TASKS;
    for (int working = hark_size() - 1; working > 0;) {
        struct answer answer;
        struct hark_info from;
        check(hark_recv(&answer, sizeof answer, HARK_ANY_SOURCE, TAG_ANSWER, &from), "hark_recv");
        if (answer.task != ROUND_OVER) s->sum += answer.value, s->tasks++;
        int64_t task = next < end ? next++ : ROUND_OVER;
        if (task == ROUND_OVER) working--;
        check(hark_send(&task, sizeof task, from.source, TAG_TASK), "hark_send");
    }
}

static void work(void)
{
    struct answer answer = {ROUND_OVER, 0};
    for (;;) {
        check(hark_send(&answer, sizeof answer, 0, TAG_ANSWER), "hark_send");
        check(hark_recv(&answer.task, sizeof answer.task, 0, TAG_TASK, NULL), "hark_recv");
        if (answer.task == ROUND_OVER) return;
        answer.value = labour(answer.task);
    }
}

int main(int argc, char **argv)
{
    struct state s = {0};
    uint64_t from;
    int64_t rounds = 20;
    check(hark_init(), "hark_init");
    if (argc > 2) refuse("usage: master [ROUNDS]");
    if (argc > 1) rounds = number(argv[1], 0, 1000000, "master: ROUNDS");
    check(hark_protect(REGION_STATE, &s, sizeof s), "hark_protect");
    check(hark_restarted(&from), "hark_restarted");
    while (s.round < rounds) {
        if (hark_rank() == 0) hand_out(&s);
        else work();
        s.round++;
        check(hark_checkpoint(), "hark_checkpoint"); /* each process once a round */
    }
    if (hark_rank() == 0) printf("master: %" PRIu64 " tasks, sum %016" PRIx64 "\n", s.tasks, s.sum);
    check(hark_finalize(), "hark_finalize");
    return 0;
}
