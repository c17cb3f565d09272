/* libfabric under the conformance suite, with neighbours that throw garbage at its port or do not
 * know the key. HARK_TEST_FABRIC names a provider of hark_fabric_providers; else it is tcp. */
#include "fabric/fabric.h"
#include "harness.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void configure(struct hark_transport_config *config)
{
    const char *provider = getenv("HARK_TEST_FABRIC");
    if (!provider) return;
    for (unsigned i = 0; hark_fabric_providers[i]; i++)
        if (strcmp(hark_fabric_providers[i], provider) == 0) config->option[0] = i + 1;
}

/* ---- who does not know the key --------------------------------------------------------------- */

static struct hark_transport *stranger;

static void *no_place(void *self, const struct hark_frame *frame)
{
    (void)self, (void)frame;
    return NULL;
}

static void must_not_arrive(void *self, const struct hark_frame *frame, const void *payload)
{
    (void)self, (void)frame, (void)payload;
    must(false, "a stranger is answered", __FILE__, __LINE__);
}

static void must_not_break(void *self, const struct hark_frame *frame, void *payload)
{
    (void)self, (void)frame, (void)payload;
    must(false, "a stranger was sent half a frame", __FILE__, __LINE__);
}

static void wrong_key(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    static const uint8_t header[40];
    struct hark_transport_config config = *victim;
    struct hark_outgoing frame = {.to = victim->me, .inc = victim->inc, .header = {header, 40}};
    char error[200];
    if (!stranger) {
        config.me = as;
        config.key[31] ^= 1;
        config.sink = (struct hark_sink){NULL, no_place, must_not_arrive, must_not_break};
        MUST(hark_fabric_transport.open(&stranger, &config, error) == HARK_T_OK);
    }
    MUST(hark_fabric_transport.peer(stranger, victim->me, victim->inc, address) == HARK_T_OK);
    if (round % 4 == 1) (void)hark_fabric_transport.send(stranger, &frame);
    for (int i = 0; i < 4; i++) MUST(hark_fabric_transport.poll(stranger) == 0);
}

/* ---- who speaks another language ------------------------------------------------------------- */

static int open_fds[128];
static size_t open_count;

static unsigned byte_of(const char *hex)
{
    unsigned byte = 0;
    MUST(sscanf(hex, "%2x", &byte) == 1);
    return byte;
}

/* The bytes of the address are those of a sockaddr_in. */
static int connect_to(const char *address)
{
    const char *hex = strrchr(address, ':') + 1;
    uint8_t bytes[sizeof(struct sockaddr_in)];
    struct sockaddr_in at;
    MUST(strlen(hex) == 2 * sizeof at);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)byte_of(hex + 2 * i);
    memcpy(&at, bytes, sizeof at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    return fd;
}

static void noise(const char *address, unsigned round)
{
    uint8_t text[300];
    const int fd = connect_to(address);
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)mix(round * 1000 + i);
    (void)!send(fd, text, mix(round) % sizeof text, MSG_NOSIGNAL);
    if (round % 3 && open_count < sizeof open_fds / sizeof *open_fds) open_fds[open_count++] = fd;
    else close(fd);
}

static void garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    if (round % 2) wrong_key(victim, address, as, round);
    else noise(address, round);
}

static void hang_up(void)
{
    while (open_count > 0) close(open_fds[--open_count]);
    if (stranger) hark_fabric_transport.close(stranger);
    stranger = NULL;
}

const struct conformance_transport conformance_subject = {.name = "fabric",
    .ops = &hark_fabric_transport,
    .processes = true,
    .slow_start = true,
    .chunk = 16384 - 48,
    .configure = configure,
    .end = hang_up,
    .garbage = garbage};
