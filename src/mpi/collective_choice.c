/* Which algorithm a blocking call on one group takes: a table, by measurement
 * (bench/collectives_mpi.c). It depends on nothing but the call, the number of processes and the
 * bytes: so results of reductions have the same bits in every run.
 */
#include "collective.h"

struct choice {    /* the first row whose limits hold */
    int processes; /* at most; 0: any number */
    size_t bytes;  /* at most; 0: any */
    void (*run)(struct call *k);
};

static void choose(struct call *k, const struct choice *row, size_t bytes)
{
    while ((row->processes && k->c->size > row->processes) || (row->bytes && bytes > row->bytes))
        row++;
    row->run(k);
}

static size_t bytes_out(const struct call *k)
{
    return block_bytes(hark_mpi_block(&k->out, 0));
}

static size_t bytes_in(const struct call *k)
{
    size_t bytes = 0;
    for (int i = 0; i < k->c->size; i++) bytes += block_bytes(hark_mpi_block(&k->in, i));
    return bytes;
}

void hark_mpi_choose_barrier(struct call *k)
{
    static const struct choice rows[] = {
        {STAR_PROCESSES, 0, hark_mpi_barrier_by_star}, {0, 0, hark_mpi_barrier_by_steps}};
    choose(k, rows, 0);
}

void hark_mpi_choose_allreduce(struct call *k)
{
    static const struct choice rows[] = {{4, 8 << 10, hark_mpi_allreduce_by_doubling},
        {STAR_PROCESSES, 8 << 10, hark_mpi_allreduce_by_tree},
        {STAR_PROCESSES, 128 << 10, hark_mpi_allreduce_by_parts},
        {STAR_PROCESSES, 0, hark_mpi_allreduce_by_tree},
        {0, 32 << 10, hark_mpi_allreduce_by_doubling}, {0, 0, hark_mpi_allreduce_by_tree}};
    if (hark_mpi_reduces_in_group(k, hark_mpi_block(&k->out, 0))) hark_mpi_allreduce_by_tree(k);
    else choose(k, rows, bytes_out(k));
}

void hark_mpi_choose_reduce_scatter(struct call *k)
{
    static const struct choice rows[] = {
        {4, 32 << 10, hark_mpi_one_round}, {0, 0, hark_mpi_reduce_scatter_by_tree}};
    choose(k, rows, bytes_out(k));
}

/* Blocks of several lengths do not lie one behind the other, so they are not broadcast together. */
void hark_mpi_choose_allgather(struct call *k)
{
    static const struct choice same[] = {{4, 32 << 10, hark_mpi_one_round},
        {0, 256 << 10, hark_mpi_allgather_by_tree}, {0, 0, hark_mpi_allgather_by_ring}};
    static const struct choice listed[] = {
        {16, 32 << 10, hark_mpi_one_round}, {0, 0, hark_mpi_allgather_by_ring}};
    choose(k, k->in.counts ? listed : same, bytes_in(k));
}

/* How much others have for each other only they know. But either way one message goes from each to
 * each, so processes may choose differently. In place all has to be sent first. */
void hark_mpi_choose_alltoall(struct call *k)
{
    static const struct choice rows[] = {
        {0, 4 << 20, hark_mpi_one_round}, {0, 0, hark_mpi_alltoall_by_pairs}};
    choose(k, rows, k->in_place ? 1 : bytes_in(k));
}
