/* http.c: see http.h. */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- requests -------------------------------------------------------------------------------- */

/* Behind the empty line that ends it; NULL: it is not there yet. A line may end without \r, as in
 * what people type. */
static const char *end_of(const char *at, size_t length)
{
    for (const char *line = at; line < at + length;) {
        const char *end = memchr(line, '\n', (size_t)(at + length - line));
        if (end == NULL) return NULL;
        if (line > at && (end == line || (end == line + 1 && *line == '\r'))) return end + 1;
        line = end + 1;
    }
    return NULL;
}

static bool is(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

/* The path of a target such as /metrics?a=b or http://host/metrics. */
static void find_path(const char **at, size_t *length)
{
    static const char scheme[] = "http://";
    if (*length >= sizeof scheme - 1 && memcmp(*at, scheme, sizeof scheme - 1) == 0) {
        const char *host = *at + sizeof scheme - 1, *end = *at + *length,
                   *path = memchr(host, '/', (size_t)(end - host));
        *at = path ? path : end;
        *length = (size_t)(end - *at);
    }
    const char *query = memchr(*at, '?', *length);
    if (query) *length = (size_t)(query - *at);
}

/* METHOD SPACE TARGET SPACE HTTP/1.x */
static enum hark_http_status read_line(
    const char *line, size_t length, const char *page, bool *head)
{
    const char *end = line + length, *first = memchr(line, ' ', length);
    if (first == NULL || first == line) return HARK_HTTP_BAD;
    for (const char *c = line; c < first; c++)
        if (*c < 'A' || *c > 'Z') return HARK_HTTP_BAD;
    const char *target = first + 1, *second = memchr(target, ' ', (size_t)(end - target));
    if (second == NULL || second == target) return HARK_HTTP_BAD;
    if (end - second != 9 || memcmp(second, " HTTP/1.", 8) != 0) return HARK_HTTP_BAD;
    if (end[-1] < '0' || end[-1] > '9') return HARK_HTTP_BAD;
    size_t path = (size_t)(second - target);
    find_path(&target, &path);
    if (!is(target, path, page)) return HARK_HTTP_NOT_FOUND;
    *head = is(line, (size_t)(first - line), "HEAD");
    return *head || is(line, (size_t)(first - line), "GET") ? HARK_HTTP_OK : HARK_HTTP_NOT_ALLOWED;
}

enum hark_http_status hark_http_read(
    const uint8_t *bytes, size_t length, size_t room, const char *page, bool *head)
{
    const char *at = (const char *)bytes, *end = memchr(at, '\n', length);
    const size_t line = end ? (size_t)(end - at) : length;
    *head = false;
    for (size_t i = 0; i < line; i++) /* what is no text is no request, whatever follows */
        if ((bytes[i] < 0x20 || bytes[i] > 0x7e) && !(bytes[i] == '\r' && i + 1 >= line))
            return HARK_HTTP_BAD;
    const enum hark_http_status said =
        end == NULL ? HARK_HTTP_MORE
                    : read_line(at, line - (line && at[line - 1] == '\r'), page, head);
    if (said == HARK_HTTP_BAD || end_of(at, length)) return said;
    return length >= room ? HARK_HTTP_TOO_LONG : HARK_HTTP_MORE;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *reason(enum hark_http_status status)
{
    switch (status) {
    case HARK_HTTP_OK: return "OK";
    case HARK_HTTP_NOT_FOUND: return "Not Found";
    case HARK_HTTP_NOT_ALLOWED: return "Method Not Allowed";
    case HARK_HTTP_TOO_LONG: return "Request Header Fields Too Large";
    case HARK_HTTP_NO_MEMORY: return "Service Unavailable";
    default: return "Bad Request";
    }
}

/* As HTTP has it, in any locale. */
static void put_date(FILE *f)
{
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const time_t now = time(NULL);
    struct tm t;
    if (gmtime_r(&now, &t) == NULL) return;
    fprintf(f, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n", days + t.tm_wday * 3, t.tm_mday,
        months + t.tm_mon * 3, t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

int hark_http_answer(enum hark_http_status status, bool head, const char *body, size_t length,
    struct hark_inquiry_answer *answer)
{
    char line[64], *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (f == NULL) return -1;
    const bool page = status == HARK_HTTP_OK;
    if (!page || body == NULL) {
        const int n = snprintf(line, sizeof line, "%d %s\n", (int)status, reason(status));
        body = line;
        length = (size_t)n;
    }
    fprintf(f, "HTTP/1.1 %d %s\r\n", (int)status, reason(status));
    put_date(f);
    if (status == HARK_HTTP_NOT_ALLOWED) fputs("Allow: GET, HEAD\r\n", f);
    fprintf(f,
        "Content-Type: text/plain; %scharset=utf-8\r\nContent-Length: %zu\r\n"
        "Connection: close\r\n\r\n",
        page ? "version=0.0.4; " : "", length);
    if (!head) fwrite(body, 1, length, f);
    const bool whole = !ferror(f);
    if (fclose(f) == 0 && whole) {
        *answer = (struct hark_inquiry_answer){text, bytes};
        return 1;
    }
    free(text);
    return -1;
}
