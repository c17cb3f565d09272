/* recording.h: what each process of a run sent and what it took, message by message, to compare
 * runs: `hark run --record`, `hark compare`.
 *
 * Each process writes a part: its entries in the order of its calls, in a buffer that is written
 * when it is full. When the run is over the supervisor joins the parts into one file:
 *
 *     8 bytes    "harkrec" and the version, a 1
 *     4 bytes    processes
 *     4 bytes    processes that died in the run: with one the file has no entries
 *     32 bytes   protocol; 32 bytes: transport; 64 bytes: program; each with NULs behind it
 *     8 bytes    for each process: the length of its part
 *     the parts
 *
 * A part is a sequence of entries. Whole numbers are in LEB128 (seven bits a byte, the lowest
 * first, the highest bit of all bytes but the last is 1); digests and the numbers of the head have
 * a fixed length, and the lowest byte first.
 *
 *     1, receiver, context, tag, length, 8 bytes of digest    a send
 *     2, sender, context, number                              a delivery
 *     3                                                       the process has finalized: the end
 *
 * The digest is XXH3 of the payload, with 64 bits. The number of a message is that in its channel,
 * from 1. Contexts 0 to 3 are a channel each, of a sender and a receiver. From 4 on a context is
 * four times a communicator of MPI and what it is of: all communicators share four channels.
 */
#ifndef HARK_VIEW_RECORDING_H
#define HARK_VIEW_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HARK_RECORDING_ERROR 256u
#define HARK_RECORDING_RANKS (1u << 20)
/* Receiver of what goes to a group of processes, in the contexts of the group. */
#define HARK_RECORDING_GROUP UINT32_MAX

enum { HARK_RECORDING_NAME = 32, HARK_RECORDING_PROGRAM = 64 };

enum hark_recording_status {
    HARK_RECORDING_OK = 0,
    HARK_RECORDING_ESYSTEM = -71, /* the system refused: no such file, no room, no memory */
    HARK_RECORDING_EFORMAT = -72, /* no recording, or a damaged one, or of another version */
    HARK_RECORDING_EPARTIAL = -73 /* of a run with failures, or one that did not end well */
};

/* ---- writing: recording_write.c -------------------------------------------------------------- */

struct hark_recorder;

/* The channel of a context: src/process/app_state.h. */
static inline uint16_t hark_recording_channel(uint32_t ctx)
{
    return (uint16_t)(ctx < 4 ? ctx : 4 + (ctx & 3));
}

/* The part of a process: of the directory of the job, and its rank. */
#define HARK_RECORDING_PART "%.160s/record-%u"

/* Makes the file. NULL: errno says why not. */
struct hark_recorder *hark_recorder_open(const char *path);
/* `payload` is read before it returns. */
void hark_recorder_sent(struct hark_recorder *r, uint32_t to, uint32_t ctx, int32_t tag,
    const void *payload, uint64_t length);
void hark_recorder_delivered(struct hark_recorder *r, uint32_t from, uint32_t ctx, uint64_t number);
/* Writes the end, closes and frees. 0, or the errno of the first write that failed: the part is not
 * complete then. */
int hark_recorder_close(struct hark_recorder *r);

struct hark_recording_job {
    uint32_t ranks, failures;
    const char *protocol, *transport, *program; /* of longer names the beginning is kept */
};
/* Joins the parts "DIRECTORY/record-RANK" into the file `out`. A part that is not there counts as
 * empty. HARK_RECORDING_OK or ESYSTEM, with a line in error. */
int hark_recording_join(const char *out, const char *directory,
    const struct hark_recording_job *job, char error[HARK_RECORDING_ERROR]);

/* ---- reading: recording_read.c --------------------------------------------------------------- */

struct hark_recording {
    const char *path; /* the caller's */
    uint32_t ranks, failures;
    char protocol[HARK_RECORDING_NAME], transport[HARK_RECORDING_NAME];
    char program[HARK_RECORDING_PROGRAM];
    const uint8_t *bytes; /* of the file, mapped */
    uint64_t size;
    uint64_t *part; /* offsets, one more than ranks; owned */
};

struct hark_recording_entry {
    enum { HARK_RECORDED_SEND = 1, HARK_RECORDED_DELIVERY, HARK_RECORDED_END } kind;
    uint32_t peer;
    uint32_t ctx;
    int32_t tag;             /* of a send, as are */
    uint64_t length, digest; /* these two */
    uint64_t number;         /* of a delivery */
};

struct hark_recording_cursor { /* in a part */
    const uint8_t *at, *end;
};

/* Maps the file, and reads all of it once: a recording that was opened has well-formed parts, each
 * with its end. On failure a line is in error, and nothing is to be closed. */
int hark_recording_open(
    struct hark_recording *r, const char *path, char error[HARK_RECORDING_ERROR]);
void hark_recording_close(struct hark_recording *r);
struct hark_recording_cursor hark_recording_part(const struct hark_recording *r, uint32_t rank);
/* The next entry. False: there is none, or it is not well formed. */
bool hark_recording_next(struct hark_recording_cursor *c, struct hark_recording_entry *e);

/* ---- comparing: recording_compare.c ---------------------------------------------------------- */

struct hark_difference {
    bool any;
    uint32_t rank;                    /* who sent, or took */
    uint64_t number;                  /* of a send in its channel, of a delivery in its process */
    bool in_first, in_second;         /* is there such a message in them? */
    struct hark_recording_entry a, b; /* these, as far as they are there */
};

struct hark_comparison {
    uint64_t sends, deliveries, channels; /* of the first recording */
    uint64_t channels_of_both;            /* that have a message in one at least */
    uint64_t channels_differ;             /* of these, that are not the same in both; */
    uint64_t channels_in_shape;           /* and of them, those that differ in more than contents */
    uint32_t ranks_differ; /* processes that took other messages, or in another order */
    /* The first in its process: of deliveries that of the lowest rank; of sends too, but that of an
     * unprompted process, if there is one. */
    struct hark_difference send, delivery;
    /* A process that sent other messages though it had taken the same ones before, in the same
     * order and with the same contents: the messages are not the reason. */
    bool unprompted;
    uint32_t unprompted_rank;
};

/* Compares two recordings of as many processes. HARK_RECORDING_OK, or ESYSTEM without memory. */
int hark_recording_compare(
    const struct hark_recording *a, const struct hark_recording *b, struct hark_comparison *result);

#endif
