# The include of a protocol's header, and its line.
s/^#include "none.h"$/&\
#include "pessimist.h"/
s/^ *X(recovery, .*$/    X(pessimist, HARK_KIND_PESSIMIST, HARK_ROLLS_PROCESS, 0, 0, hark_scmel_unstable, NULL, NULL) \\\
&/
