// The same headers from C++17, header-only.
#include "hark_headers.h"

extern "C" const struct hark_protocol *cpp_protocol(const char *name);
extern "C" const struct hark_protocol *cpp_protocol(const char *name)
{
    return hark_protocol_named(name);
}
