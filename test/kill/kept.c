/* kept.c: the protocol `kept`: coordinated, and it notes in PLACE/kept.RANK what it knew when it
 * was told to go back: whether it was, and how many messages it had sent. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef hark_protocol_named
#undef HARK_LINK /* looks into blocks */
#include "hark/registry.h"

const struct hark_protocol *kept_named(const char *name); /* for process_open.c: the registry with
                                                             one more line, `kept` */

static void note(const struct hark *p, struct hark_bytes kept)
{
    static uint64_t room[8192];
    struct hark_coordinated *earlier = (struct hark_coordinated *)(void *)room;
    const struct hark_coordinated *s = (const struct hark_coordinated *)(const void *)p;
    char path[600];
    uint64_t sent = 0;
    if (kept.length && (hark_block_init(&earlier->head, sizeof room, &hark_coordinated_shape,
                            HARK_KIND_COORDINATED) < 0 ||
                           hark_unpack(&earlier->head, &hark_coordinated_shape, kept) < 0))
        abort();
    for (uint32_t i = 0; i < earlier->endpoint.channels.count; i++)
        sent +=
            ((struct hark_channel *)hark_row(&earlier->head, &earlier->endpoint.channels, i))->sent;
    snprintf(path, sizeof path, "%s/kept.%" PRIu32, getenv("PLACE"), s->endpoint.me);
    FILE *f = fopen(path, "ae");
    if (f == NULL) abort();
    if (kept.length)
        fprintf(f, "inc %" PRIu32 " gone %" PRIu32 " sent %" PRIu64 "\n", earlier->endpoint.inc,
            earlier->gone, sent);
    else fputs("nothing\n", f);
    fclose(f);
}

static int step(struct hark *p, const struct hark_event *event, struct hark_effects *effects)
{
    int status = hark_coordinated_step(p, event, effects);
    if (status >= 0 && event->type == HARK_RESTARTED)
        note(p, event->u.restarted.old_core); /* given again when it had no room */
    return status;
}

const struct hark_protocol *kept_named(const char *name)
{
    static struct hark_protocol kept;
    if (strcmp(name, "kept") != 0) return hark_protocol_named(name);
    kept = *hark_protocol_named("coordinated");
    kept.name = "kept";
    kept.step = step;
    return &kept;
}
