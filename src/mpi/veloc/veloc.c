/* The interface of VELOC on hark's checkpoints: begin and end, errors, and the phases between which
 * a program checkpoints or restarts. It knows nothing of any mpi.h, so one library serves programs
 * of all MPIs: a communicator is not looked at. The functions of app.h are those of the MPI library
 * that hark run has put into the process; without one they are not there. */
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct veloc hark_veloc = {.file = -1};

int hark_veloc_fail(const char *call, const char *format, ...)
{
    char text[1400];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "hark: rank %d: %s: %s\n", hark_rank ? hark_rank() : -1, call, text);
    return FAILURE;
}

int hark_veloc_no_memory(const char *call)
{
    return hark_veloc_fail(call, "no memory");
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int init(const char *call)
{
    if (hark_rank == NULL || hark_rank() < 0) {
        fprintf(stderr,
            "hark: %s: hark's MPI library is not in the process: call MPI_Init first, and start "
            "the program with hark run -n N -- PROGRAM\n",
            call);
        return FAILURE;
    }
    hark_veloc.open = true;
    return SUCCESS;
}

PUBLIC int VELOC_Init(void *comm, const char *configuration)
{
    (void)comm, (void)configuration;
    return init(__func__);
}

PUBLIC int VELOC_Init_single(unsigned id, const char *configuration)
{
    (void)id, (void)configuration;
    return init(__func__);
}

PUBLIC int VELOC_Finalize(int drain)
{
    (void)drain;
    NEED_OPEN();
    hark_veloc_withdraw();
    hark_veloc_end_phase();
    while (hark_veloc.count) hark_veloc_remove_region(hark_veloc.count - 1);
    free(hark_veloc.region);
    hark_veloc.region = NULL;
    hark_veloc.open = false;
    return SUCCESS;
}

/* ---- phases ---------------------------------------------------------------------------------- */

int hark_veloc_check_name(const char *call, const char *name, int version)
{
    if (name == NULL || *name == 0 || strlen(name) >= MAX_NAME)
        return hark_veloc_fail(call, "the name of a checkpoint has 1 to %d letters", MAX_NAME - 1);
    if (version < 0)
        return hark_veloc_fail(call, "the version is %d, and must not be negative", version);
    return SUCCESS;
}

int hark_veloc_begin_phase(const char *call, enum phase phase, const char *name, int version)
{
    if (hark_veloc.phase != IDLE)
        return hark_veloc_fail(call, "%s is not ended: call VELOC_%s_end first",
            hark_veloc.phase == CHECKPOINTING ? "a checkpoint" : "a restart",
            hark_veloc.phase == CHECKPOINTING ? "Checkpoint" : "Restart");
    if (hark_veloc_check_name(call, name, version) < 0) return FAILURE;
    strcpy(hark_veloc.name, name);
    hark_veloc.version = version;
    hark_veloc.phase = phase;
    return SUCCESS;
}

void hark_veloc_end_phase(void)
{
    if (hark_veloc.file >= 0) close(hark_veloc.file);
    hark_veloc.file = -1;
    hark_veloc.phase = IDLE;
}

int hark_veloc_finish_beginning(const char *call)
{
    uint64_t from;
    if (hark_veloc.asked) return SUCCESS;
    int status = hark_restarted(&from);
    if (status < 0) return hark_veloc_fail(call, "%s", hark_app_error(status));
    hark_veloc.asked = true;
    return SUCCESS;
}

const struct contents *hark_veloc_saved_contents(void)
{
    const void *at;
    size_t length;
    return !hark_veloc.asked && hark_saved(CONTENTS, &at, &length) == HARK_A_OK ? at : NULL;
}
