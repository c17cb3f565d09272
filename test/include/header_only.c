/* Every header alone, twice, in any order; header-only. */
#include "hark/registry.h"
#include "hark/registry.h"
#include "hark/hydee.h"
#include "hark/parts/mem.h"
#include "hark/driver.h"
#include "hark/app.h"
#include "hark/balance.h"

const struct hark_protocol *header_only_protocol(const char *name);
const struct hark_protocol *header_only_protocol(const char *name)
{
    return hark_protocol_named(name);
}
