#include "lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "hark/cluster.h"

int hark_cluster_lines_bad(const struct cluster_lines *l, const char *format, ...)
{
    va_list list;
    int n = snprintf(l->error, HARK_MATRIX_ERROR, "%s:%" PRIu64 ": ", l->path, l->line);
    if (n < 0 || n >= HARK_MATRIX_ERROR) return -1;
    va_start(list, format);
    vsnprintf(l->error + n, (size_t)(HARK_MATRIX_ERROR - n), format, list);
    va_end(list);
    return -1;
}

const char *hark_cluster_lines_found(const struct cluster_lines *l, char shown[44])
{
    size_t i = 0;
    for (; l->text[i] && l->text[i] != '\n' && l->text[i] != '\r' && i < 40; i++)
        shown[i] = l->text[i] >= ' ' && l->text[i] <= '~' ? l->text[i] : '?';
    strcpy(shown + i, l->text[i] && l->text[i] != '\n' && l->text[i] != '\r' ? "..." : "");
    return shown;
}

#if HARK_ZLIB
int hark_cluster_lines_open(struct cluster_lines *l, const char *path, char *error)
{
    *l = (struct cluster_lines){.path = path, .error = error, .file = gzopen(path, "rbe")};
    if (l->file == NULL) {
        snprintf(error, HARK_MATRIX_ERROR, "%s: %s", path, strerror(errno ? errno : ENOMEM));
        return -1;
    }
    gzbuffer(l->file, 1 << 17);
    return 0;
}

void hark_cluster_lines_close(struct cluster_lines *l)
{
    gzclose(l->file);
}

static bool get(struct cluster_lines *l)
{
    return gzgets(l->file, l->text, CLUSTER_LINE) != NULL;
}

/* Why there was no line: 0 at the end of the file. */
static int why(struct cluster_lines *l)
{
    int code;
    const char *text = gzerror(l->file, &code);
    if (code == Z_OK || code == Z_STREAM_END) return 0;
    if (code == Z_BUF_ERROR)
        return hark_cluster_lines_bad(l, "the compressed file is cut off here");
    return hark_cluster_lines_bad(l, "%s",
        code == Z_ERRNO        ? strerror(errno)
        : code == Z_DATA_ERROR ? "the compressed file is damaged"
                               : text);
}
#else
int hark_cluster_lines_open(struct cluster_lines *l, const char *path, char *error)
{
    *l = (struct cluster_lines){.path = path, .error = error, .file = fopen(path, "rbe")};
    if (l->file == NULL) {
        snprintf(error, HARK_MATRIX_ERROR, "%s: %s", path, strerror(errno));
        return -1;
    }
    for (int c; l->heads < 2 && (c = getc(l->file)) != EOF;) l->head[l->heads++] = (char)c;
    if (l->heads < 2 || (unsigned char)l->head[0] != 0x1f || (unsigned char)l->head[1] != 0x8b)
        return 0;
    snprintf(error, HARK_MATRIX_ERROR,
        "%s: compressed by gzip, and this hark was built without zlib", path);
    fclose(l->file);
    return -1;
}

void hark_cluster_lines_close(struct cluster_lines *l)
{
    fclose(l->file);
}

static bool get(struct cluster_lines *l)
{
    int n = l->heads;
    memcpy(l->text, l->head, sizeof l->head);
    l->text[n] = 0;
    l->heads = 0;
    if (n && (l->text[n - 1] == '\n' || l->text[0] == '\n'))
        return true; /* no such file is a matrix: line 1 is wrong */
    return fgets(l->text + n, CLUSTER_LINE - n, l->file) != NULL || n > 0;
}

static int why(struct cluster_lines *l)
{
    return ferror(l->file) ? hark_cluster_lines_bad(l, "%s", strerror(errno)) : 0;
}
#endif

int hark_cluster_lines_any(struct cluster_lines *l)
{
    l->line++;
    if (!get(l)) return why(l);
    size_t length = strlen(l->text);
    if (length == 0) return hark_cluster_lines_bad(l, "expected text, found a zero byte");
    if (length == CLUSTER_LINE - 1 && l->text[length - 1] != '\n')
        return hark_cluster_lines_bad(l, "expected lines of at most %d bytes", CLUSTER_LINE - 2);
    if (l->text[length - 1] != '\n' && why(l) < 0)
        return -1; /* the last line, or what is left of one */
    return 1;
}

int hark_cluster_lines_next(struct cluster_lines *l)
{
    for (;;) {
        int status = hark_cluster_lines_any(l);
        if (status <= 0 || (l->text[0] != '%' && l->text[strspn(l->text, " \t\r\n")]))
            return status;
    }
}
