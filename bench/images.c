/* images.c: what an image takes that is written whole, by its changes, compressed: bytes, and time
 * of the thread that writes it.
 *
 *     images DIRECTORY [MIB [PERCENT]]
 *
 * An image of MIB (256) in a store in DIRECTORY, which is made; PERCENT (1) of its blocks of 64 KiB
 * change from one to the next. Half of the bytes are a smooth field of doubles, half are random. */
#include "hark/store.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WORDS = 8192, ROUNDS = 5 }; /* of a block */

static double *field;
static size_t blocks;
static uint64_t chance = 88172645463325252u;

static uint64_t by_chance(void)
{
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return chance;
}

static void fill(size_t block)
{
    double *at = field + block * WORDS, phase = (double)(by_chance() % (1 << 30)) / 1000;
    for (size_t i = 0; i < WORDS; i++)
        at[i] = block % 2 ? (double)(by_chance() >> 11) * 0x1p-53
                          : floor(1000 * sin(phase + (double)i / 5000)) / 8;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The medians of ROUNDS images, of which each changes by so much. */
static void row(struct hark_store *s, const char *name, double changed)
{
    static uint64_t id;
    const struct hark_section section = {
        .tag = 1, .at = field, .length = (uint64_t)blocks * WORDS * sizeof *field};
    double wall[ROUNDS], work[ROUNDS];
    struct hark_store_bytes bytes = {0};
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t k = 0; k < (size_t)((double)blocks * changed); k++) fill(by_chance() % blocks);
        const double begun = seconds(CLOCK_MONOTONIC), ran = seconds(CLOCK_THREAD_CPUTIME_ID);
        if (s->ops->write(s, 0, ++id, &section, 1) < 0 ||
            (id > 2 && s->ops->drop(s, 0, id - 2) < 0) ||
            hark_store_image_bytes(s, 0, id, &bytes) < 0) {
            fprintf(stderr, "%s\n", s->error);
            exit(1);
        }
        wall[i] = seconds(CLOCK_MONOTONIC) - begun;
        work[i] = seconds(CLOCK_THREAD_CPUTIME_ID) - ran;
    }
    qsort(wall, ROUNDS, sizeof *wall, by_size);
    qsort(work, ROUNDS, sizeof *work, by_size);
    printf("| %s | %.1f | %.0f | %.0f |\n", name, (double)bytes.own / (1 << 20),
        1e3 * wall[ROUNDS / 2], 1e3 * work[ROUNDS / 2]);
}

int main(int count, char **arg)
{
    char error[256], name[80];
    struct hark_store *s;
    const size_t mib = count > 2 ? strtoul(arg[2], NULL, 10) : 256;
    const double part = (count > 3 ? strtod(arg[3], NULL) : 1) / 100;
    blocks = mib * 16;
    field = malloc(blocks * WORDS * sizeof *field);
    if (count < 2 || blocks == 0 || !field) {
        fputs("usage: images DIRECTORY [MIB [PERCENT]]\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < blocks; i++) fill(i);
    if (hark_store_open_directory(&s, arg[1], "images", 1, true, error) < 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    puts("| image | MiB written | ms | of which ms of the processor |\n|---|-:|-:|-:|");
    row(s, "whole", part);
    for (uint32_t c = 0; c < HARK_COMPRESSIONS; c++) {
        if (!hark_compression_built(c)) continue;
        if (c != HARK_COMPRESS_NONE) {
            (void)hark_store_write_blocks(s, false, (enum hark_compression)c);
            snprintf(name, sizeof name, "`--compress %s`", hark_compression_name(c));
            row(s, name, part);
        }
        (void)hark_store_write_blocks(s, true, (enum hark_compression)c);
        snprintf(name, sizeof name, "`--incremental`%s%s", c ? ", " : "",
            c ? hark_compression_name(c) : "");
        row(s, name, part); /* the first is whole: the median is not */
    }
    s->ops->close(s);
    free(field);
    return 0;
}
