/* The inputs of a fuzzer without libFuzzer: those that are kept, each of them changed by chance,
 * and some that are chance alone. Linked with the fuzzer: inputs COUNT FOLDER. COUNT: how many of
 * each of the last two; the same ones each time. */
#include <dirent.h>

#include "fuzz.h"

enum { LONGEST = 1500 };

static uint64_t chance = 88172645463325252u;

static uint32_t by_chance(uint32_t end)
{
    chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
    return (uint32_t)(chance >> 32) % end;
}

/* In memory of just that length. */
static void give(const uint8_t *at, size_t length)
{
    uint8_t *copy = exactly(at, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
}

static size_t read_file(const char *folder, const char *name, uint8_t to[LONGEST])
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) finding("cannot read %s", path);
    size_t n = fread(to, 1, LONGEST, f);
    fclose(f);
    return n;
}

/* A few bytes are others, mostly small or all ones; perhaps it ends earlier. */
static void give_changed(const uint8_t *kept, size_t length)
{
    uint8_t b[LONGEST];
    memcpy(b, kept, length);
    for (uint32_t edits = 1 + by_chance(4); edits > 0 && length; edits--) {
        static const uint8_t value[] = {0, 1, 2, 3, 4, 127, 128, 255};
        uint32_t at = by_chance((uint32_t)length), how = by_chance(4);
        if (how == 0) b[at] = (uint8_t)by_chance(256);
        else if (how == 1) b[at] = (uint8_t)(b[at] + (by_chance(2) ? 1 : -1));
        else b[at] = value[by_chance(sizeof value)];
    }
    if (by_chance(8) == 0 && length) length -= by_chance((uint32_t)length);
    give(b, length);
}

static int named(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

int main(int arguments, char **argument)
{
    uint8_t b[LONGEST];
    struct dirent **file;
    if (arguments != 3) return 2;
    long count = atol(argument[1]);
    int files = scandir(argument[2], &file, named, alphasort); /* in an order that is always the
                                                                  same */
    if (files <= 0 || count <= 0) return 2;
    for (int i = 0; i < files; i++) {
        size_t length = read_file(argument[2], file[i]->d_name, b);
        give(b, length);
        for (long k = 0; k < count; k++) give_changed(b, length);
        free(file[i]);
    }
    free(file);
    for (long k = 0; k < count; k++) {
        size_t length = by_chance(700);
        for (size_t i = 0; i < length; i++) b[i] = (uint8_t)by_chance(256);
        give(b, length);
    }
    printf("1 passed, 0 failed: %ld inputs\n", files * (count + 1) + count);
    return 0;
}
