/* amount.h: values of a matrix as numbers, for people and in JSON. */
#ifndef HARK_CLI_AMOUNT_H
#define HARK_CLI_AMOUNT_H

#include <stdint.h>

enum { HARK_CLI_AMOUNT = 48 }; /* bytes of one, its NUL included */

/* value x 10^exponent, exactly, whatever the locale: digits where it is a whole number of up to 20,
 * else with a point, or with an exponent. Returns text. */
const char *hark_cli_amount(char text[HARK_CLI_AMOUNT], uint64_t value, int32_t exponent);

#endif
