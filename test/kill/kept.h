/* kept.h: before process_open.c in a program for tests: the registry with one more line, `kept`. */
#include "hark/registry.h"

const struct hark_protocol *kept_named(const char *name);
#define hark_protocol_named kept_named
