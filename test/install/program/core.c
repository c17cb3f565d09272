/* A runtime of one's own: protocols, and the log and network behind them. */
#include <hark/driver.h>
#include <hark/fake.h>
#include <hark/registry.h>
#include <stdio.h>

int app, driver_flush, dg_x;

int main(void)
{
    const struct hark_log_config memory = {0};
    const struct hark_fake_config still = {.seed = 1, .manual = true};
    struct hark_log *log;
    char error[256];
    const struct hark_protocol *protocol = hark_protocol_named("scmel");
    struct hark_fake *network = hark_fake_new(&still);
    if (protocol == NULL || network == NULL || hark_log_open(&log, &memory, error) < 0) return 1;
    printf("%s, %d bytes\n", protocol->name, (int)hark_log_bytes(log));
    hark_log_close(log);
    hark_fake_free(network);
    return 0;
}
