/* How a datatype was made: MPI_Type_get_envelope and MPI_Type_get_contents. */
#include "derive.h"

struct layout *hark_mpi_layout_new(int combiner, bool large)
{
    struct layout *l = hark_mpi_memory(sizeof *l);
    *l = (struct layout){.combiner = combiner, .large = large};
    return l;
}

void hark_mpi_layout_free(struct layout *l)
{
    if (l == NULL) return;
    for (int i = 0; i < LISTS; i++) free(l->value[i]);
    free(l);
}

static void reserve(struct layout *l, enum list list, size_t count)
{
    size_t room = l->count[list] + count;
    if (room <= l->room[list]) return;
    if (count == 1) room += 4;
    MPI_Count *value = realloc(l->value[list], room * sizeof *value);
    if (value == NULL) hark_mpi_fatal(1, "no memory for a datatype of %zu blocks", count);
    l->value[list] = value;
    l->room[list] = room;
}

void hark_mpi_layout_add_all(struct layout *l, enum list list, struct numbers n, size_t count)
{
    if (l->large) list = LARGE_COUNTS;
    reserve(l, list, count);
    for (size_t i = 0; i < count; i++) l->value[list][l->count[list]++] = number(n, i);
}

void hark_mpi_layout_add(struct layout *l, enum list list, MPI_Count value)
{
    hark_mpi_layout_add_all(l, list, NUMBERS(&value), 1);
}

void hark_mpi_layout_add_int(struct layout *l, MPI_Count value)
{
    reserve(l, INTEGERS, 1);
    l->value[INTEGERS][l->count[INTEGERS]++] = value;
}

static const struct layout named = {.combiner = MPI_COMBINER_NAMED};

static const struct layout *layout_of(const struct type *t)
{
    return t->layout ? t->layout : &named;
}

/* Pairs have parts, and are named all the same. */
static size_t types_of(const struct type *t)
{
    return t->layout ? t->parts : 0;
}

#define NEED_SMALL(l)                                                                              \
    NEED(NULL, !(l)->large, MPI_ERR_TYPE,                                                          \
        "the datatype was made by a function with the suffix _c: ask with that suffix")

PUBLIC(Type_get_envelope)
int PMPI_Type_get_envelope(
    MPI_Datatype datatype, int *integers, int *addresses, int *types, int *combiner)
{
    NEED_OPEN();
    NEED_TYPE(NULL, t, datatype);
    NEED(NULL, integers && addresses && types && combiner, MPI_ERR_ARG, "a result is NULL");
    const struct layout *l = layout_of(t);
    NEED_SMALL(l);
    *integers = (int)l->count[INTEGERS];
    *addresses = (int)l->count[ADDRESSES];
    *types = (int)types_of(t);
    *combiner = l->combiner;
    return MPI_SUCCESS;
}

PUBLIC(Type_get_envelope_c)
int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *integers, MPI_Count *addresses,
    MPI_Count *large_counts, MPI_Count *types, int *combiner)
{
    NEED_OPEN();
    NEED_TYPE(NULL, t, datatype);
    NEED(NULL, integers && addresses && large_counts && types && combiner, MPI_ERR_ARG,
        "a result is NULL");
    const struct layout *l = layout_of(t);
    *integers = (MPI_Count)l->count[INTEGERS];
    *addresses = (MPI_Count)l->count[ADDRESSES];
    *large_counts = (MPI_Count)l->count[LARGE_COUNTS];
    *types = (MPI_Count)types_of(t);
    *combiner = l->combiner;
    return MPI_SUCCESS;
}

/* The handles are new ones to the program: it frees those of datatypes that are not predefined. */
static void give_types(struct type *t, MPI_Datatype types[])
{
    for (size_t i = 0; i < types_of(t); i++) {
        t->part[i].type->o.references++;
        types[i] = HANDLE(MPI_Datatype, t->part[i].type);
    }
}

static void give_integers(const struct layout *l, int integers[])
{
    for (size_t i = 0; i < l->count[INTEGERS]; i++) integers[i] = (int)l->value[INTEGERS][i];
}

static void give_addresses(const struct layout *l, MPI_Aint addresses[])
{
    for (size_t i = 0; i < l->count[ADDRESSES]; i++)
        addresses[i] = (MPI_Aint)l->value[ADDRESSES][i];
}

#define NEED_NOT_NAMED(l)                                                                          \
    NEED(NULL, (l)->combiner != MPI_COMBINER_NAMED, MPI_ERR_TYPE,                                  \
        "the datatype is predefined: it has no contents")
#define NEED_ROOM(what, room, array, needed)                                                       \
    NEED(NULL, (MPI_Count)(room) >= (MPI_Count)(needed), MPI_ERR_ARG,                              \
        "there is room for %lld " what ", and the datatype has %zu", (long long)(room), needed);   \
    NEED(NULL, (array) || (needed) == 0, MPI_ERR_ARG, "the array of " what " is NULL")

PUBLIC(Type_get_contents)
int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
    int max_types, int integers[], MPI_Aint addresses[], MPI_Datatype types[])
{
    NEED_OPEN();
    NEED_TYPE(NULL, t, datatype);
    const struct layout *l = layout_of(t);
    NEED_NOT_NAMED(l);
    NEED_SMALL(l);
    NEED_ROOM("integers", max_integers, integers, l->count[INTEGERS]);
    NEED_ROOM("addresses", max_addresses, addresses, l->count[ADDRESSES]);
    NEED_ROOM("datatypes", max_types, types, types_of(t));
    give_integers(l, integers);
    give_addresses(l, addresses);
    give_types(t, types);
    return MPI_SUCCESS;
}

PUBLIC(Type_get_contents_c)
int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
    MPI_Count max_large_counts, MPI_Count max_types, int integers[], MPI_Aint addresses[],
    MPI_Count large_counts[], MPI_Datatype types[])
{
    NEED_OPEN();
    NEED_TYPE(NULL, t, datatype);
    const struct layout *l = layout_of(t);
    NEED_NOT_NAMED(l);
    NEED_ROOM("integers", max_integers, integers, l->count[INTEGERS]);
    NEED_ROOM("addresses", max_addresses, addresses, l->count[ADDRESSES]);
    NEED_ROOM("large counts", max_large_counts, large_counts, l->count[LARGE_COUNTS]);
    NEED_ROOM("datatypes", max_types, types, types_of(t));
    give_integers(l, integers);
    give_addresses(l, addresses);
    for (size_t i = 0; i < l->count[LARGE_COUNTS]; i++) large_counts[i] = l->value[LARGE_COUNTS][i];
    give_types(t, types);
    return MPI_SUCCESS;
}
