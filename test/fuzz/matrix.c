/* Any bytes as a Matrix Market file: every entry lies in the matrix, and there are as many as it
 * says; or it is refused in one line. */
#include "../../examples/matrix_market.h"
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct matrix_market m;
    struct matrix_entry x;
    uint64_t entries = 0;
    int status = 1;
    (void)file_set(data, size);
    if (matrix_market_open(&m, file_path) < 0) {
        file_error_ok(m.error, sizeof m.error, file_path);
        return 0;
    }
    while ((status = matrix_market_next(&m, &x)) > 0) {
        if (x.row >= m.rows || x.column >= m.columns) finding("an entry outside of the matrix");
        entries++;
    }
    if (status < 0) file_error_ok(m.error, sizeof m.error, file_path);
    else if (entries < m.entries || entries > 2 * m.entries)
        finding("more or fewer entries than it says");
    matrix_market_close(&m);
    return 0;
}
