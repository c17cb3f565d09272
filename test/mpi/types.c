/* Datatypes: random ones of all constructors, each beside a plain list of its numbers and their
 * places, which is what the standard calls a type map. Sizes, bounds, packed bytes, messages and
 * contents of the two must agree. */
#include <string.h>

#include "check.h"

#define HOLDS(condition) CHECK(condition, "it does not hold")

/* ---- the plain list ---------------------------------------------------------------------------
 */

enum { LONGEST = 6000, REACH = 1 << 18, MIDDLE = REACH / 2 };
enum { NAMED = 7 };

struct entry { /* a number at a place, of one of the named datatypes */
    long at;
    int which;
};
struct map {
    int count;
    struct entry *entry;
    long lower, upper;
    int marked; /* are the bounds set, by MPI_Type_create_resized or an array? */
    long alignment;
};
struct typed { /* both forms of one datatype */
    MPI_Datatype type;
    struct map map;
};

static MPI_Datatype named_type(int which)
{
    const MPI_Datatype all[NAMED] = {
        MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_FLOAT, MPI_C_FLOAT_COMPLEX, MPI_INT64_T};
    return all[which];
}
static const int named_size[NAMED] = {1, 2, 4, 8, 4, 8, 8};
static const int named_alignment[NAMED] = {1, 2, 4, 8, 4, 4, 8};

static unsigned long long seed;
static int chance(int below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((seed >> 33) % (unsigned)below);
}

static void begin_map(struct map *m)
{
    *m = (struct map){.entry = malloc(LONGEST * sizeof *m->entry), .alignment = 1};
}

/* In the standard all extents are aligned, and bounds that are set stay; not so with MPICH.
 * Parts without entries have no place in the standard. */
#ifdef MPICH_VERSION
enum { BOUNDS_STAY = 0, ALL_ARE_ALIGNED = 0, EMPTY_HAS_A_PLACE = 1, EMPTY_IS_ZERO = 1 };
#elif defined(OPEN_MPI)
enum { BOUNDS_STAY = 1, ALL_ARE_ALIGNED = 1, EMPTY_HAS_A_PLACE = 1, EMPTY_IS_ZERO = 0 };
#else
enum { BOUNDS_STAY = 1, ALL_ARE_ALIGNED = 1, EMPTY_HAS_A_PLACE = 0, EMPTY_IS_ZERO = 0 };
#endif

/* The bounds of several elements: of those that are marked, if there are some. */
static void widen(struct map *m, const struct map *of, long at, int *known)
{
    long lower = of->lower + at, upper = of->upper + at;
    if (of->count == 0 && !of->marked && !EMPTY_HAS_A_PLACE) return;
    if (of->marked > m->marked) *known = 0;
    if (of->marked < m->marked) return;
    if (!*known || lower < m->lower) m->lower = lower;
    if (!*known || upper > m->upper) m->upper = upper;
    m->marked = of->marked;
    *known = 1;
}

static void add(struct map *m, const struct map *of, long at, int *known)
{
    HOLDS(m->count + of->count <= LONGEST);
    for (int i = 0; i < of->count; i++)
        m->entry[m->count++] = (struct entry){of->entry[i].at + at, of->entry[i].which};
    if (of->alignment > m->alignment) m->alignment = of->alignment;
    widen(m, of, at, known);
}

static void add_block(struct map *m, const struct map *of, long at, int n, int *known)
{
    for (int i = 0; i < n; i++) add(m, of, at + i * (of->upper - of->lower), known);
}

static void end_map(struct map *m, int aligned)
{
    long extent = m->upper - m->lower, up = m->alignment;
    if (m->count == 0 && !m->marked && EMPTY_IS_ZERO) m->lower = m->upper = extent = 0;
    if (aligned && !m->marked) m->upper = m->lower + (extent + up - 1) / up * up;
    m->marked &= BOUNDS_STAY;
}

