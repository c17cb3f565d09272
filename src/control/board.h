/* board.h: figures of all processes in memory that the supervisor shares with them, so that they
 * outlive a SIGKILL.
 *
 * One slot a process, written by it alone (relaxed stores), read by the supervisor. Figures are
 * totals over all incarnations of the process: a new one goes on counting where the old one
 * stopped.
 */
#ifndef HARK_CONTROL_BOARD_H
#define HARK_CONTROL_BOARD_H

#include <stdatomic.h>
#include <stdint.h>

enum {
    HARK_B_BUSY = 0,
    HARK_B_BLOCKED = 1,
    HARK_B_FINISHED = 2,
    HARK_B_SENDS = 3, /* blocked in a send: what it does behind that is not known yet */
    HARK_B_APART = 4  /* the same, and somebody is not reached */
};

struct hark_board_slot {
    _Atomic uint64_t messages, bytes; /* posted by the application */
    _Atomic uint64_t deliveries;
    _Atomic uint64_t log_bytes, log_bytes_peak;
    _Atomic uint64_t determinants_created, determinants_piggybacked, piggyback_bytes;
    _Atomic uint64_t checkpoints; /* committed */
    _Atomic uint64_t replayed, suppressed, discarded;
    _Atomic uint64_t frames_out, frames_in; /* for quiescence: all frames, control ones too */
    _Atomic uint64_t refused;     /* by the transport: wrong key, garbage, over the limit */
    _Atomic uint64_t image_ns;    /* the last image took, from CAPTURE until it was durable */
    _Atomic uint64_t capture_ns;  /* of that the program waited */
    _Atomic uint64_t cost_ns;     /* median of the last few that were committed; 0: none was */
    _Atomic uint64_t interval_ns; /* between checkpoints, as used last */
    _Atomic uint64_t restart_ns, caught_up_ns; /* CLOCK_MONOTONIC of the last recovery's steps */
    _Atomic uint32_t state;                    /* HARK_B_*: what the application is doing */
    _Atomic uint32_t turn;                     /* raised at each change of state */
    _Atomic uint64_t position;       /* deliveries that count: a rollback takes some back */
    _Atomic uint64_t readings;       /* recorded in the journal */
    _Atomic uint64_t readings_given; /* again, from the journal */
    _Atomic uint64_t journal_bytes;
    uint64_t pad[5];
};

struct hark_board {
    uint32_t magic, ranks; /* HARK_BOARD_MAGIC */
    uint64_t pad[7];
    struct hark_board_slot slot[]; /* ranks + 1: the last is the recovery process's */
};
#define HARK_BOARD_MAGIC 0x64726f62u

/* With `traffic` there is behind the slots a row for each rank: bytes that its application sent to
 * each other one. What is never written needs no memory. */
static inline uint64_t hark_board_bytes(uint32_t ranks, uint32_t traffic)
{
    uint64_t n = ranks,
             slots = sizeof(struct hark_board) + (n + 1) * sizeof(struct hark_board_slot);
    return traffic ? slots + n * n * sizeof(uint64_t) : slots;
}

static inline _Atomic uint64_t *hark_board_traffic(struct hark_board *b, uint32_t rank)
{
    return (_Atomic uint64_t *)(void *)(b->slot + b->ranks + 1) + (uint64_t)rank * b->ranks;
}

#endif
