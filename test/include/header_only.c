/* Every header, twice; header-only. */
#include "hark_headers.h"
#include "hark_headers.h"

const struct hark_protocol *header_only_protocol(const char *name);
const struct hark_protocol *header_only_protocol(const char *name)
{
    return hark_protocol_named(name);
}
