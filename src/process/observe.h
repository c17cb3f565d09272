/* observe.h: events and effects of a driver, as records of the trace. */
#ifndef HARK_PROCESS_OBSERVE_H
#define HARK_PROCESS_OBSERVE_H

#include "hark/driver.h"

/* The observe hook. */
void hark_observe(void *self, const struct hark_event *event, const struct hark_effect *effect);
/* The application took a message; after the step, so that the phase is the one it has now. */
void hark_observe_delivered(const struct hark_message *m);
void hark_observe_start(void);
void hark_observe_finish(void);

#endif
