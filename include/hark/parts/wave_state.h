/* parts/wave_state.h: the state of checkpoint waves at a process; wave.h has the protocol. */
#ifndef HARK_PARTS_WAVE_STATE_H
#define HARK_PARTS_WAVE_STATE_H

#include "channel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { /* control frames of waves */
    HARK_W_ASK = 1,
    HARK_W_COUNT,
    HARK_W_PREPARE,
    HARK_W_MARK,
    HARK_W_FROZEN,
    HARK_W_EXPECT,
    HARK_W_READY,
    HARK_W_COMMIT,
    HARK_W_ABORT,
    HARK_W_WISH,
    HARK_W_COPIED,
    HARK_W_GO,
    HARK_W_END
};
enum {
    HARK_W_RUN = 0,
    HARK_W_ANSWERED,
    HARK_W_PREPARED,
    HARK_W_IS_FROZEN,
    HARK_W_CAPTURED,
    HARK_W_IS_READY,
    /* With HARK_IMAGES_COPIED: as CAPTURED and IS_READY, but the application goes on. */
    HARK_W_GOES_ON,
    HARK_W_GOES_ON_READY
};
/* The next map of clusters: not known; known; brought into force by the present wave; in force. */
enum { HARK_W_NO_MAP = 0, HARK_W_MAP_KNOWN, HARK_W_MAP_NOW, HARK_W_MAP_TAKEN };
enum { HARK_W_IDLE = 0, HARK_W_ASKING, HARK_W_FREEZING, HARK_W_STORING, HARK_W_DECIDING };

struct hark_image { /* a row of `kept` */
    uint64_t id;
};
struct hark_expect { /* at the leader: the number of MARKs sent to a member */
    uint32_t rank;
    uint32_t count;
};

struct hark_wave {
    uint64_t calls;              /* checkpoint calls passed */
    uint64_t target;             /* n: the call at which to freeze */
    uint64_t wave;               /* highest number seen */
    uint64_t mark_wave;          /* the wave whose MARKs `marks` counts */
    uint64_t lead_n, lead_wave;  /* at the leader: maxima over COUNT */
    uint32_t mode;               /* HARK_W_RUN.. */
    uint32_t in_checkpoint_call; /* 1: the application is inside a call */
    uint32_t expected;           /* MARKs of this wave + 1, by EXPECT; 0: not known yet */
    uint32_t marks;              /* MARKs that arrived */
    uint32_t owed;               /* channels with HARK_OWED */
    uint32_t generations;        /* checkpoints kept */
    uint32_t lead_stage;         /* at the leader: HARK_W_IDLE.. */
    uint32_t answers;            /* at the leader: members that answered in this stage */
    uint32_t fanout;             /* type of the frame being sent to all members; 0: none */
    uint32_t fanout_sent;        /* to how many it was sent */
    /* At a freeze: the next channel + 1 to send a MARK on, and to list in FROZEN; fragments of
     * FROZEN. */
    uint32_t marking, listing, fragment;
    uint32_t map;           /* HARK_W_NO_MAP.. */
    uint32_t lead_map;      /* at the leader: members that know the next map */
    uint32_t copied;        /* at the leader: members whose images are copied */
    uint32_t images_copied; /* 1: HARK_IMAGES_COPIED */
    uint32_t pad;
    struct hark_table kept;   /* hark_image: the last checkpoint, ckptNo, and the generations before
                               * it */
    struct hark_table expect; /* hark_expect */
};

static const struct hark_field hark_image_fields[] = {HARK_FIELD(struct hark_image, id, "ckptNo")};
static const struct hark_field hark_expect_fields[] = {
    HARK_FIELD(struct hark_expect, rank, "j"), HARK_FIELD(struct hark_expect, count, "")};

#define HARK_WAVE_FIELDS(type)                                                                     \
    HARK_FIELD(type, wave.calls, ""), HARK_FIELD(type, wave.target, "n"),                          \
        HARK_FIELD(type, wave.wave, "wave"), HARK_FIELD(type, wave.mark_wave, ""),                 \
        HARK_FIELD(type, wave.lead_n, ""), HARK_FIELD(type, wave.lead_wave, ""),                   \
        HARK_FIELD(type, wave.mode, "mode"), HARK_FIELD(type, wave.in_checkpoint_call, ""),        \
        HARK_FIELD(type, wave.expected, ""), HARK_FIELD(type, wave.marks, "mark"),                 \
        HARK_FIELD(type, wave.owed, ""), HARK_FIELD(type, wave.generations, "g"),                  \
        HARK_FIELD(type, wave.lead_stage, ""), HARK_FIELD(type, wave.answers, "ready"),            \
        HARK_FIELD(type, wave.fanout, ""), HARK_FIELD(type, wave.fanout_sent, ""),                 \
        HARK_FIELD(type, wave.marking, ""), HARK_FIELD(type, wave.listing, ""),                    \
        HARK_FIELD(type, wave.fragment, ""), HARK_FIELD(type, wave.copied, "copied"),              \
        HARK_FIELD(type, wave.images_copied, "")

#define HARK_WAVE_TABLES(type)                                                                     \
    {"kept", "ckptNo", (uint16_t)offsetof(type, wave.kept), sizeof(struct hark_image), 1,          \
        hark_image_fields},                                                                        \
    {                                                                                              \
        "expect", "", (uint16_t)offsetof(type, wave.expect), sizeof(struct hark_expect), 2,        \
            hark_expect_fields                                                                     \
    }

#ifdef __cplusplus
}
#endif
#endif