static long extent_of(const struct map *m)
{
    return m->upper - m->lower;
}

/* ---- constructors -----------------------------------------------------------------------------
 */

enum { MOST = 6 };
static int blocks, lengths[MOST], places[MOST];
static MPI_Aint bytes[MOST];

/* Blocks at random places. */
static void choose(void)
{
    blocks = chance(MOST);
    for (int i = 0; i < blocks; i++) {
        lengths[i] = chance(4);
        places[i] = chance(40) - 10;
        bytes[i] = (MPI_Aint)(chance(60) - 20) * 8;
    }
}

static void make_contiguous(struct typed *to, const struct typed *of, int *known)
{
    int n = chance(5);
    MPI_Type_contiguous(n, of->type, &to->type);
    add_block(&to->map, &of->map, 0, n, known);
}

static void make_vector(struct typed *to, const struct typed *of, int *known)
{
    int count = chance(5), length = chance(4), stride = chance(9) - 3;
    MPI_Type_vector(count, length, stride, of->type, &to->type);
    for (int i = 0; i < count; i++)
        add_block(&to->map, &of->map, i * stride * extent_of(&of->map), length, known);
}

static void make_hvector(struct typed *to, const struct typed *of, int *known)
{
    int count = chance(5), length = chance(4);
    MPI_Aint stride = (MPI_Aint)(chance(30) - 10) * 8;
    MPI_Type_create_hvector(count, length, stride, of->type, &to->type);
    for (int i = 0; i < count; i++) add_block(&to->map, &of->map, i * stride, length, known);
}

static void make_indexed(struct typed *to, const struct typed *of, int *known)
{
    choose();
    MPI_Type_indexed(blocks, lengths, places, of->type, &to->type);
    for (int i = 0; i < blocks; i++)
        add_block(&to->map, &of->map, places[i] * extent_of(&of->map), lengths[i], known);
}

static void make_hindexed(struct typed *to, const struct typed *of, int *known)
{
    choose();
    MPI_Type_create_hindexed(blocks, lengths, bytes, of->type, &to->type);
    for (int i = 0; i < blocks; i++) add_block(&to->map, &of->map, bytes[i], lengths[i], known);
}

static void make_indexed_block(struct typed *to, const struct typed *of, int *known)
{
    int length = chance(4);
    choose();
    MPI_Type_create_indexed_block(blocks, length, places, of->type, &to->type);
    for (int i = 0; i < blocks; i++)
        add_block(&to->map, &of->map, places[i] * extent_of(&of->map), length, known);
}

static void make_hindexed_block(struct typed *to, const struct typed *of, int *known)
{
    int length = chance(4);
    choose();
    MPI_Type_create_hindexed_block(blocks, length, bytes, of->type, &to->type);
    for (int i = 0; i < blocks; i++) add_block(&to->map, &of->map, bytes[i], length, known);
}

/* Of `of` and named ones. */
static void make_struct(struct typed *to, const struct typed *of, int *known)
{
    MPI_Datatype types[MOST];
    choose();
    for (int i = 0; i < blocks; i++) {
        int which = chance(NAMED + 2);
        struct entry one = {0, which};
        struct map named = {1, &one, 0, 0, 0, 1};
        types[i] = of->type;
        if (which < NAMED) {
            types[i] = named_type(which);
            named.upper = named_size[which];
            named.alignment = named_alignment[which];
        }
        add_block(&to->map, which < NAMED ? &named : &of->map, bytes[i], lengths[i], known);
    }
    MPI_Type_create_struct(blocks, lengths, bytes, types, &to->type);
}

static void make_resized(struct typed *to, const struct typed *of, int *known)
{
    MPI_Aint lower = (chance(9) - 4) * 8, extent = chance(30) * 8;
    MPI_Type_create_resized(of->type, lower, extent, &to->type);
    add(&to->map, &of->map, 0, known);
    to->map.lower = lower;
    to->map.upper = lower + extent;
    to->map.marked = 1;
}

