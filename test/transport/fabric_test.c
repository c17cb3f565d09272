/* libfabric under the conformance suite, with neighbours that throw garbage at its port or do not
 * know the key. HARK_TEST_FABRIC names a provider of hark_fabric_providers; else it is tcp. */
#include "fabric/fabric.h"

#include "fabric_strangers.h"

static void configure(struct hark_transport_config *config)
{
    const char *provider = getenv("HARK_TEST_FABRIC");
    if (!provider) return;
    for (unsigned i = 0; hark_fabric_providers[i]; i++)
        if (strcmp(hark_fabric_providers[i], provider) == 0) config->option[0] = i + 1;
}

static bool slowly(void)
{
    return true;
}

static void garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    fabric_garbage(victim, address, as, round);
}

const struct conformance_transport conformance_subject = {.name = "fabric",
    .ops = &hark_fabric_transport,
    .processes = true,
    .slow_start = slowly,
    .chunk = 16384 - 48,
    .configure = configure,
    .end = fabric_hang_up,
    .garbage = garbage};
