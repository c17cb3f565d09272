/* Sockets under the conformance suite, with neighbours that throw garbage at them. */
#include "harness.h"
#include "uv/uv.h"
static void configure(struct hark_transport_config *config)
{
    if (getenv("HARK_TEST_UV") != NULL) config->address = getenv("HARK_TEST_UV");
}
#ifdef UV_OWN_TESTS
int main(void)
{
    return 0;
}
#endif
const struct conformance_transport conformance_subject = {
    .name = "uv", .ops = &hark_uv_transport, .processes = true, .chunk = 128 * KIB, .configure = configure};
