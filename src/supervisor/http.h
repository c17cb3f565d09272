/* http.h: as much of HTTP/1.1 as it takes to be asked for one page. */
#ifndef HARK_SUPERVISOR_HTTP_H
#define HARK_SUPERVISOR_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inquiry.h"

enum hark_http_status {
    HARK_HTTP_MORE = 0, /* it is not all there */
    HARK_HTTP_OK = 200,
    HARK_HTTP_BAD = 400,
    HARK_HTTP_NOT_FOUND = 404,
    HARK_HTTP_NOT_ALLOWED = 405,
    HARK_HTTP_TOO_LONG = 431,
    HARK_HTTP_NO_MEMORY = 503
};

/* What a request for `page` is answered with, as far as it has come; `room`: no more of it will.
 * *head: only the head of the answer is wanted. */
enum hark_http_status hark_http_read(
    const uint8_t *at, size_t length, size_t room, const char *page, bool *head);
/* The whole answer; 1, or -1: there is no memory. `body` is plain text, in the version of
 * Prometheus if the status is HARK_HTTP_OK; else NULL: a line says what the status is. */
int hark_http_answer(enum hark_http_status status, bool head, const char *body, size_t length,
    struct hark_inquiry_answer *answer);

#endif
