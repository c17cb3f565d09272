/* random.h: small programs, made by chance. */
#ifndef HARK_CHECK_RANDOM_H
#define HARK_CHECK_RANDOM_H

#include "scenario.h"

/* A program of 2 to 4 processes that can come to its end, if its receives take what they took in
 * the execution that it was made from: receives from anyone may also take others, and then it may
 * not. `named`: they name whom they took from then, so that it always can. With clusters, one to
 * three failures that may nest, checkpoints now and then. HARK_TRAIT_WAVES in `traits`: half of
 * them with HARK_WAVES_ALL. HARK_TRAIT_GROUPS: with multicasts over one tree or two;
 * HARK_TRAIT_REDUCES: and reductions, and one copy of determinants. HARK_TRAIT_RECLUSTERS without
 * trees: with HARK_WAVES_ALL, and where there are checkpoints clusters change at one. With either
 * of these, half of the failures are in a wave, behind its decision, of an image or of the store,
 * where there are checkpoints. Half of them with receives that take within an OFFER. `looks`: with
 * looks that take nothing. The same seed gives the same program, everywhere. */
void hark_scenario_random(
    struct hark_scenario *s, uint64_t seed, uint32_t traits, bool named, bool looks);

#endif
