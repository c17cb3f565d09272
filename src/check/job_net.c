/* job_net.c: the frames of a job that are on their way. */
#include <string.h>

#include "job_parts.h"

uint32_t job_frame(const struct lab *lab, const struct job *job, uint32_t who, uint32_t k)
{
    uint32_t part = job->at[lab->who + who];
    return k * 4 < intern_length(&lab->part, part)
               ? ((const uint32_t *)intern_at(&lab->part, part))[k]
               : 0;
}

uint32_t job_net_read(const struct lab *lab, uint32_t part, uint32_t list[LOCAL_FRAMES])
{
    uint32_t n = intern_length(&lab->part, part) / 4;
    if (n) memcpy(list, intern_at(&lab->part, part), n * sizeof list[0]);
    return n;
}

static uint32_t net_write(struct lab *lab, const uint32_t *list, uint32_t n)
{
    uint32_t part = n ? intern_put(&lab->part, list, n * (uint32_t)sizeof list[0]) : 0;
    if (n && part == 0) lab_starve(lab);
    return part;
}

void job_net_add(struct lab *lab, struct job *job, uint32_t who, uint32_t frame)
{
    uint32_t list[LOCAL_FRAMES + 1], n = job_net_read(lab, job->at[lab->who + who], list), at = n;
    if (n == LOCAL_FRAMES) {
        lab_fail(lab, "more frames on their way to one process than this search has room for");
        return;
    }
    for (; at > 0 && frame_before(lab, frame, list[at - 1]); at--) list[at] = list[at - 1];
    list[at] = frame;
    job->at[lab->who + who] = net_write(lab, list, n + 1);
}

void job_net_remove(struct lab *lab, struct job *job, uint32_t who, uint32_t index)
{
    uint32_t list[LOCAL_FRAMES], n = job_net_read(lab, job->at[lab->who + who], list);
    for (uint32_t k = index + 1; k < n; k++) list[k - 1] = list[k];
    job->at[lab->who + who] = net_write(lab, list, n - 1);
}

bool job_net_loses(struct lab *lab, const struct job *job, uint32_t who, const struct frame *f)
{
    const struct local_info *i = local_info(lab, job->at[who]);
    return f->to_inc < job_service(lab, job)->inc[who] && (!i->running || i->inc > f->to_inc);
}

void job_net_clean(struct lab *lab, struct job *job, uint32_t who)
{
    uint32_t list[LOCAL_FRAMES], n = job_net_read(lab, job->at[lab->who + who], list), kept = 0;
    for (uint32_t k = 0; k < n; k++)
        if (!job_net_loses(lab, job, who, frame_of(lab, list[k]))) list[kept++] = list[k];
    if (kept < n) job->at[lab->who + who] = net_write(lab, list, kept);
}
