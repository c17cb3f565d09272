/* libfabric under the conformance suite. HARK_TEST_FABRIC names a provider of
 * hark_fabric_providers; else it is the first. */
#include "harness.h"
#include "fabric/fabric.h"

static void configure(struct hark_transport_config *config)
{
    const char *provider = getenv("HARK_TEST_FABRIC");
    if (!provider) return;
    for (unsigned i = 0; hark_fabric_providers[i]; i++)
        if (strcmp(hark_fabric_providers[i], provider) == 0) config->option[0] = i + 1;
}

const struct conformance_transport conformance_subject = {.name = "fabric",
    .ops = &hark_fabric_transport,
    .processes = true,
    .chunk = 16384 - 48,
    .configure = configure};
