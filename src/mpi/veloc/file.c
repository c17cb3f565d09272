/* Files in checkpoints: where the program writes and reads one. */
#include "state.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file has the bytes of the checkpoint. */
static int fill_file(const char *call)
{
    const void *bytes;
    size_t length, written = 0;
    if (hark_saved(FILE_BYTES, &bytes, &length) < 0) return SUCCESS; /* it was empty */
    while (written < length) {
        ssize_t n = write(hark_veloc.file, (const char *)bytes + written, length - written);
        if (n < 0) return hark_veloc_fail(call, "no memory for the %zu bytes of the file", length);
        written += (size_t)n;
    }
    return SUCCESS;
}

PUBLIC int VELOC_Route_file(const char *original, char *routed)
{
    NEED_OPEN();
    if (routed == NULL) return hark_veloc_fail(__func__, "there is no room for a path");
    if (hark_veloc.phase == IDLE)
        return hark_veloc_fail(__func__,
            "%s: call it between VELOC_Checkpoint_begin and _end, or "
            "VELOC_Restart_begin and _end",
            original ? original : "a file");
    if (hark_veloc.phase == RESTARTING && !hark_veloc_saved_contents()->has_file)
        return hark_veloc_fail(__func__, "%s: checkpoint %s, version %d, has no file",
            original ? original : "a file", hark_veloc.name, hark_veloc.version);
    if (hark_veloc.file < 0) {
        hark_veloc.file = memfd_create("hark-veloc", MFD_CLOEXEC);
        if (hark_veloc.file < 0) return hark_veloc_fail(__func__, "no memory for a file");
        if (hark_veloc.phase == RESTARTING && fill_file(__func__) < 0) return FAILURE;
    }
    snprintf(routed, MAX_NAME, "/proc/%d/fd/%d", (int)getpid(), hark_veloc.file);
    return SUCCESS;
}
