#include "amount.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *hark_cli_amount(char text[HARK_CLI_AMOUNT], uint64_t value, int32_t exponent)
{
    while (exponent < 0 && value % 10 == 0 && value) value /= 10, exponent++;
    int digits = snprintf(text, HARK_CLI_AMOUNT, "%" PRIu64, value);
    if (value == 0 || exponent == 0) return text;
    if (exponent > 0 && digits + exponent <= 20) {
        memset(text + digits, '0', (size_t)exponent);
        text[digits + exponent] = 0;
    } else if (exponent < 0 && exponent >= -20) {
        int zeros = digits <= -exponent ? 1 - exponent - digits : 0,
            point = digits + zeros + exponent;
        memmove(text + zeros, text, (size_t)digits + 1);
        memset(text, '0', (size_t)zeros);
        memmove(text + point + 1, text + point, (size_t)(digits + zeros - point) + 1);
        text[point] = '.';
    } else {
        snprintf(text + digits, (size_t)(HARK_CLI_AMOUNT - digits), "e%" PRId32, exponent);
    }
    return text;
}
