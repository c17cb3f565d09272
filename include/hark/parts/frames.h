/* parts/frames.h: the control frames of protocols whose recovery exchanges positions (hydee,
 * sendet). */
#ifndef HARK_PARTS_FRAMES_H
#define HARK_PARTS_FRAMES_H

#include "block.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { /* control frames between members and the recovery process, and among members */
    HARK_H_POS = 16,
    HARK_H_ORPH,
    HARK_H_REPORT,
    HARK_H_RELEASE,
    HARK_H_NOTIFY,
    HARK_H_DRAINED,
    HARK_H_RECDONE,
    HARK_H_GC,
    HARK_H_ACK,
    HARK_H_EPOCH,
    HARK_H_MIN,
    HARK_H_UP
};
static const struct hark_frame_kind hark_hydee_frames[] = {
    {"POS", "our positions: what I have sent you, and what I have of yours"},
    {"ORPH", "your orphans: messages that I have, and that you will send once more"},
    {"REPORT", "the orphans that I have received, if any, and their phases"},
    {"RELEASE", "messages of phases up to this one may go"},
    {"NOTIFY", "orphans up to this one are sent again"},
    {"DRAINED", "all that waited here has gone"}, {"RECDONE", "the recovery is over"},
    {"GC", "whatever happens, I do not need your messages up to this one again"},
    {"ACK", "I have these messages; the number is my epoch in which they came"},
    {"EPOCH", "I have taken a checkpoint, and begin this epoch"},
    {"MIN", "no recovery leads back to before this epoch"},
    {"UP", "the least phase that the processes below me wait for"}};

#ifdef __cplusplus
}
#endif
#endif
