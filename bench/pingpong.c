/* Messages between two processes as `hark run` carries them: pingpong ping|stream SIZE MILLISECONDS
 * WINDOW Between two checkpoints WINDOW bytes are sent; the second half of them is timed. So the
 * payload log goes round in the same memory, as it does in a program that lives long; its longest
 * is two windows and a half. The checkpoint is not counted. A stream is logged by one side and
 * trimmed by a checkpoint of the other, so only that one takes checkpoints: an image of the sender
 * has the log in it, and writing so much drives out of the caches what is timed next. In a
 * ping-pong both log, both take checkpoints, and that is counted. Rank 0 prints the median, ns a
 * message one way. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hark/app.h"
#include "measure.h"

static char *out, *in;

static double batch(bool stream, size_t size, long count)
{
    int me = hark_rank(), other = 1 - me;
    double begin = nanoseconds();
    for (long i = 0; i < count; i++) {
        if (me == 0) hark_send(out, size, other, 0);
        else hark_recv(in, size, other, 0, NULL);
        if (stream && i + 1 < count) continue;
        if (me == 0) hark_recv(in, stream ? 8 : size, other, 0, NULL);
        else hark_send(out, stream ? 8 : size, other, 0);
    }
    return (nanoseconds() - begin) / (double)count / (stream ? 1 : 2);
}

int main(int argc, char **argv)
{
    static double each[BATCHES_MAX];
    size_t n = 0;
    if (argc < 5) return 2;
    bool stream = argv[1][0] == 's';
    size_t size = (size_t)atol(argv[2]);
    double limit = atof(argv[3]) * 1e6;
    out = aligned_alloc(4096, (size + 4096) & ~(size_t)4095);
    in = aligned_alloc(4096, (size + 4096) & ~(size_t)4095);
    if (out) memset(out, 1, size);
    if (in) memset(in, 1, size);
    if (out == NULL || in == NULL || hark_init() < 0 || hark_size() != 2) return 2;
    stay_on(hark_rank());
    long count = batch_of(size, (size_t)atol(argv[4]) / 2, 0, 1);
    for (double begin = 0; count > 0;) { /* the first batches warm up, and say how long later ones
                                            may be */
        (void)batch(stream, size, count);
        double x = batch(stream, size, count);
        if (n == WARM) begin = nanoseconds();
        if (!stream || hark_rank() == 1) hark_checkpoint();
        if (hark_rank() == 0) {
            each[n++] = x;
            count = next_batch(
                n, count, size, (size_t)atol(argv[4]) / 2, limit, nanoseconds() - begin, x);
            hark_send(&count, sizeof count, 1, 1);
        } else {
            hark_recv(&count, sizeof count, 0, 1, NULL);
        }
    }
    if (hark_rank() == 0) printf("%.1f\n", median_of(each + WARM, n - WARM));
    hark_finalize();
    free(out);
    free(in);
    return 0;
}
