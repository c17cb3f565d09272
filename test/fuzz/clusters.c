/* Any bytes as a cluster file: refused in one line, or every rank has one cluster, and the text of
 * it says the same. */
#include "../../src/control/clusters.h"
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_clusters c, again;
    char error[256];
    uint32_t ranks = size ? 1 + data[0] % 64u : 1;
    if (size > 0) data++, size--;
    char *text = malloc(size + 1), *written;
    if (text == NULL) abort();
    memcpy(text, data, size);
    text[size] = 0;
    int status = hark_clusters_parse(&c, ranks, text, "f", error);
    free(text);
    if (status < 0) {
        file_error_ok(error, sizeof error, "f");
        return 0;
    }
    for (uint32_t i = 0, next = 0; i < ranks; i++) {
        if (c.of[i] > next || c.of[i] >= c.count)
            finding("clusters are not numbered by their lowest rank");
        if (c.of[i] == next) next++;
        uint32_t count;
        struct hark_range *group = hark_clusters_group(&c, i, &count);
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t r = group[k].first; r <= group[k].last; r++)
                if (c.of[r] != c.of[i]) finding("a group with somebody else's rank");
        free(group);
    }
    written = hark_clusters_text(&c);
    if (hark_clusters_parse(&again, ranks, written, "text", error) < 0) finding("%s", error);
    if (again.count != c.count || memcmp(again.of, c.of, ranks * sizeof *c.of) != 0)
        finding("the text says something else");
    free(written);
    hark_clusters_free(&c);
    hark_clusters_free(&again);
    return 0;
}
