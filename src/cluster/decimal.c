#include "decimal.h"

enum {
    DIGITS = 19,
    LARGEST = 300,
    FAR = 1 << 20 /* an exponent that is as good as any beyond it */
};

uint64_t hark_cluster_ten(int32_t n)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
        1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
        1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
        UINT64_C(10000000000000000000)};
    return tens[n];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool hark_cluster_whole(const char **at, uint64_t most, uint64_t *value)
{
    const char *t = *at;
    if (!is_digit(*t)) return false;
    for (*value = 0; is_digit(*t); t++) {
        uint64_t digit = (uint64_t)(*t - '0');
        if (digit > most || *value > (most - digit) / 10) return false;
        *value = *value * 10 + digit;
    }
    *at = t;
    return true;
}

/* Digits before the point, or behind it; those that find no room count by their place alone. */
static bool take_digits(const char **at, bool behind, struct cluster_decimal *d)
{
    const char *t = *at;
    for (; is_digit(*t); t++) {
        bool room = d->digits < hark_cluster_ten(DIGITS - 1);
        if (room) d->digits = d->digits * 10 + (uint64_t)(*t - '0');
        if (d->exponent < FAR && d->exponent > -FAR)
            d->exponent += (int32_t)!room - (int32_t)behind;
    }
    bool any = t != *at;
    *at = t;
    return any;
}

static bool take_exponent(const char **at, struct cluster_decimal *d)
{
    const char *t = *at;
    int32_t exponent = 0;
    if (*t != 'e' && *t != 'E' && *t != 'd' && *t != 'D') return true;
    t++;
    bool below = *t == '-';
    if (*t == '-' || *t == '+') t++;
    if (!is_digit(*t)) return false;
    for (; is_digit(*t); t++)
        if (exponent < FAR) exponent = exponent * 10 + (*t - '0');
    d->exponent += below ? -exponent : exponent;
    *at = t;
    return true;
}

int32_t hark_cluster_decimal_size(struct cluster_decimal d)
{
    int32_t n = 0;
    if (d.digits == 0) return INT32_MIN;
    for (; d.digits; d.digits /= 10) n++;
    return n + d.exponent;
}

/* The digits with as many 0 behind them as have room. */
static uint64_t filled(struct cluster_decimal d)
{
    while (d.digits && d.digits < hark_cluster_ten(DIGITS - 1)) d.digits *= 10;
    return d.digits;
}

bool hark_cluster_decimal_above(struct cluster_decimal a, struct cluster_decimal b)
{
    int32_t x = hark_cluster_decimal_size(a), y = hark_cluster_decimal_size(b);
    return x != y ? x > y : filled(a) > filled(b);
}

bool hark_cluster_decimal_read(const char **at, struct cluster_decimal *d)
{
    const char *t = *at;
    bool below = *t == '-', whole, fraction = false;
    *d = (struct cluster_decimal){0, 0};
    if (*t == '-' || *t == '+') t++;
    whole = take_digits(&t, false, d);
    if (*t == '.') {
        t++;
        fraction = take_digits(&t, true, d);
    }
    if ((!whole && !fraction) || !take_exponent(&t, d)) return false;
    while (d->digits && d->digits % 10 == 0) d->digits /= 10, d->exponent++;
    if (d->digits && hark_cluster_decimal_size(*d) < -LARGEST) d->digits = 0;
    if (d->digits == 0) d->exponent = 0;
    else if (below || hark_cluster_decimal_size(*d) > LARGEST) return false;
    *at = t;
    return true;
}

bool hark_cluster_decimal_scale(
    struct cluster_decimal d, int32_t exponent, uint64_t most, uint64_t *value)
{
    int32_t places = d.exponent - exponent;
    *value = 0;
    if (d.digits == 0 || places < -DIGITS) return true;
    if (places < 0) {
        uint64_t ten = hark_cluster_ten(-places), rest = d.digits % ten;
        *value = d.digits / ten + (rest >= ten - rest);
        return *value <= most;
    }
    if (places > DIGITS || d.digits > most / hark_cluster_ten(places)) return false;
    *value = d.digits * hark_cluster_ten(places);
    return true;
}
