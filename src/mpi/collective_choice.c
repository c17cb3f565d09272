/* Which algorithm a blocking call on one group takes: a table, by measurement
 * (bench/collectives_mpi.c). It depends on nothing but the call, the number of processes and the
 * bytes, which all processes know alike: so results of reductions have the same bits in every run.
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

void hark_mpi_choose_allreduce(struct call *k)
{
    static const struct choice rows[] = {
        {0, 16 << 10, hark_mpi_allreduce_by_doubling}, {0, 0, hark_mpi_allreduce_by_halving}};
    choose(k, rows, bytes_out(k));
}

void hark_mpi_choose_reduce_scatter(struct call *k)
{
    static const struct choice rows[] = {
        {0, 32 << 10, hark_mpi_reduce_scatter_by_tree}, {0, 0, hark_mpi_one_round}};
    choose(k, rows, bytes_out(k));
}

void hark_mpi_choose_scan(struct call *k)
{
    static const struct choice rows[] = {
        {0, 4 << 10, hark_mpi_scan_by_doubling}, {0, 0, hark_mpi_scan_by_chain}};
    choose(k, rows, bytes_out(k));
}

/* Blocks of several lengths go round the ring: their receivers alone know all lengths. */
void hark_mpi_choose_allgather(struct call *k)
{
    static const struct choice rows[] = {
        {0, 64 << 10, hark_mpi_allgather_by_doubling}, {0, 0, hark_mpi_allgather_by_ring}};
    if (k->in.counts) hark_mpi_allgather_by_ring(k);
    else choose(k, rows, block_bytes(hark_mpi_block(&k->in, 0)) * (size_t)k->c->size);
}

/* What others have for each other only they know: then pairs. In place all is sent first. */
void hark_mpi_choose_alltoall(struct call *k)
{
    static const struct choice rows[] = {{4, 0, hark_mpi_alltoall_by_pairs},
        {0, 256, hark_mpi_alltoall_by_bits}, {0, 0, hark_mpi_alltoall_by_pairs}};
    if (k->in_place) hark_mpi_one_round(k);
    else if (k->in.counts) hark_mpi_alltoall_by_pairs(k);
    else choose(k, rows, block_bytes(hark_mpi_block(&k->in, 0)));
}
