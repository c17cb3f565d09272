/* balance_report.h: what `hark balance` has to say: for people, as JSON (docs/json.md), as CSV, as
 * a picture. */
#ifndef HARK_CLI_BALANCE_REPORT_H
#define HARK_CLI_BALANCE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "hark/balance.h"

struct balance_column {                  /* loads of one time, on the map that was in force then */
    struct hark_balance_figures figures; /* moved: when it was made */
    uint64_t none;                       /* load of the fullest PE on the map of the beginning */
    bool balanced;                       /* a new map was made for it */
};

struct balance_run {
    const struct hark_balance *asked;
    const char *strategy, *backend;     /* backend NULL: the strategy cuts no graph */
    struct hark_balance_figures before; /* of the first column on the map of the beginning */
    struct balance_column *column;
    uint32_t columns, every;
    int32_t exponent; /* bytes are in units of 10^exponent */
    uint64_t move;    /* as it was asked for, in bytes */
    double wall_ms;
};

void hark_balance_report(const struct balance_run *r, FILE *f);
void hark_balance_json(const struct balance_run *r, FILE *f);
/* A line for each column. */
void hark_balance_csv(const struct balance_run *r, FILE *f);
/* The load of the fullest PE over the columns, beside that of the map of the beginning and the
 * mean. */
void hark_balance_plot(const struct balance_run *r, FILE *f);

#endif
