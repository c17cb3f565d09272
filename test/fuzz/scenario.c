/* Any bytes as a scenario: it is refused in one line, or what is written of it parses and is
 * written alike. */
#include <stdlib.h>
#include <string.h>

#include "../../src/check/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_scenario s, again;
    char error[HARK_SCENARIO_ERROR];
    if (hark_scenario_parse(&s, (const char *)data, size, "f", error) < 0) {
        if (strncmp(error, "f:", 2) != 0 || strchr(error, '\n')) abort();
        return 0;
    }
    char *text = hark_scenario_text(&s), *twice;
    if (text == NULL || hark_scenario_parse(&again, text, strlen(text), "text", error) < 0) abort();
    twice = hark_scenario_text(&again);
    if (twice == NULL || strcmp(text, twice) != 0) abort();
    free(text);
    free(twice);
    hark_scenario_free(&s);
    hark_scenario_free(&again);
    return 0;
}
