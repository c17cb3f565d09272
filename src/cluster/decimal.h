/* decimal.h: decimal numbers as they stand in files, exactly, whatever the locale: digits x
 * 10^exponent. */
#ifndef HARK_CLUSTER_DECIMAL_H
#define HARK_CLUSTER_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

struct cluster_decimal {
    uint64_t digits; /* at most 19 of them, no 0 behind; 0: the number is 0 */
    int32_t exponent;
};

/* Digits only; *at goes behind them. False: none, or more than `most`. */
bool hark_cluster_whole(const char **at, uint64_t most, uint64_t *value);
/* A number as C and Fortran write it (12, 0.5, .5, 1e-3, 1D+3), not below 0 and below 10^300; what
 * is below 10^-300 is 0. */
bool hark_cluster_decimal_read(const char **at, struct cluster_decimal *d);
/* How many digits a number has before its point: 10^(n-1) <= number < 10^n. 0 has INT32_MIN. */
int32_t hark_cluster_decimal_size(struct cluster_decimal d);
bool hark_cluster_decimal_above(struct cluster_decimal a, struct cluster_decimal b);
/* d / 10^exponent, rounded to a whole number, halves up. False: more than `most`. */
bool hark_cluster_decimal_scale(
    struct cluster_decimal d, int32_t exponent, uint64_t most, uint64_t *value);
/* 10^n, n up to 19. */
uint64_t hark_cluster_ten(int32_t n);

#endif
