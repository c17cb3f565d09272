/* mpi_ranks.c: the transport over MPI between ranks: random frames, and processes that are lost and
 * come back while the ranks live.
 *
 *     mpiexec -n 4 mpi_ranks ENDS ROUNDS SEED     so many ends on each rank
 *     mpiexec -n 2 mpi_ranks giant MIB            one frame of that length, and back
 *
 * Every rank draws the same plan from the seed: who sends how many frames to whom in each round,
 * and who is lost in it. A process that is lost closes its end in the middle of whatever it does.
 * Among the others all frames arrive, once, whole and in their order; of the lost ones some do, and
 * none of them after the news of the next incarnation. */
#include "harness.h"
#include "mpi/hub.h"

#include <unistd.h>

enum { ROUNDS_MOST = 64, EACH_MOST = 1000, ENDS_MOST = 64 };

static struct hark_mpi *mpi;
static int my_rank, size;
static uint32_t ends_here, processes, rounds;
static uint64_t seed;

static void configure(struct hark_transport_config *config)
{
    static char address[32];
    snprintf(address, sizeof address, "mpi:%d:%u", my_rank, config->me / (uint32_t)size);
    config->address = address;
    hark_mpi_join(mpi, config);
    if (config->me % 3 == 0) config->option[1] = WINDOW_LEAST;
}

const struct conformance_transport conformance_subject = {
    .name = "mpi", .ops = &hark_mpi_operations, .configure = configure};

/* ---- the plan -------------------------------------------------------------------------------- */

static uint64_t draw(uint32_t what, uint32_t round, uint32_t a, uint32_t b)
{
    return mix(mix(mix(mix(seed + what) + round) + a) + b);
}

static bool is_lost(uint32_t round, uint32_t process)
{
    return round + 1 < rounds && draw(1, round, process, 0) % 4 == 0;
}

static uint32_t incarnation(uint32_t round, uint32_t process)
{
    uint32_t inc = 0;
    for (uint32_t r = 0; r < round; r++) inc += is_lost(r, process);
    return inc;
}

static uint32_t frames_of(uint32_t round, uint32_t from, uint32_t to)
{
    return (uint32_t)(draw(2, round, from, to) % 12);
}

static uint64_t length_of(uint64_t id)
{
    uint64_t dice = mix(id ^ seed);
    if (dice % 40 == 0) return dice % (5 * MIB);
    return dice % (dice % 7 == 0 ? 300000 : 2000);
}

static uint64_t id_of(uint32_t round, uint32_t from, uint32_t to, uint32_t k)
{
    return (((uint64_t)round * processes + from) * processes + to) * EACH_MOST + k;
}

static uint32_t round_of(uint64_t id)
{
    return (uint32_t)(id / EACH_MOST / processes / processes);
}

/* ---- one process ----------------------------------------------------------------------------- */

struct process_here {
    struct end e;
    uint32_t known[ENDS_MOST];  /* the incarnation of each other that it was told of */
    uint64_t next[ENDS_MOST];   /* the lowest id that may still come from each */
    uint32_t here[ROUNDS_MOST]; /* frames of each round from those that are not lost in it */
    struct parcel parcel[ENDS_MOST];
    uint32_t sent[ENDS_MOST]; /* frames to each, of this round */
    bool busy[ENDS_MOST];     /* its parcel waits for room */
    uint32_t steps;           /* until it is lost */
};

static struct process_here here[ENDS_MOST];

static void arrived(struct end *e, const struct label *label)
{
    struct process_here *p = (struct process_here *)e;
    uint32_t round = round_of(label->id);
    MUST(label->from_inc >= p->known[label->from]); /* nothing old after the news */
    MUST(label->from_inc == incarnation(round, label->from));
    MUST(label->id >= p->next[label->from]);
    MUST(label->length == length_of(label->id));
    p->next[label->from] = label->id + 1;
    p->here[round] += !is_lost(round, label->from);
}

static void come(const struct job *job, struct process_here *p, uint32_t me, uint32_t inc)
{
    end_open(&p->e, job, me, inc);
    p->e.on_arrived = arrived;
    memset(p->next, 0, sizeof p->next);
    memset(p->here, 0, sizeof p->here);
}

static void tell(struct process_here *p, uint32_t round)
{
    char address[32];
    for (uint32_t i = 0; i < processes; i++) {
        snprintf(address, sizeof address, "mpi:%u:%u", i % (uint32_t)size, i / (uint32_t)size);
        p->known[i] = incarnation(round, i);
        MUST(p->e.t->ops->peer(p->e.t, i, p->known[i], address) == HARK_T_OK);
    }
}

static uint32_t expected(uint32_t round, uint32_t me)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < processes; i++)
        if (!is_lost(round, i)) count += frames_of(round, i, me);
    return count;
}

/* Sends what it can to one other. False: nothing is left that will ever be taken. */
static bool send_some(struct process_here *p, uint32_t round, uint32_t to)
{
    struct end *e = &p->e;
    while (p->busy[to] || p->sent[to] < frames_of(round, e->me, to)) {
        if (!p->busy[to]) {
            uint64_t id = id_of(round, e->me, to, p->sent[to]++);
            parcel_make(&p->parcel[to], e, to, incarnation(round, to), id, (uint32_t)(id % 333),
                length_of(id));
        }
        int status = parcel_send(&p->parcel[to], e);
        p->busy[to] = status == HARK_T_AGAIN;
        if (p->busy[to]) return true;
        MUST(status == HARK_T_OK || (status == HARK_T_EGONE && is_lost(round, to)));
        parcel_free(&p->parcel[to]);
    }
    return false;
}

