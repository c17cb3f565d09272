/* violation.c: what is wrong: with a step, which is a violation, or with the search, which fails.
 */
#include "local.h"

#include <stdio.h>

const char *lab_violation(uint16_t number)
{
#define LAB_TEXT(name, text) text,
    static const char *const texts[] = {LAB_VIOLATIONS(LAB_TEXT)};
    return number < VIOLATIONS ? texts[number] : "?";
}

void lab_violate(struct lab *lab, enum lab_violated what)
{
    if (lab->out.violated == 0) lab->out.violated = (uint16_t)what;
}

void lab_fail(struct lab *lab, const char *why)
{
    if (lab->failed) return;
    lab->failed = true;
    snprintf(lab->why, sizeof lab->why, "%s", why);
}

void lab_starve(struct lab *lab)
{
    if (!lab->failed) lab->starved = true;
    lab_fail(lab, "no memory");
}
