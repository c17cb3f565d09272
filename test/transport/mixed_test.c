/* Two ways in one transport under the conformance suite. HARK_TEST_MIXED says who is where: "one",
 * all on one host; "own", each on its own; "half", even ranks on one and odd ones on another. With
 * HARK_TEST_ENCRYPT what goes between hosts is encrypted; with HARK_TEST_BETWEEN=fabric it goes
 * over libfabric. */
#include "fabric_strangers.h"
#include "harness.h"
#include "mixed/mixed.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define RANKS 128

static bool is(const char *arrangement)
{
    const char *now = getenv("HARK_TEST_MIXED");
    return strcmp(now ? now : "one", arrangement) == 0;
}

static bool over_fabric(void)
{
    const char *between = getenv("HARK_TEST_BETWEEN");
    return between && strcmp(between, "fabric") == 0;
}

static void host_of(char host[16], uint32_t rank)
{
    if (is("one")) strcpy(host, "h0");
    else if (is("half")) snprintf(host, 16, "h%u", rank % 2);
    else snprintf(host, 16, "h%u", rank + 1); /* the recovery process's is h0 */
}

static void configure(struct hark_transport_config *config)
{
    static char address[RANKS + 1][40];
    char host[16];
    config->encrypts = getenv("HARK_TEST_ENCRYPT") != NULL;
    config->option[4] = over_fabric() ? 2 : 0;
    if (is("one") && config->me % 2) return; /* h0 is also where those without an address are */
    host_of(host, config->me);
    char *text = address[(config->me + 1) % (RANKS + 1)];
    snprintf(text, sizeof *address, "%s tcp:127.0.0.1:0", host);
    config->address = text;
}

static bool are_apart(uint32_t a, uint32_t b)
{
    char host[2][16];
    host_of(host[0], a);
    host_of(host[1], b);
    return strcmp(host[0], host[1]) != 0;
}

/* ---- every end is the test's ----------------------------------------------------------------- */

static struct hark_transport_ops tested;

static int open_tested(
    struct hark_transport **t, const struct hark_transport_config *config, char error[200])
{
    int status = hark_mixed_transport.open(t, config, error);
    if (status == HARK_T_OK) (*t)->ops = &tested;
    return status;
}

/* As the supervisors of all hosts do, each for its own. */
static void sweep_all(const char *job, const char *directory)
{
    char name[100], host[16];
    if (is("one")) hark_mixed_transport.sweep(job, directory);
    for (uint32_t rank = HARK_RECOVERY; !is("one") && rank + 1 < RANKS; rank++) {
        host_of(host, rank);
        snprintf(name, sizeof name, "%s-%s", job, host);
        hark_mixed_transport.sweep(name, directory);
    }
}

/* ---- garbage --------------------------------------------------------------------------------- */

static int open_fds[512];
static size_t open_count;

static void hang_up(void)
{
    while (open_count > 0) close(open_fds[--open_count]);
    fabric_hang_up();
}

static void garbage(
    const struct hark_transport_config *victim, const char *address, uint32_t as, unsigned round)
{
    uint8_t bytes[300];
    const char *port = strrchr(address, ':');
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    (void)victim;
    MUST(port != NULL);
    if (over_fabric()) {
        fabric_garbage(victim, strchr(address, ' ') + 1, as, round);
        return;
    }
    at.sin_port = htons((uint16_t)atoi(port + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)mix(round * 1000 + i + as);
    (void)!send(fd, bytes, mix(round) % sizeof bytes, MSG_NOSIGNAL);
    if (round % 3 && open_count < sizeof open_fds / sizeof *open_fds) open_fds[open_count++] = fd;
    else close(fd);
}

static void start(char **argument)
{
    (void)argument;
    tested = hark_mixed_transport;
    tested.open = open_tested;
    tested.sweep = sweep_all;
}

const struct conformance_transport conformance_subject = {.name = "mixed",
    .ops = &tested,
    .processes = true,
    .slow_start = over_fabric,
    .chunk = 128 * KIB,
    .loses = are_apart,
    .start = start,
    .end = hang_up,
    .configure = configure,
    .garbage = garbage};
