/* The representation "external32" (MPI 4.0, 14.5.2): big-endian, with sizes of its own. */
#include "derive.h"

__extension__ typedef unsigned __int128 bits;
__extension__ typedef __float128 quad;

/* A number of a program: its bits, at the low end. */
static bits load(const uint8_t *at, size_t size)
{
    bits value = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, at, size);
#else
    memcpy((uint8_t *)&value + sizeof value - size, at, size);
#endif
    return value;
}

static void store(uint8_t *at, size_t size, bits value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(at, &value, size);
#else
    memcpy(at, (const uint8_t *)&value + sizeof value - size, size);
#endif
}

/* The format of long double is that of the machine, in the file it is that of 128 bits. */
static bits load_extended(const uint8_t *at)
{
    long double machine;
    bits value;
    memcpy(&machine, at, sizeof machine);
    quad number = machine;
    memcpy(&value, &number, sizeof value);
    return value;
}

static void store_extended(uint8_t *at, bits value)
{
    quad number;
    memcpy(&number, &value, sizeof number);
    long double machine = (long double)number;
    memset(at, 0, sizeof machine); /* its padding */
    memcpy(at, &machine, sizeof machine);
}

static bits load_external(const uint8_t *at, size_t size)
{
    bits value = 0;
    for (size_t i = 0; i < size; i++) value = value << 8 | at[i];
    return value;
}

static void store_external(uint8_t *at, size_t size, bits value)
{
    while (size) at[--size] = (uint8_t)value, value >>= 8;
}

/* A longer integer keeps the sign. */
static bits extend(bits value, size_t size)
{
    bits sign = (bits)1 << (size * 8 - 1);
    return (value ^ sign) - sign;
}

/* Goes along both forms. */
struct converter {
    uint8_t *machine, *external;
    bool out; /* to external32 */
};

static void convert_number(const struct basic *b, struct converter *c)
{
    size_t size = b->size / b->numbers, external = b->external / b->numbers;
    if (c->out) {
        bits value = b->number == EXTENDED ? load_extended(c->machine) : load(c->machine, size);
        store_external(c->external, external, value);
    } else {
        bits value = load_external(c->external, external);
        if (b->number == SIGNED_INTEGER) value = extend(value, external);
        if (b->number == EXTENDED) store_extended(c->machine, value);
        else store(c->machine, size, value);
    }
    c->machine += size;
    c->external += external;
}

static void convert(const struct type *t, size_t count, struct converter *c)
{
    if (t->basic) {
        for (size_t i = 0; i < count * t->basic->numbers; i++) convert_number(t->basic, c);
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < t->parts; j++) convert(t->part[j].type, t->part[j].count, c);
}

void hark_mpi_pack_external(const struct type *t, size_t count, const void *from, void *to)
{
    size_t length = count * t->size;
    uint8_t *packed = hark_mpi_memory(length);
    struct converter c = {packed, to, true};
    hark_mpi_pack(t, count, from, 0, packed, length);
    convert(t, count, &c);
    free(packed);
}

void hark_mpi_unpack_external(const struct type *t, size_t count, void *to, const void *from)
{
    size_t length = count * t->size;
    uint8_t *packed = hark_mpi_memory(length);
    struct converter c = {packed, (uint8_t *)(uintptr_t)from, false};
    convert(t, count, &c);
    hark_mpi_unpack(t, count, to, 0, packed, length);
    free(packed);
}
