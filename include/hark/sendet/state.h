/* sendet/state.h: the state of a process under sendet; sendet.h has the rules. */
#ifndef HARK_SENDET_STATE_H
#define HARK_SENDET_STATE_H

#include "../parts/member.h"
#include "../parts/positions.h"
#include "../recovery/state.h"
#include "trail.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HARK_SENDET_HEADER                                                                         \
    80u /* of an application message: the common part, phase, digest, epoch, acknowledged first,   \
         * last, in which epoch: u64 each */
#define HARK_SENDET_CTX_MAX 100 /* contexts that one pair of processes may use */

/* A channel with P_j on one context. */
struct hark_sendet_channel {
    struct hark_channel channel; /* sent, recv: ssn, which the slides omit (U-5) */
    /* pos.first .. sent are retained: Logs, NonAck, and the messages between them */
    struct hark_positions pos;
    /* of my messages up to this one the epoch of receipt is known; NonAck is acked+1 .. sent */
    uint64_t acked;
    uint64_t acks_sent;         /* I have acknowledged j's messages up to this one */
    struct hark_trail log;      /* of pos.first .. sent */
    struct hark_trail rpp;      /* RPP[j] */
    struct hark_trail recorded; /* of my orphans, as their receiver recorded them */
};

struct hark_sendet_spe { /* SPE[epoch][j]: the unlogged messages sent to j in `epoch` */
    uint64_t epoch;
    uint32_t peer, pad;
    /* latest epoch in which one was received: the maximum, not the last (U-4) */
    uint64_t latest;
};

struct hark_sendet_image { /* a kept image; id 0: the initial state */
    uint64_t id, epoch;
};

struct hark_sendet {
    struct hark head;
    struct hark_endpoint endpoint;
    struct hark_wave wave;
    uint64_t epoch, phase;
    uint64_t oldest_epoch;   /* E: no process will need an image of an earlier epoch */
    uint64_t released_phase; /* infinite when no recovery runs */
    uint32_t generations;    /* images that I may need when I fail */
    uint32_t flags;          /* HARK_DIGEST */
    uint32_t taken;          /* 1: an image is captured and not decided: this epoch may be undone */
    uint32_t recovering;     /* 1: between FAILED and RECDONE */
    uint32_t frozen;         /* 1: between FAILED and the first RELEASE: nothing moves (N-9) */
    uint32_t is_down;        /* 1: I am in D */
    uint32_t reported, drained;  /* 1: my REPORT, DRAINED of this recovery epoch is sent */
    uint32_t epoch_due, ack_due; /* 1: EPOCH is due; ACK of all that is not acknowledged is due */
    uint32_t report_list, report_row, report_out; /* a REPORT being sent: list, row, fragments */
    uint32_t busy;      /* 1: hark_sendet_pump may have something to send */
    uint32_t gone;      /* 1: rolled back, no event is legal any more */
    uint32_t usual;     /* scratch: 1: hark_sendet_usual(), as of the last step */
    uint64_t report_at; /* of a REPORT being sent: ssn */
    struct hark_pool pool;
    struct hark_table pairs;
    struct hark_table spe;
    struct hark_table images;
    struct hark_table positions;
    struct hark_table again; /* hark_image: calls at which epochs must begin again (N-11) */
};

#define HARK_SDF(m, s) HARK_FIELD(struct hark_sendet, m, s)
#define HARK_SDC(m, s) HARK_FIELD(struct hark_sendet_channel, m, s)
static const struct hark_field hark_sendet_fields[] = {HARK_ENDPOINT_FIELDS(struct hark_sendet),
    HARK_WAVE_FIELDS(struct hark_sendet), HARK_SDF(epoch, "Epoch"), HARK_SDF(phase, "Phase"),
    HARK_SDF(oldest_epoch, "E"), HARK_SDF(released_phase, "rho"), HARK_SDF(generations, "g"),
    HARK_SDF(flags, ""), HARK_SDF(taken, ""), HARK_SDF(recovering, ""), HARK_SDF(frozen, ""),
    HARK_SDF(is_down, "Status"), HARK_SDF(reported, ""), HARK_SDF(drained, ""),
    HARK_SDF(epoch_due, ""), HARK_SDF(gone, "")};
static const struct hark_field hark_sendet_channel_fields[] = {
    HARK_CHANNEL_FIELDS(struct hark_sendet_channel), HARK_SDC(pos.transmitted, ""),
    HARK_SDC(pos.first, "Logs"), HARK_SDC(acked, "NonAck"), HARK_SDC(acks_sent, ""),
    HARK_SDC(pos.sent_at_failure, ""), HARK_SDC(pos.last_orphan, ""),
    HARK_POSITIONS_FIELDS(struct hark_sendet_channel),
    HARK_FIELD_TRAIL(struct hark_sendet_channel, log, "Logs"),
    HARK_FIELD_TRAIL(struct hark_sendet_channel, rpp, "RPP"),
    HARK_FIELD_TRAIL(struct hark_sendet_channel, recorded, "orphans"),
    HARK_FIELD_QUEUE(struct hark_sendet_channel, pos.digests, "Logs.digest")};
static const struct hark_field hark_sendet_spe_fields[] = {
    HARK_FIELD(struct hark_sendet_spe, epoch, "e"), HARK_FIELD(struct hark_sendet_spe, peer, "j"),
    HARK_FIELD(struct hark_sendet_spe, latest, "epochRecv")};
static const struct hark_field hark_sendet_image_fields[] = {
    HARK_FIELD(struct hark_sendet_image, id, "ckptNo"),
    HARK_FIELD(struct hark_sendet_image, epoch, "Epoch")};
#define HARK_ST(member, symbol, row)                                                               \
    {                                                                                              \
#member, symbol, (uint16_t)offsetof(struct hark_sendet, member),                           \
            sizeof(struct hark_sendet_##row), HARK_COUNT(hark_sendet_##row##_fields),              \
            hark_sendet_##row##_fields                                                             \
    }
static const struct hark_rows hark_sendet_rows[] = {HARK_ENDPOINT_TABLES(struct hark_sendet),
    HARK_WAVE_TABLES(struct hark_sendet), HARK_PAIRS_TABLE(struct hark_sendet),
    HARK_ST(spe, "SPE", spe), HARK_ST(images, "", image),
    HARK_IMAGE_POSITIONS_TABLE(struct hark_sendet),
    {"again", "ckptNo", (uint16_t)offsetof(struct hark_sendet, again), sizeof(struct hark_image), 1,
        hark_image_fields},
    {"channels", "", (uint16_t)offsetof(struct hark_sendet, endpoint.channels),
        sizeof(struct hark_sendet_channel), HARK_COUNT(hark_sendet_channel_fields),
        hark_sendet_channel_fields},
    {"pool", "", (uint16_t)offsetof(struct hark_sendet, pool.chunks), sizeof(struct hark_chunk), 0,
        NULL}};
HARK_FN bool hark_sendet_accept(struct hark *p);
static const struct hark_shape hark_sendet_shape = {"sendet", 4, HARK_COUNT(hark_sendet_fields),
    HARK_COUNT(hark_sendet_rows), sizeof(struct hark_sendet), hark_sendet_fields, hark_sendet_rows,
    offsetof(struct hark_sendet, pool), hark_hydee_frames, HARK_COUNT(hark_hydee_frames),
    hark_sendet_accept};
static const struct hark_exchange hark_sendet_exchange = {offsetof(struct hark_sendet_channel, pos),
    offsetof(struct hark_sendet_channel, acked), HARK_INTRA, HARK_SENDET_CTX_MAX};

#ifdef __cplusplus
}
#endif
#endif