static void make_dup(struct typed *to, const struct typed *of, int *known)
{
    MPI_Type_dup(of->type, &to->type);
    add(&to->map, &of->map, 0, known);
}

/* The array's elements that the process has, in the order of memory. */
enum { DIMENSIONS = 3 };
static int sizes[DIMENSIONS], subsizes[DIMENSIONS], starts[DIMENSIONS], dimensions;

static void add_elements(struct map *to, const struct map *of, int order,
    int (*has)(int dimension, int index), int *known)
{
    int all = 1, ignored = *known;
    for (int d = 0; d < dimensions; d++) all *= sizes[d];
    for (int i = 0; i < all; i++) {
        int rest = i, mine = 1;
        for (int k = 0; k < dimensions; k++) {
            int d = order == MPI_ORDER_C ? dimensions - 1 - k : k;
            mine &= has(d, rest % sizes[d]);
            rest /= sizes[d];
        }
        if (mine) add(to, of, i * extent_of(of), &ignored);
    }
    to->lower = 0;
    to->upper = all * extent_of(of);
    to->marked = *known = 1;
}

static int in_subarray(int d, int index)
{
    return index >= starts[d] && index < starts[d] + subsizes[d];
}

static void make_subarray(struct typed *to, const struct typed *of, int *known)
{
    int order = chance(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    dimensions = 1 + chance(DIMENSIONS);
    for (int d = 0; d < dimensions; d++) {
        sizes[d] = 1 + chance(4);
        subsizes[d] = 1 + chance(sizes[d]);
        starts[d] = chance(sizes[d] - subsizes[d] + 1);
    }
    MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, order, of->type, &to->type);
    add_elements(&to->map, &of->map, order, in_subarray, known);
}

static int distributions[DIMENSIONS], arguments[DIMENSIONS], grid[DIMENSIONS], place[DIMENSIONS];

static int in_darray(int d, int index)
{
    int block = arguments[d];
    if (distributions[d] == MPI_DISTRIBUTE_NONE) return 1;
    if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block = distributions[d] == MPI_DISTRIBUTE_BLOCK ? (sizes[d] + grid[d] - 1) / grid[d] : 1;
    return index / block % grid[d] == place[d];
}

