/* Writes the seeds of step, unpack and frame: `seeds FOLDER`, which has a folder for each. They are
 * made by jobs that do what they should, as chance will have it; then their cores are packed. */
#include "play.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}

static void save(
    const char *folder, const char *fuzzer, unsigned number, const uint8_t *at, size_t length)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/seed-%02u", folder, fuzzer, number);
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(at, 1, length, f) != length || fclose(f) != 0)
        finding("cannot write %s", path);
}

/* The core that has most to say: two choices for its world, whose it is, its length, itself. */
static void save_core(const char *folder, unsigned number, struct world *w, const uint8_t *begin)
{
    static uint8_t out[WORLD_BLOCK_MOST];
    uint64_t most = 0;
    for (uint32_t i = 0; i < WORLD_WHO; i++) {
        uint64_t n = w->core[i].p && !w->core[i].gone ? world_pack(&w->core[i], world_after) : 0;
        if (n <= most || n > 1200) continue;
        most = n;
        memcpy(out, begin, 2);
        out[2] = (uint8_t)(i + WORLD_WHO * 3 * (number & 1 ? 16 : 0));
        if (out[2] % world_processes(w) != i) out[2] = (uint8_t)i;
        play_put(out + 3, n, 2);
        memcpy(out + 5, world_after, n);
        memcpy(out + 5 + n, begin + 100, 40);
    }
    save(folder, "unpack", number, out, 5 + most + 40);
}

static size_t orderly_step(
    struct world *w, uint8_t *input, size_t at, const uint8_t *step, size_t length)
{
    memcpy(input + at, step, length);
    w->c = (struct choices){input + at, length};
    play(w);
    return at + length;
}

/* Begins with a checkpoint at which clusters change, which chance alone does not come to: all are
 * told, each sends, all checkpoint, and then frames arrive and stores answer until nothing is left.
 * A step is what of play_legal(), who, and its choices. */
static void orderly(uint8_t *input, size_t length)
{
    enum {
        SEND = 70,
        ARRIVE = SEND + 3,
        POINT = SEND + 9,
        STORED = SEND + 10,
        REGROUP = SEND + 13
    };
    struct world w = {.c = {input, length}};
    size_t at = 2;
    world_open(&w, input[0], input[1]);
    for (uint8_t who = 0; who < WORLD_RANKS; who++) {
        const uint8_t told[] = {REGROUP, who, 1, SEND, who, (uint8_t)(who + 1), 0};
        at = orderly_step(&w, input, at, told, sizeof told);
    }
    for (unsigned call = 0; call < 2; call++) { /* the first asks for it, the second is it */
        for (uint8_t who = 0; who < WORLD_RANKS && at + 4 < length; who++)
            at = orderly_step(&w, input, at, (const uint8_t[]){POINT, who, 1}, 3);
        while ((w.flights || w.facts) && at + 4 < length)
            at = w.flights ? orderly_step(&w, input, at, (const uint8_t[]){ARRIVE, 0, 0}, 3)
                           : orderly_step(&w, input, at, (const uint8_t[]){STORED, 0, 0, 1}, 4);
    }
    world_close(&w);
}

int main(int count, char **arg)
{
    uint64_t state = 88172645463325252u;
    uint8_t input[400];
    if (count != 2) return 2;
    for (unsigned number = 0; number < 45; number++) {
        for (size_t i = 0; i < sizeof input; i++) {
            state ^= state << 13, state ^= state >> 7, state ^= state << 17;
            input[i] = (uint8_t)(state >> 32);
        }
        input[0] = (uint8_t)(number < 21   ? number % 7
                             : number < 39 ? 0xc0 + (number - 21) / 6 * 2 + number % 2
                                           : 0xd0 + number % 2);
        if (number >= 39) orderly(input, sizeof input);
        struct world w = {.c = {input, sizeof input}};
        world_open(&w, input[0], input[1]);
        w.c = (struct choices){input + 2, sizeof input - 2};
        play(&w);
        save(arg[1], "step", number, input, sizeof input);
        save_core(arg[1], number, &w, input);
        if (w.flights) save(arg[1], "frame", number, w.flight[0].header, w.flight[0].length);
        world_close(&w);
    }
    return 0;
}
