/* Any bytes as a trace: refused in one line, or what is written of it reads the same, and can be
 * drawn. */
#include "../../src/view/trace.h"
#include "../../src/view/view.h"
#include "file.h"

static char *write_text(const struct hark_trace *t, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (out == NULL || hark_trace_write(t, out) != HARK_TRACE_OK || fclose(out) != 0)
        finding("a trace that was read can not be written");
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_trace t, again;
    char error[HARK_TRACE_ERROR];
    (void)file_set(data, size);
    if (hark_trace_read(file_path, &t, error) != HARK_TRACE_OK) {
        file_error_ok(error, sizeof error, file_path);
        return 0;
    }
    size_t length, twice;
    char *text = write_text(&t, &length), *more;
    (void)file_set(text, length);
    if (hark_trace_read(file_path, &again, error) != HARK_TRACE_OK)
        finding("what was written is refused: %s", error);
    more = write_text(&again, &twice);
    if (length != twice || memcmp(text, more, length) != 0)
        finding("what is written of a trace reads as another");
    free(text);
    free(more);
    if (t.count < 300) {
        struct hark_diagram_options o = {0};
        FILE *out = open_memstream(&text, &length);
        if (out == NULL) abort();
        int status = hark_view_diagram(&t, &o, out, error);
        fclose(out);
        free(text);
        if (status != HARK_TRACE_OK && status != HARK_TRACE_EINVAL)
            finding("it can not be drawn: %s", error);
    }
    hark_trace_free(&t);
    hark_trace_free(&again);
    return 0;
}