static void make_darray(struct typed *to, const struct typed *of, int *known)
{
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int order = chance(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, processes = 1, number = 0;
    dimensions = 1 + chance(DIMENSIONS);
    for (int d = 0; d < dimensions; d++) {
        distributions[d] = kinds[chance(3)];
        sizes[d] = 1 + chance(5);
        grid[d] = distributions[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + chance(3);
        place[d] = chance(grid[d]);
        arguments[d] = chance(2) ? MPI_DISTRIBUTE_DFLT_DARG : 1 + chance(3);
        if (distributions[d] == MPI_DISTRIBUTE_BLOCK && arguments[d] * grid[d] < sizes[d])
            arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
        processes *= grid[d];
        number = number * grid[d] + place[d];
    }
    MPI_Type_create_darray(processes, number, dimensions, sizes, distributions, arguments, grid,
        order, of->type, &to->type);
    add_elements(&to->map, &of->map, order, in_darray, known);
}

typedef void constructor(struct typed *to, const struct typed *of, int *known);
static constructor *const constructors[] = {make_contiguous, make_vector, make_hvector,
    make_indexed, make_hindexed, make_indexed_block, make_hindexed_block, make_struct, make_resized,
    make_dup, make_subarray, make_darray};
enum { CONSTRUCTORS = sizeof constructors / sizeof *constructors };

static struct typed make_named(void)
{
    struct typed t;
    int which = chance(NAMED);
    begin_map(&t.map);
    t.map.entry[t.map.count++] = (struct entry){0, which};
    t.map.upper = named_size[which];
    t.map.alignment = named_alignment[which];
    t.type = named_type(which);
    return t;
}

/* One that is nested so deep, unless it grows too long. */
static struct typed make_random(int depth)
{
    struct typed t = make_named();
    for (int i = 0; i < depth && t.map.count < LONGEST / 130; i++) {
        struct typed of = t;
        int known = 0;
        begin_map(&t.map);
        constructor *make = constructors[chance(CONSTRUCTORS)];
        make(&t, &of, &known);
        end_map(&t.map, ALL_ARE_ALIGNED || make == make_struct);
        free(of.map.entry);
        if (i > 0) MPI_Type_free(&of.type); /* the new one needs it no more */
    }
    if (depth) MPI_Type_commit(&t.type);
    return t;
}

/* ---- what must agree --------------------------------------------------------------------------
 */

static long map_size(const struct map *m)
{
    long size_of_all = 0;
    for (int i = 0; i < m->count; i++) size_of_all += named_size[m->entry[i].which];
    return size_of_all;
}

static void check_bounds(const struct typed *t)
{
    const struct map *m = &t->map;
    MPI_Aint lower, extent, true_lower, true_extent;
    long low = 0, high = 0;
    int length;
    for (int i = 0; i < m->count; i++) {
        long at = m->entry[i].at, end = at + named_size[m->entry[i].which];
        if (i == 0 || at < low) low = at;
        if (i == 0 || end > high) high = end;
    }
    MPI_Type_size(t->type, &length);
    MPI_Type_get_extent(t->type, &lower, &extent);
    MPI_Type_get_true_extent(t->type, &true_lower, &true_extent);
    CHECK(length == map_size(m), "%d, expected %ld", length, map_size(m));
    CHECK(lower == m->lower && extent == extent_of(m), "%ld and %ld, expected %ld and %ld",
        (long)lower, (long)extent, m->lower, extent_of(m));
    CHECK(m->count == 0 || true_lower == low, "%ld, expected %ld", (long)true_lower, low);
    CHECK(true_extent == high - low, "%ld, expected %ld", (long)true_extent, high - low);
}

static unsigned char full[REACH], packed[REACH], expected[REACH], into[REACH], wanted[REACH];
static char owner[REACH];

/* The packed form of `count` elements of the buffer `full`. Do its bytes overlap? */
static int pack_plainly(const struct map *m, int count, long *length)
{
    int overlap = 0;
    memset(owner, 0, sizeof owner);
    *length = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < m->count; j++)
            for (int k = 0; k < named_size[m->entry[j].which]; k++) {
                long at = MIDDLE + i * extent_of(m) + m->entry[j].at + k;
                HOLDS(at >= 0 && at < REACH);
                overlap |= owner[at]++;
                expected[(*length)++] = full[at];
            }
    return overlap;
}

/* The first `length` bytes of the packed form, in their places. */
static void unpack_plainly(const struct map *m, int count, long length)
{
    long n = 0;
    memset(wanted, 9, sizeof wanted);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < m->count; j++)
            for (int k = 0; k < named_size[m->entry[j].which] && n < length; k++)
                wanted[MIDDLE + i * extent_of(m) + m->entry[j].at + k] = expected[n++];
}

static void check_pack(const struct typed *t, int count)
{
    long length;
    int position = 0, pack_size, overlap = pack_plainly(&t->map, count, &length);
    MPI_Pack_size(count, t->type, MPI_COMM_WORLD, &pack_size);
    CHECK(pack_size >= length, "%d, expected %ld", pack_size, length);
    MPI_Pack(full + MIDDLE, count, t->type, packed, pack_size, &position, MPI_COMM_WORLD);
    CHECK(position == length, "%d, expected %ld", position, length);
    HOLDS(memcmp(packed, expected, (size_t)length) == 0);
    if (overlap) return;
    position = 0;
    memset(into, 9, sizeof into);
    MPI_Unpack(packed, pack_size, &position, into + MIDDLE, count, t->type, MPI_COMM_WORLD);
    unpack_plainly(&t->map, count, length);
    HOLDS(memcmp(into, wanted, sizeof into) == 0);
}

