/* scenario_reader.c: what all parts of the parser do: report an error, add an operation. */
#include <stdarg.h>
#include <stdio.h>

#include "scenario_parts.h"

int hark_scenario_wrong(
    struct hark_scenario_reader *r, struct hark_scenario_place at, const char *format, ...)
{
    va_list list;
    int n = snprintf(r->error, HARK_SCENARIO_ERROR, "%.90s:%u:%u: ", r->name, at.line, at.column);
    va_start(list, format);
    vsnprintf(r->error + n, HARK_SCENARIO_ERROR - (size_t)n, format, list);
    va_end(list);
    return -1;
}

int hark_scenario_op(struct hark_scenario_reader *r, uint32_t rank, struct hark_op op)
{
    struct hark_scenario_place at = {op.line, op.column};
    if (r->ops[rank] == HARK_SCENARIO_OPS)
        return hark_scenario_wrong(r, at,
            "p%u has more operations, expected at most %d (HARK_SCENARIO_OPS)", rank,
            HARK_SCENARIO_OPS);
    r->s->op[rank][r->ops[rank]++] = op;
    return 0;
}
