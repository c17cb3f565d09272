/* store.h: `hark store`. */
#ifndef HARK_CLI_STORE_H
#define HARK_CLI_STORE_H

int hark_cli_store(int argc, char **argv);
void hark_cli_store_help(void);

#endif