/* True: it has all that it can rely on, and has sent all that is sure to be taken. */
static bool is_through(struct process_here *p, uint32_t round)
{
    bool waits = false;
    for (uint32_t to = 0; to < processes; to++)
        if (send_some(p, round, to)) waits |= !is_lost(round, to);
    return !waits && p->here[round] == expected(round, p->e.me);
}

/* Its frames under way are left as they are, half sent or half here. */
static void is_lost_now(const struct job *job, struct process_here *p, uint32_t round)
{
    uint32_t me = p->e.me;
    for (uint32_t to = 0; to < processes; to++)
        if (p->busy[to]) parcel_free(&p->parcel[to]);
    memset(p->busy, 0, sizeof p->busy);
    end_close(&p->e);
    come(job, p, me, incarnation(round + 1, me));
    tell(p, round + 1);
}

static void round_of_all(const struct job *job, uint32_t round)
{
    bool through[ENDS_MOST] = {false};
    for (uint32_t i = 0; i < ends_here; i++) {
        memset(here[i].sent, 0, sizeof here[i].sent);
        here[i].steps = (uint32_t)(draw(3, round, here[i].e.me, 0) % 20);
    }
    for (uint32_t left = ends_here; left > 0;)
        for (uint32_t i = 0; i < ends_here; i++) {
            struct process_here *p = &here[i];
            size_t before = p->e.count;
            end_poll(&p->e);
            if (through[i]) continue;
            bool lost = is_lost(round, p->e.me);
            through[i] = is_through(p, round) || lost;
            if (lost && p->steps-- > 0) through[i] = false;
            left -= through[i];
            if (lost && through[i]) is_lost_now(job, p, round);
            else if (!through[i] && !lost && ends_here == 1 && p->e.count == before)
                MUST(p->e.t->ops->wait(p->e.t, -1) >= 0);
        }
}

/* All hear of the next incarnations; frames to and from the last ones are given up. */
static void news(uint32_t round)
{
    for (uint32_t i = 0; i < ends_here; i++) {
        struct process_here *p = &here[i];
        tell(p, round + 1);
        for (uint32_t to = 0; to < processes; to++) {
            if (!p->busy[to]) continue;
            MUST(parcel_send(&p->parcel[to], &p->e) == HARK_T_EGONE);
            parcel_free(&p->parcel[to]);
            p->busy[to] = false;
        }
    }
}

static void all_are_here(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; !done;) {
        for (uint32_t i = 0; i < ends_here; i++) end_poll(&here[i].e);
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

static void run(struct job *job)
{
    uint64_t frames = 0;
    for (uint32_t i = 0; i < ends_here; i++) {
        come(job, &here[i], i * (uint32_t)size + (uint32_t)my_rank, 0);
        tell(&here[i], 0);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        round_of_all(job, round);
        all_are_here();
        news(round);
    }
    all_are_here();
    for (uint32_t i = 0; i < ends_here; i++) {
        frames += here[i].e.t->figures.frames_in;
        MUST(here[i].e.open_places == 0 && here[i].e.t->figures.refused == 0);
        end_close(&here[i].e);
    }
    printf("rank %d: %llu frames came in\n", my_rank, (unsigned long long)frames);
}

/* ---- one long frame -------------------------------------------------------------------------- */

static void giant(struct job *job, uint64_t length)
{
    struct process_here *p = &here[0];
    ends_here = 1;
    processes = job->ranks;
    end_open(&p->e, job, (uint32_t)my_rank, 0);
    tell(p, 0);
    uint32_t other = (uint32_t)my_rank ^ 1;
    if (other < processes && my_rank == 0) send_wholly(&p->e, other, 0, 5, 0, length, &p->e, 1);
    if (other < processes) until_count(&p->e, 1, &p->e, 1);
    if (other < processes && my_rank == 1) send_wholly(&p->e, other, 0, 6, 0, length, &p->e, 1);
    all_are_here();
    end_close(&p->e);
}

int main(int argc, char **argv)
{
    struct job job;
    char error[200] = "";
    MPI_Init(&argc, &argv); /* MPI_THREAD_SINGLE is enough */
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    in_child = true; /* what must hold ends this rank, and thus the job */
    alarm(300);
    bool is_giant = argc == 3 && strcmp(argv[1], "giant") == 0;
    if (!is_giant && argc != 4) return 2;
    if (!is_giant) {
        ends_here = (uint32_t)atoi(argv[1]);
        rounds = (uint32_t)atoi(argv[2]);
        seed = (uint64_t)atoll(argv[3]);
    }
    processes = is_giant ? (uint32_t)size : ends_here * (uint32_t)size;
    MUST(processes <= ENDS_MOST && rounds <= ROUNDS_MOST);
    job_begin(&job, processes);
    strcpy(job.name, "ranks"); /* the same in all */
    MUST(hark_mpi_new(&mpi, MPI_COMM_WORLD, error) == HARK_T_OK);
    if (is_giant) giant(&job, (uint64_t)atoll(argv[2]) * MIB);
    else run(&job);
    int status = hark_mpi_free(mpi, error);
    if (status != HARK_T_OK) fprintf(stderr, "%s\n", error);
    MUST(status == HARK_T_OK);
    job_end(&job);
    MPI_Finalize();
    return 0;
}
