/* parts/frames.h: the types of the control frames of a recovery by positions (hydee, sendet). */
#ifndef HARK_PARTS_FRAMES_H
#define HARK_PARTS_FRAMES_H

#ifdef __cplusplus
extern "C" {
#endif

enum { /* control frames between members and the recovery process, and among members */
    HARK_H_POS = 16, HARK_H_ORPH, HARK_H_REPORT, HARK_H_RELEASE, HARK_H_NOTIFY, HARK_H_DRAINED, HARK_H_RECDONE,
    HARK_H_GC, HARK_H_ACK, HARK_H_EPOCH, HARK_H_MIN, HARK_H_UP
};
static const char *const hark_hydee_frames[] = {"POS", "ORPH", "REPORT", "RELEASE", "NOTIFY", "DRAINED", "RECDONE",
    "GC", "ACK", "EPOCH", "MIN", "UP"};

#ifdef __cplusplus
}
#endif
#endif
