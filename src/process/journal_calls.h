/* journal_calls.h: between libhark_journal.so, which takes the place of functions of the C library,
 * and the process that preloads it. The library knows nothing of hark; a process connects it to its
 * journal.
 */
#ifndef HARK_PROCESS_JOURNAL_CALLS_H
#define HARK_PROCESS_JOURNAL_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hark_journal_calls {
    uint32_t keeps;         /* HARK_KEEPS_* */
    const unsigned *inside; /* not 0: the call comes from hark itself, or a library that it uses */
    bool (*next)(uint8_t kind, void *value, size_t length); /* hark_journal_next */
    void (*record)(uint8_t kind, const void *value, size_t length);
};

#define HARK_JOURNAL_CONNECT "hark_journal_connect"
/* From now on readings of the calling thread, and of no other, go through `calls`; NULL: of none.
 * *calls is not copied. */
typedef void hark_journal_connect_function(const struct hark_journal_calls *calls);

#endif
