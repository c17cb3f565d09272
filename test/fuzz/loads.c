/* Any bytes as a table of loads: as many numbers in each line, none beyond what is allowed; or
 * refused in one line. */
#include "../../src/cluster/loads.h"
#include "file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hark_loads l;
    char error[HARK_MATRIX_ERROR];
    uint32_t columns = size ? data[0] % 4 : 0;
    if (size > 0) data++, size--;
    (void)file_set(data, size);
    if (hark_loads_read(&l, file_path, columns, 1000, error) < 0) {
        file_error_ok(error, sizeof error, file_path);
        if (l.value != NULL) finding("numbers of a table that was refused");
        return 0;
    }
    if (l.rows == 0 || l.columns == 0 || (columns && l.columns != columns))
        finding("a table of another size");
    for (size_t i = 0; i < (size_t)l.rows * l.columns; i++)
        if (l.value[i] > 1000) finding("a number that is not allowed");
    hark_loads_free(&l);
    return 0;
}