/* Whole numbers in the first `length` bytes, or MPI_UNDEFINED. */
static int numbers_in(const struct map *m, long length)
{
    int n = 0;
    for (; length > 0 && m->count; n++) length -= named_size[m->entry[n % m->count].which];
    return length ? MPI_UNDEFINED : n;
}

/* From the left neighbour comes a message, cut off somewhere; to the right goes one. */
static void check_message(const struct typed *t, int count, int tag)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, n, whole;
    MPI_Status status;
    MPI_Request request;
    long length;
    int overlap = pack_plainly(&t->map, count, &length);
    int cut = length ? chance((int)length + 1) : 0;
    MPI_Irecv(packed, (int)length, MPI_BYTE, left, tag, MPI_COMM_WORLD, &request);
    MPI_Send(full + MIDDLE, count, t->type, right, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_BYTE, &n);
    CHECK(n == length, "%d, expected %ld", n, length);
    HOLDS(memcmp(packed, expected, (size_t)length) == 0);
    if (overlap) return;
    memset(into, 9, sizeof into);
    MPI_Sendrecv(packed, cut, MPI_BYTE, right, tag, into + MIDDLE, count, t->type, left, tag,
        MPI_COMM_WORLD, &status);
    unpack_plainly(&t->map, count, cut);
    CHECK(memcmp(into, wanted, sizeof into) == 0, "%d of %ld bytes", cut, length);
    whole = length == 0              ? 0
            : cut % (length / count) ? MPI_UNDEFINED
                                     : (int)(cut / (length / count));
    MPI_Get_count(&status, t->type, &n);
    CHECK(n == whole, "%d, expected %d", n, whole);
    MPI_Get_elements(&status, t->type, &n);
    CHECK(n == numbers_in(&t->map, cut), "%d, expected %d", n, numbers_in(&t->map, cut));
}

/* ---- contents ---------------------------------------------------------------------------------
 */

/* Integers, and where in them lists begin. */
static MPI_Datatype make_again(int combiner, const int *i, const MPI_Aint *a, MPI_Datatype *d)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    int n = i[0];
    switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS: MPI_Type_contiguous(n, *d, &t); break;
    case MPI_COMBINER_VECTOR: MPI_Type_vector(n, i[1], i[2], *d, &t); break;
    case MPI_COMBINER_HVECTOR: MPI_Type_create_hvector(n, i[1], a[0], *d, &t); break;
    case MPI_COMBINER_INDEXED: MPI_Type_indexed(n, i + 1, i + 1 + n, *d, &t); break;
    case MPI_COMBINER_HINDEXED: MPI_Type_create_hindexed(n, i + 1, a, *d, &t); break;
    case MPI_COMBINER_INDEXED_BLOCK: MPI_Type_create_indexed_block(n, i[1], i + 2, *d, &t); break;
    case MPI_COMBINER_HINDEXED_BLOCK: MPI_Type_create_hindexed_block(n, i[1], a, *d, &t); break;
    case MPI_COMBINER_STRUCT: MPI_Type_create_struct(n, i + 1, a, d, &t); break;
    case MPI_COMBINER_RESIZED: MPI_Type_create_resized(*d, a[0], a[1], &t); break;
    case MPI_COMBINER_DUP: MPI_Type_dup(*d, &t); break;
    case MPI_COMBINER_SUBARRAY:
        MPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n, i[1 + 3 * n], *d, &t);
        break;
    case MPI_COMBINER_DARRAY:
        n = i[2];
        MPI_Type_create_darray(
            i[0], i[1], n, i + 3, i + 3 + n, i + 3 + 2 * n, i + 3 + 3 * n, i[3 + 4 * n], *d, &t);
        break;
    default: CHECK(0, "the combiner is %d", combiner);
    }
    return t;
}

