/* Any bytes as what supervisor and process say to each other: whole messages, read field by field
 * in any order, and the setup in them. */
#include "../../src/control/control.h"
#include "fuzz.h"

static void setup(const char *text, size_t length)
{
    struct hark_setup s, again;
    char error[200] = "";
    if (hark_setup_read(&s, text, length, error) < 0) {
        if (memchr(error, 0, sizeof error) == NULL || error[0] == 0)
            finding("a setup is refused without a word");
        return;
    }
    char *first = hark_setup_write(&s), *second;
    if (first == NULL || hark_setup_read(&again, first, strlen(first), error) < 0)
        finding("what was written is refused: %s", error);
    second = hark_setup_write(&again);
    if (strcmp(first, second) != 0) finding("a setup is written otherwise than it was read");
    free(first);
    free(second);
    hark_setup_free(&s);
    hark_setup_free(&again);
}

static void message(struct hark_control *m)
{
    struct hark_control copy = *m;
    size_t length;
    uint32_t bytes;
    const char *text = (const char *)hark_control_get_bytes(&copy, &bytes);
    if (m->type == HARK_C_SETUP && !copy.bad) setup(text, bytes);
    copy = *m;
    for (unsigned i = 0; !copy.bad; i++) {
        switch ((m->type + i) % 4) {
        case 0: (void)hark_control_get32(&copy); break;
        case 1: (void)hark_control_get64(&copy); break;
        case 2:
            text = hark_control_gets(&copy, &length);
            free(exactly(text, length));
            break;
        default:
            text = (const char *)hark_control_get_bytes(&copy, &bytes);
            free(exactly(text, bytes));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = exactly(data, size), *at = copy;
    struct hark_control m;
    for (long n; (n = hark_control_parse(&m, at, size)) > 0; at += n, size -= (size_t)n) {
        if ((size_t)n > size || n < 8) finding("a message of %ld bytes", n);
        message(&m);
    }
    free(copy);
    copy = exactly(data, size);
    setup((const char *)copy, size);
    free(copy);
    return 0;
}
