/* The linked copy of floors 1 and 2, and the registry of protocols. */
#define HARK_IMPLEMENTATION
#include "hark/registry.h"