enum { ROOM = 1 + 4 * MOST * DIMENSIONS };

/* A datatype made of what the contents of another one say, all the way down. */
static MPI_Datatype copy_by_contents(MPI_Datatype old)
{
    int integers[ROOM] = {0}, n_integers, n_addresses, n_types, combiner;
    MPI_Aint addresses[ROOM];
    MPI_Datatype types[ROOM], made;
    MPI_Type_get_envelope(old, &n_integers, &n_addresses, &n_types, &combiner);
    if (combiner == MPI_COMBINER_NAMED) {
        HOLDS(n_integers == 0 && n_addresses == 0 && n_types == 0);
        return old;
    }
    HOLDS(n_integers <= ROOM && n_addresses <= ROOM && n_types <= ROOM);
    MPI_Type_get_contents(old, n_integers, n_addresses, n_types, integers, addresses, types);
    for (int i = 0; i < n_types; i++) {
        int ni, na, nt, kind;
        MPI_Datatype part = copy_by_contents(types[i]);
        MPI_Type_get_envelope(types[i], &ni, &na, &nt, &kind);
        if (kind != MPI_COMBINER_NAMED) MPI_Type_free(&types[i]);
        types[i] = part;
    }
    made = make_again(combiner, integers, addresses, types);
    for (int i = 0; i < n_types; i++) {
        int ni, na, nt, kind;
        MPI_Type_get_envelope(types[i], &ni, &na, &nt, &kind);
        if (kind != MPI_COMBINER_NAMED) MPI_Type_free(&types[i]);
    }
    return made;
}

static void check_contents(const struct typed *t)
{
    struct typed again = {copy_by_contents(t->type), t->map};
    MPI_Type_commit(&again.type);
    check_bounds(&again);
    check_pack(&again, 2);
    MPI_Type_free(&again.type);
}

/* ---- what mpi.h names -------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    int pair, size, extent;
} facts[] = {{"MPI_FLOAT_INT", 0, 8, 8}, {"MPI_DOUBLE_INT", 1, 12, 16}, {"MPI_LONG_INT", 2, 12, 16},
    {"MPI_2INT", 3, 8, 8}, {"MPI_SHORT_INT", 4, 6, 8}, {"MPI_LONG_DOUBLE_INT", 5, 20, 32},
    {"MPI_CHAR", 6, 1, 1}, {"MPI_INT", 7, 4, 4}, {"MPI_DOUBLE", 8, 8, 8},
    {"MPI_LONG_DOUBLE", 9, 16, 16}, {"MPI_DOUBLE_COMPLEX", 10, 16, 16},
    {"MPI_2DOUBLE_PRECISION", 11, 16, 16}, {"MPI_COUNT", 12, 8, 8}, {"MPI_C_BOOL", 13, 1, 1}};

static void check_named(void)
{
    const MPI_Datatype all[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT,
        MPI_SHORT_INT, MPI_LONG_DOUBLE_INT, MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_LONG_DOUBLE,
        MPI_DOUBLE_COMPLEX, MPI_2DOUBLE_PRECISION, MPI_COUNT, MPI_C_BOOL};
    for (unsigned i = 0; i < sizeof facts / sizeof *facts; i++) {
        char name[MPI_MAX_OBJECT_NAME];
        int length;
        MPI_Aint lower, extent;
        MPI_Type_get_name(all[i], name, &length);
        CHECK(strcmp(name, facts[i].name) == 0, "%s, expected %s", name, facts[i].name);
        HOLDS(length == (int)strlen(name));
        MPI_Type_size(all[i], &length);
        MPI_Type_get_extent(all[i], &lower, &extent);
        CHECK(length == facts[i].size, "%s: %d, expected %d", name, length, facts[i].size);
        CHECK(extent == facts[i].extent && lower == 0, "%s: %ld", name, (long)extent);
    }
}

/* MPI 3.1, table 13.2: big-endian, and a long has 4 bytes. */
static void check_external(void)
{
    struct {
        short s;
        long l;
        double d;
    } in = {-2, -3, 1.0}, out = {0, 0, 0};
    const int ones[] = {1, 1, 1};
    const MPI_Aint at[] = {0, (char *)&in.l - (char *)&in, (char *)&in.d - (char *)&in};
    const MPI_Datatype types[] = {MPI_SHORT, MPI_LONG, MPI_DOUBLE};
    const unsigned char bytes_of_it[] = {
        0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0};
    unsigned char external[64];
    MPI_Datatype t;
    MPI_Aint length, position = 0;
    MPI_Type_create_struct(3, ones, at, types, &t);
    MPI_Type_commit(&t);
    MPI_Pack_external_size("external32", 1, t, &length);
    CHECK(length == sizeof bytes_of_it, "%ld", (long)length);
    MPI_Pack_external("external32", &in, 1, t, external, length, &position);
    HOLDS(position == length && memcmp(external, bytes_of_it, sizeof bytes_of_it) == 0);
    position = 0;
    MPI_Unpack_external("external32", external, length, &position, &out, 1, t);
    HOLDS(position == length && out.s == -2 && out.l == -3 && out.d == 1.0);
    MPI_Type_free(&t);
}

