#include "values.h"

#include <string.h>

bool hark_cli_number(const char *text, uint64_t most, uint64_t *value, const char **end)
{
    *value = 0;
    *end = text;
    for (; **end >= '0' && **end <= '9'; ++*end) {
        uint64_t digit = (uint64_t)(**end - '0');
        if (digit > most || *value > (most - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    return *end != text;
}

bool hark_cli_whole_number(const char *text, uint64_t most, uint64_t *value)
{
    const char *end;
    return hark_cli_number(text, most, value, &end) && *end == 0;
}

bool hark_cli_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    const char *end;
    if (!hark_cli_number(text, UINT64_MAX, bytes, &end)) return false;
    const char *unit = *end ? strchr(units, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    if ((unit ? end[1] : *end) != 0 || *bytes > UINT64_MAX >> shift) return false;
    *bytes <<= shift;
    return true;
}