/* The extended numbers of the machine, through the format of 128 bits. */
static void check_external_extended(void)
{
    long double in[2] = {-1.0L / 3, 0x1.8p-16000L}, out[2] = {0, 0};
    unsigned char external[32];
    MPI_Aint position = 0;
    MPI_Pack_external("external32", in, 2, MPI_LONG_DOUBLE, external, 32, &position);
    HOLDS(position == 32 && external[0] == 0xbf && external[1] == 0xfd && external[2] == 0x55);
    position = 0;
    MPI_Unpack_external("external32", external, 32, &position, out, 2, MPI_LONG_DOUBLE);
    HOLDS(out[0] == in[0] && out[1] == in[1]);
}

static void check_sized(void)
{
    MPI_Datatype t, again;
    int n;
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &t);
    HOLDS(t == MPI_REAL8);
    MPI_Type_create_f90_real(14, MPI_UNDEFINED, &t);
    MPI_Type_create_f90_real(14, MPI_UNDEFINED, &again);
    MPI_Type_size(t, &n);
    HOLDS(n == 8 && t == again);
    MPI_Type_create_f90_integer(3, &t);
    MPI_Type_size(t, &n);
    HOLDS(n == 2);
}

/* The names that MPI 3.0 has removed: not every mpi.h declares them. */
int PMPI_Type_struct(int, int[], MPI_Aint[], MPI_Datatype[], MPI_Datatype *);
int PMPI_Type_hvector(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
int PMPI_Type_hindexed(int, int[], MPI_Aint[], MPI_Datatype, MPI_Datatype *);
int PMPI_Type_extent(MPI_Datatype, MPI_Aint *);
int PMPI_Type_lb(MPI_Datatype, MPI_Aint *);
int PMPI_Type_ub(MPI_Datatype, MPI_Aint *);
int PMPI_Address(void *, MPI_Aint *);

static void check_removed(void)
{
    int ones[] = {1, 1}, integers[3], n[3], combiner;
    MPI_Aint at[] = {8, 32}, extent, lower, upper;
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, t, of;
    PMPI_Type_struct(2, ones, at, types, &t);
    PMPI_Type_extent(t, &extent);
    PMPI_Type_lb(t, &lower);
    PMPI_Type_ub(t, &upper);
    CHECK(extent == 32 && lower == 8 && upper == 40, "%ld", (long)extent);
    MPI_Type_free(&t);
    PMPI_Type_hvector(3, 1, 16, MPI_INT, &t);
    MPI_Type_get_envelope(t, &n[0], &n[1], &n[2], &combiner);
    HOLDS(n[0] == 2 && n[1] == 1 && n[2] == 1 && combiner == MPI_COMBINER_HVECTOR);
    MPI_Type_get_contents(t, 2, 1, 1, integers, &extent, &of);
    HOLDS(integers[0] == 3 && integers[1] == 1 && extent == 16 && of == MPI_INT);
    MPI_Type_free(&t);
    PMPI_Type_hindexed(2, ones, at, MPI_INT, &t);
    PMPI_Type_extent(t, &extent);
    HOLDS(extent == 28);
    MPI_Type_free(&t);
    PMPI_Address(&integers[1], &upper);
    MPI_Get_address(&integers[0], &lower);
    HOLDS(upper - lower == sizeof(int) && MPI_Aint_diff(upper, lower) == sizeof(int));
    HOLDS(MPI_Aint_add(lower, 4) == upper);
}

/* Large counts: what is an int in other functions is there a large count. */
#if MPI_VERSION >= 4
static void check_large(void)
{
    const MPI_Count one[] = {1, (MPI_Count)1 << 33}, at[] = {4, (MPI_Count)1 << 40};
    MPI_Count n[4], counts[5], length, lower, extent;
    int combiner, small;
    MPI_Datatype t, of;
    MPI_Type_create_hindexed_c(2, one, at, MPI_INT, &t);
    MPI_Type_get_envelope_c(t, &n[0], &n[1], &n[2], &n[3], &combiner);
    HOLDS(n[0] == 0 && n[1] == 0 && n[2] == 5 && n[3] == 1 && combiner == MPI_COMBINER_HINDEXED);
    MPI_Type_get_contents_c(t, 0, 0, 5, 1, NULL, NULL, counts, &of);
    HOLDS(counts[0] == 2 && counts[2] == one[1] && counts[4] == at[1] && of == MPI_INT);
    MPI_Type_size_c(t, &length);
    MPI_Type_size(t, &small);
    HOLDS(length == 4 * (1 + one[1]) && small == MPI_UNDEFINED);
    MPI_Type_get_extent_c(t, &lower, &extent);
    HOLDS(lower == 4 && extent == at[1] + 4 * one[1] - 4);
    MPI_Type_free(&t);
}
#else
static void check_large(void)
{
}
#endif

/* A part without entries, before one that has some; and nothing but such parts. */
static void check_empty(void)
{
    MPI_Datatype empty, t, of[2] = {MPI_DATATYPE_NULL, MPI_INT};
    const int one[2] = {1, 1};
    const MPI_Aint at[2] = {-8, 8};
    MPI_Aint lower, extent;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    of[0] = empty;
    MPI_Type_create_struct(2, one, at, of, &t);
    MPI_Type_get_extent(t, &lower, &extent);
    HOLDS(EMPTY_HAS_A_PLACE ? lower == -8 && extent == 20 : lower == 8 && extent == 4);
    MPI_Type_free(&t);
    MPI_Type_create_hvector(3, 1, 100, empty, &t);
    MPI_Type_get_extent(t, &lower, &extent);
    HOLDS(lower == 0 && extent == (EMPTY_HAS_A_PLACE && !EMPTY_IS_ZERO ? 200 : 0));
    MPI_Type_free(&t);
    MPI_Type_free(&empty);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    check_named();
    check_external();
    check_external_extended();
    check_sized();
    check_removed();
    check_large();
    check_empty();
    for (int i = 0; i < REACH; i++) full[i] = (unsigned char)(i * 7 + i / 251);
    for (int i = 0; i < 200; i++) {
        seed = (unsigned long long)i * 77777 + 1;
        struct typed t = make_random(i % 5);
        int count = 1 + chance(3);
        check_bounds(&t);
        check_pack(&t, count);
        check_message(&t, count, i);
        if (i % 5) check_contents(&t);
        if (i % 5) MPI_Type_free(&t.type);
        free(t.map.entry);
    }
    if (rank == 0) printf("%d datatypes\n", 200);
    MPI_Finalize();
    return 0;
}
